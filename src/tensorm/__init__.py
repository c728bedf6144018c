"""Find interpretable patterns in multi-way yes/no data: Bayesian Boolean tensor decomposition."""

import gc
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tensorm.data.version import __version__

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
    "compare_fits",
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

if TYPE_CHECKING:
    from tensorm import baselines, datasets
    from tensorm.errors import ClusterError, FileError, InputError
    from tensorm.estimator.load import load, resume
    from tensorm.estimator.machine import TensOrMachine, write_report
    from tensorm.estimator.select import select_components
    from tensorm.posterior.draws import Posterior
    from tensorm.posterior.scores import score_cells
    from tensorm.report.comparison import compare_fits
    from tensorm.tensors import DaskTensor, DenseTensor, RelationalTensor, SparseTensor, read
    from tensorm.tensors.holdout import hide, hold_out, train_test_mask
else:
    HOMES = {
        "errors": ("ClusterError", "FileError", "InputError"),
        "estimator.load": ("load", "resume"),
        "estimator.machine": ("TensOrMachine", "write_report"),
        "estimator.select": ("select_components",),
        "posterior.draws": ("Posterior",),
        "posterior.scores": ("score_cells",),
        "report.comparison": ("compare_fits",),
        "tensors": ("DaskTensor", "DenseTensor", "RelationalTensor", "SparseTensor", "read"),
        "tensors.holdout": ("hide", "hold_out", "train_test_mask"),
    }
    HOME_OF = {name: f"tensorm.{home}" for home, names in HOMES.items() for name in names}

    def __getattr__(name):
        """Import a name, or a room, when it is first used: scikit-learn and numba take more than a second."""
        if name in HOME_OF:
            globals()[name] = getattr(_import(HOME_OF[name]), name)
            return globals()[name]
        if name.startswith("_") or find_spec(f"tensorm.{name}") is None:
            raise AttributeError(f"module 'tensorm' has no attribute {name!r}")
        return _import(f"tensorm.{name}")

    def _import(home):
        collects = gc.isenabled()
        gc.disable()  # imports leave no garbage, and looking for it takes a fifth of their time
        try:
            return import_module(home)
        finally:
            if collects:
                gc.enable()

    def __dir__():
        return sorted({*globals(), *__all__})
