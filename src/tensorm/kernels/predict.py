"""The Boolean product, cell by cell, added up over draws (eq. 7)."""

from __future__ import annotations

from numba import uint64

from tensorm.kernels.compiled import kernel


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
