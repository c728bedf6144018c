"""How observations are stored. All kinds of tensors have the same methods.

protocol.py lists them, and says how to add a kind: a file such as dense.py, sparse.py or relational.py, its
kernels in the room of that name, and for components with strengths a class such as those of dense_ranked.py.
Tensors around other tensors are cached.py, symmetric.py and compared.py; sharded.py joins tensors in several
places, and distributed.py puts these on the workers of a cluster.
"""

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
