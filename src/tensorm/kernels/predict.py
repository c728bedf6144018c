"""The Boolean product, or who decides a cell, cell by cell, added up over draws (eq. 7)."""

from __future__ import annotations

import numpy as np
from numba import uint64

from tensorm.kernels.arrays import new
from tensorm.kernels.compiled import inlined, kernel
from tensorm.kernels.vectors import lowest_bit


@kernel
def add_product(total, row_masks, column_masks, weight):
    """Add `weight` to total[r, t] wherever a component holds row r and column t."""
    for r in range(row_masks.shape[0]):
        some = uint64(0)
        for m in range(row_masks.shape[1]):
            some |= row_masks[r, m]
        if some == 0:
            continue
        for t in range(column_masks.shape[0]):
            shared = uint64(0)
            for m in range(row_masks.shape[1]):
                shared |= row_masks[r, m] & column_masks[t, m]
            total[r, t] += weight if shared else 0.0


@inlined
def first_shared(mask, other, none):
    """The first component of two masks, or `none`."""
    for m in range(mask.shape[0]):
        shared = mask[m] & other[m]
        if shared:
            return (m << 6) + lowest_bit(shared)
    return none


@kernel
def find_first(masks, none):
    """The first component of each mask, or `none`."""
    found = new(masks.shape[0], np.int64)
    for n in range(masks.shape[0]):
        found[n] = first_shared(masks[n], masks[n], none)
    return found


@kernel
def add_ranked(total, row_masks, column_masks, given, weight):
    """Add `weight` times P(x = 1) to total[r, t] where the strongest component, the first, decides.

    What is given are the rates of rows and columns, whose product is that of a cell without components, and
    the probability of a zero by component, then without any.
    """
    row_rates, column_rates, zero = given
    none = zero.shape[0] - 1
    for r in range(row_masks.shape[0]):
        for t in range(column_masks.shape[0]):
            held = first_shared(row_masks[r], column_masks[t], none)
            total[r, t] += weight * (1 - zero[held] * np.exp(-row_rates[r] * column_rates[t]))
