"""Counts that are kept: the same draws as the plain update's, whatever flipped and whoever flipped it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chain import disturb, sweep_both
from spy import Spying
from tensorm import RelationalTensor, datasets
from tensorm.sampler.chains import run_chain
from tensorm.sampler.prior import FactorPrior, FixedPrior, LearnedPrior
from tensorm.sampler.sample import Plan
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, sweep
from tensorm.sampler.two_rates import Asymmetric, Rates
from tensorm.storage.checkpoints import Checkpoints
from tensorm.tensors import GIBBS, METROPOLIS, DenseTensor, Rule, Stream, Weights, cached, slices
from tensorm.tensors.cached import CachedCounts, memory_for_counts
from tensorm.tensors.factors import Factors

ALWAYS = np.inf


class Spy(Spying, DenseTensor):
    """A dense tensor that counts what is asked of it."""


def planted(shape: tuple[int, ...], L: int, missing: float, noise: float = 0.1) -> tuple[np.ndarray, Factors]:
    """Cells, and the factors they come from with two more components that are empty in mode 0."""
    rng = np.random.default_rng(3)
    sim = datasets.simulate(shape, L, 0.3, noise, random_state=1)
    X = np.where(rng.random(shape) < missing, np.nan, sim.observed)
    factors = [np.hstack([factor, rng.random((len(factor), 2)) < 0.5]) for factor in sim.factors]
    factors[0][:, -2:] = False
    return X, Factors.from_bits(factors)


CASES = [
    ((70, 9), 3, 0.0, METROPOLIS),
    ((14, 12, 13), 3, 0.2, GIBBS),
    ((30, 7, 9), 4, 0.0, METROPOLIS),
    ((7, 6, 5, 8), 3, 0.1, METROPOLIS),
    ((12, 10, 70), 64, 0.0, GIBBS),  # masks of two words
]


@pytest.mark.parametrize("most", [ALWAYS, 0.6])
@pytest.mark.parametrize(("shape", "L", "missing", "flips"), CASES)
def test_the_same_draws(
    shape: tuple[int, ...], L: int, missing: float, flips: int, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when somebody else changes factors between sweeps, a few entries or many."""
    monkeypatch.setattr(cached, "LEAST_CORRECTION", 0)
    monkeypatch.setattr(cached, "ROOM", 300)  # slices in several lots
    monkeypatch.setattr(slices, "WORTH_THREADS", 0)
    X, factors = planted(shape, L, missing)
    L += 2
    rng = np.random.default_rng(0)
    tables = [rng.choice([0.0, 0.1, 0.4, 1.0], p=[0.1, 0.4, 0.4, 0.1], size=(N, L)) for N in shape]
    prior: FactorPrior = FixedPrior.from_probabilities(tables) if missing else LearnedPrior()
    model = Target(L, Asymmetric(), prior, np.uint64(4), flips)
    plain, spy = DenseTensor(X), Spy(X).with_threads(2)
    keeping = CachedCounts(spy, most)
    state = State(factors, Rates(0.9, 0.1), (0.4,) * len(shape), 0)
    for i in range(40):
        state = sweep_both(keeping, plain, state, model)
        if i % 4 == 3:
            state = state._replace(factors=disturb(state.factors, L, rng, 1 if i % 8 == 3 else 30))
    if most == ALWAYS:
        assert spy.asked["update"] == 0
        assert min(spy.asked[kind] for kind in ("update rows", "counts rows", "take")) > 5
        assert spy.asked["counts"] == len(shape)
        assert spy.asked["confusion"] == 1
        assert missing or spy.asked["counts columns"] > 5  # no prior fills the empty components


