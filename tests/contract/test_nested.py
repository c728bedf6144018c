"""Tensors around tensors: a quick look at each; `-m slow` runs the whole contract on them."""

from __future__ import annotations

import numpy as np
import pytest

from makers import KINDS
from problems import RULES, fast_update, make_problem, make_turn, naive_update


@pytest.mark.parametrize("name", [name for name in KINDS if " over " in name])
def test_counts_and_draws(name: str) -> None:
    tensor, problem = KINDS[name].store(make_problem((4, 5, 5), 3, 1, 0.2, 0.6))
    assert tensor.confusion(problem.masks) == problem.confusion()
    for mode, size in enumerate(tensor.shape):
        pos, tot = tensor.counts(mode, problem.masks)
        assert (pos[size - 1, 2], tot[size - 1, 2]) == problem.counts(mode, size - 1, 2)
        for rule in RULES:
            turn = make_turn(problem, mode, rule, mode)
            np.testing.assert_array_equal(fast_update(tensor, problem, turn), naive_update(problem, turn))


@pytest.mark.parametrize("name", [name for name in KINDS if "relational" in name])
def test_mirror_images_are_known_everywhere(name: str) -> None:
    """Or one would be held out, and the other would reveal it."""
    tensor, _ = KINDS[name].store(make_problem((4, 5, 5), 3, 1, 0.2, 0.6))
    assert tensor.mirrored == (1, 2)
    assert tensor.caveat
    cells = tensor.split(0.3, np.random.default_rng(0)).cells
    assert set(map(tuple, cells)) == set(map(tuple, cells[:, [0, 2, 1]]))
