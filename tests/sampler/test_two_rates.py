"""The noise models: draws from truncated Betas, also far out in their tails, and rates in their order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import definitions
from tensorm.model import Confusion, Noise
from tensorm.sampler.models import MODELS
from tensorm.sampler.noise_model import NoiseModel
from tensorm.sampler.two_rates import (
    CONTRAST,
    PAPERS_RATES,
    RATE_EDGE,
    Asymmetric,
    AsymmetricPlugIn,
    Symmetric,
    SymmetricPlugIn,
    TwoRates,
    truncated_beta,
)

QUANTILES = [0.001, 0.1, 0.5, 0.9, 0.999]
COUNTS = [
    (1, 1),
    (3, 50),
    (30, 1),
    (2000, 1000),
    (1e6, 3e6),
    (1, 1e10),
    (1e10, 1e6),
    (1e6, 1e10),
    (1e10, 1e10),
]
LEAST = expit(CONTRAST / 2)  # the least rate of symmetric noise
CONFUSIONS = [
    Confusion(0, 0, 0, 0),
    Confusion(5, 3, 2, 7),
    Confusion(0, 9, 9, 0),  # all wrong: the rates would change places
    Confusion(40, 0, 0, 60),  # all right
    Confusion(0, 0, 30, 70),  # nothing covered
    Confusion(30, 70, 0, 0),  # all covered
    Confusion(10**9, 10**5, 10**5, 10**10),
    Confusion(10**5, 10**10, 10**9, 10**5),
]


def log_density(x: np.ndarray, a: float, b: float, top: float) -> np.ndarray:
    """Log of the Beta's density at x over that at ``top``, without the cancellation of large numbers."""
    with np.errstate(divide="ignore"):
        powers = [(a - 1, np.log1p((x - top) / top)), (b - 1, np.log1p((top - x) / (1 - top)))]
    return sum((power * log for power, log in powers if power), np.zeros_like(x))


def share_below(x: float, a: float, b: float, low: float, high: float) -> float:
    """The distribution function of the truncated Beta, by the trapezoid rule where the density matters."""
    peak = (a - 1) / (a + b - 2) if a + b > 2 else 0.5
    top = min(max(peak, low, 1e-18), high, 1 - 1e-16)
    ends = []
    for end in (low, high):
        near, far = top, end
        if log_density(np.float64(end), a, b, top) < -45:
            for _ in range(100):  # bisect to where the density is next to nothing
                middle = (near + far) / 2
                within = log_density(np.float64(middle), a, b, top) > -45
                near, far = (middle, far) if within else (near, middle)
        ends.append(far)
    grid = np.unique(np.concatenate([np.linspace(ends[0], top, 20_001), np.linspace(top, ends[1], 20_001)]))
    density = np.exp(log_density(grid, a, b, top))
    share = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid)))
    return float(np.interp(x, grid, share / share[-1]))


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 5), (9, 1.5), (40, 60), (300, 100)])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.55, 1), (0, 0.3), (0.2, 0.6)])
def test_quantiles_of_scipy(a: float, b: float, low: float, high: float) -> None:
    beta = stats.beta(a, b)
    for u in QUANTILES:
        x = truncated_beta(a, b, low, high, u)
        assert low < x < high
        if low > beta.mean():  # count from the side where the masses are small
            expected = beta.isf(beta.sf(low) + u * (beta.sf(high) - beta.sf(low)))
        else:
            expected = beta.ppf(beta.cdf(low) + u * (beta.cdf(high) - beta.cdf(low)))
        assert x == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("a", "b"), COUNTS)
@pytest.mark.parametrize("upper", [True, False], ids=["from an edge up", "up to an edge"])
def test_quantiles_anywhere(a: float, b: float, upper: bool) -> None:
    """The edge goes from far in the body to 200 standard deviations out, where the mass is below 1e-280."""
    mean, spread = stats.beta.mean(a, b), stats.beta.std(a, b)
    edges = mean + spread * np.array([-200, -60, -40, -30, -10, -3, 0, 3, 10, 30, 40, 60, 200])
    for edge in edges[(edges > 1e-12) & (edges < 1 - 1e-9)]:
        low, high = (edge, 1.0) if upper else (0.0, edge)
        for u in QUANTILES:
            x = truncated_beta(a, b, low, high, u)
            assert low <= x <= high
            assert share_below(x, a, b, low, high) == pytest.approx(u, abs=1e-3)


@pytest.mark.parametrize("upper", [True, False])
def test_a_mass_too_small_for_a_double(upper: bool) -> None:
    edge = 0.9 if upper else 0.1
    a, b = (1e5, 9e5) if upper else (9e5, 1e5)
    assert stats.beta.sf(0.9, 1e5, 9e5) == 0
    draws = [truncated_beta(a, b, edge if upper else 0, 1 if upper else edge, u) for u in QUANTILES]
    assert draws == sorted(draws)
    distances = np.abs(np.array(draws) - edge)
    assert np.unique(distances).size == len(QUANTILES)
    assert distances.min() > 0
    assert distances.max() < 1e-5


