"""How observations are stored. All kinds offer the same verbs (seam.py); the sampler knows only those."""

from __future__ import annotations

from typing import Any

from tensorm.coordinates import is_matrix, read_matrix
from tensorm.tensors.dense import DenseTensor
from tensorm.tensors.mirrored import MirroredTensor
from tensorm.tensors.pick import pick_storage
from tensorm.tensors.relational import RelationalTensor
from tensorm.tensors.seam import GIBBS, GREEDY, METROPOLIS, Rule, Stream, Tensor
from tensorm.tensors.sparse import SparseTensor

__all__ = [
    "GIBBS",
    "GREEDY",
    "METROPOLIS",
    "DenseTensor",
    "MirroredTensor",
    "RelationalTensor",
    "Rule",
    "SparseTensor",
    "Stream",
    "Tensor",
    "as_tensor",
    "pick_storage",
]


def as_tensor(X: Any) -> Tensor:
    """Return X if it is a tensor already, or a tensor of its cells."""
    if isinstance(X, (DenseTensor, MirroredTensor, RelationalTensor, SparseTensor)):
        return X
    return SparseTensor.from_listing(read_matrix(X)) if is_matrix(X) else DenseTensor(X)
