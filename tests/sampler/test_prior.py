"""Priors of the entries: given probabilities, and densities drawn from their conditional."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit

from tensorm.sampler.prior import DENSITY_EDGE, FixedPrior, LearnedPrior
from tensorm.tensors.factors import Factors


def test_fixed_prior_takes_numbers_and_arrays() -> None:
    table = np.array([[0.0, 0.2, 1.0], [0.5, 0.9, 0.1]])
    prior = FixedPrior.from_probabilities([0.3, table])
    np.testing.assert_array_equal(prior.log_odds(0, (0.9, 0.9)), [[logit(0.3)]])
    np.testing.assert_array_equal(prior.log_odds(1, (0.9, 0.9)), logit(table))
    assert prior.log_odds(1, ())[0, 0] == -math.inf
    assert prior.log_odds(1, ())[0, 2] == math.inf
    assert prior.log_odds(1, ())[1, 0] == 0  # exactly: a coin, not a bias


def test_fixed_prior_tables_are_laid_out_in_one_way() -> None:
    """Whatever the order in memory of what was given: for another one the kernels would be compiled anew."""
    table = np.full((4, 3), 0.3)
    prior = FixedPrior.from_probabilities([table, np.asfortranarray(table), table[::2], table.tolist()])
    assert all(rows.flags.c_contiguous and rows.flags.writeable for rows in prior.tables)


def test_fixed_prior_learns_nothing() -> None:
    densities = FixedPrior.from_probabilities([0.3, 0.4]).update(
        Factors.from_bits([np.ones((2, 2), bool)] * 2), np.ones(2)
    )
    assert len(densities) == 2
    assert all(map(math.isnan, densities))


def test_learned_prior_uses_the_density_of_the_mode() -> None:
    table = LearnedPrior().log_odds(1, (0.1, 0.25, 0.9))
    assert table.shape == (1, 1)
    assert table[0, 0] == pytest.approx(-math.log(3))


@pytest.mark.parametrize("n_components", [2, 70])
def test_learned_densities_are_quantiles_of_their_beta(n_components: int) -> None:
    """All entries of a mode count, and the bits of a mask beyond the last component do not."""
    rng = np.random.default_rng(0)
    factors = [rng.random((N, n_components)) < p for N, p in [(5, 0.2), (9, 0.8), (1, 0.5)]]
    u = np.array([0.1, 0.5, 0.99])
    densities = LearnedPrior(1.5, 2.5).update(Factors.from_bits(factors), u)
    for density, factor, quantile in zip(densities, factors, u, strict=True):
        ones = np.count_nonzero(factor)
        expected = stats.beta.ppf(quantile, 1.5 + ones, 2.5 + factor.size - ones)
        assert density == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("value", [False, True])
def test_learned_densities_stay_inside_the_unit_interval(value: bool) -> None:
    masks = Factors.from_bits([np.full((1000, 64), value)])
    for u in (1e-16, 0.5, 1 - 1e-16):
        (density,) = LearnedPrior(1e-3, 1e-3).update(masks, np.array([u]))
        assert DENSITY_EDGE <= density <= 1 - DENSITY_EDGE
        assert np.isfinite(LearnedPrior().log_odds(0, (density,))).all()
