"""Where chains that choose had got to: kept when they are stopped, and refused if no chain was there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interrupting import CtrlC
from tensorm import FileError, InputError, datasets, select_components
from tensorm.sampler.comparisons import WeighedComparisons
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric
from tensorm.selection.bookmarks import read_snapshot
from tensorm.tensors import DenseTensor

RNG = np.random.default_rng(0).bit_generator.state
X = datasets.simulate((12, 12, 12), rank=2, density=0.3, noise=0.1, random_state=0).observed


def stop(folder: Path, monkeypatch: pytest.MonkeyPatch, method: str, at: int = 10) -> list[Path]:
    """Stop a choice in burn-in, and return the bookmarks that it leaves."""
    with monkeypatch.context() as patch:
        CtrlC(patch, lambda step: step.state.sweep >= at).watch_in("tensorm.estimator.select")
        with pytest.raises(KeyboardInterrupt):
            select_components(X, method, [2, 4], n_repeats=2, n_jobs=2, run_dir=folder)
    return sorted(folder.glob("*-part.json"))


@pytest.mark.parametrize("method", ["occam-published", "cv"])
def test_a_chain_goes_on_where_it_was(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = select_components(X, method, [2, 4], n_repeats=2, n_jobs=2, progress=False)
    assert stop(tmp_path, monkeypatch, method)  # one of the two may have ended
    resumed = select_components(X, method, [2, 4], n_repeats=2, n_jobs=2, run_dir=tmp_path, progress=False)
    assert resumed.to_json() == whole.to_json()


@pytest.mark.parametrize(
    "forged",
    [
        {"members": [[[0]], [[0]], [[12]]]},
        {"members": [[[0]] * 5] * 3},
        {"members": [[[0]], [[0]], [[0], [0]]]},
        {"noise": [0.1, 0.9]},
        {"noise": [0.9]},
        {"density": [0.5, 0.5]},
        {"density": [0.5, 0.5, 2]},
        {"density": [float("nan")] * 3},
        {"density": [[0.5]] * 3},
        {"sweep": -1},
        {"sweep": 1.5},
        {"sweep": 2**32 - 1},
        {"sweep": 10**4},
        {"sweep": 9, "memory": [[], 10, 0, 0, 0]},
        {"memory": [["x"], 1, 0, 0, 0]},
        {"memory": [[], 1, 0]},
        {"memory": [[], 1, 3, 0, 0]},
        {"memory": [[], 1, 1, 2, 0]},
        {"memory": [[0.5, 0.5], 1, 0, 0, 0]},
        {"memory": [[[1, 2]], 1, 0, 0, 0]},
        {"memory": [[float("inf")], 1, 0, 0, 0]},
        {"burnt": [True, True]},
        {"burnt": [11, True]},
        {"burnt": [10, 7]},
        {"confusion": [1, 2, 3]},
        {"confusion": [1, 2, 3, 4]},
        {"searches": [1]},
        {"searches": [1, 0], "rng": {}, "first": [], "removed": []},
        {"searches": [10**9, 0], "rng": RNG, "first": [], "removed": []},
        {"searches": [1, 2], "rng": RNG, "first": [], "removed": []},
        {"searches": [1, 0], "rng": RNG, "first": [[1, float("nan"), 0.0]], "removed": []},
        "nonsense",
    ],
    ids=str,
)
def test_what_no_chain_can_have_left_is_refused(
    forged: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in stop(tmp_path, monkeypatch, "occam"):
        form = json.loads(path.read_text())
        form["result"] = form["result"] | forged if isinstance(forged, dict) else forged
        path.write_text(json.dumps(form))
    with pytest.raises(InputError, match=r"in run_dir is damaged; delete its file to run it again\.$"):
        select_components(X, "occam", [2, 4], n_repeats=2, n_jobs=2, run_dir=tmp_path, progress=False)


NAN = float("nan")


@pytest.mark.parametrize(
    ("method", "measures"),
    [
        ("cv", {"cells": 0.0}),
        ("cv", {"cells": None}),
        ("cv", {"log_likelihood": NAN}),
        ("cv", {"log_likelihood": 0.5}),
        ("cv", {"accuracy": 1e308}),
        ("cv", {"accuracy": "1"}),
        ("cv", {"more": 0.5}),
        ("mdl", {"bits": float("-inf")}),
        ("mdl", {"bits for factors": NAN}),
        ("mdl", {"cells": 5.0}),
        ("cv", [1]),
        ("cv-published", NAN),
        ("cv-published", 1.5),
        ("cv-published", True),
        ("cv-published", "0.5"),
    ],
    ids=str,
)
def test_a_result_that_no_trial_has_is_refused(method: str, measures: Any, tmp_path: Path) -> None:
    few: Any = {"n_repeats": 1, "n_jobs": 1, "run_dir": tmp_path, "progress": False}
    select_components(X[:4, :4, :4], method, [1], **few)
    (path,) = tmp_path.glob("*-1-0.json")
    form = json.loads(path.read_text())
    if method == "cv-published":
        form["result"] = measures
    else:
        known = form["result"]["measures"]
        form["result"]["measures"] = known | measures if isinstance(measures, dict) else measures
    path.write_text(json.dumps(form))
    with pytest.raises(InputError, match=r"in run_dir is damaged; delete its file to run it again\.$"):
        select_components(X[:4, :4, :4], method, [1], **few)


@pytest.mark.parametrize("name", ["result", "trial", "selection"])
def test_a_trial_that_lacks_something_is_refused(name: str, tmp_path: Path) -> None:
    few: Any = {"n_repeats": 1, "n_jobs": 1, "run_dir": tmp_path, "progress": False}
    select_components(X[:4, :4, :4], "mdl", [1], **few)
    (path,) = tmp_path.glob("*-1-0.json")
    form = json.loads(path.read_text())
    del form[name]
    path.write_text(json.dumps(form))
    with pytest.raises(FileError, match="is damaged or belongs to another selection or trial; delete it"):
        select_components(X[:4, :4, :4], "mdl", [1], **few)


def test_a_burn_in_that_is_over_at_once_still_ends_in_a_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in stop(tmp_path, monkeypatch, "posterior")[:1]:
        form = json.loads(path.read_text())
        form["result"]["sweep"] = 2000
        path.write_text(json.dumps(form))
    chosen = select_components(
        X, "posterior", [2, 4], n_repeats=2, n_jobs=2, run_dir=tmp_path, progress=False
    )
    assert chosen.complete


def test_the_weight_of_a_pair_is_that_of_the_model() -> None:
    target = Target(1, WeighedComparisons(share=0.5), LearnedPrior(), np.uint64(0))
    form = {"members": [[[0]]] * 3, "noise": [0.9, 0.5], "searching": False, "density": [0.5] * 3}
    form |= {"sweep": 1, "memory": [[], 0, 0, 0, 0], "burnt": None, "confusion": None}
    cells = DenseTensor(np.ones((2, 2, 2), bool))
    assert read_snapshot(form, cells, target, 1).state.noise == (0.9, 0.5)
    for share in (float("nan"), 1.0, 1e300):
        with pytest.raises(ValueError, match="no chain was here"):
            read_snapshot(form | {"noise": [0.9, share]}, cells, target, 1)


def test_modes_that_share_a_factor_are_marked_alike() -> None:
    target = Target(1, Asymmetric(), LearnedPrior(), np.uint64(0), tied=(1, 2))
    form = {"members": [[[0]], [[1]], [[1]]], "noise": [0.9, 0.1], "searching": False, "density": [0.5] * 3}
    form |= {"sweep": 1, "memory": [[], 0, 0, 0, 0], "burnt": None, "confusion": None}
    cells = DenseTensor(np.ones((2, 2, 2), bool))
    assert read_snapshot(form, cells, target, 1).state.sweep == 1
    with pytest.raises(ValueError, match="no chain was here"):
        read_snapshot(form | {"members": [[[0]], [[1]], [[0]]]}, cells, target, 1)
