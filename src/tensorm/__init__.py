"""Find interpretable patterns in multi-way yes/no data: Bayesian Boolean tensor decomposition."""

from tensorm import baselines, datasets
from tensorm.errors import ClusterError, FileError, InputError
from tensorm.estimator.load import load, resume
from tensorm.estimator.machine import TensOrMachine
from tensorm.estimator.select import select_components
from tensorm.posterior.draws import Posterior
from tensorm.posterior.scores import score_cells
from tensorm.tensors import DaskTensor, DenseTensor, RelationalTensor, SparseTensor, read
from tensorm.tensors.holdout import hide, hold_out, train_test_mask

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
    "read",
    "resume",
    "score_cells",
    "select_components",
    "train_test_mask",
    "write_report",
]
__version__ = "0.1.0"

write_report = TensOrMachine.report
"""``TensOrMachine.report`` as a function: ``write_report(model, path, ...)``."""
