"""The vectorised definitions against the element loops, for K = 2..5 with missing cells."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import definitions
import naive
from tensorm import model
from tensorm.model import Confusion, Noise

LARGEST = {2: 6, 3: 4, 4: 3, 5: 2}
rates = st.floats(0.02, 0.98)
few = settings(max_examples=60, deadline=None, derandomize=True)


class Case(NamedTuple):
    ones: np.ndarray
    observed: np.ndarray | None
    factors: list[np.ndarray]
    mode: int
    n: int
    l: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random tensor with factors that half explain it, and one entry of them."""
    K = draw(st.integers(2, 5))
    shape = [draw(st.integers(1, LARGEST[K])) for _ in range(K)]
    L = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density = draw(st.sampled_from([0.3, 0.6, 0.9]))
    factors = [rng.random((N, L)) < density for N in shape]
    ones = naive.product(factors) ^ (rng.random(shape) < draw(st.sampled_from([0.1, 0.5])))
    missing = draw(st.sampled_from([None, 0.0, 0.3, 1.0]))
    observed = None if missing is None else rng.random(shape) >= missing
    mode = draw(st.integers(0, K - 1))
    return Case(ones, observed, factors, mode, int(rng.integers(shape[mode])), int(rng.integers(L)))


@few
@given(cases())
def test_product_and_confusion(case: Case) -> None:
    ones, observed, factors = case[:3]
    np.testing.assert_array_equal(model.boolean_product(factors), naive.product(factors))
    assert model.confusion(ones, observed, factors) == naive.confusion(ones, observed, factors)


@few
@given(cases(), rates, rates)
def test_log_likelihood(case: Case, hit: float, false_alarm: float) -> None:
    ones, observed, factors = case[:3]
    fast = definitions.log_likelihood(ones, observed, factors, Noise(hit, false_alarm))
    assert fast == pytest.approx(naive.log_likelihood(ones, observed, factors, hit, false_alarm), abs=1e-9)


@settings(few, max_examples=300)
@given(cases(), rates, rates, st.floats(0.0, 1.0))
def test_conditional_equals_brute_force(case: Case, hit: float, false_alarm: float, prior: float) -> None:
    assert definitions.counts(*case) == naive.counts(*case)
    fast = definitions.conditional(*case, Noise(hit, false_alarm), prior)
    assert fast == pytest.approx(naive.conditional(*case, hit, false_alarm, prior), abs=1e-9)


@few
@given(cases(), rates, rates, st.floats(0.05, 0.95))
def test_naive_log_odds_equal_brute_force(case: Case, hit: float, false_alarm: float, prior: float) -> None:
    odds = naive.log_odds(*naive.counts(*case), hit, false_alarm, prior)
    brute = naive.conditional(*case, hit, false_alarm, prior)
    assert naive.sigmoid(odds) == pytest.approx(brute, abs=1e-9)


def test_counts_ignore_the_entry_itself() -> None:
    rng = np.random.default_rng(0)
    factors = [rng.random((N, 3)) < 0.6 for N in (4, 5, 6)]
    ones = rng.random((4, 5, 6)) < 0.5
    on, off = (naive.with_entry(factors, 1, 2, 0, entry) for entry in (True, False))
    assert definitions.counts(ones, None, on, 1, 2, 0) == definitions.counts(ones, None, off, 1, 2, 0)
    assert definitions.counts(ones, None, on, 1, 2, 0)[1] > 0


def test_counts_by_hand() -> None:
    # Mode 0 has one row. Component 0 covers columns 0-2, component 1 covers column 2 and is on.
    factors = [np.array([[0, 1]]), np.array([[1, 0], [1, 0], [1, 1], [0, 0]])]
    ones = np.array([[True, False, True, True]])
    assert definitions.counts(ones, None, factors, 0, 0, 0) == (
        1,
        2,
    )  # column 2 is explained away, 3 has no parent
    observed = np.array([[True, False, True, True]])
    assert definitions.counts(ones, observed, factors, 0, 0, 0) == (1, 1)
    p = definitions.conditional(ones, observed, factors, 0, 0, 0, Noise.symmetric(0.9))
    assert p == pytest.approx(0.9)


@pytest.mark.parametrize("sigma", [0.5, 0.5000001, 0.6, 0.7, 0.9, 0.99, 1 - 1e-12])
def test_symmetric_weights_are_both_lambda(sigma: float) -> None:
    w1, w0 = Noise.symmetric(sigma).weights
    assert w1 == w0  # to the last bit, so that balanced counts give log-odds of exactly 0
    assert w1 == pytest.approx(math.log(sigma) - math.log1p(-sigma), rel=1e-6)


