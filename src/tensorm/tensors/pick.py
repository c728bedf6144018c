"""Dense or sparse: the storage in which a sweep takes less time, by an estimate (docs/performance.md).

Both give the same draws to the bit, so the choice is one of time and memory only.
"""

from __future__ import annotations

import math

import numpy as np

from tensorm.data.coordinates import Cells
from tensorm.tensors.dense import DenseTensor
from tensorm.tensors.memory import available_memory
from tensorm.tensors.protocol import Tensor
from tensorm.tensors.sparse import SparseTensor

SMALL, CROSSING = 40_000_000, 1 / 2500  # cells, and share of them listed, below which dense and sparse win
MATRIX_SMALL, MATRIX_CROSSING = 2**22, 1 / 4000  # the same with two modes, where the share is per component


def pick_storage(tensor: Tensor, n_components: int = 10) -> Tensor:
    """Return the same cells in the storage in which sweeps are faster, with about so many components."""
    cells, listed = math.prod(tensor.shape), n_listed(tensor)
    matrix = len(tensor.shape) == 2
    small, share = (MATRIX_SMALL, MATRIX_CROSSING * n_components) if matrix else (SMALL, CROSSING)
    fits = 2 * cells // 8 < available_memory() // 4  # packed twice
    if isinstance(tensor, SparseTensor):
        return to_dense(tensor) if fits and (cells < small or listed > share * cells) else tensor
    if isinstance(tensor, DenseTensor) and cells >= small and listed < share * cells:
        return to_sparse(tensor)
    return tensor


def n_listed(tensor: Tensor) -> int:
    """Return how many cells a sparse tensor would list: ones and missing cells, or all observed ones."""
    missing = math.prod(tensor.shape) - tensor.n_observed
    return min(tensor.n_ones + missing, tensor.n_observed)


def to_dense(tensor: SparseTensor) -> DenseTensor:
    """Return the same cells, each a bit."""
    dense = tensor.take([np.arange(size) for size in tensor.shape])
    dense.modes, dense.labels = tensor.modes, tensor.labels
    return dense


def to_sparse(tensor: Tensor) -> SparseTensor:
    """Return the same cells, ones listed with the missing cells or with the zeros, whichever are fewer."""
    if isinstance(tensor, SparseTensor):
        return tensor
    missing = math.prod(tensor.shape) - tensor.n_observed
    unlisted = "zero" if tensor.n_ones + missing <= tensor.n_observed else "missing"
    cells = Cells.of(unlisted, *tensor.listed_keys(unlisted))
    return SparseTensor.from_cells(cells, tensor.shape, unlisted, tensor.modes, tensor.labels)
