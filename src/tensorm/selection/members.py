"""Components as lists of members, as JSON holds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorm.tensors.factors import Factors

Members = list[list[list[int]]]  # for each mode, for each component, its indices


def to_members(factors: Factors) -> Members:
    """Return the members of each component in each mode."""
    return [[np.flatnonzero(column).tolist() for column in bits.T] for bits in factors.bits()]


def to_factors(members: Members, shape: Sequence[int]) -> Factors:
    """Undo ``to_members``."""
    factors = []
    for columns, size in zip(members, shape, strict=True):
        bits = np.zeros((size, len(columns)), np.bool_)
        for column, indices in enumerate(columns):
            bits[indices, column] = True
        factors.append(bits)
    return Factors.from_bits(factors)
