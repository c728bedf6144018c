"""Geweke's joint-distribution test (test_geweke.py) for strengths, with both backgrounds and shared modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from strong_cases import N_DRAWN as L
from strong_cases import chances, draw_prior
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.state import State
from tensorm.sampler.strength_models import ActivityModel, ConstantModel
from tensorm.sampler.strengths import ConstantStrengths
from tensorm.sampler.sweep import Target, sweep
from tensorm.tensors import DenseTensor, SymmetricTensor
from tensorm.tensors.factors import Factors

N_PRIOR, N_BATCHES = 8000, 40


def measure(factors: list[np.ndarray], noise: Any, density: tuple[float, ...]) -> list[float]:
    q, p = noise.strength, chances(factors, noise)
    held = np.einsum("al,bl,cl->", *(bits.astype(int) for bits in factors))
    found = [noise.typical, np.log(noise.spread), q[0], q.max(), q.std(), q[0] > q[1], held, density[0]]
    found += [factors[1][0, 0], q[0] * factors[0][0, 0], p.mean(), (p**2).mean(), p[0, 0, 1]]
    if isinstance(noise, ConstantStrengths):
        return [*found, noise.background, noise.background**2]
    a, level = np.log(noise.activity), np.log(noise.rate)
    return [*found, *np.log(noise.evenness[:2]), a[0], a[3] ** 2, a[-1], level, a[0] * level]


def measure_in_turns(n_sweeps: int, model: Any, shape: tuple[int, ...], pair: Any) -> np.ndarray:
    rng = np.random.default_rng(1)
    missing = rng.random(shape) < 0.2
    if pair:
        missing |= missing.swapaxes(*pair)
        missing[:, range(shape[1]), range(shape[1])] = True
    factors, noise, density = draw_prior(rng, model, shape, pair)
    target = Target(L, model, LearnedPrior(), np.uint64(7), tied=pair)
    state, found = State(Factors.from_bits(factors), noise, density, 0), []
    for _ in range(n_sweeps):
        x = rng.random(shape) < chances(state.factors.bits(), state.noise)
        x = np.triu(x, 1) | np.triu(x, 1).swapaxes(1, 2) if pair else x
        tensor: Any = DenseTensor(np.ma.array(x, mask=missing))
        state, _ = sweep(SymmetricTensor(tensor, pair) if pair else tensor, state, target, 0)
        found.append(measure(state.factors.bits(), state.noise, state.density))
    return np.array(found, float)


def assert_alike(n_sweeps: int, model: Any, shape: tuple[int, ...], pair: Any = None) -> None:
    rng = np.random.default_rng(0)
    prior = np.array([measure(*draw_prior(rng, model, shape, pair)) for _ in range(N_PRIOR)], float)
    turns = measure_in_turns(n_sweeps, model, shape, pair)[n_sweeps // 100 :]
    batches = turns[len(turns) % N_BATCHES :].reshape(N_BATCHES, -1, turns.shape[1]).mean(axis=1)
    variance = batches.var(axis=0, ddof=1) / N_BATCHES + prior.var(axis=0) / N_PRIOR
    z = (turns.mean(axis=0) - prior.mean(axis=0)) / np.sqrt(variance)
    assert np.abs(z).max() < 4, z.round(1)


GIVEN = {"typical_a": 2.0, "typical_b": 5.0, "spread_least": 0.02, "spread_most": 0.4}
EXTENT = {"rate_least": 0.05, "rate_most": 1.0, "evenness_least": 1.0, "evenness_most": 8.0}


def test_other_priors() -> None:
    assert_alike(3000, ConstantModel(2.0, 3.0, **GIVEN), (3, 4, 2))
    assert_alike(3000, ActivityModel(**GIVEN, **EXTENT), (3, 4, 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [ConstantModel(2.0, 3.0), ConstantModel(), ActivityModel(), ActivityModel(**GIVEN, **EXTENT)]
)
@pytest.mark.parametrize(("shape", "pair"), [((3, 4, 2), None), ((2, 4, 4), (1, 2))])
def test_long(model: Any, shape: tuple[int, ...], pair: Any) -> None:
    assert_alike(25_000, model, shape, pair)
