"""States and traces: draws take a bit per entry, and their components may be put in any order."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import definitions
from draws import COMPONENTS, SHAPE, make_draws, make_trace
from tensorm import model
from tensorm.sampler.state import Trace
from tensorm.sampler.two_rates import Rates


@pytest.mark.parametrize("L", COMPONENTS)
def test_draws_take_a_bit_per_entry(L: int) -> None:
    trace = make_trace(L)
    assert [packed.shape for packed in trace.factors] == [(5, N, math.ceil(L / 8)) for N in SHAPE]
    assert all(packed.moves.dtype == packed.first.dtype == np.uint8 for packed in trace.factors)


def test_draws_come_back_one_by_one() -> None:
    trace = make_trace(9)
    for draw, (_, state, _) in enumerate(make_draws(9)):
        assert isinstance(trace.noise_at(draw), Rates)
        assert trace.noise_at(draw) == state.noise
        for mask, expected in zip(trace.factors_at(draw), state.factors, strict=True):
            np.testing.assert_array_equal(mask, expected)


def test_a_part_of_the_draws() -> None:
    trace = make_trace(9)
    np.testing.assert_array_equal(trace.bits(1, slice(1, 4)), trace.bits(1)[1:4])


@pytest.mark.parametrize("L", COMPONENTS)
def test_reorder_moves_components_and_nothing_else(L: int) -> None:
    trace, order = make_trace(L), np.random.default_rng(1).permutation(L)
    moved = trace.reorder(order)
    for mode in range(3):
        np.testing.assert_array_equal(moved.bits(mode), trace.bits(mode)[..., order])
    for field in dataclasses.fields(Trace):
        if field.name != "factors":
            assert getattr(moved, field.name) is getattr(trace, field.name)
    back = moved.reorder(np.argsort(order))
    for mode in range(3):
        np.testing.assert_array_equal(back.factors[mode], trace.factors[mode])


def test_reorder_may_choose_components() -> None:
    trace = make_trace(65)
    chosen = trace.reorder([64, 3])
    assert chosen.n_components == 2
    np.testing.assert_array_equal(chosen.bits(0), trace.bits(0)[..., [64, 3]])


def test_a_confusion_tells_accuracy_and_likelihood() -> None:
    rng = np.random.default_rng(2)
    factors = [rng.random((N, 2)) < 0.6 for N in SHAPE]
    ones, observed, noise = rng.random(SHAPE) < 0.5, rng.random(SHAPE) < 0.8, Rates(0.8, 0.15)
    confusion = model.confusion(ones, observed, factors)
    right = (model.boolean_product(factors) == ones)[observed]
    assert confusion.correct / confusion.observed == pytest.approx(right.mean())
    assert noise.log_likelihood(confusion) == pytest.approx(
        definitions.log_likelihood(ones, observed, factors, noise)
    )