def compared() -> RelationalTensor:
    """Two groups of objects, in each of which some attributes are high; ties, and values that are missing."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(40, 24)).round(1)
    values[:20, :8] += 3
    values[15:, 12:18] += 3
    values[rng.random(values.shape) < 0.02] = np.nan
    return RelationalTensor(values, normalise=None)


@pytest.mark.parametrize("most", [ALWAYS, 0.6])
def test_relational_tensors_make_the_same_draws(most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached, "LEAST_CORRECTION", 0)
    monkeypatch.setattr(cached, "ROOM", 300)
    plain, L, rng = compared(), 4, np.random.default_rng(0)
    keeping, model = CachedCounts(plain, most), Target(L, Asymmetric(), LearnedPrior(), np.uint64(4))
    factors = Factors.from_bits([rng.random((N, L)) < 0.5 for N in plain.shape])
    state = State(factors, Rates(0.9, 0.1), (0.4,) * 3, 0)
    for i in range(24):
        state = sweep_both(keeping, plain, state, model)
        if i % 4 == 3:
            state = state._replace(factors=disturb(state.factors, L, rng, 1 if i % 8 == 3 else 20))


@pytest.mark.parametrize("kind", [DenseTensor, RelationalTensor])
def test_a_chain_that_goes_on_is_the_same(
    kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts are not written down: a chain that goes on from a file counts anew, and draws the same."""
    tensor = compared() if kind is RelationalTensor else DenseTensor(planted((15, 14, 13), 3, 0.1)[0])
    seed = np.uint64(2)
    plan = Plan(Target(4, Asymmetric(), LearnedPrior(), seed), n_draws=20, burn_in=30)
    plain = run_chain(tensor, plan, 0)
    for name in ("WORTH_KEEPING", "LEAST_CORRECTION"):
        monkeypatch.setattr(cached, name, 0)
    assert isinstance(tensor.cached(4), CachedCounts)
    for sweeps in (12, 23):
        left = iter(range(sweeps))
        stop = lambda left=left: next(left, None) is None  # noqa: E731
        run_chain(tensor, plan, 0, stop=stop, checkpoints=Checkpoints(tmp_path, "run", tensor, plan))
    whole = run_chain(tensor, plan, 0, checkpoints=Checkpoints(tmp_path, "run", tensor, plan))
    assert plain is not None
    assert whole is not None
    for a, b in zip(plain.factors, whole.factors, strict=True):
        np.testing.assert_array_equal(a, b)
    for name in ("noise", "density", "confusion", "log_posterior"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(whole, name))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_sequence_of_calls(data: st.DataObject) -> None:
    """Factors that change in any way between any calls."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    shape = data.draw(st.lists(st.integers(1, 6), min_size=2, max_size=4))
    L = int(rng.integers(1, 5))
    X = np.where(rng.random(shape) < 0.1, np.nan, rng.random(shape) < 0.5)
    plain = DenseTensor(X)
    keeping = CachedCounts(plain, data.draw(st.sampled_from([ALWAYS, 2.0])))
    factors = Factors.from_bits([rng.random((N, L)) < 0.5 for N in shape])
    for call in range(12):
        mode = int(rng.integers(len(shape)))
        rule = Rule(rng.permutation(L), int(rng.integers(3)), Weights(0.8, 0.6), np.full((1, 1), -0.5))
        stream = Stream(np.uint64(1), 0, call, mode)
        new = plain.update_factor(mode, factors, rule, stream)
        np.testing.assert_array_equal(keeping.update_factor(mode, factors, rule, stream), new)
        if rng.random() < 0.7:
            factors = factors.replace(mode, new)
        if rng.random() < 0.5:
            factors = disturb(factors, L, rng, 1)
        assert keeping.confusion(factors) == plain.confusion(factors)


def test_another_number_of_components_begins_anew() -> None:
    X, factors = planted((9, 8, 7), 3, 0.0)
    keeping, plain = CachedCounts(DenseTensor(X), ALWAYS), DenseTensor(X)
    for L in (5, 3, 5):
        masks = Factors(tuple(factor & np.uint64(2**L - 1) for factor in factors), L)
        rule = Rule(np.arange(L), GIBBS, Weights(1.0, 1.0), np.zeros((1, 1)))
        call = (1, masks, rule, Stream(np.uint64(1), 0, L, 1))
        np.testing.assert_array_equal(keeping.update_factor(*call), plain.update_factor(*call))
        assert keeping.confusion(masks) == plain.confusion(masks)


@pytest.mark.parametrize(("noise", "quiet"), [(0.02, True), (0.45, False)])
def test_counts_are_kept_only_where_little_flips(
    noise: float, quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached, "LEAST_CORRECTION", 0)
    X, factors = planted((40, 40, 40) if quiet else (8, 8, 8), 3, 0.0, noise)
    masks = Factors(tuple(factor & np.uint64(7) for factor in factors), 3)
    model = Target(3, Asymmetric(), LearnedPrior(), np.uint64(0))
    spy = Spy(X)
    keeping, state = CachedCounts(spy), State(masks, Rates.symmetric(1 - noise), (0.5,) * 3, 0)
    for _ in range(30):
        state, _ = sweep(keeping, state, model, 0)
    if quiet:
        assert spy.asked["update"] < 30
        assert spy.asked["counts"] == 3
        assert spy.asked["confusion"] < 5
    else:
        assert spy.asked["update"] > 60


@pytest.mark.parametrize("init", ["data", "random"])
def test_a_chain_is_the_same(init: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = planted((15, 14, 13), 3, 0.1)
    plan = Plan(Target(4, Asymmetric(), LearnedPrior(), np.uint64(2)), n_draws=20, burn_in=30, init=init)
    plain = run_chain(DenseTensor(X), plan, 0)
    monkeypatch.setattr(cached, "WORTH_KEEPING", 0)
    monkeypatch.setattr(cached, "LEAST_CORRECTION", 0)
    assert isinstance(DenseTensor(X).cached(4), CachedCounts)
    kept_draws = run_chain(DenseTensor(X), plan, 0)
    assert plain is not None
    assert kept_draws is not None
    for a, b in zip(plain.factors, kept_draws.factors, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(plain.noise, kept_draws.noise)


def test_small_tensors_are_left_alone() -> None:
    tensor = DenseTensor(planted((9, 8, 7), 3, 0.0)[0])
    assert tensor.cached(5) is tensor
    assert memory_for_counts(tensor, 5) == 0


def test_memory_is_what_counts_and_copies_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached, "WORTH_KEEPING", 0)
    monkeypatch.setattr(cached, "ROOM", 0)
    tensor = compared()
    keeping, model = CachedCounts(tensor, ALWAYS), Target(4, Asymmetric(), LearnedPrior(), np.uint64(4))
    state = State(
        Factors.from_bits([np.ones((N, 4), bool) for N in tensor.shape]), Rates(0.9, 0.1), (0.4,) * 3, 0
    )
    sweep(keeping, state, model, 0)
    held = sum(counts.nbytes for counts in keeping._counts.values())
    assert memory_for_counts(tensor, 4) == held
    monkeypatch.setattr(cached, "ROOM", 8 * 2**20)
    assert memory_for_counts(tensor, 4) > held + tensor.compact().nbytes
