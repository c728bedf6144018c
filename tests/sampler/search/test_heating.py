"""Rounds of heating find what repairs do not, leave the chain cold, and end soon where nothing melts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from shard_hosts import cut, shard
from tensorm.datasets import simulate
from tensorm.posterior.align import factor_means, similarity
from tensorm.sampler.chains import run_chain
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.sample import BURN_IN, Plan, Step, sample
from tensorm.sampler.search import rounds as made_rounds
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.search.heating import HOTTEST, MILDEST, Heat, lowest_beta
from tensorm.sampler.search.rounds import FEW_ROUNDS, HeldNoiseRounds, SampledNoiseRounds
from tensorm.sampler.state import State
from tensorm.sampler.strength_models import ActivityModel, ConstantModel
from tensorm.sampler.sweep import Target, sweep, update_factors
from tensorm.sampler.two_rates import Asymmetric, Symmetric
from tensorm.tensors import DenseTensor, RelationalTensor, SparseTensor, Tensor
from tensorm.tensors.factors import Factors
from tensorm.tensors.symmetric import SymmetricTensor

ROUND, MOST = HeldNoiseRounds.length(0), HeldNoiseRounds.most
TARGET = Target(6, Asymmetric(), LearnedPrior(), np.uint64(1))


@pytest.fixture(scope="module")
def doubtful() -> DenseTensor:
    """Made by more components than are asked for, so that there are many ways to explain it."""
    return DenseTensor(simulate((60, 60), rank=20, density=0.5, noise=0.05, random_state=2).observed)


def burn_in(tensor: Tensor, effort: float, chain: int = 0, target: Target = TARGET, **how):
    return [*sample(tensor, Plan(target, n_draws=0, effort=effort, **how), chain)]


def test_heated_chains_end_in_better_explanations() -> None:
    """By what a user gets: the draws."""
    crowded = DenseTensor(simulate((14, 30, 14), rank=20, density=0.35, noise=0.05, random_state=2).observed)
    cold, hot = (
        np.array([run_chain(crowded, plan, chain).log_posterior.mean() for chain in range(2)])
        for plan in (Plan(TARGET, n_draws=60, effort=effort) for effort in (0.0, 1.0))
    )
    assert hot.min() > cold.max() + 5


def test_rounds_go_on_from_what_is_a_little_worse(doubtful) -> None:
    """But the chain stays with the best, and the best is never forgotten."""
    heats = [step.snapshot.memory.heat for step in burn_in(doubtful, 0.5)]
    elsewhere = [heat for heat in heats if heat.base is not None]
    assert elsewhere
    assert all(heat.base_score <= heat.best_score + 1 for heat in elsewhere)
    assert all(before.best_score <= after.best_score for before, after in pairwise(heats) if before.planned)


@pytest.mark.parametrize(("n_components", "rounds"), [(2, MOST), (4, FEW_ROUNDS), (6, FEW_ROUNDS)])
def test_rounds_are_worth_while_where_components_are_too_few(n_components: int, rounds: int) -> None:
    tensor = DenseTensor(simulate((20, 20, 20), rank=4, density=0.3, noise=0.2, random_state=4).observed)
    target = replace(TARGET, n_components=n_components)
    state = burn_in(tensor, 0.0, target=target)[-1].state
    worth, score = HeldNoiseRounds(tensor, target, 0).plan(state, np.random.default_rng(0))
    assert worth == rounds
    assert score >= Explanation(tensor, target, state.factors).score


def test_fewer_rounds_are_worth_while_where_they_cost_more(doubtful, monkeypatch) -> None:
    monkeypatch.setattr(made_rounds, "is_more_to_find", lambda explanation, rng: True)
    worth = []
    for n in (6, 1000, 10**5):
        state = State(Factors.empty((60, 60), n), None, (0.5, 0.5), 0)
        held = HeldNoiseRounds(doubtful, replace(TARGET, n_components=n), 0)
        worth.append(held.plan(state, np.random.default_rng(0))[0])
    assert worth == [MOST, round(MOST * (2**20 / 3.6e6) ** 0.25), round(MOST * (2**20 / 3.6e8) ** 0.25)]


def test_where_the_data_leave_no_doubt_one_round_is_all() -> None:
    clear = DenseTensor(simulate((20, 20, 20), rank=3, density=0.2, noise=0.05, random_state=0).observed)
    target = replace(TARGET, n_components=3)
    steps, plain = (burn_in(clear, effort, target=target) for effort in (1.0, 0.0))
    heat = steps[-1].snapshot.memory.heat
    assert (heat.rounds, heat.exhausted) == (1, True)
    assert len(steps) == len(plain) + ROUND


def test_the_chain_itself_stays_cold(doubtful) -> None:
    """Whoever looks at the chain, or stops it, sees the best explanation so far, never a hot one."""
    steps = burn_in(doubtful, 0.3)
    heated = [step for step in steps if step.snapshot.memory.heat.hot is not None]
    assert len(heated) > ROUND
    for before, after in pairwise(heated):
        if before.snapshot.memory.heat.rounds == after.snapshot.memory.heat.rounds:
            assert before.state.factors is after.state.factors
            assert before.confusion == after.confusion
    assert all(doubtful.confusion(step.state.factors) == step.confusion for step in heated[:: ROUND // 4])
    assert any(
        (a != b).any()
        for a, b in zip(heated[1].state.factors, heated[1].snapshot.memory.heat.hot.factors, strict=True)
    )


def test_every_sweep_counts_once(doubtful) -> None:
    steps = burn_in(doubtful, 0.3)
    assert [step.state.sweep for step in steps] == list(range(1, len(steps) + 1))
    assert {step.phase for step in steps} == {BURN_IN}


@pytest.mark.parametrize("length", [0, 20, 60, 61, 100, 150])
def test_a_number_of_sweeps_is_kept_to(doubtful, length: int) -> None:
    steps = burn_in(doubtful, 1.0, burn_in=length)
    assert len(steps) == length
    assert not steps or steps[-1].snapshot.memory.heat.hot is None


@pytest.mark.parametrize("init", ["random", [np.ones((n, 6), bool) for n in (60, 60)]])
def test_only_chains_from_the_data_are_heated(doubtful, init) -> None:
    assert burn_in(doubtful, 1.0, init=init)[-1].snapshot.memory.heat == Heat()


def test_effort_limits_the_rounds(doubtful) -> None:
    held = HeldNoiseRounds(doubtful, TARGET, 0)
    assert held.is_over(Heat(), 0.0)
    assert not held.is_over(Heat(), 0.1)
    assert held.is_over(Heat(1, FEW_ROUNDS, exhausted=True, first_score=-9, best_score=-9), 9.0)
    spent = Heat(FEW_ROUNDS, FEW_ROUNDS, first_score=-9, best_score=-9)
    assert [held.is_over(spent, effort) for effort in (0.5, 1.0, 2.0)] == [True, True, False]
    hot = State(Factors.empty((2, 2), 1), None, (0.5, 0.5), 0)
    for going_on in (spent._replace(best_score=20.0), spent._replace(hot=hot, sweeps=3)):
        assert not held.is_over(going_on, 1.0)
    assert held.is_over(Heat(MOST, MOST, first_score=-9, best_score=999), 1.0)


@pytest.mark.parametrize("kind", [HeldNoiseRounds, SampledNoiseRounds])
def test_gains_buy_no_more_rounds_than_a_tensor_of_this_size_can_be_given(kind) -> None:
    """They grow with the cells, as the time of a round does."""
    shape = (2000, 3000)
    large = kind(SparseTensor(np.eye(3)[:, :2].astype(int), shape), replace(TARGET, n_components=50), 0)
    assert kind.least <= large.affordable < kind.most / 2
    heat = Heat(large.affordable, 1, first_score=-1e9, best_score=-1.0)
    assert large.is_over(heat, 1.0)
    assert not large.is_over(heat._replace(rounds=large.affordable - 1), 1.0)


def test_rounds_fill_the_range_of_heat() -> None:
    others = [lowest_beta(number) for number in range(1, 31)]
    places = np.sort(np.log(np.array(others) / HOTTEST) / np.log(MILDEST / HOTTEST))
    assert np.diff([0, *places, 1]).max() < 2.5 / 30


@pytest.mark.parametrize("noise", [Asymmetric(), Symmetric()])
def test_beta_one_is_the_sampler_itself(doubtful, noise) -> None:
    target = replace(TARGET, noise=noise)
    state = burn_in(doubtful, 0.0, target=target)[-1].state
    cold, _ = update_factors(doubtful, state, target, 0, 1.0)
    for a, b in zip(cold, sweep(doubtful, state, target, 0)[0].factors, strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_any_heat_left_entries_are_coins(doubtful) -> None:
    """With beta next to 0 the data say nothing; Metropolised flips then change every entry."""
    state = burn_in(doubtful, 0.0)[-1].state
    hot, _ = update_factors(doubtful, state, replace(TARGET, flips=0), 0, 1e-9)
    ones = np.concatenate([bits.ravel() for bits in hot.bits()])
    assert abs(ones.mean() - 0.5) < 0.1


def make_stored(kind: str) -> tuple[Tensor, Tensor, Target]:
    """Return the same doubtful cells, stored in two ways, and what is sampled."""
    X = simulate((24, 24), rank=10, density=0.5, noise=0.1, random_state=3).observed.astype(float)
    target = replace(TARGET, n_components=3)
    if kind == "sparse":
        return DenseTensor(X), SparseTensor(np.argwhere(X == 1), X.shape), target
    if kind == "sharded":
        return DenseTensor(X), shard([DenseTensor(X[part]) for part in cut(len(X), 3)]), target
    if kind == "symmetric":
        mirrored = np.triu(X, 1) + np.triu(X, 1).T
        np.fill_diagonal(mirrored, np.nan)
        seen = ~np.isnan(mirrored)
        listed = SparseTensor(np.argwhere(seen), X.shape, mirrored[seen], unlisted="missing")
        pair = tuple(SymmetricTensor(tensor, (0, 1)) for tensor in (DenseTensor(mirrored), listed))
        return *pair, replace(target, tied=(0, 1))
    numbers = np.random.default_rng(0).integers(0, 4, (9, 6)).astype(float)
    larger = (numbers[:, :, None] > numbers[:, None, :]).astype(float)
    larger[numbers[:, :, None] == numbers[:, None, :]] = np.nan
    return RelationalTensor(numbers, normalise=None), DenseTensor(larger), target


@pytest.mark.parametrize("kind", ["sparse", "sharded", "symmetric", "relational"])
def test_heated_chains_do_not_depend_on_the_storage(kind: str) -> None:
    """Nor on a pause in the middle of a round."""
    one, other, target = make_stored(kind)
    assert_same_chains(one, other, Plan(target, n_draws=3, effort=0.1))


@pytest.mark.parametrize("kind", ["sparse", "sharded", "symmetric"])
def test_nor_do_chains_with_strengths(kind: str) -> None:
    one, other, target = make_stored(kind)
    plan = Plan(replace(target, noise=ActivityModel()), n_draws=3, effort=0.5)
    steps = assert_same_chains(one, other, plan)
    assert steps[-1].snapshot.memory.heat.rounds >= 3  # one with a full background, and one that melts


def assert_same_chains(one: Tensor, other: Tensor, plan: Plan) -> list[Step]:
    """Run a chain on two tensors, and on one of them with a pause in the middle of a round."""
    steps, same = ([*sample(tensor, plan, 0)] for tensor in (one, other))
    pause = next(n for n, step in enumerate(steps) if step.snapshot.memory.heat.sweeps == ROUND // 2)
    resumed = [*sample(other, plan, 0, same[pause].snapshot)]
    assert len(steps) == len(same) == pause + 1 + len(resumed)
    for a, b, c in zip(steps[pause + 1 :], same[pause + 1 :], resumed, strict=True):
        assert a.confusion == b.confusion == c.confusion
        for noise in (b.state.noise, c.state.noise):
            np.testing.assert_array_equal(a.state.noise.row(), noise.row())
        for masks in zip(a.state.factors, b.state.factors, c.state.factors, strict=True):
            np.testing.assert_array_equal(masks[0], masks[1])
            np.testing.assert_array_equal(masks[1], masks[2])
    return steps


STRONG = replace(TARGET, n_components=3, noise=ActivityModel())


@pytest.fixture(scope="module")
def busy() -> DenseTensor:
    """Indices of one mode are busy without any component, much more so than components are strong."""
    rng = np.random.default_rng(5)
    sim = simulate((40, 60), rank=3, density=0.3, noise=0.0, random_state=5)
    background = 1 - np.exp(-np.outer(np.ones(40), rng.gamma(0.25, 2.0, 60)))
    return DenseTensor(
        rng.random((40, 60)) < np.where(sim.noise_free, 1 - 0.4 * (1 - background), background)
    )


def test_chains_with_strengths_leave_busy_indices_to_the_background(busy) -> None:
    """Two rates cover them with components. Rounds find out that activities explain them better."""
    cold, hot = (
        np.array([run_chain(busy, plan, chain).log_likelihood.mean() for chain in range(3)])
        for plan in (Plan(STRONG, n_draws=50, effort=effort) for effort in (0.0, 1.0))
    )
    assert np.median(hot) > np.median(cold) + 20


@pytest.mark.parametrize("seed", [0, 6, 7])
def test_activities_do_not_swallow_a_block(seed: int) -> None:
    """They can mimic one, but that costs what the cells had to tell about them."""
    rng, shape = np.random.default_rng(seed), (12, 10, 5)
    planted = [np.zeros((size, 2)) for size in shape]
    for l, block in enumerate([(5, 4, 5), (4, 3, 3)]):
        for factor, n in zip(planted, block, strict=True):
            factor[rng.choice(len(factor), n, replace=False), l] = 1
    strength = (np.einsum("al,bl,cl->abcl", *planted) * [0.8, 0.75]).max(axis=-1)
    tensor = DenseTensor(rng.random(shape) < 1 - np.exp(-0.06) * (1 - strength))
    for chain in range(3):
        means = factor_means(run_chain(tensor, Plan(STRONG, n_draws=50, effort=1.0), chain))
        assert (similarity(planted, means).max(axis=1) > 0.8).all()


def test_the_best_explanation_with_strengths_is_kept(busy) -> None:
    """With noise of its own, whatever later rounds do; and the chain stays cold meanwhile."""
    steps = burn_in(busy, 1.0, target=STRONG)
    heats = [step.snapshot.memory.heat for step in steps]
    assert heats[-1].rounds >= SampledNoiseRounds.WORTH
    assert all(before.best_score <= after.best_score for before, after in pairwise(heats) if before.planned)
    for before, after in pairwise(step for step in steps if step.snapshot.memory.heat.sweeps > 1):
        if before.snapshot.memory.heat.rounds == after.snapshot.memory.heat.rounds:
            assert before.state.factors is after.state.factors
            assert before.state.noise is after.state.noise


def test_a_full_background_needs_no_components(busy) -> None:
    """It then has the rates of ones of rows and columns; strengths stay as they are."""
    state = burn_in(busy, 0.0, target=STRONG)[-1].state
    for model in (ActivityModel(), ConstantModel()):
        noise = model.estimate(busy, state.factors, busy.confusion(state.factors))
        full = model.fill_background(busy, noise, STRONG.stream(0, 5, 254))
        np.testing.assert_array_equal(full.strength, noise.strength)
        chances = full.predict(
            Factors.empty(busy.shape, 3), [index.ravel() for index in np.indices(busy.shape)]
        )
        assert abs(chances.mean() - busy.n_ones / busy.n_observed) < 0.03
    renewed = model.renew(noise, np.array([1]))
    assert renewed.strength[1] == pytest.approx(noise.typical)
    np.testing.assert_array_equal(renewed.strength[[0, 2]], noise.strength[[0, 2]])


def test_sweeps_of_rounds_add_up() -> None:
    lengths = [SampledNoiseRounds.length(number) for number in range(12)]
    assert [SampledNoiseRounds.total(n) for n in range(13)] == [0, *np.cumsum(lengths)]
    assert {n for n, length in enumerate(lengths) if length == 115} == {2, 7}
    assert {length for n, length in enumerate(lengths) if n not in (2, 7)} == {55}


def test_large_tensors_with_strengths_get_few_rounds(busy) -> None:
    rounds = [
        SampledNoiseRounds(busy, replace(STRONG, n_components=n), 0).affordable for n in (3, 4000, 10**6)
    ]
    assert rounds == [24, round(24 * (2**20 / (2400 * 4000)) ** 0.5), 2]
