"""Births and deaths leave the posterior as it is: the share of draws with n components is exact."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from chain import z_scores
from exact import log_asymmetric, log_given, log_learned, log_symmetric
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric, Symmetric
from tensorm.selection.counting import Proposal, count_components
from tensorm.selection.occam import Found
from tensorm.tensors import DenseTensor
from tensorm.tensors.factors import Factors

X = np.array([[1, 1, 0], [1, np.nan, 0], [0, 0, 1]])
MOST = 2
SEEN = (np.array([[1, 1, 0], [0, 0, 1.0]]), np.array([[0.8, 1, 0], [0, 0.2, 1.0]]))
NOWHERE = tuple(np.zeros((0, size)) for size in X.shape)


def exact_probabilities(log_noise, log_prior) -> np.ndarray:
    """P(n | X) for n = 0..MOST, by adding up every state; each n is half as probable a priori as the last."""
    observed, ones = ~np.isnan(X), X == 1
    totals = []
    for n in range(MOST + 1):
        bits = sum(X.shape) * n
        table = (np.arange(2**bits)[:, None] >> np.arange(bits) & 1).astype(bool)
        parts = np.split(table, [X.shape[0] * n], axis=1)
        factors = [part.reshape(len(table), N, n) for part, N in zip(parts, X.shape, strict=True)]
        inside = np.einsum("sal,sbl->sab", *(factor.astype(int) for factor in factors)) > 0
        cells = (inside & ones, inside & ~ones, ~inside & ones, ~inside & ~ones)
        counts = np.array([(these & observed).sum(axis=(1, 2)) for these in cells])
        totals.append(logsumexp(log_noise(counts) + log_prior(factors)) + n * np.log(0.5))
    return np.exp(totals - logsumexp(totals))


@pytest.mark.parametrize(
    ("seen", "n_draws"),
    [
        pytest.param(SEEN, 500, id="seen"),
        pytest.param(SEEN, 5000, id="seen, long", marks=pytest.mark.slow),
        pytest.param(NOWHERE, 5000, id="from the prior", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("noise", "log_noise", "prior", "log_prior"),
    [
        pytest.param(
            Asymmetric(),
            lambda counts: log_asymmetric(1, 1, counts),
            LearnedPrior(),
            lambda factors: log_learned(1, 1, factors),
            id="asymmetric, learned",
        ),
        pytest.param(
            Symmetric(2.0, 1.0),
            lambda counts: log_symmetric(2, 1, counts),
            FixedPrior.from_probabilities([0.4, 0.4]),
            lambda factors: log_given([np.array(0.4)] * 2, factors),
            id="symmetric, fixed",
        ),
    ],
)
def test_the_number_of_components_is_exact(noise, log_noise, prior, log_prior, seen, n_draws):
    expected = exact_probabilities(log_noise, log_prior)
    nothing = Factors.from_bits([np.zeros((size, 1), bool) for size in X.shape])
    found = Found(nothing, 0, 0.0, 0.0, (), seen)
    model = Target(MOST, noise, prior, np.uint64(3))
    numbers = count_components(DenseTensor(X), found, model, Proposal(seen), 0, n_draws)
    drawn = np.array(numbers.counts)
    z = z_scores(drawn[:, None] == np.arange(MOST + 1), expected)
    assert np.abs(z).max() < 4
    assert expected.min() > 0.05  # each number is put to the test


@pytest.mark.parametrize("density", [(0.4, 0.3), (0.4, None)])
def test_a_proposal_knows_its_own_density(density):
    """The columns drawn and their densities fit together: E_q[prior / q] is 1."""
    rng = np.random.default_rng(0)
    columns = Proposal(SEEN).draw(rng, 20_000, density)
    weights = np.exp(Proposal(SEEN).log_ratios(columns, density))
    assert abs(weights.mean() - 1) < 4 * weights.std() / np.sqrt(len(weights))
    assert weights.std() > 0.1
