"""Components with strengths: updates, counts and activities against loops over single cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import naive
from problems import make_problem
from tensorm.kernels.activities import STEP
from tensorm.kernels.philox import uniforms
from tensorm.sampler.strengths import ActiveStrengths, ConstantStrengths
from tensorm.tensors import GIBBS, GREEDY, METROPOLIS, DenseTensor, Rule, Stream, SymmetricTensor, Tensor
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors

KINDS = {"gibbs": GIBBS, "metropolis": METROPOLIS, "greedy": GREEDY}
SIZES = {2: 7, 3: 5, 4: 4}


class Case(NamedTuple):
    ones: np.ndarray
    seen: np.ndarray
    factors: list[np.ndarray]
    noise: Any
    background: Any  # of naive.chance
    pair: tuple[int, int] | None

    @property
    def tensor(self) -> Tensor:
        tensor = DenseTensor(np.ma.array(self.ones, mask=~self.seen))
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


def naive_update(case: Case, mode: int, kind: str, prior: np.ndarray, stream: Stream) -> np.ndarray:
    """The strongest first, each with the random number of its rank."""
    factors, (N, L) = [bits.copy() for bits in case.factors], case.factors[mode].shape
    modes = case.pair if case.pair is not None and mode in case.pair else (mode,)
    for n in range(N):
        numbers = uniforms(stream, n, L)
        for rank, l in enumerate(np.argsort(-case.noise.strength)):
            odds = prior[n, l] + naive.strength_odds(
                case.ones, case.facts, factors, (mode, n, l), case.noise.strength, case.background, case.pair
            )
            new = naive.decide(kind, bool(factors[mode][n, l]), odds, numbers[rank])
            for k in modes:
                factors[k][n, l] = new
    return factors[mode]


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("kind", list(KINDS))
def test_updates_as_by_loops(symmetric: bool, active: bool, kind: str) -> None:
    for seed in range(25):
        case = make_case(seed, symmetric, active)
        rng = np.random.default_rng(seed)
        mode = int(rng.integers(len(case.factors)))
        if case.pair is not None and mode == case.pair[1]:
            mode = case.pair[0]
        prior = rng.normal(size=case.factors[mode].shape)
        stream = Stream(np.uint64(seed), 0, 1, mode)
        rule = Rule(np.arange(prior.shape[1]), KINDS[kind], case.noise.weights, prior)
        new = case.tensor.update_factor(mode, Factors.from_bits(case.factors), rule, stream)
        wanted = naive_update(case, mode, kind, prior, stream)
        np.testing.assert_array_equal(unpack(new, prior.shape[1]), wanted, err_msg=f"case {seed}")


@pytest.mark.parametrize("symmetric", [False, True])
def test_cells_by_who_decides_them(symmetric: bool) -> None:
    for seed in range(20):
        case = make_case(seed, symmetric, False)
        order = np.argsort(-case.noise.strength)
        ranked = [bits[:, order] for bits in case.factors]
        L = len(order)
        probe = seed % L
        wanted = np.zeros((2, 2, L + 1), int)
        for index in naive.cells(ranked):
            if case.facts[index]:
                held = [l for l in range(L) if all(f[n, l] for f, n in zip(ranked, index, strict=True))]
                others = [l for l in held if l != probe]
                wanted[int(probe in held), 1, others[0] if others else L] += 1
                wanted[int(probe in held), 0, others[0] if others else L] += case.ones[index]
        counts = case.tensor.count_decided(Factors.from_bits(ranked), probe)
        np.testing.assert_array_equal(counts, wanted, err_msg=f"case {seed}")
