"""Masks of index tuples, counted."""

from __future__ import annotations

import numpy as np

from tensorm.kernels.groups import group_tuples


def test_components_without_members_in_some_mode_make_no_groups():
    """Their entries in the other modes are free and random: thousands of masks, and pairs of them."""
    rng = np.random.default_rng(0)
    idle = rng.integers(0, 2**15, (400, 1)).astype(np.uint64) << np.uint64(1)
    real = (np.arange(400)[:, None] % 2).astype(np.uint64)
    nobody = real[:3].copy()  # has none of the idle components
    stack, edges = np.concatenate([idle | real, idle | real, nobody]), np.array([0, 400, 800, 803])
    masks, counts = group_tuples(stack, edges, (0,))
    assert masks.tolist() == [[1]]
    assert counts.tolist() == [200 * 1]
    masks, counts = group_tuples(stack, edges, (2,))  # both have them: then all pairs count
    pairs = (stack[:400, None, 0] & stack[None, 400:800, 0]).ravel()
    found = dict(zip(masks[:, 0].tolist(), counts.tolist(), strict=True))
    expected = dict(
        zip(*(part.tolist() for part in np.unique(pairs[pairs > 0], return_counts=True)), strict=True)
    )
    assert found == expected
