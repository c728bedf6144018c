"""What all baselines have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tensorm import InputError, baselines
from tensorm.datasets import simulate

BASELINES = [getattr(baselines, name) for name in baselines.__all__]
CUBE = simulate((12, 11, 10), rank=2, density=0.2, noise=0.03, random_state=1)


def test_the_package_keeps_the_boolean_ones() -> None:
    assert baselines.__all__ == ["BooleanALS", "WalkNMerge"]


@pytest.mark.parametrize("baseline", BASELINES)
def test_planted_blocks_are_found_again_with_the_same_seed(baseline: type) -> None:
    model = baseline(n_components=2, random_state=0).fit(CUBE.observed)
    assert (model.predict() == CUBE.noise_free).mean() > 0.97
    assert model.score(CUBE.observed) == (model.predict() == CUBE.observed).mean()
    cells = np.argwhere(CUBE.observed)[:9]
    np.testing.assert_array_equal(model.predict(cells), model.predict()[tuple(cells.T)])
    assert [factor.shape for factor in model.factors_] == [(size, 2) for size in CUBE.observed.shape]
    twin = clone(model).fit(CUBE.observed)
    for mine, other in zip(model.factors_, twin.factors_, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("baseline", BASELINES)
def test_nothing_to_find_is_no_error(baseline: type) -> None:
    assert baseline(2, random_state=0).fit(np.zeros(CUBE.observed.shape)).predict().sum() == 0


@pytest.mark.parametrize("baseline", BASELINES)
def test_bad_input_gets_one_sentence(baseline: type) -> None:
    X = CUBE.observed
    with pytest.raises(NotFittedError):
        baseline().predict()
    for settings, message in [
        ({"n_components": 0}, "n_components is 0"),
        ({"random_state": "x"}, "random_state"),
    ]:
        with pytest.raises(InputError, match=message):
            baseline(**settings).fit(X)
    for cells, message in [
        (np.full((3, 3), 2), "X contains 2"),
        (np.full((3, 3), np.nan), "no observed cell"),
        ([1, 0], "at least 2 modes"),
    ]:
        with pytest.raises(InputError, match=message):
            baseline().fit(cells)
    model = baseline(2, random_state=0).fit(X)
    with pytest.raises(InputError, match="as in fit"):
        model.score(X[1:])
    with pytest.raises(InputError, match="indices"):
        model.predict([[99] * X.ndim])


@pytest.mark.parametrize(
    ("baseline", "settings"),
    [
        (baselines.BooleanALS, {"init": "ours"}),
        (baselines.BooleanALS, {"n_init": 0}),
        (baselines.BooleanALS, {"missing": "maybe"}),
        (baselines.BooleanALS, {"n_jobs": 0}),
        (baselines.WalkNMerge, {"density": 2}),
        (baselines.WalkNMerge, {"patience": 0}),
    ],
)
def test_wrong_settings_are_named(baseline: type, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        baseline(**settings).fit(CUBE.observed)
