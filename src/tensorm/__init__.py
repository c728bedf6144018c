"""Find interpretable patterns in multi-way yes/no data: Bayesian Boolean tensor decomposition."""

from tensorm import datasets
from tensorm.errors import FileError, InputError
from tensorm.estimator import TensOrMachine, load, resume
from tensorm.holdout import hide, train_test_mask
from tensorm.posterior import Posterior
from tensorm.scores import score_cells
from tensorm.selection import select_components
from tensorm.tensors import DenseTensor, RelationalTensor

__all__ = [
    "DenseTensor",
    "FileError",
    "InputError",
    "Posterior",
    "RelationalTensor",
    "TensOrMachine",
    "__version__",
    "datasets",
    "hide",
    "load",
    "resume",
    "score_cells",
    "select_components",
    "train_test_mask",
]
__version__ = "0.1.0"
