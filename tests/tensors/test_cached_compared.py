"""Counts of comparisons that are kept: the same draws as those of the plain update, whoever flipped what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chain import disturb, sweep_both
from spy import Spying
from tensorm import RelationalTensor
from tensorm.sampler.comparisons import Agreement, Comparisons
from tensorm.sampler.prior import FactorPrior, FixedPrior, LearnedPrior
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, sweep
from tensorm.tensors import GIBBS, METROPOLIS, cached, slices
from tensorm.tensors.cached_compared import CachedComparisons
from tensorm.tensors.compared import ABOVE, BELOW, ComparedTensor
from tensorm.tensors.factors import Factors

ALWAYS = np.inf


class Spy(Spying, ComparedTensor):
    """Comparisons that count what is asked of them."""


def make_tensor(shape: tuple[int, int], L: int, messy: bool, seed: int = 0) -> tuple[Any, Factors]:
    """Values with planted sets, with ties, gaps and hidden pairs if messy; factors, some of them empty."""
    rng = np.random.default_rng(seed)
    factors = [rng.random((n, L + 2)) < 0.3 for n in (shape[0], shape[1], shape[1])]
    values = rng.normal(size=shape)
    for l in range(L):
        values += np.outer(factors[0][:, l], factors[1][:, l] * 1.5 - factors[2][:, l] * 1.5)
    factors[0][:, -2:] = False
    if messy:
        values = np.round(values)
        values[rng.random(shape) < 0.1] = np.nan
    tensor = RelationalTensor(values, normalise=None)
    return tensor.hold_out(0.2)[0] if messy else tensor, Factors.from_bits(factors)


@pytest.mark.parametrize("most", [ALWAYS, 0.6])
@pytest.mark.parametrize(
    ("shape", "L", "messy", "flips"),
    [
        ((30, 9), 3, False, METROPOLIS),
        ((9, 30), 4, True, GIBBS),
        ((12, 70), 3, True, METROPOLIS),
        ((6, 14), 64, False, GIBBS),  # masks of two words
    ],
)
def test_the_same_draws_of_comparisons(
    shape: tuple[int, int], L: int, messy: bool, flips: int, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when somebody else changes factors between sweeps, a few entries or many."""
    monkeypatch.setattr(cached, "LEAST_CORRECTION", 0)
    monkeypatch.setattr(cached, "ROOM", 300)  # slices in several lots
    monkeypatch.setattr(slices, "WORTH_THREADS", 0)
    plain, factors = make_tensor(shape, L, messy)
    L += 2
    rng = np.random.default_rng(0)
    tables = [
        rng.choice([0.0, 0.1, 0.4, 1.0], p=[0.1, 0.4, 0.4, 0.1], size=(len(masks), L)) for masks in factors
    ]
    prior: FactorPrior = FixedPrior.from_probabilities(tables) if messy else LearnedPrior()
    model = Target(L, Comparisons(), prior, np.uint64(4), flips)
    spy = Spy(plain).with_threads(2)
    keeping = CachedComparisons(spy, most)
    state = State(factors, Agreement(0.8), (0.4,) * 3, 0)
    for i in range(40):
        state = sweep_both(keeping, plain.compared(), state, model)
        if i % 4 == 3:
            state = state._replace(factors=disturb(state.factors, L, rng, 1 if i % 8 == 3 else 30))
    if most == ALWAYS:
        assert spy.asked["update"] == 0
        assert min(spy.asked[kind] for kind in ("update rows", "counts rows")) > 5
        assert spy.asked["counts"] == 3
        assert spy.asked["confusion"] == 1


def test_counts_of_very_many_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters of attributes are emptied in time."""
    monkeypatch.setattr(cached, "LEAST_CORRECTION", 0)
    rng = np.random.default_rng(1)
    tensor = RelationalTensor(rng.random((70_000, 3)), normalise=None).compared()
    masks = [np.full((n, 1), 1, np.uint64) for n in tensor.shape]
    old = Factors((masks[0], masks[1], masks[2] * np.array([[1], [1], [0]], np.uint64)), 1)
    new = Factors(tuple(masks), 1)
    keeping = CachedComparisons(tensor, ALWAYS)
    counts = np.array(tensor.counts(1, old))
    keeping._correct_counts(counts, 1, old, new, {2: np.array([2])}, np.zeros(0, np.intp))
    np.testing.assert_array_equal(counts, tensor.counts(1, new))


def test_counts_with_very_many_changed_attributes() -> None:
    """More of them in one object than a counter of 16 bits can count."""
    values = np.random.default_rng(2).permutation(2**16 + 100)[None]
    tensor = RelationalTensor(values, normalise=None).compared()
    last, changed = values.shape[1] - 1, np.arange(values.shape[1] - 1)
    masks = [np.ones((n, 1), np.uint64) for n in tensor.shape]
    masks[BELOW][last] = 0
    counts = tensor.count_pairs_with(ABOVE, changed, Factors(tuple(masks), 1), np.zeros(1, np.intp))
    assert counts[:, last, 0].tolist() == [values[0, last], last]  # values are ranks


@pytest.mark.parametrize("shape", [(500, 250), pytest.param((200, 400), marks=pytest.mark.slow)])
def test_small_tensors_keep_nothing(shape: tuple[int, int]) -> None:
    """The second shape has rows of two vectors, for which kernels are compiled anew."""
    small = RelationalTensor(np.random.default_rng(0).random((9, 8)))
    assert small.compared().cached(3).__class__ is ComparedTensor
    large = RelationalTensor(np.random.default_rng(0).random(shape))
    assert large.compared().cached(5).__class__ is CachedComparisons
    part = large.take([np.arange(n) for n in (shape[0], shape[1] - 50, shape[1])])
    assert part.compared().cached(5).__class__ is ComparedTensor
    mini = large.compared().cached(5).miniature()
    state = State(Factors.full(mini.shape), Agreement(0.8), (0.5,) * 3, 0)
    sweep(mini, state, Target(1, Comparisons(), LearnedPrior(), np.uint64(0)), 0)
