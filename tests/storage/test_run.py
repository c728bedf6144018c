"""The cells of a run come back from its folder, however they were stored; nothing in it leads elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tensorm
from tensorm import (
    DenseTensor,
    FileError,
    InputError,
    RelationalTensor,
    SparseTensor,
    TensOrMachine,
    select_components,
)
from tensorm.cli import main
from tensorm.storage.run import Run, open_run, start_run
from tensorm.tensors import Tensor

RNG = np.random.default_rng(0)
CELLS = RNG.random((5, 5, 5)) < 0.4
SETTINGS: Any = {
    "noise": "asymmetric",
    "n_chains": 1,
    "n_draws": 3,
    "burn_in": 2,
    "random_state": 0,
    "n_jobs": 1,
    "progress": False,
}
X = np.where(RNG.random((4, 5, 6)) < 0.2, np.nan, RNG.random((4, 5, 6)) < 0.4)
MATRIX = RNG.integers(5, size=(4, 5)).astype(float)
TENSORS = {
    "dense": DenseTensor(np.nan_to_num(X)),
    "with missing cells": DenseTensor(X),
    "sparse": SparseTensor(np.argwhere(X == 1), X.shape, missing=np.argwhere(np.isnan(X))),
    "without other cells": SparseTensor(np.argwhere(X == 1), X.shape),
    "listed": SparseTensor(np.argwhere(~np.isnan(X)), X.shape, X[~np.isnan(X)], "missing"),
    "relational": RelationalTensor(MATRIX),
    "some comparisons": RelationalTensor(MATRIX).hold_out(0.3)[0],
}


@pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS)
def test_cells_come_back(tensor: Tensor, tmp_path: Path) -> None:
    start_run(tmp_path, Run({}, 2**64 - 1, tensor))
    assert open_run(tmp_path, []).seed == 2**64 - 1
    again = open_run(tmp_path, []).tensor
    assert (again.storage, again.modes) == (tensor.storage, tensor.modes)
    assert again.digest() == tensor.digest()
    everything = [np.arange(size) for size in tensor.shape]
    np.testing.assert_array_equal(again.read_cells(everything), tensor.read_cells(everything))


WRITTEN = ["chain-0.tensorm", "fit.tensorm", "selection.json", "choice", "report.html", "command.json"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    TensOrMachine(2, **SETTINGS).fit(CELLS, run_dir=folder)
    return folder


@pytest.fixture
def stopped(finished: Path, tmp_path: Path) -> Path:
    """A run in which all but its cells is still to be written."""
    (tmp_path / "run").mkdir()
    shutil.copy(finished / "run.tensorm", tmp_path / "run")
    return tmp_path / "run"


def contents(folder: Path) -> list[tuple[Path, bytes]]:
    return [(path, path.read_bytes() if path.is_file() else b"") for path in sorted(folder.rglob("*"))]


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("name", WRITTEN)
def test_a_folder_from_a_stranger_does_not_lead_out_of_itself(
    name: str, exists: bool, stopped: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    if exists:
        (outside / name).mkdir() if name == "choice" else (outside / name).write_text("mine")
    before = contents(outside)
    (stopped / name).symlink_to(outside / name)
    for use in (
        tensorm.load,
        tensorm.resume,
        lambda run: select_components(CELLS, "mdl", [1], run_dir=run, progress=False),
    ):
        with pytest.raises(
            FileError, match=f"{name} is a link; replace it with the file itself, or delete it"
        ):
            use(stopped)
    assert contents(outside) == before


def test_a_report_is_not_written_through_a_link(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / "report.html").symlink_to(tmp_path / "mine")
    found = CliRunner().invoke(main, ["report", str(tmp_path / "run")])
    assert found.exit_code == 2
    assert "report.html is a link" in found.output
    assert not (tmp_path / "mine").exists()


def test_links_that_the_user_names_are_followed(stopped: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(stopped)
    tensorm.resume(tmp_path / "link", progress=False)
    (tmp_path / "mine.tensorm").symlink_to(stopped / "fit.tensorm")
    assert tensorm.load(tmp_path / "mine.tensorm").n_components_ == 2


def test_a_folder_in_place_of_what_a_killed_run_left(stopped: Path) -> None:
    (stopped / ".chain-0.tensorm.x.part").mkdir()
    tensorm.resume(stopped, progress=False)


def test_other_cells_are_refused_by_a_finished_run(finished: Path) -> None:
    tensorm.resume(finished, CELLS)
    with pytest.raises(InputError, match="X differs from the cells of this run"):
        tensorm.resume(finished, ~CELLS)
