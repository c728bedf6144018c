"""Every method finds the planted number, bad input is refused, and a stopped selection goes on."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tensorm
from interrupting import CtrlC
from tensorm import FileError, InputError, RelationalTensor, TensOrMachine, datasets, select_components
from tensorm.selection import by_sampling, trials

SIM = datasets.simulate((14, 14, 14), rank=3, density=0.3, noise=0.1, random_state=0)
SMALL = datasets.simulate((10, 10, 10), rank=2, density=0.4, noise=0.05, random_state=0).observed


@pytest.mark.parametrize(
    ("method", "rank"),
    [("posterior", 4), ("posterior", 2), ("occam", 4), ("occam", 2), ("cv", 4), ("mdl", 4), ("mdl", 2)],
)
def test_the_planted_number_is_chosen(method: str, rank: int) -> None:
    X = datasets.simulate((14, 14, 14), rank=rank, density=0.3, noise=0.1, random_state=1).observed
    found = tensorm.select_components(
        X, method=method, candidates=[2, 3, 4, 6], random_state=0, progress=False
    )
    assert found.best == rank
    assert found.reason.startswith(str(rank))
    assert found.reason.endswith(".")


@pytest.mark.parametrize("method", ["posterior", "occam", "cv", "mdl"])
def test_missing_cells_and_other_numbers_of_modes(method: str) -> None:
    sim = datasets.simulate((6, 7, 5, 6), rank=2, density=0.4, noise=0.1, missing=0.2, random_state=0)
    assert select_components(sim.observed, method, [1, 2, 3, 4], progress=False).best == 2


def test_candidates_are_looked_for_where_none_are_given() -> None:
    sim = datasets.simulate((30, 30, 30), rank=14, density=0.2, noise=0.02, random_state=0)
    assert (
        select_components(sim.observed, "occam", progress=False).best == 14
    )  # more than 3/4 of the first 16


def test_auto_fits_the_number_it_chose() -> None:
    model = TensOrMachine(
        "auto", n_chains=2, n_draws=10, random_state=0, noise="asymmetric", progress=False
    ).fit(SIM.observed)
    assert model.n_components_ == model.selection_.best == 3
    assert model.factors_[0].shape == (14, 3)


def test_noise_alone_is_called_so() -> None:
    X = np.random.default_rng(0).integers(0, 2, (8, 8, 8))
    for method in ("posterior", "occam"):
        found = select_components(X, method, progress=False)
        assert found.best == 1
        told = "improves on a constant rate of ones. A fit needs at least one component, so 1 is returned."
        assert told in found.reason


def test_the_largest_candidate_is_remarked_on() -> None:
    for method in ("posterior", "occam", "cv"):
        found = select_components(SMALL, method, [1, 2], progress=False)
        assert "the largest candidate; more may be needed: try larger candidates." in found.reason


def test_the_most_that_are_tried_are_remarked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_sampling, "FIRST_NUMBER", 2)
    monkeypatch.setattr(by_sampling, "LARGEST_NUMBER", 2)
    for method in ("posterior", "occam"):
        found = select_components(SIM.observed, method, progress=False)
        assert found.best == 2
        assert found.reason.endswith("That is the largest number tried, so more components may be needed.")


def test_comparisons_are_known_to_depend_on_each_other() -> None:
    tensor = RelationalTensor(np.random.default_rng(0).random((8, 6)))
    two_rates = TensOrMachine(noise="asymmetric")
    old = select_components(tensor, "occam", [1, 2], estimator=two_rates, progress=False)
    assert "depend on each other" in old.reason
    new = select_components(tensor, "occam", [1, 2], progress=False)
    assert "each had less weight" in new.reason
    assert "depend on each other" not in new.reason


def test_the_choice_does_not_depend_on_threads() -> None:
    one, two = (
        select_components(SMALL, "cv", [2, 3, 4], n_repeats=2, n_jobs=jobs, progress=False) for jobs in (1, 2)
    )
    assert one.table == two.table


def test_every_trial_is_in_the_table() -> None:
    found = select_components(SMALL, "cv", [2, 3], n_repeats=3, progress=False)
    assert [(trial.n_components, trial.repeat) for trial in found.table] == [
        (L, repeat) for repeat in range(3) for L in (2, 3)
    ]
    assert list(found.to_dataframe()["n_components"]) == [2, 3] * 3
    ax = found.plot()
    assert ax.get_xlabel() == "components"


def test_a_selection_goes_on_where_it_stopped(tmp_path, monkeypatch) -> None:
    def select(**options):
        return select_components(
            SMALL, "cv", [2, 3, 4], n_repeats=2, n_jobs=1, run_dir=tmp_path, progress=False, **options
        )

    burn_in, calls = trials.burn_in_from, []

    def count(*args):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(args)
        return burn_in(*args)

    monkeypatch.setattr("tensorm.selection.trials.burn_in_from", count)
    with pytest.raises(KeyboardInterrupt):
        select()
    kept = sorted(path.name for path in tmp_path.glob("cv-*.json"))
    assert len(kept) == 3
    calls.clear()
    resumed = select()
    assert len(calls) == 3
    monkeypatch.setattr("tensorm.selection.trials.burn_in_from", burn_in)
    plain = select_components(SMALL, "cv", [2, 3, 4], n_repeats=2, n_jobs=1, progress=False)
    assert resumed.table == plain.table

    with pytest.raises(FileError, match="a different seed; give another run_dir"):
        select(random_state=5)
    (tmp_path / kept[0]).write_text("{")
    with pytest.raises(FileError, match="delete it to run its trial again"):
        select()


@pytest.mark.parametrize(
    ("method", "phase"),
    [("posterior", "pruning"), ("posterior", "counting"), ("occam", "pruning"), ("cv", "cv"), ("mdl", "mdl")],
)
def test_ctrl_c_leaves_a_choice_or_a_folder_to_go_on_from(method, phase, tmp_path, monkeypatch) -> None:
    def select(**options):
        return select_components(SMALL, method, [2, 3, 4], n_repeats=2, n_jobs=2, **options)

    whole = select(progress=False)
    assert whole.complete
    with monkeypatch.context() as patch:
        CtrlC(patch, lambda step: step.phase == phase and step.done > 1).watch_in("tensorm.estimator.select")
        with pytest.warns(
            RuntimeWarning, match=r"^Stopped by Ctrl-C: the choice of \d components? is based on"
        ):
            part = select()
    assert not part.complete
    assert part.best in (2, 3, 4)
    assert part.reason.endswith("Ctrl-C stopped the choice, so it is based on what had been found by then.")
    with monkeypatch.context() as patch:
        CtrlC(patch, lambda step: step.phase == phase and step.done > 1).watch_in("tensorm.estimator.select")
        with pytest.raises(KeyboardInterrupt):
            select(run_dir=tmp_path)
    assert select(run_dir=tmp_path, progress=False).table == whole.table


@pytest.mark.parametrize("method", ["posterior", "occam", "cv", "mdl"])
def test_ctrl_c_before_anything_was_found_is_raised(method, monkeypatch) -> None:
    press = CtrlC(monkeypatch, lambda step: step.phase in ("burn-in", "cv", "mdl"))
    press.watch_in("tensorm.estimator.select")
    with pytest.raises(KeyboardInterrupt):
        select_components(SIM.observed, method, [2, 3, 4], n_jobs=2)


@pytest.mark.parametrize("method", ["posterior", "occam", "mdl"])
def test_trials_are_remembered(method: str, tmp_path) -> None:
    first, second = (
        select_components(SMALL, method, [2, 3, 4], run_dir=tmp_path, progress=False) for _ in range(2)
    )
    assert first.table == second.table
    names = {path.name for path in tmp_path.iterdir()}
    assert len(names) > 2
    assert json.loads((tmp_path / "selection.json").read_text())["method"] == method


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": []}, "candidates has 0 numbers; give increasing numbers"),
        ({"candidates": [3, 2]}, "candidates has 2 after 3; give increasing"),
        ({"candidates": [2, 2]}, "candidates has 2 after 2"),
        ({"candidates": [0, 1]}, r"candidates\[0\] is 0; give an integer of at least 1"),
        ({"candidates": [1.5]}, r"candidates\[0\] is 1.5"),
        ({"candidates": "12"}, "candidates is '12'; give increasing"),
        ({"candidates": 5}, "candidates is 5; give increasing"),
        ({"candidates": [1, 10**6]}, r"up to 1,000,000, but X has only .* cells that are 1"),
        ({"X": np.zeros((3, 3)), "candidates": [1, 2]}, "X has only 0 cells that are 1"),
        ({"method": "elbow"}, "method is 'elbow'; choose 'auto', 'posterior', "),
        ({"method": "cv", "scoring": "auc"}, "scoring is 'auc'; choose"),
        ({"method": "cv", "test_size": 1.0}, "test_size is 1.0; give a number above 0 and below 1"),
        ({"method": "cv", "symmetric": (0, 7)}, "Unknown mode 7 in symmetric; the modes are"),
        ({"method": "occam", "symmetric": (0, 7)}, "Unknown mode 7 in symmetric; the modes are"),
        ({"n_repeats": 0}, "n_repeats is 0; give an integer of at least 1"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"random_state": "x"}, "random_state is 'x'"),
        ({"estimator": 5}, "estimator is 5; give a TensOrMachine"),
        ({"X": np.full((3, 3), np.nan)}, "X has no observed cell"),
    ],
)
def test_bad_input_is_named(options, message) -> None:
    with pytest.raises(InputError, match=message) as caught:
        select_components(options.pop("X", SIM.observed), progress=False, **options)
    assert str(caught.value).endswith(".")
