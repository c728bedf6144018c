"""What importing the package brings along, and what it offers."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import tensorm

MODULES = [module.name for module in pkgutil.walk_packages(tensorm.__path__, "tensorm.")]


def loaded_by(code: str) -> set[str]:
    """The packages that a fresh interpreter holds after this code."""
    code = f"import sys; {code}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_using_it_brings_no_heavy_packages() -> None:
    """scikit-learn itself loads pandas where there is one; nothing of that kind may come with tensorm."""
    added = loaded_by("from tensorm import *") - loaded_by("import numba, sklearn.base")
    heavy = {"altair", "arviz_base", "arviz_stats", "dask", "distributed", "h5netcdf", "h5py", "matplotlib"}
    assert not added & (heavy | {"pandas", "polars", "pyarrow", "xarray", "pooch", "anndata"})
    assert "tensorm" in added


@pytest.mark.parametrize("code", ["import tensorm", "from tensorm.cli import main"])
def test_nothing_is_loaded_before_it_is_used(code: str) -> None:
    """As `tensorm --version` does; numpy alone takes a tenth of a second, scikit-learn more than one."""
    assert not loaded_by(code) & {"numpy", "scipy", "numba", "sklearn", "narwhals"}


def test_reading_a_table_loads_neither_scipy_nor_a_kernel(tmp_path: Path) -> None:
    """Both are for fits; numba loads scipy with the first kernel, and that takes as long as many a table."""
    file = tmp_path / "met.csv"
    file.write_text("hour,person,met\n9,ann,bob\n10,bob,cleo\n")
    told = "print({'scipy.special', 'scipy.linalg'} & {*sys.modules})"
    code = f"import sys, tensorm; X = tensorm.read({str(file)!r}); {told}; X.nbytes; {told}"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    before, after = done.stdout.splitlines()
    assert before == "set()"
    assert "scipy.linalg" in after


def test_public_names() -> None:
    assert {"TensOrMachine", "DenseTensor", "InputError", "Posterior", "datasets"} <= set(tensorm.__all__)
    for name in tensorm.__all__:
        assert getattr(tensorm, name).__doc__, name
    namespace: dict[str, object] = {}
    exec("from tensorm import *", namespace)
    assert set(tensorm.__all__) <= set(namespace)
    assert set(tensorm.__all__) <= set(dir(tensorm))


def test_rooms_can_be_reached_from_the_package_and_nothing_else() -> None:
    """In an interpreter that has imported no room."""
    code = "import tensorm; tensorm.report.describe; tensorm.nothing"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "AttributeError: module 'tensorm' has no attribute 'nothing'"


def test_the_version_is_the_installed_one() -> None:
    assert tensorm.__version__ == importlib.metadata.version("tensorm")


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tensorm"):
            raise
        pytest.skip(f"needs {error.name}, an extra")
    assert (module.__doc__ or "").strip()
