"""Decompositions of tensorly and pyttb, thresholded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from experiments.real import RealCP, bernoulli_gcp, nonnegative_cp
from tensorm.datasets import simulate

CUBE = simulate((12, 11, 10), rank=2, density=0.2, noise=0.03, random_state=1)
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:(tensorly|pyttb)")
Fit = Callable[..., RealCP]


@pytest.fixture(params=[nonnegative_cp, bernoulli_gcp], ids=["tensorly", "pyttb"])
def fit(request: pytest.FixtureRequest) -> Fit:
    pytest.importorskip(request.node.callspec.id)
    return request.param


def test_planted_blocks_are_found_again_with_the_same_seed(fit: Fit) -> None:
    model = fit(CUBE.observed, 2, 0, max_iter=50)
    assert (model.predict() == CUBE.noise_free).mean() > 0.97
    cells = np.argwhere(CUBE.observed)[:9]
    np.testing.assert_allclose(model.values(cells), model.values()[tuple(cells.T)])
    np.testing.assert_array_equal(model.predict(cells), model.predict()[tuple(cells.T)])
    assert [factor.shape for factor in model.factors] == [(size, 2) for size in CUBE.observed.shape]
    for mine, other in zip(model.factors, fit(CUBE.observed, 2, 0, max_iter=50).factors, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_nothing_to_find_is_no_error(fit: Fit) -> None:
    assert fit(np.zeros(CUBE.observed.shape), 2, 0).predict().sum() == 0


def test_values_are_sums_of_products() -> None:
    rng = np.random.default_rng(0)
    factors = [rng.random((size, 2)) for size in (3, 4, 5, 2)]
    model = RealCP(factors, 0.5)
    np.testing.assert_allclose(model.values(), np.einsum("al,bl,cl,dl->abcd", *factors))
    np.testing.assert_array_equal(model.predict(), model.values() > 0.5)


def test_missing_cells_are_zeros_to_nonnegative_cp() -> None:
    pytest.importorskip("tensorly")
    X = CUBE.observed.astype(float)
    X[3, :5] = np.nan
    np.testing.assert_array_equal(
        nonnegative_cp(X, 2, 0).values(), nonnegative_cp(np.nan_to_num(X), 2, 0).values()
    )


def test_missing_cells_are_left_out_by_gcp() -> None:
    pytest.importorskip("pyttb")
    X = CUBE.noise_free.astype(float)
    hidden = np.random.default_rng(0).random(X.shape) < 0.2
    X[hidden] = np.nan
    found = bernoulli_gcp(X, 2, 0).predict()[hidden]
    assert (found == CUBE.noise_free[hidden]).mean() > 0.97
    assert found.sum() > 0  # as zeros they would be learned
