"""Geweke's joint-distribution test ("Getting it right", 2004) on 3 x 3 x 3 tensors with two components.

Parameters and data are drawn together in two ways: the parameters from the prior and then the data; and in
turns, data given parameters and parameters given data by one sweep of the sampler. If the sampler is right,
any function of parameters and data has the same mean in both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import logit

from chain import z_scores
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, sweep
from tensorm.sampler.two_rates import CONTRAST, Asymmetric, Rates, Symmetric, SymmetricPlugIn
from tensorm.tensors import GIBBS, METROPOLIS, DenseTensor
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors

SHAPE, L = (3, 3, 3), 2
N_PRIOR, N_TURNS = 100_000, 4_000
ALL = np.ones(SHAPE, dtype=bool)
SOME = np.random.default_rng(5).random(SHAPE) < 0.75


class Joint(NamedTuple):
    """Draws of everything, one per row."""

    factors: list[np.ndarray]  # (draws, 3, L) for each mode
    noise: np.ndarray  # (draws, 2)
    density: np.ndarray  # (draws, 3)
    ones: np.ndarray  # (draws, 3, 3, 3)


def product(factors: list[np.ndarray]) -> np.ndarray:
    return np.einsum("sal,sbl,scl->sabc", *(factor.astype(np.int8) for factor in factors)) > 0


def draw_noise(rng: np.random.Generator, model: Any, count: int) -> np.ndarray:
    """Draws from the ordered prior: of all pairs of rates, those that keep the contrast."""
    hit = rng.beta(model.a, model.b, 3 * count)
    symmetric = isinstance(model, (Symmetric, SymmetricPlugIn))
    false_alarm = 1 - hit if symmetric else rng.beta(model.a, model.b, 3 * count)
    kept = logit(hit) - logit(false_alarm) >= CONTRAST
    return np.stack([hit, false_alarm], axis=1)[kept][:count]


def draw_ones(rng: np.random.Generator, factors: list[np.ndarray], noise: np.ndarray) -> np.ndarray:
    inside = product(factors)
    rates = np.where(inside, noise[:, 0, None, None, None], noise[:, 1, None, None, None])
    return rng.random(inside.shape) < rates


def draw_jointly(rng: np.random.Generator, noise: Any, prior: Any, count: int) -> Joint:
    """Parameters from the prior, then data."""
    if isinstance(prior, LearnedPrior):
        density = rng.beta(prior.a, prior.b, (count, 3))
        chances = [column[:, None, None] for column in density.T]
    else:
        density = np.full((count, 3), np.nan)
        chances = list(prior)
    factors = [rng.random((count, 3, L)) < p for p in chances]
    rates = draw_noise(rng, noise, count)
    return Joint(factors, rates, density, draw_ones(rng, factors, rates))


def take_turns(
    rng: np.random.Generator, model: Target, first: Joint, observed: np.ndarray, n_turns: int
) -> Joint:
    """From a joint draw on: one sweep given the data, then new data."""
    factors = [factor[:1] for factor in first.factors]
    noise = Rates(*first.noise[0].tolist())
    state = State(
        Factors.from_bits([factor[0] for factor in factors]), noise, tuple(first.density[0].tolist()), 0
    )
    ones, states, data = first.ones[0], [], []
    for _ in range(n_turns):
        tensor = DenseTensor(ones if observed.all() else np.where(observed, ones, np.nan))
        state, _ = sweep(tensor, state, model, 0)
        factors = [unpack(masks, L)[None] for masks in state.factors]
        ones = draw_ones(rng, factors, np.array([state.noise]))[0]
        states.append(state)
        data.append(ones)
    masks = zip(*(state.factors for state in states), strict=True)
    return Joint(
        [unpack(np.array(mode), L) for mode in masks],
        np.array([state.noise for state in states]),
        np.array([state.density for state in states]),
        np.array(data),
    )


def statistics(joint: Joint, observed: np.ndarray) -> np.ndarray:
    """Functions of parameters and data, (draws, 18) or with learned densities (draws, 24)."""
    inside, ones = product(joint.factors)[:, observed], joint.ones[:, observed]
    y, x, hits = inside.mean(axis=1), ones.mean(axis=1), (inside & ones).mean(axis=1)
    right = (inside == ones).mean(axis=1)
    hit, false_alarm = joint.noise.T
    f, g, h = (factor.mean(axis=(1, 2)) for factor in joint.factors)
    overlap = np.mean([factor.all(axis=2).mean(axis=1) for factor in joint.factors], axis=0)
    columns = [f, g, h, overlap, f * g * h, y, y**2, x, x**2, x * y, hits, right, hit, false_alarm, hit**2]
    columns += [hit * y, hit * f, hit * false_alarm, hit * x, false_alarm * x, (hit - false_alarm) * right]
    if not np.isnan(joint.density).any():
        columns += [
            *joint.density.T,
            joint.density[:, 0] ** 2,
            joint.density[:, 1] * g,
            joint.density[:, 2] * hit,
        ]
    return np.stack(columns, axis=1)


class Truth(NamedTuple):
    """What the data are simulated from, and which cells are seen."""

    noise: Any
    prior: Any
    observed: np.ndarray = ALL


def geweke(truth: Truth, noise: Any, prior: Any, flips: int, n_turns: int) -> np.ndarray:
    """The z-scores of all statistics for a sampler with this noise model and prior."""
    rng = np.random.default_rng(11)
    jointly = draw_jointly(rng, truth.noise, truth.prior, N_PRIOR)
    model = Target(L, noise, as_prior(prior), np.uint64(3), flips)
    in_turns = statistics(take_turns(rng, model, jointly, truth.observed, n_turns), truth.observed)
    expected = statistics(jointly, truth.observed)
    return z_scores(in_turns, expected.mean(axis=0), expected.std(axis=0) / np.sqrt(N_PRIOR))


def as_prior(prior: Any) -> Any:
    return prior if isinstance(prior, LearnedPrior) else FixedPrior.from_probabilities(prior)


EVEN = [np.full((3, 2), 0.5)] * 3
UNEVEN = [np.random.default_rng(mode).uniform(0.2, 0.9, (3, 2)) for mode in range(3)]
PAPER = Truth(Symmetric(2.0, 1.0), EVEN)
LEARNED = Truth(Asymmetric(), LearnedPrior(2.0, 2.0))
MISSING = Truth(Asymmetric(2.0, 1.5), UNEVEN, SOME)


@pytest.mark.parametrize("n_turns", [N_TURNS, pytest.param(3 * N_TURNS, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("truth", "flips"),
    [(PAPER, METROPOLIS), (LEARNED, METROPOLIS), (MISSING, GIBBS)],
    ids=["symmetric", "asymmetric, learned", "asymmetric, missing, entries' priors"],
)
def test_getting_it_right(truth: Truth, flips: int, n_turns: int) -> None:
    z = geweke(truth, truth.noise, truth.prior, flips, n_turns)
    assert len(z) >= 20
    assert np.abs(z).max() < 4


@pytest.mark.parametrize(
    ("truth", "noise", "prior"),
    [
        (PAPER, PAPER.noise, [np.full((3, 2), 0.4)] * 3),
        pytest.param(PAPER, SymmetricPlugIn(2.0, 1.0), EVEN, marks=pytest.mark.slow),
        pytest.param(LEARNED, LEARNED.noise, LearnedPrior(2.0, 3.0), marks=pytest.mark.slow),
        (LEARNED, Asymmetric(2.0, 1.0), LEARNED.prior),
    ],
    ids=["prior", "plug-in noise", "prior of the densities", "prior of the rates"],
)
def test_an_error_is_found_out(truth: Truth, noise: Any, prior: Any) -> None:
    """The same test, with as many turns, on a sampler that is wrong in one place."""
    assert np.abs(geweke(truth, noise, prior, METROPOLIS, N_TURNS)).max() > 4
