"""One sweep: each factor given the newest others, then the noise, then the densities; turns and numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import naive
from tensorm.kernels.philox import uniforms
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.sample import Plan, Snapshot, sample
from tensorm.sampler.state import NOISE, State
from tensorm.sampler.sweep import Target, random_factors, start, sweep
from tensorm.sampler.two_rates import PAPERS_RATES, Asymmetric, Rates, Symmetric
from tensorm.tensors import GIBBS, METROPOLIS, DenseTensor
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors

SHAPE, L = (4, 3, 5), 3
SEED = np.uint64(9)


def cells() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = (rng.random(SHAPE) < 0.5).astype(float)
    X[rng.random(SHAPE) < 0.2] = np.nan
    return X


@pytest.mark.parametrize("flips", [GIBBS, METROPOLIS], ids=["gibbs", "metropolis"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_a_sweep_is_the_naive_one(flips: int, shuffle: bool) -> None:
    """Modes in order, each seeing the new factors of those before it, all with the rates of before."""
    X, chain, density = cells(), 2, (0.3, 0.6, 0.45)
    ones, observed = X == 1, ~np.isnan(X)
    model = Target(L, Symmetric(), LearnedPrior(), SEED, flips, shuffle)
    rng = np.random.default_rng(1)
    factors = [rng.random((N, L)) < 0.5 for N in SHAPE]
    state = State(Factors.from_bits(factors), Rates(0.8, 0.3), density, 41)
    new, counted = sweep(DenseTensor(X), state, model, chain)
    for mode, N in enumerate(SHAPE):
        stream = model.stream(chain, 41, mode)
        numbers = np.array([uniforms(stream, n, L) for n in range(N)])
        how = (density[mode], model.order(chain, 41), numbers, "gibbs" if flips == GIBBS else "metropolis")
        factors[mode] = naive.update_factor(ones, observed, factors, mode, *state.noise, *how)
        np.testing.assert_array_equal(unpack(new.factors[mode], L), factors[mode])
    confusion = naive.confusion(ones, observed, factors)
    u = uniforms(model.stream(chain, 41, NOISE), 0, 5)
    assert counted == confusion
    assert new.noise == model.noise.draw(counted, state.noise, u[:2])
    assert new.density == model.prior.update(new.factors, u[2:])
    assert new.sweep == 42


def test_the_state_given_is_left_alone() -> None:
    model = Target(L, Asymmetric(), LearnedPrior(), SEED)
    tensor = DenseTensor(cells())
    state = start(model, random_factors(tensor, model, 0))
    before = [masks.copy() for masks in state.factors]
    after, _ = sweep(tensor, state, model, 0)
    np.testing.assert_array_equal(np.concatenate(state.factors), np.concatenate(before))
    assert (np.concatenate(after.factors) != np.concatenate(before)).any()


def test_sample_is_sweep_after_sweep() -> None:
    model = Target(L, Asymmetric(), LearnedPrior(), SEED)
    tensor = DenseTensor(cells())
    state = start(model, random_factors(tensor, model, 1))
    for step in sample(tensor, Plan(model, n_draws=5, burn_in=0), 1, Snapshot(state)):
        state, expected = sweep(tensor, state, model, 1)
        assert step.state.noise == state.noise
        assert step.confusion == expected
        np.testing.assert_array_equal(np.concatenate(step.state.factors), np.concatenate(state.factors))
    assert state.sweep == 5


def test_turns_are_a_new_permutation_each_sweep_or_always_the_same() -> None:
    model = Target(6, Symmetric(), LearnedPrior(), SEED)
    orders = np.array([model.order(0, t) for t in range(6000)])
    assert (np.sort(orders, axis=1) == np.arange(6)).all()
    firsts = np.bincount(orders[:, 0], minlength=6)
    assert np.abs(firsts - 1000).max() < 4 * np.sqrt(1000 * 5 / 6)
    assert (model.order(0, 3) != model.order(1, 3)).any()  # each chain has its own
    np.testing.assert_array_equal(model.order(0, 3), orders[3])
    fixed = Target(6, Symmetric(), LearnedPrior(), SEED, shuffle=False)
    np.testing.assert_array_equal(fixed.order(0, 3), np.arange(6))


def test_random_factors_are_fair_and_differ_between_chains_and_seeds() -> None:
    tensor = DenseTensor(np.zeros((60, 50, 40)))
    models = [Target(10, Symmetric(), LearnedPrior(), np.uint64(seed)) for seed in (1, 2)]
    drawn = [np.concatenate(random_factors(tensor, model, chain)) for model in models for chain in (0, 1)]
    for factors in drawn:
        assert factors.shape == (150, 10)
        assert abs(factors.mean() - 0.5) < 4 * 0.5 / np.sqrt(1500)
    for one, other in itertools.combinations(drawn, 2):
        assert abs((one == other).mean() - 0.5) < 4 * 0.5 / np.sqrt(1500)


def test_chains_start_where_the_paper_does() -> None:
    factors = [np.ones((N, L), bool) for N in SHAPE]
    state = start(Target(L, Symmetric(), LearnedPrior(), SEED), factors)
    assert state.noise == PAPERS_RATES
    assert state.noise.weights == pytest.approx((0.5, 0.5))
    assert state.sweep == 0
    for masks, factor in zip(state.factors, factors, strict=True):
        np.testing.assert_array_equal(unpack(masks, L), factor)


def test_entries_whose_prior_is_certain_do_not_move() -> None:
    rng = np.random.default_rng(2)
    tables = [rng.choice([0.0, 1.0, 0.5], (N, L)) for N in SHAPE]
    model = Target(L, Asymmetric(), FixedPrior.from_probabilities(tables), SEED)
    tensor = DenseTensor(cells())
    saved = Snapshot(start(model, random_factors(tensor, model, 0)))
    for step in sample(tensor, Plan(model, n_draws=20, burn_in=0), 0, saved):
        for masks, table in zip(step.state.factors, tables, strict=True):
            certain = table != 0.5
            np.testing.assert_array_equal(unpack(masks, L)[certain], table[certain])
