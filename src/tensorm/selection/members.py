"""Components as lists of members, as JSON holds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorm.tensors.bits import Words, pack, unpack

Members = list[list[list[int]]]  # for each mode, for each component, its indices


def to_members(factors: Sequence[Words], n_components: int) -> Members:
    """Return the members of each component in each mode."""
    return [
        [np.flatnonzero(column).tolist() for column in unpack(masks, n_components).T] for masks in factors
    ]


def to_masks(members: Members, shape: Sequence[int]) -> tuple[Words, ...]:
    """Undo ``to_members``."""
    factors = []
    for columns, size in zip(members, shape, strict=True):
        bits = np.zeros((size, len(columns)), np.bool_)
        for column, indices in enumerate(columns):
            bits[indices, column] = True
        factors.append(pack(bits))
    return tuple(factors)
