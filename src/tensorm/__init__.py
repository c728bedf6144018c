"""Find interpretable patterns in multi-way yes/no data: Bayesian Boolean tensor decomposition."""

from tensorm import baselines, datasets
from tensorm.errors import ClusterError, FileError, InputError
from tensorm.estimator import TensOrMachine
from tensorm.holdout import hide, hold_out, train_test_mask
from tensorm.loading import load, resume
from tensorm.posterior import Posterior
from tensorm.report import write_report
from tensorm.scores import score_cells
from tensorm.selection import select_components
from tensorm.tensors import DaskTensor, DenseTensor, RelationalTensor, SparseTensor

__all__ = [
    "ClusterError",
    "DaskTensor",
    "DenseTensor",
    "FileError",
    "InputError",
    "Posterior",
    "RelationalTensor",
    "SparseTensor",
    "TensOrMachine",
    "__version__",
    "baselines",
    "datasets",
    "hide",
    "hold_out",
    "load",
    "resume",
    "score_cells",
    "select_components",
    "train_test_mask",
    "write_report",
]
__version__ = "0.1.0"