def test_ends_of_the_unit_interval_are_never_reached() -> None:
    for u in (1e-16, 0.5, 1 - 1e-16):
        assert RATE_EDGE <= truncated_beta(1, 1e18, 0, 1, u) <= 1 - RATE_EDGE
        assert RATE_EDGE <= truncated_beta(1e18, 1, 0, 1, u) <= 1 - RATE_EDGE


@pytest.mark.parametrize("confusion", CONFUSIONS)
@pytest.mark.parametrize("kind", [kind for kind in MODELS.values() if issubclass(kind, TwoRates)])
def test_rates_are_probabilities_a_contrast_apart(kind: type[TwoRates], confusion: Confusion) -> None:
    rng = np.random.default_rng(0)
    noise = PAPERS_RATES
    for _ in range(20):
        noise = kind(1.0, 1.0).draw(confusion, noise, rng.random(2))
        assert 0 < noise.false_alarm < noise.hit < 1
        assert logit(noise.hit) - logit(noise.false_alarm) > CONTRAST * (1 - 1e-6)
        assert all(map(math.isfinite, noise.weights))
        assert min(noise.weights) > 0
        if issubclass(kind, Symmetric):
            assert noise.weights[0] == noise.weights[1]


@pytest.mark.parametrize("confusion", [Confusion(5, 3, 2, 7), Confusion(3, 5, 7, 2), Confusion(0, 0, 0, 0)])
def test_symmetric_draws_from_a_truncated_beta(confusion: Confusion) -> None:
    right, wrong = confusion.correct, confusion.observed - confusion.correct
    beta = stats.beta(2.5 + right, 1.5 + wrong)
    for u in QUANTILES:
        sigma, other = Symmetric(2.5, 1.5).draw(confusion, PAPERS_RATES, np.array([u, 0.77]))
        assert sigma == pytest.approx(beta.ppf(beta.cdf(LEAST) + u * beta.sf(LEAST)), rel=1e-9)
        assert other == 1 - sigma


def test_asymmetric_draws_each_rate_given_the_other() -> None:
    tp, fp, fn, tn = confusion = Confusion(5, 3, 4, 9)
    old = Noise(0.6, 0.5)
    for u, v in zip(QUANTILES, reversed(QUANTILES), strict=True):
        new = Asymmetric(2.5, 1.5).draw(confusion, old, np.array([u, v]))
        inside, outside = stats.beta(2.5 + tp, 1.5 + fp), stats.beta(2.5 + fn, 1.5 + tn)
        low, high = expit(logit(old.false_alarm) + CONTRAST), expit(logit(new.hit) - CONTRAST)
        assert new.hit == pytest.approx(inside.ppf(inside.cdf(low) + u * inside.sf(low)), rel=1e-9)
        assert new.false_alarm == pytest.approx(outside.ppf(v * outside.cdf(high)), rel=1e-9)


def test_plug_ins_are_shares() -> None:
    confusion = Confusion(30, 10, 5, 55)
    anything = np.array([0.3, 0.9])
    assert SymmetricPlugIn(2, 3).draw(confusion, PAPERS_RATES, anything) == definitions.noise_map(
        confusion, 2, 3
    )
    assert AsymmetricPlugIn(2, 3).draw(confusion, PAPERS_RATES, anything) == Noise(32 / 45, 7 / 65)


def test_plug_ins_stop_at_the_least_contrast() -> None:
    wrong = Confusion(1, 30, 30, 1)
    assert SymmetricPlugIn().draw(wrong, PAPERS_RATES, np.zeros(2)).hit == pytest.approx(LEAST)
    hit, false_alarm = AsymmetricPlugIn().draw(wrong, PAPERS_RATES, np.zeros(2))
    assert false_alarm == 31 / 33
    assert logit(hit) - logit(false_alarm) == pytest.approx(CONTRAST)


@pytest.mark.parametrize("kind", MODELS.values())
def test_priors_are_flat_unless_told_otherwise(kind: type[NoiseModel]) -> None:
    assert kind() == kind(1.0, 1.0)


def test_parameters_answer_for_the_cells() -> None:
    """Covering three more ones and two more zeros moves them from outside to inside."""
    noise, before, after = Noise(0.8, 0.3), Confusion(10, 4, 7, 20), Confusion(13, 6, 4, 18)
    rise = noise.log_likelihood(after) - noise.log_likelihood(before)
    assert noise.log_ratio(3, 2) == pytest.approx(rise)
    assert noise.cell_probability(np.array([True, False])).tolist() == [0.8, 0.3]
    inside, outside = 10 * math.log(0.8) + 4 * math.log(0.2), 7 * math.log(0.3) + 20 * math.log(0.7)
    assert noise.log_likelihood(before) == pytest.approx(inside + outside)


@pytest.mark.parametrize("noise", [Symmetric(), Asymmetric(), SymmetricPlugIn(), AsymmetricPlugIn()])
def test_every_model_starts_where_the_paper_does(noise: NoiseModel) -> None:
    assert noise.start((2, 3), 4).weights == pytest.approx((0.5, 0.5))
