"""How observations are stored. All kinds have the same verbs (protocol.py), and nobody asks for a kind."""

from __future__ import annotations

from typing import Any

from tensorm.data.coordinates import is_matrix, read_matrix
from tensorm.data.inputs import is_a
from tensorm.tensors.dense import DenseTensor
from tensorm.tensors.distributed import DaskTensor
from tensorm.tensors.pick import pick_storage
from tensorm.tensors.protocol import GIBBS, GREEDY, METROPOLIS, Rule, Stream, Tensor
from tensorm.tensors.relational import RelationalTensor
from tensorm.tensors.sparse import SparseTensor
from tensorm.tensors.symmetric import SymmetricTensor

__all__ = [
    "GIBBS",
    "GREEDY",
    "METROPOLIS",
    "DaskTensor",
    "DenseTensor",
    "RelationalTensor",
    "Rule",
    "SparseTensor",
    "Stream",
    "SymmetricTensor",
    "Tensor",
    "as_tensor",
    "pick_storage",
]


def as_tensor(X: Any) -> Tensor:
    """Return X if it is a tensor already, or a tensor of its cells."""
    if isinstance(X, Tensor):
        return X
    if is_a(X, "dask.array", "Array") or (is_a(X, "xarray", "DataArray") and X.chunks is not None):
        return DaskTensor.from_array(X)
    if is_a(X, "dask.dataframe", "DataFrame"):
        return DaskTensor.from_table(X)
    return SparseTensor.from_listing(read_matrix(X)) if is_matrix(X) else DenseTensor(X)
