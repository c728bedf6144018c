"""Every check in an environment of its own, on each Python; ``nox -s release`` rehearses a release."""

import shutil
import sys
from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
QUIET = {"MPLBACKEND": "Agg"}
# What a system lacks: hostile files are tried within the limits of Linux on memory and rights. Windows has no
# pipes, permissions of POSIX, or signals that one process sends to another.
ELSEWHERE = {"darwin": ["tests/hostile"]}
ELSEWHERE["win32"] = [
    *ELSEWHERE["darwin"],
    "tests/data/test_memory.py",
    "tests/estimator/test_interrupted.py",
    "tests/kernels/test_stored.py",
    "tests/sampler/test_chains.py",
    "tests/selection/test_bookmarks.py",
    "tests/selection/test_noise.py",
    "tests/storage/test_files.py",
    "tests/storage/test_hostile.py",
    "tests/storage/test_owner.py",
    "tests/storage/test_run.py",
]

nox.options.sessions = ["tests", "checks"]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests."""
    session.install("-e", ".[dev,plot]")
    ours = [f"--ignore={path}" for path in ELSEWHERE[sys.platform]] if sys.platform in ELSEWHERE else []
    session.run("pytest", *ours, *(session.posargs or ["-n", "2", "--dist", "worksteal"]), env=QUIET)


@nox.session(python=["3.11", "3.13"])
def ecosystem(session: nox.Session) -> None:
    """Run the page on scanpy, ArviZ and xarray with the versions that pip installs today."""
    session.install("-e", ".[plot,bio]", "scanpy", "arviz", "pytest", "distributed", "zarr")
    ours = "ignore:", "default::UserWarning:tensorm"  # these packages warn of each other
    filters = [option for text in ours for option in ("-W", text)]
    session.run("pytest", *filters, "tests/test_pages.py", "-k", "scanpy", env=QUIET)


@nox.session
def checks(session: nox.Session) -> None:
    """Look at layout, types, import rules and workflows."""
    session.install("-e", ".[dev,plot]", "check-jsonschema")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("mypy", "--strict", "--cache-dir", ".mypy_cache/strict", "tests/typed_user.py")
    session.run("lint-imports")
    workflows = map(str, Path(".github/workflows").glob("*.yml"))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    if shutil.which("actionlint"):  # a program of its own, which the workflow of the tests has
        session.run("actionlint", external=True)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the pages; a link that leads nowhere is an error."""
    session.install("-e", ".[docs]")
    session.run("mkdocs", "build", "--strict", "--quiet", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run the tests of the core with the oldest versions that pyproject.toml allows."""
    session.install("uv")
    session.run("uv", "pip", "install", "--resolution", "lowest-direct", "-e", ".")
    session.run("uv", "pip", "install", *NEEDED_BY_CORE)
    session.run("pytest", *(session.posargs or ["-n", "2", *CORE]), env=QUIET)


@nox.session
def newest(session: nox.Session) -> None:
    """Run the tests of the core with versions that are not released yet, numba's among them."""
    session.install("-e", ".[dev,plot]")
    session.install("--upgrade", "--pre", "numba", "numpy", "scipy", "scikit-learn")
    untested = "ignore:tensorm has not been tested:RuntimeWarning"
    session.run("pytest", "-n", "2", "-W", untested, *(session.posargs or CORE), env=QUIET)


PACKAGED = ["tests/test_package.py", "tests/data", "tests/datasets"]
CORE = ["tests/kernels", "tests/tensors", "tests/sampler", "tests/contract"]
NEEDED_BY_CORE = [
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "matplotlib",
    "dask[array,dataframe]",
    "distributed",
]
NEEDED_BY_CORE += ["zarr", "polars", "pyarrow", "sparse", "openpyxl"]


@nox.session
def coverage(session: nox.Session) -> None:
    """Measure which lines the tests run; kernels are compiled, so they are left out."""
    session.install("-e", ".[dev,plot]", "pytest-cov")
    session.run("pytest", "-n", "2", "--cov=tensorm", "--cov-report=xml", "--cov-report=", env=QUIET)
    with open("coverage.md", "w", encoding="utf-8") as summary:
        session.run("coverage", "report", "--format=markdown", stdout=summary)
    session.run("coverage", "report", "--fail-under=95")


@nox.session
def benchmarks(session: nox.Session) -> None:
    """See that the benchmarks start, and run those parts of them that tests use."""
    session.install("-e", ".[dev,plot]")
    for path in sorted(Path("benchmarks").glob("[a-z]*.py")):
        session.run("python", "-m", f"benchmarks.{path.stem}", "--help", silent=True)
    session.run("pytest", "tests/test_accuracy.py", "tests/sampler/test_calibration.py", env=QUIET)


@nox.session
def package(session: nox.Session) -> None:
    """Build wheel and sdist, look at what is in them, and use the wheel without the sources.

    ``--tag=v1.2.3`` also checks that this is the version that is built. ``--quick`` leaves out the tests.
    """
    session.install("build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", "dist", silent=True)
    (wheel,), (sdist,) = (list(Path("dist").resolve().glob(ending)) for ending in ("*.whl", "*.tar.gz"))
    session.run("twine", "check", "--strict", str(wheel), str(sdist))
    tags = [argument for argument in session.posargs if argument.startswith("--tag=")]
    session.run("python", "packaging/check_dist.py", "dist", *tags)
    session.run("python", "-m", "venv", "--clear", str(Path(session.create_tmp()) / "fresh"))
    folder = Path(session.create_tmp()).resolve()
    python = folder / "fresh" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    session.run(str(python), "-m", "pip", "install", "-qq", str(wheel), external=True)
    with session.chdir(folder):
        session.run(str(python), "-m", "tensorm", "demo", "--out", "demo", env=QUIET, external=True)
    if "--quick" not in session.posargs:
        session.run(str(python), "-m", "pip", "install", "-qq", f"{wheel}[dev,plot]", external=True)
        unpacked = folder / sdist.name.removesuffix(".tar.gz")
        shutil.rmtree(unpacked, ignore_errors=True)
        shutil.unpack_archive(sdist, folder, filter="data")
        shutil.rmtree(unpacked / "src")  # so that the tests of the sdist meet the wheel
        with session.chdir(unpacked):
            session.run(str(python), "-m", "pytest", "-n", "2", *PACKAGED, env=QUIET, external=True)


@nox.session
def release(session: nox.Session) -> None:
    """Rehearse everything but the upload."""
    for name in ("checks", "docs", "package"):
        session.notify(name)
