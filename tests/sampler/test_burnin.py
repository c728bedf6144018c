"""Burn-in lasts while the log-likelihood rises, and ends when it only wanders, freezes, or takes too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tensorm.model import Confusion
from tensorm.sampler.burnin import CHECK_EVERY, LONGEST_BURN_IN, TREND_SWEEPS, BurnIn, Memory, steady
from tensorm.sampler.noise_model import NoiseModel
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.state import State
from tensorm.sampler.strength_models import ActivityModel
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric, Rates
from tensorm.tensors import DenseTensor, SparseTensor
from tensorm.tensors.bits import unpack

WANDERING = np.random.default_rng(0).normal(size=LONGEST_BURN_IN)
TENSOR = DenseTensor(np.eye(4))
MODEL = Target(2, Asymmetric(), LearnedPrior(), np.uint64(0))


def ends(log_likelihoods: Sequence[float] | np.ndarray) -> bool:
    """Whether burn-in may end after sweeps with these log-likelihoods."""
    return steady(log_likelihoods, len(log_likelihoods))


def sweeps_needed(log_likelihoods: Sequence[float] | np.ndarray) -> int | None:
    """After how many sweeps the log-likelihood counts as steady; None if it never does."""
    return next((n for n in range(1, LONGEST_BURN_IN + 1) if ends(log_likelihoods[:n])), None)


def test_a_random_start_is_as_dense_as_it_may_be() -> None:
    """Fair coins, unless ones are rare: they would make every row of a huge tensor unlike all others."""
    fair = BurnIn(DenseTensor(np.eye(90)), MODEL, 0, "random", None).start()
    assert abs(unpack(fair.factors[0], 2).mean() - 0.5) < 0.15
    assert fair.density == (0.5, 0.5)
    ones = np.random.default_rng(0).integers(0, 20_000, (500, 3))
    model = replace(MODEL, n_components=20)
    rare = BurnIn(SparseTensor(ones, (20_000,) * 3), model, 0, "random", None).start()
    assert max(rare.density) < 0.001
    assert all(len(np.unique(masks)) < 500 for masks in rare.factors)
    assert any(masks.any() for masks in rare.factors)


def test_a_rise_is_not_steady() -> None:
    assert sweeps_needed(WANDERING + np.arange(LONGEST_BURN_IN)) is None
    assert sweeps_needed(np.arange(LONGEST_BURN_IN) * 1e-9) is None  # however slow, if nothing else moves


def test_wandering_is_steady_as_soon_as_there_are_two_windows() -> None:
    assert sweeps_needed(WANDERING) == 2 * TREND_SWEEPS


def test_a_frozen_chain_is_steady() -> None:
    assert sweeps_needed([-12.5] * LONGEST_BURN_IN) == 2 * TREND_SWEEPS


def test_a_fall_is_steady() -> None:
    assert sweeps_needed(-np.arange(LONGEST_BURN_IN)) == 2 * TREND_SWEEPS


@pytest.mark.parametrize("rise", [60, 200, 900])
def test_burn_in_ends_soon_after_the_rise(rise: int) -> None:
    needed = sweeps_needed(WANDERING + 3.0 * np.minimum(np.arange(LONGEST_BURN_IN), rise))
    assert needed is not None
    assert rise + TREND_SWEEPS <= needed <= rise + 2 * TREND_SWEEPS + CHECK_EVERY
    assert needed % CHECK_EVERY == 0


def test_the_rule_by_hand() -> None:
    """The last window may exceed the one before by half its own standard deviation, and by no more."""
    spread = np.tile([-1.0, 1.0], TREND_SWEEPS)[:TREND_SWEEPS]
    for share, enough in [(0.49, True), (0.51, False)]:
        last = spread - spread.mean() + share * spread.std()
        assert ends([*np.linspace(-5, 5, TREND_SWEEPS), *last]) is enough


def test_it_is_checked_every_few_sweeps() -> None:
    answers = [n for n in range(2 * TREND_SWEEPS + 3 * CHECK_EVERY + 1) if ends([0.0] * n)]
    assert answers == [2 * TREND_SWEEPS + CHECK_EVERY * i for i in range(4)]


def follow(burn_in: BurnIn, log_likelihoods: Sequence[float] | np.ndarray) -> State:
    """Tell a burn-in of sweeps with these log-likelihoods until it is over."""
    state = burn_in.start()
    for value in log_likelihoods:
        if burn_in.end(state):
            break
        rate = float(np.exp(value))
        state = state._replace(sweep=state.sweep + 1, noise=Rates(rate, rate / 2))
        state = burn_in.after(state, Confusion(1, 0, 0, 0))
    return state


START = [np.zeros((4, 2), np.bool_)] * 2
RISE = np.linspace(-900, -1, LONGEST_BURN_IN)


@pytest.mark.parametrize("length", [0, 1, 7, 60, 2 * LONGEST_BURN_IN])
def test_a_number_of_sweeps_is_exactly_that_many(length: int) -> None:
    """Also where it is larger than the most that "auto" makes."""
    for series in (RISE[-60:], np.full(60, -1.0), np.linspace(-700, -1, 2 * LONGEST_BURN_IN + 60)):
        burn_in = BurnIn(TENSOR, MODEL, 0, START, length)
        state = follow(burn_in, series)
        assert state.sweep == min(length, len(series))
        assert burn_in.end(state) == ((length, True) if length <= len(series) else None)


def test_automatic_burn_in_ends_when_steady() -> None:
    burn_in = BurnIn(TENSOR, MODEL, 0, START, None)
    state = follow(burn_in, WANDERING[:500] / 100 - 5)
    assert state.sweep == 2 * TREND_SWEEPS
    assert burn_in.end(state) == (2 * TREND_SWEEPS, True)


@pytest.mark.parametrize(("noise", "ends"), [(Asymmetric(), True), (ActivityModel(), False)])
def test_a_slow_rise_is_seen_where_parameters_move_slowly(noise: NoiseModel, ends: bool) -> None:
    slow = 5 * WANDERING + 0.1 * np.arange(LONGEST_BURN_IN)
    burn_in = BurnIn(TENSOR, replace(MODEL, noise=noise), 0, START, None)
    state = burn_in.start()._replace(noise=noise.start(TENSOR.shape, 2))
    found = []
    for n in range(2 * ActivityModel.trend, 1000, CHECK_EVERY):
        burn_in.memory = Memory(tuple(slow[:n]), n)
        found.append(burn_in.end(state._replace(sweep=n)))
    assert any(found) is ends


def test_automatic_burn_in_is_given_up_in_the_end() -> None:
    burn_in = BurnIn(TENSOR, MODEL, 0, START, None)
    state = follow(burn_in, np.linspace(-700, -1, 2 * LONGEST_BURN_IN))
    assert state.sweep == LONGEST_BURN_IN
    assert burn_in.end(state) == (LONGEST_BURN_IN, False)
