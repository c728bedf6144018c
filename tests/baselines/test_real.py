"""Adapters around other packages' decompositions, and what all rivals have in common."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tensorm import InputError, baselines
from tensorm.baselines import real
from tensorm.datasets import simulate

RIVALS = [getattr(baselines, name) for name in baselines.__all__]
CUBE = simulate((12, 11, 10), rank=2, density=0.2, noise=0.03, random_state=1)
MATRIX = simulate((30, 40), rank=2, density=0.2, noise=0.03, random_state=1)
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:(tensorly|pyttb)")


QUICK: dict[type, dict[str, Any]] = {baselines.BernoulliGCP: {"max_iter": 50}}


def data_for(rival: type) -> Any:
    return MATRIX if rival is baselines.NMF else CUBE


@pytest.fixture(autouse=True)
def needs_extra(request: pytest.FixtureRequest) -> None:
    rival = request.node.callspec.params.get("rival") if hasattr(request.node, "callspec") else None
    package = {baselines.NonNegativeCP: "tensorly", baselines.BernoulliGCP: "pyttb"}.get(rival)
    if package is not None:
        pytest.importorskip(package)


@pytest.mark.parametrize("rival", RIVALS)
def test_planted_blocks_are_found_again_with_the_same_seed(rival: type) -> None:
    sim = data_for(rival)
    model = rival(n_components=2, random_state=0, **QUICK.get(rival, {})).fit(sim.observed)
    assert (model.predict() == sim.noise_free).mean() > 0.97
    assert model.score(sim.observed) == (model.predict() == sim.observed).mean()
    cells = np.argwhere(sim.observed)[:9]
    np.testing.assert_array_equal(model.predict(cells), model.predict()[tuple(cells.T)])
    assert [factor.shape for factor in model.factors_] == [(size, 2) for size in sim.observed.shape]
    twin = clone(model).fit(sim.observed)
    for mine, other in zip(model.factors_, twin.factors_, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("rival", [baselines.NonNegativeCP, baselines.NMF])
def test_missing_cells_are_zeros_to_those_who_know_none(rival: type) -> None:
    X = data_for(rival).observed.astype(float)
    X[3, :5] = np.nan
    mine = rival(2, random_state=0).fit(X).values()
    np.testing.assert_array_equal(mine, rival(2, random_state=0).fit(np.nan_to_num(X)).values())


@pytest.mark.parametrize("rival", [baselines.BernoulliGCP])
def test_missing_cells_are_left_out_by_those_who_can(rival: type) -> None:
    X = CUBE.noise_free.astype(float)
    hidden = np.random.default_rng(0).random(X.shape) < 0.2
    X[hidden] = np.nan
    model = rival(2, random_state=0).fit(X)
    right = model.predict()[hidden] == CUBE.noise_free[hidden]
    assert right.mean() > 0.97
    assert model.predict()[hidden].sum() > 0  # as zeros they would be learned
    np.testing.assert_array_equal(model.predict_proba() > 0.5, model.predict() == 1)


@pytest.mark.parametrize("rival", RIVALS)
def test_nothing_to_find_is_no_error(rival: type) -> None:
    shape = data_for(rival).observed.shape
    assert rival(2, random_state=0).fit(np.zeros(shape)).predict().sum() == 0


@pytest.mark.parametrize("rival", RIVALS)
def test_bad_input_gets_one_sentence(rival: type) -> None:
    X = data_for(rival).observed
    with pytest.raises(NotFittedError):
        rival().predict()
    for settings, message in [
        ({"n_components": 0}, "n_components is 0"),
        ({"random_state": "x"}, "random_state"),
    ]:
        with pytest.raises(InputError, match=message):
            rival(**settings).fit(X)
    for cells, message in [
        (np.full((3, 3), 2), "X holds 2"),
        (np.full((3, 3), np.nan), "no observed cell"),
        ([1, 0], "at least 2 modes"),
    ]:
        with pytest.raises(InputError, match=message):
            rival().fit(cells)
    model = rival(2, random_state=0, **QUICK.get(rival, {})).fit(X)
    with pytest.raises(InputError, match="as in fit"):
        model.score(X[1:])
    with pytest.raises(InputError, match="indices"):
        model.predict([[99] * X.ndim])


@pytest.mark.parametrize(
    ("rival", "settings"),
    [
        (baselines.BooleanALS, {"init": "ours"}),
        (baselines.BooleanALS, {"n_init": 0}),
        (baselines.BooleanALS, {"missing": "maybe"}),
        (baselines.BooleanALS, {"n_jobs": 0}),
        (baselines.WalkNMerge, {"density": 2}),
        (baselines.WalkNMerge, {"patience": 0}),
        (baselines.NonNegativeCP, {"threshold": -1}),
        (baselines.NonNegativeCP, {"init": "truth"}),
        (baselines.BernoulliGCP, {"max_iter": 0}),
    ],
)
def test_wrong_settings_are_named(rival: type, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        rival(**settings).fit(CUBE.observed)


@pytest.mark.parametrize("rival", [baselines.NonNegativeCP, baselines.BernoulliGCP, baselines.NMF])
def test_more_numbers_than_fit_are_refused(rival: type, monkeypatch: pytest.MonkeyPatch) -> None:
    X = data_for(rival).observed
    monkeypatch.setattr(real, "available_memory", lambda: 16 * X.size - 1)
    with pytest.raises(InputError, match=r"cells, which take .* GB as real numbers, .*; give a part of X"):
        rival().fit(X)


def test_nmf_takes_matrices_only() -> None:
    with pytest.raises(InputError, match="X has 3 modes"):
        baselines.NMF(2).fit(CUBE.observed)


@pytest.mark.parametrize(("name", "package"), [("NonNegativeCP", "tensorly"), ("BernoulliGCP", "pyttb")])
def test_says_which_package_is_absent(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [package, *(m for m in sys.modules if m.startswith(package + "."))]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "tensorly.decomposition", None)
    with pytest.raises(InputError, match=rf"needs {package}, which is not installed: pip install"):
        getattr(baselines, name)(2).fit(CUBE.observed)
