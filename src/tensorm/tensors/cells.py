"""Some cells of a tensor as a plain array, to be looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tensorm.tensors.protocol import Tensor

MISSING = -1


def read_cells(tensor: Tensor, indices: Sequence[npt.NDArray[np.intp]]) -> npt.NDArray[np.int8]:
    """Return the cells with these indices along each mode: 0, 1, and -1 where missing."""
    cells = np.empty([len(index) for index in indices], np.int8)
    for where, ones, observed in tensor.take(indices).blocks():
        cells[where] = np.where(observed, ones, MISSING)
    return cells