def test_a_fixed_entry_stays_fixed() -> None:
    ones = np.ones((2, 2), dtype=bool)
    factors = [np.ones((2, 1)), np.ones((2, 1))]
    assert definitions.conditional(ones, None, factors, 0, 0, 0, Noise(0.9, 0.1), prior=0.0) == 0.0
    assert definitions.conditional(~ones, None, factors, 0, 0, 0, Noise(0.9, 0.1), prior=1.0) == 1.0


def test_noise_map_is_laplaces_rule() -> None:
    noise = definitions.noise_map(Confusion(tp=3, fp=1, fn=2, tn=4), a=1, b=1)
    assert noise.hit == pytest.approx(8 / 12)
    assert noise.false_alarm == pytest.approx(4 / 12)
    assert definitions.noise_map(Confusion(0, 0, 0, 0), a=3, b=1).hit == pytest.approx(0.75)


@few
@given(cases(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_predictive_and_mean_reconstruction(case: Case, n_draws: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = [factor.shape for factor in case.factors]
    draws = [[rng.random(shape) < 0.6 for shape in shapes] for _ in range(n_draws)]
    hits, false_alarms = rng.random((2, n_draws))
    noises = [Noise(*pair) for pair in zip(hits, false_alarms, strict=True)]
    fast = definitions.predictive(draws, noises)
    np.testing.assert_allclose(fast, naive.predictive(draws, hits, false_alarms), atol=1e-12)
    means = [np.mean([draw[k] for draw in draws], axis=0) for k in range(len(shapes))]
    np.testing.assert_allclose(
        definitions.mean_reconstruction(means), naive.mean_reconstruction(means), atol=1e-12
    )


def test_predictive_wants_one_noise_per_draw() -> None:
    with pytest.raises(ValueError, match="zip"):
        definitions.predictive([[np.ones((2, 1)), np.ones((2, 1))]] * 2, [Noise(0.9, 0.1)])


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("rank", [1, 5, 70])
@pytest.mark.parametrize("density", [0.0, 1e-9, 0.1, 0.5, 0.999, 1.0])
def test_density_and_its_inverse(density: float, rank: int, K: int) -> None:
    f = model.factor_density(density, rank, K)
    assert 0 <= f <= 1
    assert model.expected_density(f, rank, K) == pytest.approx(density, rel=1e-9, abs=1e-300)


def test_expected_density_is_the_mean_over_all_factors() -> None:
    # Every pair of 2 x 1-row factors of rank 2, weighted by its Bernoulli(0.3) probability.
    f, mean = 0.3, 0.0
    for bits in itertools.product([0, 1], repeat=4):
        weight = math.prod(f if bit else 1 - f for bit in bits)
        mean += weight * naive.value([np.array([bits[:2]]), np.array([bits[2:]])], (0, 0))
    assert model.expected_density(f, 2, 2) == pytest.approx(mean)


@few
@given(cases(), st.floats(0.5, 0.98), st.floats(0.02, 0.5), st.integers(0, 2**32 - 1))
def test_naive_sweep_rules(case: Case, hit: float, false_alarm: float, seed: int) -> None:
    """The first entry of a naive sweep follows the brute-force conditional, for each rule."""
    rng = np.random.default_rng(seed)
    ones, observed, factors, mode, _, l = case
    shape = factors[mode].shape
    prior = rng.choice([0.0, 1.0, 0.2, 0.7], size=shape)
    order = [l] + [other for other in range(shape[1]) if other != l]
    uniforms = rng.random(shape)
    args = ones, observed, factors, mode, hit, false_alarm, prior, order, uniforms
    new = {rule: naive.update_factor(*args, rule) for rule in ("gibbs", "metropolis", "greedy")}
    for factor in new.values():
        np.testing.assert_array_equal(factor[prior == 1], True)
        np.testing.assert_array_equal(factor[prior == 0], False)
    if prior[0, l] not in (0, 1):
        p = naive.conditional(ones, observed, factors, mode, 0, l, hit, false_alarm, prior[0, l])
        u, current = uniforms[0, l], factors[mode][0, l]
        if min(abs(p - 0.5), abs(u - p)) > 1e-9:
            assert new["gibbs"][0, l] == (u < p)
            assert new["greedy"][0, l] == (p > 0.5)
        flip = (1 - p) / p if current else p / (1 - p)
        if abs(u - flip) > 1e-9 and abs(p - 0.5) > 1e-9:
            assert new["metropolis"][0, l] == (current != (u < flip))


def test_naive_sweep_tosses_a_coin_at_even_odds() -> None:
    ones = np.array([[True, False]])
    factors = [np.array([[True]]), np.array([[True], [True]])]
    for rule, u, expected in [("gibbs", 0.4, True), ("metropolis", 0.4, True), ("metropolis", 0.6, False)]:
        noise = Noise.symmetric(0.9)  # 1 - 0.9 is not the double nearest to 0.1, which would upset the tie
        new = naive.update_factor(ones, None, factors, 0, *noise, 0.5, [0], np.array([[u]]), rule)
        assert new[0, 0] == expected
