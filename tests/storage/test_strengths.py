"""Fits and checkpoints with strengths, forged with right checksums: refused before a kernel sees them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge
import tensorm
from tensorm import FileError, TensOrMachine

SETTINGS: Any = {"n_chains": 3, "n_draws": 4, "burn_in": 4, "random_state": 3, "progress": False}
L, SHAPE = 2, (3, 4, 4)
PLACES = {  # of numbers in a row, by the background
    "activity": {"strength": 0, "typical": 2, "spread": 3, "rate": 4, "evenness": 5, "activity": 8},
    "constant": {"strength": 0, "typical": 2, "spread": 3, "background": 4},
}
WRONG = {
    "strength": (0.0, 1.0, -0.5, 1.5),
    "typical": (0.0, 1.0),
    "spread": (0.0, -1.0, 1.5),
    "background": (0.0, 1.0, 2.0),
    "rate": (0.0, -1.0, 30.0, 1e-12),
    "evenness": (0.0, 1e9),
    "activity": (0.0, -1.0, 1e-9, 1e4),
}
FORGED = [
    (background, name, value)
    for background, places in PLACES.items()
    for name in places
    for value in (*WRONG[name], np.nan, np.inf)
]


@pytest.fixture(scope="module", params=list(PLACES))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The folder of a finished run whose modes 1 and 2 share a factor."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random(SHAPE) < 0.5, 1)
    X = np.where(np.eye(4), np.nan, upper | upper.swapaxes(1, 2))
    folder = tmp_path_factory.mktemp("runs") / request.param
    settings = SETTINGS | {"noise": "strengths", "background": request.param, "symmetric": (1, 2)}
    TensOrMachine(L, **settings).fit(X, run_dir=folder)
    return request.param, folder


def forge_copy(folder: Path, copy: Path, name: str, path: str, array: Any) -> None:
    """Copy a run with another array in one of its files."""
    shutil.copytree(folder, copy)
    parts = forge.Parts((copy / name).read_bytes())
    parts.write(path, array)
    (copy / name).write_bytes(parts.join())
    if name != "fit.tensorm":
        (copy / "fit.tensorm").unlink()


def read(folder: Path, name: str, path: str) -> Any:
    return forge.Parts((folder / name).read_bytes()).read(path)


@pytest.mark.parametrize(
    ("file", "array"),
    [
        ("fit.tensorm", "chain_1/noise"),
        ("chain-1.tensorm", "state_noise"),
        ("chain-1.tensorm", "draws/noise"),
    ],
)
def test_no_parameter_outside_its_bounds(
    run: tuple[str, Path], file: str, array: str, tmp_path: Path
) -> None:
    background, folder = run
    for n, (_, name, value) in enumerate(case for case in FORGED if case[0] == background):
        numbers = read(folder, file, array)
        numbers[..., PLACES[background][name]] = value
        forge_copy(folder, tmp_path / str(n), file, array, numbers)
        with pytest.raises(FileError, match="noise contains numbers for"):
            tensorm.resume(tmp_path / str(n), progress=False)


@pytest.mark.parametrize(
    ("file", "array"),
    [
        ("fit.tensorm", "chain_1/noise"),
        ("chain-1.tensorm", "state_noise"),
        ("chain-1.tensorm", "draws/noise"),
    ],
)
def test_as_many_parameters_as_components_and_indices(
    run: tuple[str, Path], file: str, array: str, tmp_path: Path
) -> None:
    _, folder = run
    numbers = read(folder, file, array)
    for n, wrong in enumerate((numbers[..., 1:], np.repeat(numbers, 2, -1), numbers[..., None])):
        forge_copy(folder, tmp_path / str(n), file, array, wrong)
        with pytest.raises(FileError, match=r"noise' has shape"):
            tensorm.resume(tmp_path / str(n), progress=False)


@pytest.mark.parametrize(
    ("array", "numbers", "why"),
    [
        ("weights", [-0.5, 0.5, 1.0], "shares that add up to 1"),
        ("weights", [np.nan, 0.5, 0.5], "shares that add up to 1"),
        ("weights", [0.5, 0.5, 0.5], "shares that add up to 1"),
        ("weights", [0.5, 0.5], "has shape"),
        ("explanations", [0, 2, 2], "not numbered from 0"),
        ("explanations", [1, 1, 2], "not numbered from 0"),
    ],
)
def test_weights_of_chains(
    run: tuple[str, Path], array: str, numbers: list[float], why: str, tmp_path: Path
) -> None:
    given = np.array(numbers, np.int64 if array == "explanations" else np.float64)
    forge_copy(run[1], tmp_path / "copy", "fit.tensorm", array, given)
    with pytest.raises(FileError, match=why):
        tensorm.load(tmp_path / "copy")


def test_modes_that_share_a_factor(run: tuple[str, Path], tmp_path: Path) -> None:
    moves = read(run[1], "fit.tensorm", "chain_0/moves_2")
    moves[1:] ^= 1
    forge_copy(run[1], tmp_path / "copy", "fit.tensorm", "chain_0/moves_2", moves)
    with pytest.raises(FileError, match="modes 1 and 2 do not share a factor"):
        tensorm.load(tmp_path / "copy")


@pytest.mark.parametrize(
    ("entry", "value", "why"),
    [
        ("burn_in", 9, "burn_in is 9"),
        ("burn_in", 0, "burn_in is 0, not 4"),
        ("burn_in", -1, "sweep is 8"),
        ("sweep", 9, "sweep is 9"),
        ("sweep", 7, "there are 4 draws after 7 sweeps, with burn-in 4"),
    ],
)
def test_as_many_draws_as_sweeps_after_burn_in(
    run: tuple[str, Path], entry: str, value: int, why: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run[1], copy)
    (copy / "fit.tensorm").unlink()
    parts = forge.Parts((copy / "chain-0.tensorm").read_bytes())
    parts.about[entry] = value
    (copy / "chain-0.tensorm").write_bytes(parts.join())
    with pytest.raises(FileError, match=why):
        tensorm.resume(copy, progress=False)
