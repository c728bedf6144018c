"""Draws of strengths, activities and factors: an enumeration of a small tensor, and Geweke's test."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import stats
from scipy.special import betaln

from tensorm import DenseTensor
from tensorm.kernels.strengths import LEAST
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.state import State
from tensorm.sampler.strength_models import ConstantModel
from tensorm.sampler.strengths import ConstantStrengths
from tensorm.sampler.sweep import Target, sweep
from tensorm.tensors.factors import Factors

POINTS = 60  # of the grids on which strengths and background are integrated


def midpoints(count: int) -> np.ndarray:
    return (np.arange(count) + 0.5) / count


def strength_prior() -> np.ndarray:
    """The density of two strengths on a grid, their typical value and spread integrated out."""
    q, total = midpoints(POINTS), np.zeros((POINTS, POINTS))
    for typical, place in itertools.product(midpoints(30), midpoints(30)):
        size = 1 / LEAST**place - 1  # the logarithm of the spread is uniform
        density = np.exp(stats.beta.logpdf(q, 1 + size * typical, 1 + size * (1 - typical)))
        density = density / density.sum() if density.sum() > 0 else np.eye(POINTS)[int(POINTS * typical)]
        total += np.outer(density, density)
    return total / total.sum()


def enumerate_states(cells: np.ndarray) -> dict[str, float]:
    """Posterior means over all factors of two components of a matrix; -1 is missing."""
    N, M = cells.shape
    q, prior, b = midpoints(POINTS), strength_prior(), midpoints(POINTS)[:, None, None]
    highest = np.maximum(q[:, None], q)
    values = {0: 0 * highest, 1: q[:, None] + 0 * highest, 2: q + 0 * highest, 3: highest}
    ones = {mask: 1 - (1 - b) * (1 - value) for mask, value in values.items()}
    sums: dict[str, float] = dict.fromkeys(
        ["all", "first", "second", "covered", "both", "max", "min", "background"], 0.0
    )
    for entries in itertools.product([0, 1], repeat=2 * (N + M)):
        F, G = np.array(entries[: 2 * N]).reshape(N, 2), np.array(entries[2 * N :]).reshape(M, 2)
        weight = np.exp(sum(betaln(1 + f.sum(), 1 + f.size - f.sum()) for f in (F, G)))
        shared = (F[:, None] & G) @ [1, 2]
        density = weight * prior * np.ones_like(b)
        for mask, x in zip(shared.flat, cells.flat, strict=True):
            if x >= 0:
                density = density * (ones[mask] if x else 1 - ones[mask])
        mass = density.sum()
        sums["all"] += mass
        sums["first"] += mass * F[0, 0]
        sums["second"] += mass * G[1, 1]
        sums["covered"] += mass * (shared[0, 0] > 0)
        sums["both"] += mass * (shared[0, 0] == 3)
        sums["max"] += (density * highest).sum()
        sums["min"] += (density * np.minimum(q[:, None], q)).sum()
        sums["background"] += (density * b).sum()
    return {name: value / sums["all"] for name, value in sums.items() if name != "all"}


def test_draws_are_those_of_an_enumeration() -> None:
    cells = np.array([[1, 1], [1, 0], [-1, 1]])
    tensor = DenseTensor(np.ma.array(cells == 1, mask=cells < 0))
    target = Target(2, ConstantModel(), LearnedPrior(), np.uint64(3))
    nothing = [np.zeros((n, 2), bool) for n in cells.shape]
    state = State(
        Factors.from_bits(nothing), ConstantStrengths(np.array([0.6, 0.4]), 0.5, 0.3, 0.2), (0.5, 0.5), 0
    )
    found = []
    for _ in range(12_000):
        state, _ = sweep(tensor, state, target, 0)
        (F, G), noise = state.factors.bits(), state.noise
        held = F[0] & G[0]
        q = noise.strength
        found.append([F[0, 0], G[1, 1], held.any(), held.all(), q.max(), q.min(), noise.background])
    batches = np.array(found, float).reshape(40, -1, len(found[0])).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    wanted = np.array(list(enumerate_states(cells).values()))
    z = (batches.mean(axis=0) - wanted) / error
    assert np.abs(z).max() < 4, np.column_stack([batches.mean(axis=0), wanted, z])
    assert error.max() < 0.02
