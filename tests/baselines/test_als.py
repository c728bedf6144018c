"""Boolean ALS: its updates are the greedy ones, its error never rises, and it finds what was planted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tensorm.baselines import BooleanALS
from tensorm.baselines.als import descend, from_coins, from_fibres
from tensorm.datasets import simulate
from tensorm.model import boolean_product
from tensorm.tensors import DenseTensor
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors


def wrong_cells(X: np.ndarray, factors: list[np.ndarray]) -> int:
    return int(np.count_nonzero((boolean_product(factors) != (X == 1)) & ~np.isnan(X)))


def greedy_round(X: np.ndarray, factors: list[np.ndarray]) -> list[np.ndarray]:
    """Every entry in turn takes the value that leaves fewer wrong cells; 0 if both leave as many."""
    factors = [factor.copy() for factor in factors]
    for factor in factors:
        for n in range(factor.shape[0]):
            for l in range(factor.shape[1]):
                wrong = []
                for value in (False, True):
                    factor[n, l] = value
                    wrong.append(wrong_cells(X, factors))
                factor[n, l] = wrong[1] < wrong[0]
    return factors


@pytest.mark.parametrize("shape", [(5, 6), (4, 5, 3), (3, 2, 4, 3)])
def test_a_round_sets_every_entry_to_the_better_value(shape: tuple[int, ...]) -> None:
    X = simulate(shape, rank=3, density=0.4, noise=0.2, missing=0.2, random_state=1).observed
    rng = np.random.default_rng(2)
    start = [rng.random((size, 3)) < 0.5 for size in shape]
    found = descend(DenseTensor(X), Factors.from_bits(start), max_iter=1)
    expected = greedy_round(X, start)
    for masks, factor in zip(found.factors, expected, strict=True):
        np.testing.assert_array_equal(unpack(masks, 3), factor)
    assert found.wrong == wrong_cells(X, expected)


def test_fibres_go_through_one_cells() -> None:
    X = simulate((6, 5, 4), rank=2, density=0.3, noise=0.1, missing=0.2, random_state=3).observed
    factors = [unpack(masks, 4) for masks in from_fibres(DenseTensor(X), 4, np.random.default_rng(0))]
    ones = X == 1
    for l in range(4):
        fibres = [(ones[:, j, k], ones[i, :, k], ones[i, j, :]) for i, j, k in np.argwhere(ones)]
        columns = [factor[:, l] for factor in factors]
        assert any(all(map(np.array_equal, columns, fibre)) for fibre in fibres)


def test_random_starts_are_as_dense_as_the_data() -> None:
    X = simulate((30, 30, 30), rank=4, density=0.2, noise=0.0, random_state=0).observed
    rng = np.random.default_rng(0)
    starts = [from_coins(DenseTensor(X), 4, rng) for _ in range(10)]
    shares = [boolean_product([unpack(masks, 4) for masks in start]).mean() for start in starts]
    assert np.mean(shares) == pytest.approx(X.mean(), abs=0.05)


@pytest.mark.parametrize("shape", [(40, 40), (20, 20, 20), (8, 9, 10, 11)])
def test_planted_components_are_found(shape: tuple[int, ...]) -> None:
    sim = simulate(shape, rank=3, density=0.2, noise=0.05, random_state=5)
    model = BooleanALS(3, random_state=0).fit(sim.observed)
    assert (model.predict() == sim.noise_free).mean() > 0.99
    assert model.error_ == pytest.approx(1 - model.score(sim.observed))
    cells = np.argwhere(sim.noise_free)[:7]
    np.testing.assert_array_equal(model.predict(cells), model.predict()[tuple(cells.T)])


def test_the_planted_error_is_reached_on_a_larger_tensor() -> None:
    sim = simulate((100, 100, 100), rank=10, density=0.2, noise=0.1, random_state=0)
    model = BooleanALS(10, n_init=1, random_state=0).fit(sim.observed)
    assert model.error_ == pytest.approx(0.1, rel=0.05)


def test_the_best_of_several_starts_is_kept() -> None:
    X = simulate((15, 15, 15), rank=5, density=0.3, noise=0.1, random_state=4).observed
    errors = [BooleanALS(5, init="fibres", n_init=n, random_state=0).fit(X).error_ for n in (1, 5, 25)]
    assert errors[0] > errors[2]
    assert errors == sorted(errors, reverse=True)


def test_missing_cells_are_left_out_or_taken_for_zeros() -> None:
    X = np.zeros((8, 8, 8))
    X[:4, :4, :4] = 1
    X[:4, :3, :4] = np.nan  # most of the block is not seen
    ignored = BooleanALS(1, random_state=0).fit(X)
    assert ignored.error_ == 0
    zeros = BooleanALS(1, missing="zero", random_state=0).fit(X)
    twin = BooleanALS(1, random_state=0).fit(np.nan_to_num(X))
    np.testing.assert_array_equal(zeros.predict(), twin.predict())
    assert zeros.error_ == twin.error_ == 0
    assert zeros.predict()[:4, :3, :4].sum() == 0
    assert zeros.score(X) == 1  # of the cells that are observed


def test_nothing_to_find_is_no_error() -> None:
    for init in ("data", "fibres", "random"):
        model = BooleanALS(2, init=init, random_state=0).fit(np.zeros((3, 4, 5)))
        assert model.predict().sum() == 0


def test_says_when_it_was_stopped_early() -> None:
    X = simulate((15, 15, 15), rank=5, density=0.3, noise=0.3, random_state=4).observed
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        BooleanALS(5, init="random", n_init=1, max_iter=1, random_state=0).fit(X)
