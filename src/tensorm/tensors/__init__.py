"""How observations are stored. All kinds of tensors have the same methods (protocol.py)."""

from tensorm.tensors.dense import DenseTensor
from tensorm.tensors.distributed import DaskTensor
from tensorm.tensors.pick import pick_storage
from tensorm.tensors.protocol import GIBBS, GREEDY, METROPOLIS, Rule, Stream, Tensor, Weights
from tensorm.tensors.read import read
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
    "Weights",
    "pick_storage",
    "read",
]
