"""Burn-in of large comparisons: with some objects first, then with all; the draws are those of all cells."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tensorm import RelationalTensor
from tensorm.sampler import stages
from tensorm.sampler.comparisons import Comparisons
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.sample import BURN_IN, DRAWS, Plan, Step, sample
from tensorm.sampler.search.seeding import choose_busy
from tensorm.sampler.stages import Stages, choose_parts
from tensorm.sampler.sweep import Target, sweep
from tensorm.tensors import DenseTensor, Tensor

TARGET = Target(3, Comparisons(), LearnedPrior(), np.uint64(3))
N_OBJECTS, N_FIRST, N_ATTRIBUTES = 80, 20, 12


@pytest.fixture
def tensor(monkeypatch: pytest.MonkeyPatch) -> Tensor:
    """Three groups of objects, each with three attributes that are up; a part of it is enough to see them."""
    monkeypatch.setattr(stages, "FIRST_STAGE", N_FIRST * N_ATTRIBUTES**2)
    values = np.random.default_rng(0).normal(size=(N_OBJECTS, N_ATTRIBUTES))
    for group in range(3):
        values[group::3, 3 * group : 3 * group + 3] += 3
    return RelationalTensor(values, normalise=None).compared()


def first_of(tensor: Tensor, plan: Plan) -> list[int]:
    (part,) = choose_parts(tensor, plan, 0)
    return part[0].tolist()


def run(tensor: Tensor, plan: Plan, stop: int = 1000) -> list[Step]:
    return [step for step, _ in zip(sample(tensor, plan, 0), range(stop), strict=False)]


def test_objects_join_when_some_of_them_have_settled(tensor: Tensor) -> None:
    plan = Plan(TARGET, n_draws=5)
    some, steps = first_of(tensor, plan), run(tensor, plan)
    alone = [step for step in steps if step.snapshot.memory.stage == 0]
    others = np.delete(np.arange(N_OBJECTS), some)
    assert len(some) == N_FIRST
    assert 10 < len(alone) < len(steps) - 5 - stages.LAST_TREND
    assert not any(step.state.factors[0][others].any() for step in alone)
    assert all(step.snapshot.confusion is None for step in alone)  # which would be that of other cells
    last = steps[-1].state.factors.bits()
    assert last[0].any(axis=1).mean() > 0.9
    assert steps[-1].confusion == tensor.confusion(steps[-1].state.factors)
    assert [step.phase for step in steps[-6:]] == [BURN_IN] + [DRAWS] * 5


def test_draws_are_plain_sweeps_of_all_cells(tensor: Tensor) -> None:
    steps = run(tensor, Plan(TARGET, n_draws=6))
    for before, after in pairwise(steps[-7:]):
        state, confusion = sweep(tensor, before.state, TARGET, 0)
        assert confusion == after.confusion
        assert all((a == b).all() for a, b in zip(state.factors, after.state.factors, strict=True))


@pytest.mark.parametrize(("at", "effort"), [(3, 0.0), (-8, 0.0), (-2, 0.0), (50, 0.1)])
def test_a_chain_goes_on_where_it_was(tensor: Tensor, at: int, effort: float) -> None:
    """In either stage, among the draws, or in the middle of heating; what is kept has all objects."""
    plan = Plan(TARGET, n_draws=4, effort=effort)
    steps = run(tensor, plan)
    hot = steps[at].snapshot.memory.heat.hot
    assert (hot is not None) == bool(effort)
    assert hot is None or [len(masks) for masks in hot.factors] == list(tensor.shape)
    again = {step.state.sweep: step.state.factors for step in sample(tensor, plan, 0, steps[at].snapshot)}
    last = steps[-1].state
    assert all((a == b).all() for a, b in zip(again[last.sweep], last.factors, strict=True))


def test_half_of_a_given_burn_in_is_for_some(tensor: Tensor) -> None:
    found = [step.snapshot.memory.stage for step in run(tensor, Plan(TARGET, n_draws=2, burn_in=9))]
    assert found == [0] * 3 + [1] * 8


def test_given_probabilities_count_less_where_there_are_fewer_cells(tensor: Tensor) -> None:
    prior = FixedPrior.from_probabilities([0.5, 1e-8, 1e-8])
    first = Stages(tensor, Plan(replace(TARGET, prior=prior), 1), 0)._stages[0].burn_in.target.prior
    assert isinstance(first, FixedPrior)
    np.testing.assert_allclose(first.tables[1], np.log(1e-8) * N_FIRST / N_OBJECTS, rtol=1e-6)


def test_no_stages_where_they_would_not_do(tensor: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    """In cells that compare nothing, in smaller tensors, and where chains do not start from the data."""
    plan = Plan(TARGET, 2)
    assert choose_parts(DenseTensor(np.eye(99)), plan, 0) == []
    for other in (replace(plan, init="random"), replace(plan, held=1), replace(plan, move=lambda at: at)):
        assert len(Stages(tensor, other, 0)._stages) == 1
    monkeypatch.setattr(stages, "FIRST_STAGE", N_OBJECTS * N_ATTRIBUTES**2 // 2 + N_ATTRIBUTES**2)
    assert choose_parts(tensor, plan, 0) == []


def test_weak_components_are_chosen_more_often() -> None:
    rng, lost = np.random.default_rng(0), np.array([-1.0, 10.0, 1000.0, 1000.0])
    for weak, least, most in ((True, 0.95, 1.0), (False, 0.25, 0.42)):
        chosen = [choose_busy(lost, rng, 1, weak)[0] for _ in range(300)]
        assert least < np.mean(np.array(chosen) == 1) < most
        assert 0 not in chosen
    assert sorted(choose_busy(lost, rng, 9, True)) == [1, 2, 3]
    assert len(choose_busy(np.zeros(2), rng, 2, True)) == 0
