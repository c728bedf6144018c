"""The paper's own algorithm: where it starts, how lambda moves, what pruning leaves, which accuracy wins."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from definitions import noise_map
from tensorm import FileError, InputError, TensOrMachine, datasets, load, resume, select_components
from tensorm.estimator.plan import make_plan
from tensorm.sampler.burnin import BurnIn
from tensorm.sampler.sample import sample
from tensorm.selection.published import distinct
from tensorm.tensors import DenseTensor
from tensorm.tensors.factors import Factors

SIM = datasets.simulate((15, 15, 15), rank=3, density=0.3, noise=0.1, random_state=0)


def sweeps(X: np.ndarray, **changes):
    """The steps of a published chain, and its plan."""
    tensor = DenseTensor(X)
    plan = make_plan(TensOrMachine.as_published(3, random_state=0, **changes), tensor)
    return list(sample(tensor, plan, 0)), plan


def test_lambda_starts_at_one_half_and_is_set_to_its_estimate() -> None:
    steps, plan = sweeps(SIM.observed, burn_in=20)
    assert plan.noise.weights == pytest.approx((0.5, 0.5))
    for step in steps:
        assert step.state.noise == noise_map(step.confusion, 1, 1)
    assert len(steps) == 20 + 50


@pytest.mark.parametrize("burn_in", [12, "auto"])
def test_lambda_can_be_fixed_for_the_first_sweeps(burn_in) -> None:
    steps, _ = sweeps(SIM.observed, burn_in=burn_in, lambda_start=0.05, lambda_fixed=7)
    rates = [step.state.noise.hit for step in steps]
    assert rates[:7] == [pytest.approx(1 / (1 + math.exp(-0.05)))] * 7
    assert rates[7] != pytest.approx(rates[6])
    assert steps[6].phase == "burn-in"


def test_coins_are_fair_where_ones_are_rare() -> None:
    X = np.zeros((40, 40, 40), int)
    X[:3, :3, :3] = 1
    density = {}
    for init in ("coins", "random"):
        plan = make_plan(TensOrMachine(6, noise="asymmetric", init=init, random_state=0), DenseTensor(X))
        factors = BurnIn(DenseTensor(X), plan.target, 0, plan.init, plan.burn_in).start().factors
        density[init] = np.concatenate([bits.ravel() for bits in factors.bits()]).mean()
    assert density["coins"] == pytest.approx(0.5, abs=0.06)
    assert density["random"] < 0.3


def test_changes_take_the_place_of_the_papers_settings() -> None:
    model = TensOrMachine.as_published(4, n_draws=7, noise="asymmetric")
    assert (model.n_components, model.n_draws, model.noise) == (4, 7, "asymmetric")
    assert (model.init, model.flips, model.noise_update, model.factor_prior) == ("coins", "gibbs", "map", 0.5)


def test_a_published_fit_is_saved_and_resumed(tmp_path) -> None:
    model = TensOrMachine.as_published(3, lambda_fixed=3, random_state=0, progress=False)
    model.fit(SIM.observed, run_dir=tmp_path)
    again = resume(tmp_path, progress=False)
    np.testing.assert_array_equal(again.predict_proba(), model.predict_proba())
    assert load(tmp_path / "fit.tensorm").get_params() == model.get_params()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lambda_start": 0.01}, r"lambda_start is 0.01; give a number from 0.05 to 30, or None\.$"),
        ({"lambda_start": "high"}, "lambda_start is 'high'; give a number from 0"),
        ({"lambda_start": 0.5, "noise": "strengths"}, "lambda_start needs noise='symmetric' or 'asymmetric'"),
        ({"lambda_fixed": 30, "burn_in": 20}, "lambda_fixed is 30; give at most the 20 sweeps of burn_in"),
        ({"lambda_fixed": -1}, "lambda_fixed is -1; give an integer of at least 0"),
        ({"init": "fair"}, "init is 'fair'; choose 'data', 'random' or 'coins'"),
    ],
)
def test_wrong_settings_are_named(settings, message) -> None:
    with pytest.raises(InputError, match=message):
        TensOrMachine(2, **settings).fit(SIM.observed)


def test_components_that_are_empty_or_equal_are_pruned() -> None:
    columns = np.array([[1, 0, 1, 0, 1], [0, 1, 0, 1, 1], [1, 1, 1, 0, 0]], bool)
    other = np.array([[1, 1, 1, 1, 0], [0, 0, 0, 0, 1]], bool)
    assert distinct(Factors.from_bits([columns, other])) == [0, 1, 3, 4]
    empty = np.zeros((2, 5), bool)
    assert distinct(Factors.from_bits([columns, empty])) == []


def test_pruning_counts_what_is_left_and_says_so() -> None:
    X = datasets.simulate((30, 30, 30), rank=2, density=0.3, noise=0.05, random_state=3).observed
    found = select_components(X, "occam-published", candidates=[8], n_repeats=3, progress=False)
    ends = {trial.repeat: trial.n_components for trial in found.table}
    best = max(found.table, key=lambda trial: trial.score)
    assert found.best == ends[best.repeat] < 8
    assert found.reason.startswith(f"{found.best} of 8 components are neither empty nor equal ")


def test_the_highest_accuracy_wins_however_small_its_lead() -> None:
    found = select_components(SIM.observed, "cv-published", range(1, 7), n_repeats=2, progress=False)
    means = {candidate.n_components: candidate.score for candidate in found.candidates}
    assert found.best == max(means, key=means.get)
    assert means[found.best] > (SIM.observed == 0).mean()


@pytest.mark.parametrize("method", ["occam-published", "cv-published"])
def test_what_was_tried_is_kept(method: str, tmp_path) -> None:
    options = {"candidates": [2, 4], "n_repeats": 2, "progress": False, "run_dir": tmp_path}
    first, second = (select_components(SIM.observed, method, **options) for _ in range(2))
    assert first.table == second.table
    assert json.loads((tmp_path / "selection.json").read_text())["method"] == method
    model = TensOrMachine.as_published(lambda_start=0.7)
    with pytest.raises(FileError, match="another"):
        select_components(SIM.observed, method, estimator=model, **options)
