"""The first verb, update_factor: the same bits as the element loops, whatever the shape, prior and order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makers import Kind
from problems import (
    OTHERS,
    RULES,
    SOME,
    Problem,
    Turn,
    fast_update,
    few,
    knife_edge,
    make_problem,
    make_turn,
    naive_update,
    problems,
    update_with,
)
from tensorm.sampler.two_rates import Rates
from tensorm.tensors import Rule, Stream, Tensor
from tensorm.tensors.bits import unpack


@pytest.mark.parametrize("rule", RULES)
@settings(few, max_examples=75)
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_generated_cases(kind: Kind, rule: str, problem: Problem, seed: int) -> None:
    tensor, problem = kind.store(problem)
    for mode in range(problem.ones.ndim):
        turn = make_turn(problem, mode, rule, seed + mode)
        np.testing.assert_array_equal(fast_update(tensor, problem, turn), naive_update(problem, turn))


@pytest.mark.parametrize("tables", [False, True])
@settings(few, max_examples=75)
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_all_modes_in_turn(kind: Kind, tables: bool, problem: Problem, seed: int) -> None:
    check_all_modes(*kind.store(problem), list(RULES)[seed % 3], seed, tables)


@pytest.mark.parametrize(("shape", "L", "density", "missing"), OTHERS)
def test_all_modes_of_awkward_shapes(
    kind: Kind, shape: tuple[int, ...], L: int, density: float, missing: float | None
) -> None:
    check_all_modes(*kind.store(make_problem(shape, L, 7, missing, density)), "metropolis", 3, tables=False)


def check_all_modes(tensor: Tensor, problem: Problem, name: str, seed: int, tables: bool) -> None:
    """Compare with one mode after the other; with one prior for all entries of a mode, or tables of them."""
    turns = [make_turn(problem, mode, name, seed + mode) for mode in range(problem.ones.ndim)]
    if not tables:
        rng = np.random.default_rng(seed)
        turns = [turn._replace(prior=rng.choice([0.3, 0.5, 0.6], (1, 1))) for turn in turns]
    _, noise, _, order, _, stream = turns[0]
    with np.errstate(divide="ignore"):
        priors = [np.log(turn.prior) - np.log1p(-turn.prior) for turn in turns]
    rules = [Rule(order, RULES[name], noise.weights, prior) for prior in priors]
    new, confusion = tensor.update_all(problem.masks, rules, stream)
    factors = list(problem.factors)
    for mode, turn in enumerate(turns):
        same = turn._replace(noise=noise, order=order, stream=stream._replace(purpose=mode))
        factors[mode] = naive_update(problem._replace(factors=list(factors)), same)
        np.testing.assert_array_equal(unpack(new[mode], problem.L), factors[mode])
        assert not new[mode].flags.writeable
    counted = problem._replace(factors=problem.tie(factors))
    assert confusion is None or tuple(confusion) == tuple(counted.confusion())


@pytest.mark.parametrize(("shape", "L", "density", "missing"), SOME)
def test_awkward_shapes(
    kind: Kind, shape: tuple[int, ...], L: int, density: float, missing: float | None
) -> None:
    tensor, problem = kind.store(make_problem(shape, L, 5, missing, density))
    changed = 0
    for mode, size in enumerate(tensor.shape):
        rules = RULES if size <= 100 else ["metropolis"]  # for the slow loops' sake
        for seed, rule in enumerate(rules):
            turn = make_turn(problem, mode, rule, seed)
            new = fast_update(tensor, problem, turn)
            np.testing.assert_array_equal(new, naive_update(problem, turn))
            changed += np.count_nonzero(new != problem.factors[mode])
    assert changed > 0  # or nothing was put to the test


@pytest.mark.parametrize(("shape", "L", "density", "missing"), OTHERS)
def test_decisions_on_a_knife_edge(
    kind: Kind, shape: tuple[int, ...], L: int, density: float, missing: float | None
) -> None:
    """Not a cell may be counted wrong: also with the components of the last mask word alone."""
    tensor, problem = kind.store(make_problem(shape, L, 9, missing, density))
    for mode, rule in zip(range(len(tensor.shape)), itertools.cycle(RULES)):
        turn = make_turn(problem, mode, rule, mode)
        for order in (np.arange(L)[::-1].copy(), np.arange((L - 1) // 64 * 64, L)):
            turn = turn._replace(order=order)
            log_odds, expected = knife_edge(problem, turn, mode)
            np.testing.assert_array_equal(update_with(tensor, problem, turn, log_odds), expected)


def test_components_left_out_of_the_order_stay(kind: Kind) -> None:
    tensor, problem = kind.store(make_problem((6, 7, 8), 70, 0, 0.2, 0.3))
    prior = np.full((1, 1), 0.5)
    turn = Turn(1, Rates(0.8, 0.3), prior, np.array([69, 3]), "gibbs", Stream(np.uint64(1), 0, 0, 1))
    new, old = fast_update(tensor, problem, turn), problem.factors[1]
    others = np.setdiff1d(np.arange(70), turn.order)
    np.testing.assert_array_equal(new[:, others], old[:, others])
    assert (new[:, turn.order] != old[:, turn.order]).any()


@pytest.mark.parametrize("shape", [(70, 5), (9, 70, 6), (4, 5, 6, 7)])
def test_some_rows_are_decided_with_the_numbers_they_have_among_all(
    kind: Kind, shape: tuple[int, ...]
) -> None:
    tensor, problem = kind.store(make_problem(shape, 5, 4, 0.2, 0.5))
    for (mode, size), name in zip(enumerate(tensor.shape), itertools.cycle(RULES)):
        turn = make_turn(problem, mode, name, mode)._replace(order=np.array([3, 0, 4]))
        with np.errstate(divide="ignore"):
            prior = np.log(turn.prior) - np.log1p(-turn.prior)
        rule = Rule(turn.order, RULES[name], turn.noise.weights, prior)
        everything = np.arange(size)
        for rows in (everything[1::2].copy(), everything[-1:], everything[::-1].copy(), everything[:0]):
            some = tensor.update_factor(mode, problem.masks, rule, turn.stream, rows)
            np.testing.assert_array_equal(unpack(some, 5), naive_update(problem, turn, rows))


def test_nothing_given_is_changed(kind: Kind) -> None:
    tensor, problem = kind.store(make_problem((6, 70, 8), 3, 0, 0.2, 0.5))
    masks = problem.masks
    before = [mask.copy() for mask in masks]
    turn = make_turn(problem, 1, "gibbs", 0)._replace(prior=np.full((1, 1), 0.5))
    problem.factors[1][...] = fast_update(tensor, problem, turn)
    assert (problem.masks[1] != before[1]).any()
    tensor.confusion(masks)
    tensor.counts(1, masks)
    np.testing.assert_array_equal(np.concatenate(masks), np.concatenate(before))


@pytest.mark.parametrize(("shape", "rule"), [((3, 4, 2), "metropolis"), ((20, 2), "gibbs")])
def test_with_every_cell_missing_the_prior_comes_back(kind: Kind, shape: tuple[int, ...], rule: str) -> None:
    rng = np.random.default_rng(3)
    tensor, problem = kind.store(make_problem(shape, 3, 0, 1.0, 0.5))
    prior = rng.choice([0.0, 0.1, 0.3, 0.5, 0.8, 1.0], size=(shape[0], 3))
    draws = []
    for sweep in range(3000):
        stream = Stream(np.uint64(8), 0, sweep, 0)
        turn = Turn(0, Rates(0.9, 0.1), prior, rng.permutation(3), rule, stream)
        problem.factors[0][...] = fast_update(tensor, problem, turn)
        draws.append(problem.factors[0].copy())
    batches = np.array(draws).reshape(100, 30, *prior.shape).mean(axis=1)  # Metropolised flips are correlated
    fixed = (prior == 0) | (prior == 1)
    np.testing.assert_array_equal(batches[:, fixed], np.broadcast_to(prior[fixed], (100, fixed.sum())))
    z = (batches.mean(axis=0) - prior)[~fixed] / (batches.std(axis=0, ddof=1)[~fixed] / 10)
    assert np.abs(z).max() < 4.5
    assert (~fixed).sum() > 1
