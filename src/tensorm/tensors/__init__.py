"""How observations are stored. All kinds offer the same verbs (seam.py); the sampler knows only those."""

from __future__ import annotations

from typing import Any

from tensorm.tensors.dense import DenseTensor
from tensorm.tensors.relational import RelationalTensor
from tensorm.tensors.seam import GIBBS, GREEDY, METROPOLIS, Rule, Stream, Tensor

__all__ = [
    "GIBBS",
    "GREEDY",
    "METROPOLIS",
    "DenseTensor",
    "RelationalTensor",
    "Rule",
    "Stream",
    "Tensor",
    "as_tensor",
]


def as_tensor(X: Any) -> Tensor:
    """Return X if it is a tensor already, or a tensor of its cells."""
    return X if isinstance(X, (DenseTensor, RelationalTensor)) else DenseTensor(X)
