"""Find interpretable patterns in multi-way yes/no data: Bayesian Boolean tensor decomposition."""

from tensorm import datasets
from tensorm.errors import InputError
from tensorm.estimator import TensOrMachine
from tensorm.posterior import Posterior
from tensorm.tensors import DenseTensor

__all__ = ["DenseTensor", "InputError", "Posterior", "TensOrMachine", "__version__", "datasets"]
__version__ = "0.1.0"
