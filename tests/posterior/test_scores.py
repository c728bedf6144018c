"""Scores of cells: by hand, next to the constant predictor, and the same however a tensor is walked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import calibration, metrics

from tensorm import (
    DenseTensor,
    InputError,
    TensOrMachine,
    datasets,
    hide,
    score_cells,
    train_test_mask,
)
from tensorm.data import memory
from tensorm.posterior.scores import Calibration, score_tensor

VALUES, CHANCES = [1, 0, 1, 0, 0], [0.9, 0.6, 0.44, 0.1, 0.2]


def test_scores_by_hand() -> None:
    found = score_cells(VALUES, CHANCES, baseline=0.3)
    assert (found.n_cells, found.n_ones, found.baseline) == (5, 2, 0.3)
    assert found.model.accuracy == pytest.approx(3 / 5)
    assert found.model.balanced_accuracy == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert found.model.auc == pytest.approx(5 / 6)  # pairs in the right order
    assert found.model.average_precision == pytest.approx(1 / 2 * 1 + 1 / 2 * 2 / 3)
    right = [0.9, 0.4, 0.44, 0.9, 0.8]
    assert found.model.log_loss == pytest.approx(-sum(map(math.log, right)) / 5)
    assert found.model.brier == pytest.approx(sum((1 - p) ** 2 for p in right) / 5)


def test_the_constant_predictor_is_always_there() -> None:
    found = score_cells(VALUES, CHANCES, baseline=0.3).constant
    assert found.accuracy == 3 / 5
    assert (found.balanced_accuracy, found.auc, found.average_precision) == (0.5, 0.5, 2 / 5)
    assert found.log_loss == pytest.approx(-(2 * math.log(0.3) + 3 * math.log(0.7)) / 5)
    assert found.brier == pytest.approx((2 * 0.49 + 3 * 0.09) / 5)
    assert score_cells(VALUES, CHANCES, baseline=0.8).constant.accuracy == 2 / 5
    assert score_cells(VALUES, CHANCES).baseline == 2 / 5


def test_the_text_is_a_table() -> None:
    assert str(score_cells(VALUES, CHANCES, baseline=0.3)).splitlines() == [
        "5 cells, 2 ones",
        "                      model  constant",
        "accuracy              0.600     0.600",
        "balanced accuracy     0.583     0.500",
        "auc                   0.833     0.500",
        "average precision     0.833     0.400",
        "log loss              0.434     0.696",
        "brier                 0.147     0.250",
    ]


@pytest.mark.parametrize("value", [0, 1])
def test_cells_of_one_value_have_no_auc(value) -> None:
    found = score_cells([value] * 3, [0.2, 0.3, 0.4])
    assert found.model.accuracy == 1 - value
    assert math.isnan(found.model.auc)
    assert math.isnan(found.model.balanced_accuracy)
    assert math.isfinite(found.model.log_loss)
    assert math.isfinite(found.constant.log_loss)
    assert "auc                       -         -" in str(found)


def test_certainty_that_is_wrong_is_punished_but_finite() -> None:
    assert 10 < score_cells([1, 0], [0.0, 0.0]).model.log_loss < 50


@pytest.mark.parametrize("n_bins", [1, 5, 10, 37])
def test_the_calibration_curve_is_scikit_learns_with_counts(n_bins) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(500) ** 2
    p[:2] = 0, 1
    y = rng.random(500) < p
    found = score_cells(y, p, n_bins=n_bins).calibration
    share, predicted = calibration.calibration_curve(y, p, n_bins=n_bins)
    np.testing.assert_allclose(found.found, share)
    np.testing.assert_allclose(found.predicted, predicted)
    assert found.cells.sum() == 500
    assert ((found.low <= found.found + 0.01) & (found.found - 0.01 <= found.high)).all()


def test_intervals_narrow_with_the_number_of_cells_and_hold_the_truth() -> None:
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(400):
        p = np.full(40, 0.3)
        found = score_cells(rng.random(40) < p, p, n_bins=1).calibration
        inside.append(found.low[0] < 0.3 < found.high[0])
    assert 0.92 < np.mean(inside) < 0.98
    few, many = (score_cells([1, 0] * n, [0.5] * 2 * n, n_bins=1).calibration for n in (5, 500))
    assert many.high[0] - many.low[0] < 0.2 * (few.high[0] - few.low[0])


def test_the_calibration_error_is_weighted_by_cells() -> None:
    found = score_cells([1] * 3 + [0], [0.75] * 3 + [0.25], n_bins=2).calibration
    assert found.error == pytest.approx(0.25)
    uneven = Calibration(
        np.array([0.1, 0.9]), np.array([0.1, 0.5]), *np.zeros((2, 2)), cells=np.array([300, 100])
    )
    assert uneven.error == pytest.approx(0.1)
    assert str(found).splitlines()[1:] == [
        "    0.250   0.000  0.000-0.853         1",
        "    0.750   1.000  0.464-1.000         3",
    ]


@pytest.fixture(scope="module")
def ward():
    X = datasets.ward()
    mask = train_test_mask(X, symmetric=("person", "met"))
    start = datasets.ward_truth().factors
    model = TensOrMachine(
        7, n_chains=2, n_draws=20, init=start, burn_in=5, random_state=0, noise="asymmetric", progress=False
    )
    return X, mask, model.fit(hide(X, mask))


def test_held_out_cells_of_a_fit(ward) -> None:
    X, mask, model = ward
    found = model.scores(X, mask)
    y, p = X.values[mask] == 1, model.predict_proba()[mask]
    assert found.model == score_cells(y, p).model
    assert found.model.auc == pytest.approx(metrics.roc_auc_score(y, p))
    assert found.n_cells == mask.sum()
    training = X.values[~mask & ~np.isnan(X.values)]
    assert found.baseline == pytest.approx(training.mean())
    assert found.baseline != y.mean()
    assert found.model.log_loss < 0.6 * found.constant.log_loss
    assert found.calibration.error < 0.01


def test_all_observed_cells_by_default(ward) -> None:
    X, _, model = ward
    found = model.scores(X)
    assert found.n_cells == 13 * 75 * 74
    assert found.model.accuracy == pytest.approx(model.score(X))
    assert found[:-1] == model.scores(DenseTensor(X))[:-1]


def test_missing_cells_of_a_mask_are_not_scored(ward) -> None:
    X, _, model = ward
    everything = np.ones(X.shape, bool)
    assert model.scores(X, everything).n_cells == 13 * 75 * 74
    diagonal = np.zeros(X.shape, bool)
    diagonal[:, range(75), range(75)] = True
    with pytest.raises(
        InputError, match=r"^mask contains no observed cell of X; give at least one that is not"
    ):
        model.scores(X, diagonal)


def test_only_scored_cells_are_held(ward, monkeypatch) -> None:
    """Blocks of a few slices give what the whole gives, and blocks without cells are not predicted."""
    X, mask, model = ward
    few = mask.copy()
    few[:9] = False
    tensor = DenseTensor(X)
    whole = score_tensor(model.posterior_, tensor, few)
    blocks, seen = DenseTensor.blocks, []
    monkeypatch.setattr(DenseTensor, "blocks", lambda self, max_cells=0: blocks(self, 75 * 75 * 2))
    predict = type(model.posterior_).predict_block

    def watched(self, first, stop, method="predictive"):
        seen.append((first, stop))
        return predict(self, first, stop, method)

    monkeypatch.setattr(type(model.posterior_), "predict_block", watched)
    assert str(score_tensor(model.posterior_, tensor, few)) == str(whole)
    assert seen == [(8, 10), (10, 12), (12, 13)]


def test_more_cells_than_fit_are_refused(ward, monkeypatch) -> None:
    X, mask, model = ward
    monkeypatch.setattr(memory, "available_memory", lambda: 64 * int(mask.sum()))
    assert model.scores(X, mask).n_cells == mask.sum()
    with pytest.raises(
        InputError,
        match=r"^Scoring 72,150 cells takes .* GB; give a mask with fewer cells, or score a sample",
    ):
        model.scores(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: score_cells([0, 1], [0.5]),
            "y_true has shape (2,) and p (1,); give a value and a probability",
        ),
        (lambda: score_cells([], []), "y_true has shape (0,) and p (0,); give a value"),
        (lambda: score_cells([0, 2], [0.5, 0.5]), "y_true contains 2 at (1,); give only 0 and 1."),
        (lambda: score_cells([0, np.nan], [0.5, 0.5]), "y_true contains nan at (1,); give only 0 and 1."),
        (
            lambda: score_cells([0, 1], [0.5, 1.5]),
            "p contains 1.5 at (1,); give probabilities between 0 and 1.",
        ),
        (lambda: score_cells([0, 1], ["a", "b"]), "p has dtype <U1, with 'a' at (0,); give probabilities"),
        (lambda: score_cells([0, 1], [0.5, 0.5], baseline=2), "baseline is 2.0; give a probability between"),
        (lambda: score_cells([0, 1], [0.5, 0.5], n_bins=0), "n_bins is 0; give an integer of at least 1."),
    ],
)
def test_wrong_arguments(call, message) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_wrong_tensors(ward) -> None:
    X, mask, model = ward
    with pytest.raises(InputError, match=r"^X has shape \(12, 75, 75\); give \(13, 75, 75\), as in fit\.$"):
        model.scores(X[1:], mask[1:])
    with pytest.raises(
        InputError, match=r"^mask has shape \(13, 75\) and dtype bool; give Booleans of the shape of X"
    ):
        model.scores(X, mask[..., 0])
