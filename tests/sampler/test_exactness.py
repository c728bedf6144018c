"""The sampler draws from the exact posterior: every state of a 2 x 2 x 2 tensor with two components counted.

The distribution of its 4096 states is compared with the exact one by total variation. Draws that are
independent and right have a distance, too, for want of numbers: the sampler must come within a tenth of it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import betaln

import exact
from chain import Draws, GivenNoise, run, z_scores
from exact import N_DRAWS, THIN, distance_ratio
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric, AsymmetricPlugIn, Rates, Symmetric, SymmetricPlugIn
from tensorm.tensors import GIBBS, METROPOLIS, DenseTensor

ONES = np.array([[[1, 1], [1, 0]], [[0, 1], [0, 0]]], dtype=bool)
ALL = np.ones((2, 2, 2), dtype=bool)
BUT_TWO = np.array([[[1, 1], [1, 0]], [[1, 0], [1, 1]]], dtype=bool)
EVEN = [np.full((2, 2), 0.5)] * 3
UNEVEN = [
    np.array([[0.3, 0.6], [0.6, 0.45]]),
    np.array([[0.7, 0.35], [0.0, 0.5]]),
    np.array([[0.5, 1.0], [0.4, 0.6]]),
]


class Case(NamedTuple):
    """A posterior: the sampler's models, and which cells are seen."""

    noise: Any
    prior: Any
    observed: np.ndarray = ALL

    def log_weights(self, more: tuple[int, int, int, int] = (0, 0, 0, 0)) -> np.ndarray:
        """Of every state; ``more`` cells of each kind give moments of the rates."""
        factors = exact.all_factors()
        counts = exact.confusions(ONES, self.observed, factors) + np.array(more)[:, None]
        if isinstance(self.noise, GivenNoise):
            log_noise = exact.log_fixed(*self.noise.noise, counts)
        elif isinstance(self.noise, (Symmetric, SymmetricPlugIn)):
            log_noise = exact.log_symmetric(self.noise.a, self.noise.b, counts)
        else:
            log_noise = exact.log_asymmetric(self.noise.a, self.noise.b, counts)
        if isinstance(self.prior, LearnedPrior):
            return log_noise + exact.log_learned(*self.prior, factors)
        return log_noise + exact.log_given(self.prior, factors)

    def target(self, flips: int, shuffle: bool) -> Target:
        learned = isinstance(self.prior, LearnedPrior)
        prior = self.prior if learned else FixedPrior.from_probabilities(self.prior)
        return Target(exact.L, self.noise, prior, np.uint64(7), flips, shuffle)

    def tensor(self) -> DenseTensor:
        return DenseTensor(np.where(self.observed, ONES, np.nan))


def sample_target(case: Case, flips: int, chain: int, shuffle: bool = True) -> tuple[Draws, float]:
    """A run, and the distance of its states from the exact posterior over that of independent draws."""
    draws = run(case.tensor(), case.target(flips, shuffle), N_DRAWS * THIN, chain)
    return draws, distance_ratio(exact.code(draws.masks[::THIN]), exact.normalise(case.log_weights()))


CASES = {
    "known noise": Case(GivenNoise(noise=Rates(0.6, 0.05)), EVEN),
    "known noise, ties": Case(GivenNoise(noise=Rates.symmetric(0.7)), EVEN),
    "known noise, missing, entries' priors": Case(GivenNoise(noise=Rates(0.7, 0.3)), UNEVEN, BUT_TWO),
    "symmetric": Case(Symmetric(), EVEN),
    "symmetric, missing, prior of its own": Case(Symmetric(3.0, 1.5), [np.full((2, 2), 0.3)] * 3, BUT_TWO),
    "symmetric, learned": Case(Symmetric(), LearnedPrior(2.0, 1.0)),
    "asymmetric": Case(Asymmetric(), EVEN),
    "asymmetric, missing, learned": Case(Asymmetric(1.5, 2.0), LearnedPrior(1.0, 3.0), BUT_TWO),
}


# Every other case with the one kind of flips; the rest is slow. tests/contract compares both with loops.
RUNS = [
    pytest.param(name, flips, marks=[pytest.mark.slow] * (number % 2 != flips), id=f"{name}-{kind}")
    for number, name in enumerate(CASES)
    for kind, flips in (("gibbs", GIBBS), ("metropolis", METROPOLIS))
]


@pytest.mark.parametrize(("name", "flips"), RUNS)
def test_the_posterior_is_exact(name: str, flips: int) -> None:
    case = CASES[name]
    draws, ratio = sample_target(case, flips, chain=2 * list(CASES).index(name) + flips)
    assert ratio < 1.1
    if not isinstance(case.noise, GivenNoise):
        assert np.abs(z_scores(moments(draws.noise), posterior_moments(case))).max() < 4
    if isinstance(case.prior, LearnedPrior):
        assert np.abs(z_scores(draws.density, posterior_density(case))).max() < 4


