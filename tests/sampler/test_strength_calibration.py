"""Simulation-based calibration (test_calibration.py) of strengths, activities and factors.

Parameters are drawn from the prior and cells from them; their ranks among draws from the posterior must be
uniform. Chains start from the true values, which are a draw from the posterior, too, and run on for a while.
The common rate and the evenness of activities are left out: without ones in the background they may be
anything over twenty powers of e, and chains take long to tell. The same test finds a sampler that forgets
that strengths have a density in pieces.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from benchmarks.calibration import Length, compare
from strong_cases import N_DRAWN, Draw, chances, draw_prior
from tensorm.kernels import strengths as kernel
from tensorm.sampler import strength_models
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.sample import DRAWS, Plan, Snapshot, sample
from tensorm.sampler.state import State
from tensorm.sampler.strength_models import ActivityModel, ConstantModel
from tensorm.sampler.strengths import ConstantStrengths
from tensorm.sampler.sweep import Target
from tensorm.tensors import DenseTensor
from tensorm.tensors.factors import Factors

SHAPE, N_TENSORS = (5, 4, 4), 150
LENGTH = Length(burn_in=100, n_draws=19, thin=40)
draw_strengths = kernel.draw_strengths


def measure(draw: Draw, ones: np.ndarray) -> dict[str, float]:
    """What is ranked: functions of parameters and cells that do not depend on the order of components."""
    factors, noise, density = draw
    p, q = chances(factors, noise), np.sort(noise.strength)
    found = {"typical": noise.typical, "spread": noise.spread, "density": density[0]}
    found |= {f"strength {l}": value for l, value in enumerate(q)}
    found |= {f"members {k}": float(bits.sum()) for k, bits in enumerate(factors)}
    found["chance"], found["likelihood"] = p[0, 0, 1], float(np.log(np.where(ones, p, 1 - p)).sum())
    if isinstance(noise, ConstantStrengths):
        return found | {"background": noise.background}
    return found | {f"activity {n}": noise.activity[n] for n in (0, 5, -1)}


def rank(model: Any, number: int) -> dict[str, int]:
    """Draw one tensor, sample its posterior, and return the ranks of the true values."""
    rng = np.random.default_rng([number, isinstance(model, ConstantModel)])
    truth, (factors, noise, density) = (
        draw_prior(rng, model, SHAPE, None),
        draw_prior(rng, model, SHAPE, None),
    )
    ones = rng.random(SHAPE) < chances(truth[0], truth[1])
    target = Target(N_DRAWN, model, LearnedPrior(), np.uint64(number))
    n_sweeps = LENGTH.n_draws * LENGTH.thin
    start = Snapshot(State(Factors.from_bits(factors), noise, density, 0))
    plan = Plan(target, n_sweeps, burn_in=LENGTH.burn_in, init="random")
    states = (step.state for step in sample(DenseTensor(ones), plan, 0, start) if step.phase == DRAWS)
    drawn = [
        measure((state.factors.bits(), state.noise, state.density), ones)
        for state in islice(states, LENGTH.thin - 1, n_sweeps, LENGTH.thin)
    ]
    ranks = {}
    for name, value in measure(truth, ones).items():
        values = np.array([one[name] for one in drawn])
        equal = np.isclose(values, value, rtol=1e-12, atol=0)
        ranks[name] = int((values < value)[~equal].sum() + rng.integers(equal.sum() + 1))
    return ranks


def smallest(model: Any, n_tensors: int) -> tuple[float, Any]:
    rows = [rank(model, number) for number in range(n_tensors)]
    found = compare({name: np.array([row[name] for row in rows]) for name in rows[0]}, LENGTH.n_draws)
    return min(p for row in found.values() for p in row.values()), found


@pytest.mark.slow
@pytest.mark.parametrize("model", [ConstantModel(2.0, 3.0), ActivityModel()])
def test_true_values_rank_uniformly(model: Any) -> None:
    p, found = smallest(model, N_TENSORS)
    assert p > 0.001, found


def draw_as_if_alone(q: Any, prior: Any, counted: Any, *given: Any) -> Any:
    """Draw the probe's strength as if no other component held its cells, whatever its rank."""
    tot, ones, chances = (array.copy() for array in counted)
    for counts in (tot[1], ones[1]):
        counts[-1] = counts.sum(axis=0)
        counts[:-1] = 0
    return draw_strengths(q, prior, (tot, ones, chances), *given)


@pytest.mark.slow
def test_a_density_without_pieces_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strength_models.kernel, "draw_strengths", draw_as_if_alone)
    p, _ = smallest(ActivityModel(), N_TENSORS)
    assert p < 0.001
