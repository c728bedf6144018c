"""Draws of strengths, activities and factors: an enumeration of a small tensor, and Geweke's test."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy import stats
from scipy.special import betaln

from tensorm import DenseTensor
from tensorm.kernels.activities import LOWEST, STEP
from tensorm.kernels.strengths import LEAST
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.state import State
from tensorm.sampler.strength_models import GRID, ActivityModel, ConstantModel
from tensorm.sampler.strengths import ActiveStrengths, ConstantStrengths
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
    assert_equal_within_error(np.array(found, float), list(enumerate_states(cells).values()), 0.02)


def assert_equal_within_error(found: np.ndarray, wanted: Sequence[float], most: float) -> None:
    """Compare means of draws with what they should be, by the spread of the means of 40 parts."""
    batches = found.reshape(40, -1, found.shape[1]).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    z = (batches.mean(axis=0) - np.array(wanted)) / error
    assert np.abs(z).max() < 4, np.column_stack([batches.mean(axis=0), wanted, z])
    assert error.max() < most


SHAPE_OF_PRIOR, RATES, FEW = 16.0, (0.15, 0.6), 30


def enumerate_active(cells: np.ndarray) -> list[float]:
    """Posterior means over all factors of one component of a 2 x 2 matrix, with activities on their grid."""
    mass = np.exp(SHAPE_OF_PRIOR * (GRID - np.exp(GRID)))
    mass /= mass.sum()
    (near,) = np.nonzero(mass > 1e-7)
    mass, levels = mass[near], near + LOWEST
    q = midpoints(FEW)
    first, last = (round(math.log(rate) / STEP) for rate in RATES)
    sums = np.zeros(8)
    held_patterns: dict[tuple[int, ...], np.ndarray] = {}
    for entries in itertools.product([0, 1], repeat=4):
        F, G = np.array(entries[:2]), np.array(entries[2:])
        weight = np.exp(sum(betaln(1 + f.sum(), 3 - f.sum()) for f in (F, G)))
        place = tuple(np.outer(F, G).ravel())
        held_patterns[place] = held_patterns.get(place, 0) + weight * np.array([1, F[0], G[1]])
    for (held, weights), rate in itertools.product(held_patterns.items(), range(first, last + 1)):
        # None of a cell's zeros: exp(-rate a c) (1 - q), by row activity, column activity and strength.
        none = np.exp(-np.exp(STEP * (rate + levels[:, None] + levels)))
        for strength in q if any(held) else q[:1]:
            share = 1.0 if any(held) else FEW
            by_column, with_column = [], []
            for j in range(2):
                parts = []
                for i in range(2):
                    zero = none * (1 - strength * held[2 * i + j])
                    x = cells[i, j]
                    parts.append(np.ones_like(zero) if x < 0 else 1 - zero if x else zero)
                by_column.append((parts[0] * mass) @ parts[1].T)  # (row 0, row 1)
                with_column.append((parts[0] * (mass * levels)) @ parts[1].T)
            table = by_column[0] * by_column[1] * np.outer(mass, mass)
            whole = table.sum()
            sums += share * np.array(
                [
                    *(weights * whole),
                    weights[0] * whole * any(held),
                    weights[0] * (whole * (strength if any(held) else q.mean())),
                    weights[0] * (table.sum(axis=1) @ levels),
                    weights[0] * (with_column[0] * by_column[1] * np.outer(mass, mass)).sum(),
                    weights[0] * whole * rate,
                ]
            )
    return list(sums[1:] / sums[0])


def test_draws_with_activities_are_those_of_an_enumeration() -> None:
    cells = np.array([[1, 1], [0, -1]])
    tensor = DenseTensor(np.ma.array(cells == 1, mask=cells < 0))
    prior = {"rate_least": RATES[0], "rate_most": RATES[1]} | dict.fromkeys(
        ("evenness_least", "evenness_most"), SHAPE_OF_PRIOR
    )
    flat = {"spread_least": 1.0, "spread_most": 1.0}  # strengths are uniform
    target = Target(1, ActivityModel(**prior, **flat), LearnedPrior(), np.uint64(3))
    noise = ActiveStrengths(np.array([0.6]), 0.5, 1.0, math.exp(-STEP * 20), np.full(2, 16.0), np.ones(4))
    state = State(Factors.from_bits([np.zeros((2, 1), bool)] * 2), noise, (0.5, 0.5), 0)
    found = []
    for _ in range(12_000):
        state, _ = sweep(tensor, state, target, 0)
        (F, G), noise = state.factors.bits(), state.noise
        held, levels = (F[:, 0, None] & G[:, 0]).any(), noise.levels
        found.append([F[0, 0], G[1, 0], held, noise.strength[0], levels[0], levels[2], noise.level])
    assert_equal_within_error(np.array(found, float), enumerate_active(cells), 0.2)