def test_components_in_fixed_order() -> None:
    _, ratio = sample_target(CASES["asymmetric, missing, learned"], METROPOLIS, chain=28, shuffle=False)
    assert ratio < 1.1


@pytest.mark.parametrize("noise", [SymmetricPlugIn(), AsymmetricPlugIn()])
def test_the_plug_in_is_found_out(noise: Any) -> None:
    """The paper's update of the noise is no Gibbs step, and these tests must be able to tell."""
    case = Case(noise, EVEN)
    draws, ratio = sample_target(case, METROPOLIS, chain=0)
    assert ratio > 1.1
    assert np.abs(z_scores(moments(draws.noise), posterior_moments(case))).max() > 4


def test_a_state_with_prior_zero_is_never_seen() -> None:
    case = CASES["known noise, missing, entries' priors"]
    p = exact.normalise(case.log_weights())
    codes = exact.code(run(case.tensor(), case.target(METROPOLIS, True), 2000).masks)
    assert 0 < np.count_nonzero(p) == len(p) // 4
    assert (p[codes] > 0).all()


def moments(noise: np.ndarray) -> np.ndarray:
    hit, false_alarm = noise.T
    return np.stack([hit, hit**2, false_alarm, false_alarm**2, hit * false_alarm], axis=1)


def posterior_moments(case: Case) -> list[float]:
    """A rate's mean is what one more such cell does to the marginal likelihood."""
    weights = case.log_weights()
    top = weights.max()
    if isinstance(case.noise, (Symmetric, SymmetricPlugIn)):  # the other rate is 1 - hit: a wrong cell
        more = [(1, 0, 0, 0), (2, 0, 0, 0), (0, 1, 0, 0), (0, 2, 0, 0), (1, 1, 0, 0)]
    else:
        more = [(1, 0, 0, 0), (2, 0, 0, 0), (0, 0, 1, 0), (0, 0, 2, 0), (1, 0, 1, 0)]
    total = np.exp(weights - top).sum()
    return [float(np.exp(case.log_weights(cells) - top).sum() / total) for cells in more]


def posterior_density(case: Case) -> list[float]:
    p, (a, b) = exact.normalise(case.log_weights()), case.prior
    ones = [factor.sum(axis=(1, 2)) for factor in exact.all_factors()]
    return [float(p @ (a + count)) / (a + b + 4) for count in ones]


@pytest.mark.parametrize("noise", [Symmetric(2.0, 1.0), Asymmetric(2.0, 3.0)])
def test_with_every_cell_missing_everything_has_its_prior(noise: Any) -> None:
    case = Case(noise, LearnedPrior(2.0, 3.0), ~ALL)
    draws = run(case.tensor(), case.target(METROPOLIS, True), 20_000)
    values = np.concatenate([moments(draws.noise), draws.density, draws.density**2], axis=1)
    density = [2 / 5] * 3 + [math.exp(betaln(4, 3) - betaln(2, 3))] * 3
    assert np.abs(z_scores(values, posterior_moments(case) + density)).max() < 4
    p = exact.normalise(exact.log_learned(2.0, 3.0, exact.all_factors()))
    assert distance_ratio(exact.code(draws.masks[::THIN]), p) < 1.1


def test_the_exact_posterior_itself() -> None:
    """One state by hand: both components all ones. Then every observed cell is inside: 3 ones and 3 zeros."""
    counts = exact.confusions(ONES, BUT_TWO, exact.all_factors())
    np.testing.assert_array_equal(counts[:, -1], [3, 3, 0, 0])
    np.testing.assert_array_equal(counts[:, 0], [0, 0, 3, 3])
    assert exact.log_fixed(0.8, 0.1, counts)[-1] == pytest.approx(3 * math.log(0.8) + 3 * math.log(0.2))
    # With no contrast asked for, the two rates would part: half of the square for even counts.
    even = exact.log_asymmetric(1, 1, np.zeros((4, 1)))
    assert 0.48 < math.exp(even[0]) < 0.5
    codes = np.arange(4096)
    masks = [(codes >> 2 * row) & 3 for row in range(6)]
    np.testing.assert_array_equal(exact.code(np.stack(masks, axis=1)), codes)
    for row, factor in enumerate(exact.all_factors()):
        np.testing.assert_array_equal(masks[2 * row] & 1, factor[:, 0, 0])
        np.testing.assert_array_equal(masks[2 * row + 1] >> 1, factor[:, 1, 1])
