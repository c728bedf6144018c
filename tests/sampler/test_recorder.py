"""Collecting draws: what is recorded comes back, bit for bit, and may be continued."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from draws import COMPONENTS, make_draws, make_model, make_trace
from tensorm.sampler.chains import Recorder
from tensorm.sampler.state import Trace
from tensorm.tensors.factors import Factors


@pytest.mark.parametrize("L", COMPONENTS)
def test_what_is_recorded_comes_back(L: int) -> None:
    trace, draws = make_trace(L), make_draws(L)
    assert len(trace) == 5
    assert trace.n_components == L
    assert trace.burn_in == 17
    for i, (factors, state, confusion) in enumerate(draws):
        for mode in range(3):
            np.testing.assert_array_equal(trace.bits(mode)[i], factors[mode])
            np.testing.assert_array_equal(trace.factors_at(i)[mode], state.factors[mode])
            assert trace.factors_at(i)[mode].dtype == np.uint64
        assert tuple(trace.noise[i]) == state.noise
        assert tuple(trace.density[i]) == state.density
        assert tuple(trace.confusion[i]) == confusion
        assert trace.accuracy[i] == confusion.correct / confusion.observed
        assert trace.log_likelihood[i] == pytest.approx(state.noise.log_likelihood(confusion), rel=1e-12)


def test_what_is_recorded_is_not_overwritten_by_later_sweeps() -> None:
    recorder = Recorder(make_model(2))
    (factors, state, confusion), *_ = make_draws(2)
    recorder.record(state, confusion, -3.0)
    empty = Factors.empty([len(masks) for masks in state.factors], 2)
    recorder.record(state._replace(factors=empty), confusion, -4.0)
    trace = recorder.trace(burn_in=0, settled=False)
    assert len(recorder) == len(trace) == 2
    assert not trace.settled
    np.testing.assert_array_equal(trace.bits(0)[0], factors[0])
    assert not trace.bits(0)[1].any()


@pytest.mark.parametrize("stop", [1, 3])
def test_a_recorder_that_continues_a_trace_ends_as_one_that_never_stopped(stop: int) -> None:
    draws, model = make_draws(65), make_model(65)
    first = Recorder(model)
    for _, state, confusion in draws[:stop]:
        first.record(state, confusion, state.noise.log_likelihood(confusion))
    second = Recorder(model, first.trace(burn_in=17))
    assert len(second) == stop
    for _, state, confusion in draws[stop:]:
        second.record(state, confusion, state.noise.log_likelihood(confusion))
    whole, expected = second.trace(burn_in=17), make_trace(65)
    for field in dataclasses.fields(Trace):
        mine, theirs = (getattr(trace, field.name) for trace in (whole, expected))
        if field.name == "factors":
            mine, theirs = ([np.asarray(draws) for draws in factors] for factors in (mine, theirs))
        np.testing.assert_equal(mine, theirs)
