"""Which kind of tensor: the one whose arrays are given, or the one in which a sweep takes less time.

Dense and sparse tensors give the same draws to the bit, so the choice between them is one of time, as
estimated (docs/performance.md), and memory only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tensorm.data.arrays import Array
from tensorm.data.coordinates import CellKeys
from tensorm.data.memory import available_memory
from tensorm.errors import InputError
from tensorm.tensors.dense import DenseTensor
from tensorm.tensors.protocol import Tensor
from tensorm.tensors.relational import RelationalTensor
from tensorm.tensors.sparse import SparseTensor
from tensorm.tensors.symmetric import SymmetricTensor

SMALL = 40_000_000  # cells below which dense is faster
CROSSING = 1 / 2500  # share of listed cells below which sparse is faster
MATRIX_SMALL, MATRIX_CROSSING = 2**22, 1 / 4000  # the same with two modes, where the share is per component

ARRAY_NAMES = (  # of all arrays that a tensor may have
    *("ones", "observed"),
    *("one_cells", "missing_cells", "zero_cells"),
    *("ranks", "part", "object_keys", "keys", "other_keys"),
)
KINDS = (DenseTensor, SparseTensor, RelationalTensor)  # each is recognised by the array named in ESSENTIAL


def from_arrays(arrays: Mapping[str, Array], shape: tuple[int, ...]) -> Tensor:
    """Return the tensor of this shape whose ``arrays`` these are; its modes have no names or labels.

    Raises
    ------
    InputError
        When they are not the arrays of a tensor of this shape; the message says why, without a full stop.
    """
    for kind in KINDS:
        if kind.ESSENTIAL in arrays:
            return kind.from_arrays(arrays, shape)
    raise InputError("it has no cells")


def pick_storage(tensor: Tensor, n_components: int = 10) -> Tensor:
    """Return the same cells in the storage in which sweeps with about ``n_components`` are faster."""
    if isinstance(tensor, SymmetricTensor):
        return tensor.around(pick_storage(tensor.tensor, n_components))
    cells = math.prod(tensor.shape)
    missing = cells - tensor.n_observed
    listed = min(tensor.n_ones + missing, tensor.n_observed)  # what a sparse tensor would list
    matrix = len(tensor.shape) == 2
    small, share = (MATRIX_SMALL, MATRIX_CROSSING * n_components) if matrix else (SMALL, CROSSING)
    fits = 2 * cells // 8 < available_memory() // 4  # packed twice
    if isinstance(tensor, SparseTensor):
        return to_dense(tensor) if fits and (cells < small or listed > share * cells) else tensor
    if isinstance(tensor, DenseTensor) and cells >= small and listed < share * cells:
        return to_sparse(tensor)
    return tensor


def note_storage(given: Tensor, stored: Tensor) -> str:
    """Return a sentence on how cells are stored, if a user might ask: not where they are dense anyway."""
    if given.storage == stored.storage == DenseTensor.storage:
        return ""
    ones = f"{stored.n_ones:,} ones among {stored.n_observed:,} observed cells"
    return f"Cells are stored as a {stored.storage} tensor: {ones}."


def to_dense(tensor: SparseTensor) -> DenseTensor:
    """Return the same cells, each a bit."""
    return tensor._take([np.arange(size) for size in tensor.shape])


def to_sparse(tensor: Tensor) -> SparseTensor:
    """Return the same cells, ones listed with the missing cells or with the zeros, whichever are fewer."""
    if isinstance(tensor, SparseTensor):
        return tensor
    missing = math.prod(tensor.shape) - tensor.n_observed
    unlisted = "zero" if tensor.n_ones + missing <= tensor.n_observed else "missing"
    cells = CellKeys.of(unlisted, *tensor.listed_keys(unlisted))
    return SparseTensor.from_cells(cells, tensor.shape, unlisted, tensor.names)
