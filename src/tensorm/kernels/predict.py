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


LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # together ln 2, beyond 53 bits
ENOUGH = 700.0  # beyond which exp(-x) is no longer told from 0


@inlined
def exp_minus(x):
    """exp(-x) of x >= 0 but for the last bits; unlike the library's, of several numbers at once."""
    x = min(x, ENOUGH)
    k = np.floor(0.5 - x * LOG2_E)
    r = (-x - k * LN2_HIGH) - k * LN2_LOW  # exp(-x) = 2^k exp(r), |r| <= ln(2) / 2
    p = 1 / 479001600  # Taylor's series, Horner's scheme
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 1 / 2
    p = p * r + 1
    p = p * r + 1
    return p * np.int64((np.int64(k) + 1023) << 52).view(np.float64)


@kernel
def add_ranked(total, row_masks, column_masks, given, weight):
    """Add `weight` times P(x = 1) to total[r, t] where the strongest component, the first, decides.

    What is given are the rates of rows and columns, whose product is that of a cell without components, and
    the probability of a zero by component, then without any.
    """
    row_rates, column_rates, zero = given
    none, width = zero.shape[0] - 1, column_masks.shape[0]
    decided = new(width, np.float64)
    for r in range(row_masks.shape[0]):
        for t in range(width):
            decided[t] = zero[first_shared(row_masks[r], column_masks[t], none)]
        rate = row_rates[r]
        for t in range(width):
            total[r, t] += weight * (1 - decided[t] * exp_minus(rate * column_rates[t]))
