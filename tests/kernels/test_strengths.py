"""All parameters of a model with strengths drawn by the kernels and by loops over single cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import naive_strengths
from naive_strengths import Given, read_case
from strong_cases import Case, make_case
from tensorm.sampler.strength_models import ActivityModel, ConstantModel
from tensorm.tensors import Stream
from tensorm.tensors.factors import Factors

PRIORS = {"typical_a": 2.0, "typical_b": 3.0, "spread_least": 0.02}


def draw(case: Case, model: Any, stream: Stream) -> Any:
    return model.update(case.tensor, Factors.from_bits(case.factors), None, case.noise, stream)[0]


def assert_same_strengths(noise: Any, now: Given, message: str) -> None:
    found, wanted = ([*each.strength, each.typical, each.spread] for each in (noise, now))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=message)


@pytest.mark.parametrize("symmetric", [False, True])
def test_draws_with_a_constant_background_as_by_loops(symmetric: bool) -> None:
    model = ConstantModel(2.0, 3.0, **PRIORS)
    for seed in range(150):
        case, stream = make_case(seed, symmetric, False), Stream(np.uint64(seed), 0, seed, 250)
        now = naive_strengths.draw_strengths(read_case(case), model, stream)
        now, noise = naive_strengths.draw_background(now, model, stream), draw(case, model, stream)
        assert_same_strengths(noise, now, f"case {seed}")
        assert noise.background == pytest.approx(now.rate), f"case {seed}"


@pytest.mark.parametrize("symmetric", [False, True])
def test_draws_with_activities_as_by_loops(symmetric: bool) -> None:
    model = ActivityModel(rate_least=0.001, rate_most=2.0, **PRIORS)
    for seed in range(150):
        case, stream = make_case(seed, symmetric, True), Stream(np.uint64(seed), 0, seed, 250)
        mode, pair, now = seed % len(case.factors), case.pair, read_case(case)
        naive_strengths.draw_activities(now, pair[0] if pair and mode in pair else mode, stream)
        now = naive_strengths.draw_strengths(now, model, stream)
        now = naive_strengths.draw_rate(now, model._bounds, stream)
        now, noise = naive_strengths.draw_scales(now, model, stream), draw(case, model, stream)
        assert_same_strengths(noise, now, f"case {seed}")
        np.testing.assert_array_equal(noise.levels, np.concatenate(now.levels), err_msg=f"case {seed}")
        assert noise.level == now.rate, f"case {seed}"
        np.testing.assert_array_equal(noise.evenness, now.evenness, err_msg=f"case {seed}")


def test_activities_of_new_slices_as_by_loops() -> None:
    for seed in range(40):
        case, stream = make_case(seed, False, True), Stream(np.uint64(seed), 0, seed, 250, by_row=0)
        now, factors = read_case(case), Factors.from_bits(case.factors)
        naive_strengths.draw_activities(now, 0, stream)
        found = case.noise.redraw_slices(case.tensor, factors, stream).levels
        np.testing.assert_array_equal(found, np.concatenate(now.levels), err_msg=f"case {seed}")
