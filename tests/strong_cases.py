"""Small generated tensors with strengths, with and without activities and modes that share a factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from makers import dense, listed, sharded, sparse
from problems import Problem, make_problem
from tensorm.kernels.activities import HIGHEST, LOWEST, STEP
from tensorm.sampler.strength_models import GRID, ConstantModel
from tensorm.sampler.strengths import SHAPES, ActiveStrengths, ConstantStrengths
from tensorm.tensors import SymmetricTensor, Tensor
from tensorm.tensors.factors import Factors

SIZES = {2: 7, 3: 5, 4: 4}
N_DRAWN = 3  # components that are drawn from the prior
Draw = tuple[list[np.ndarray], Any, tuple[float, ...]]  # factors, noise, densities
Store = Callable[[Problem], Tensor]
STORED = [  # whether modes share a factor, which those of shards cannot
    pytest.param(store, symmetric, id=f"{store.__name__}{'-symmetric' * symmetric}")
    for store in (dense, sparse, listed, sharded)
    for symmetric in ([False] if store is sharded else [False, True])
]


class Case(NamedTuple):
    ones: np.ndarray
    seen: np.ndarray
    factors: list[np.ndarray]
    noise: Any
    background: Any  # of naive.chance
    pair: tuple[int, int] | None

    @property
    def tensor(self) -> Tensor:
        return self.store(dense)

    def store(self, kind: Store) -> Tensor:
        """The cells in a kind of tensor (makers.py)."""
        tensor = kind(Problem(self.ones, self.seen, self.factors))
        return tensor if self.pair is None else SymmetricTensor(tensor, self.pair)

    @property
    def facts(self) -> np.ndarray:
        """Observed cells, each pair of mirror images once."""
        if self.pair is None:
            return self.seen
        index = np.indices(self.seen.shape)
        return self.seen & (index[self.pair[0]] < index[self.pair[1]])


def make_case(seed: int, symmetric: bool, active: bool) -> Case:
    rng = np.random.default_rng([seed, symmetric, active])
    K, L = int(rng.integers(2, 5)), int(rng.integers(1, 6))
    shape, pair = [int(n) for n in rng.integers(1, SIZES[K], size=K)], None
    if symmetric:
        pair = tuple(int(k) for k in sorted(rng.choice(K, 2, replace=False)))
        shape[pair[0]] = shape[pair[1]] = max(shape[pair[0]], 2)
    problem = make_problem(tuple(shape), L, seed, rng.choice([None, 0.3]), rng.choice([0.4, 0.7, 0.9]))
    ones, seen, factors = problem.ones, problem.seen.copy(), [bits.copy() for bits in problem.factors]
    if pair is not None:
        i, j = pair
        index = np.indices(shape)
        ones, factors[j] = ones | ones.swapaxes(i, j), factors[i].copy()
        seen &= seen.swapaxes(i, j) & (index[i] != index[j])
    seen.flat[0] |= not seen.any() and pair is None
    strength, background = rng.uniform(0.05, 0.95, L), float(rng.uniform(0.02, 0.4))
    if not active:
        noise: Any = ConstantStrengths(strength, 0.5, 0.3, background)
        return Case(ones, seen, factors, noise, background, pair)
    levels, level = [rng.integers(-30, 20, size=n) for n in shape], int(rng.integers(-40, 0))
    if pair is not None:
        levels[pair[1]] = levels[pair[0]]
    activities = [np.exp(STEP * x) for x in levels]
    noise = ActiveStrengths(
        strength, 0.5, 0.3, float(np.exp(STEP * level)), np.ones(K), np.hstack(activities)
    )
    return Case(ones, seen, factors, noise, [activities[0] * noise.rate, *activities[1:]], pair)


def draw_prior(rng: np.random.Generator, model: Any, shape: tuple[int, ...], pair: Any) -> Draw:
    """Draw factors, noise and densities from the prior."""
    typical = float(stats.beta.ppf(rng.uniform(), model.typical_a, model.typical_b))
    spread = float(model.spread_most * (model.spread_least / model.spread_most) ** rng.uniform())
    size, density = 1 / spread - 1, tuple(rng.uniform(size=len(shape)))
    q = np.clip(rng.beta(1 + typical * size, 1 + (1 - typical) * size, N_DRAWN), 1e-12, 1 - 1e-12)
    factors = [rng.random((n, N_DRAWN)) < p for n, p in zip(shape, density, strict=True)]
    if pair:
        factors[pair[1]] = factors[pair[0]]
    if isinstance(model, ConstantModel):
        return factors, ConstantStrengths(q, typical, spread, rng.beta(model.a, model.b)), density
    near = np.clip(SHAPES, 0.99 * model.evenness_least, 1.01 * model.evenness_most) == SHAPES
    shapes, levels = rng.choice(SHAPES[near], len(shape)), []
    for n, evenness in zip(shape, shapes, strict=True):
        weights = np.exp(evenness * (GRID - np.exp(GRID) + 1))
        levels.append(rng.choice(np.arange(LOWEST, HIGHEST + 1), n, p=weights / weights.sum()))
    if pair:
        levels[pair[1]], shapes[pair[1]] = levels[pair[0]], shapes[pair[0]]
    first, last = (round(float(np.log(rate)) / STEP) for rate in (model.rate_least, model.rate_most))
    rate = float(np.exp(STEP * rng.integers(first, last + 1)))
    activity = np.exp(STEP * np.concatenate(levels))
    return factors, ActiveStrengths(q, typical, spread, rate, shapes, activity), density


def chances(factors: list[np.ndarray], noise: Any) -> np.ndarray:
    """The probability of a one in each cell."""
    shape = [len(bits) for bits in factors]
    cells = np.indices(shape).reshape(len(shape), -1)
    return noise.predict(Factors.from_bits(factors), cells).reshape(shape)
