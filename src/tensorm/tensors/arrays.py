"""From arrays back to tensors: what ``Tensor.arrays`` returned, checked, as anybody may have written it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from tensorm.errors import InputError
from tensorm.tensors.dense import DenseTensor
from tensorm.tensors.protocol import Tensor
from tensorm.tensors.relational import RelationalTensor
from tensorm.tensors.sparse import SparseTensor

NAMES = (  # of all arrays that a tensor may have
    *("ones", "observed"),
    *("one_cells", "missing_cells", "zero_cells"),
    *("ranks", "part", "object_keys", "keys", "other_keys"),
)
KINDS = (DenseTensor, SparseTensor, RelationalTensor)  # each is told by the array it cannot do without


def from_arrays(arrays: Mapping[str, npt.NDArray[Any]], shape: tuple[int, ...]) -> Tensor:
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
