"""Simulation-based calibration of the sampler, and that the test finds a sampler that is wrong.

``benchmarks/calibration.py`` is the same with 500 tensors for each model and longer chains.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.calibration import CASES, L, Length, calibrate, chi_square, compare, p_value

SHORT = Length(burn_in=60, n_draws=19, thin=18)


def smallest(found: dict[str, dict[str, float]]) -> float:
    return min(p for row in found.values() for p in row.values())


SLOW = pytest.mark.slow


@pytest.mark.parametrize(("number", "n_quantities"), [(0, 14), pytest.param(1, 10, marks=SLOW)])
def test_true_values_rank_uniformly(number: int, n_quantities: int) -> None:
    ranks = calibrate(CASES[number], 100, length=SHORT)
    found = compare(ranks, SHORT.n_draws)
    assert len(found) == n_quantities
    assert all(these.shape == (100,) and these.max() <= SHORT.n_draws for these in ranks.values())
    assert smallest(found) > 0.001, found


@pytest.mark.parametrize("number", [pytest.param(0, marks=SLOW), 1])
def test_the_plug_in_noise_is_found_out(number: int) -> None:
    """Its rates are posterior means, which are never as far out as a true value may be."""
    found = compare(calibrate(CASES[number], 100, "map", SHORT._replace(thin=3)), SHORT.n_draws)
    assert found["hit"]["ecdf"] < 0.001
    assert found["hit"]["chi-square"] < 0.001
    assert smallest(found) < 0.001


def test_a_wrong_prior_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Densities that are learned under another prior than the one they were drawn from."""
    import benchmarks.calibration as benchmark

    prior = benchmark.LearnedPrior
    monkeypatch.setattr(benchmark, "LearnedPrior", lambda: prior(3.0, 1.0))
    found = compare(calibrate(CASES[0], 100, length=SHORT._replace(thin=5)), SHORT.n_draws)
    assert found["density 0"]["ecdf"] < 0.001


def test_uniform_ranks_have_uniform_p_values() -> None:
    rng = np.random.default_rng(0)
    sets = rng.integers(0, 20, (400, 100))
    for test in (p_value, chi_square):
        p = np.array([test(ranks, 19) for ranks in sets])
        for level in (0.05, 0.25, 0.5):
            assert abs((p <= level).mean() - level) < 0.08


@pytest.mark.parametrize(
    "ranks",
    [
        np.repeat([0, 19], 50),  # too narrow
        np.repeat([8, 9, 10, 11], 25),  # too wide
        np.minimum(np.arange(100) // 5 + 3, 19),  # too low
    ],
)
def test_other_ranks_do_not(ranks: np.ndarray) -> None:
    assert p_value(ranks, 19) < 0.001
    assert chi_square(ranks, 19) < 0.001


def test_quantities_do_not_depend_on_the_order_of_components() -> None:
    from benchmarks.calibration import draw_truth, quantities

    rng = np.random.default_rng(0)
    truth = draw_truth(rng, CASES[0])
    ones, observed = rng.random((2, 4, 4, 3)) < 0.5
    turned = truth._replace(factors=[factor[:, ::-1] for factor in truth.factors])
    assert L == 2
    assert quantities(CASES[0], turned, ones, observed) == quantities(CASES[0], truth, ones, observed)
