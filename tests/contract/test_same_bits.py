"""The same bits however the rows are shared out, and exact symmetry under permutation of what is given."""

from __future__ import annotations

import numpy as np
import pytest

from makers import Kind
from problems import RULES, Problem, fast_update, make_problem, make_turn
from tensorm.tensors import slices, sparse

SHAPES = [(5, 6, 7), (70, 9), (1, 66, 3), (2, 3, 2, 70), (33, 600)]


@pytest.mark.parametrize("n_threads", [2, 3, 8])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_number_of_threads(
    kind: Kind, shape: tuple[int, ...], n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "WORTH_THREADS", 0)
    monkeypatch.setattr(sparse, "LISTED_WORTH_THREADS", 0)
    one, problem = kind.store(make_problem(shape, 5, 0, 0.1, 0.5))
    many = one.with_threads(n_threads)
    for mode in range(len(one.shape)):
        for rule in RULES:
            turn = make_turn(problem, mode, rule, mode)
            alone = fast_update(one, problem, turn)
            np.testing.assert_array_equal(fast_update(many, problem, turn), alone)
            np.testing.assert_array_equal(fast_update(one, problem, turn), alone)  # and again
        np.testing.assert_array_equal(many.counts(mode, problem.masks), one.counts(mode, problem.masks))
    assert many.confusion(problem.masks) == one.confusion(problem.masks)


def permute_rows(problem: Problem, orders: list[np.ndarray]) -> Problem:
    index = np.ix_(*orders)
    factors = [factor[order] for factor, order in zip(problem.factors, orders, strict=True)]
    return problem._replace(ones=problem.ones[index], observed=problem.seen[index], factors=factors)


def permute_modes(problem: Problem, order: np.ndarray) -> Problem:
    factors, place = [problem.factors[k] for k in order], [int(k) for k in np.argsort(order)]
    pair = None if problem.pair is None else tuple(sorted(place[k] for k in problem.pair))
    ones, observed = problem.ones.transpose(order), problem.seen.transpose(order)
    return problem._replace(ones=ones, observed=observed, factors=factors, pair=pair)


@pytest.mark.parametrize("shape", SHAPES)
def test_permuted_rows(kind: Kind, shape: tuple[int, ...]) -> None:
    """Greedy updates take no random numbers, which belong to rows; so they can be compared bit for bit.

    But for modes whose rows take turns.
    """
    before, problem = kind.store(make_problem(shape, 5, 1, 0.1, 0.5))
    rng = np.random.default_rng(1)
    orders = [rng.permutation(N) for N in before.shape]
    if before.mirrored is not None:
        orders[before.mirrored[1]] = orders[before.mirrored[0]]
    moved = permute_rows(problem, orders)
    after = kind.make(moved)
    for mode, order in enumerate(orders):
        turn = make_turn(problem, mode, "greedy", mode)._replace(prior=np.full((1, 1), 0.4))
        if mode not in problem.in_turns:
            np.testing.assert_array_equal(
                fast_update(after, moved, turn), fast_update(before, problem, turn)[order]
            )
        for new, old in zip(after.counts(mode, moved.masks), before.counts(mode, problem.masks), strict=True):
            np.testing.assert_array_equal(new, old[order])


@pytest.mark.parametrize("shape", SHAPES)
def test_permuted_modes(kind: Kind, shape: tuple[int, ...]) -> None:
    """Rows keep their random numbers, so every rule must give the same bits."""
    tensor, problem = kind.store(make_problem(shape, 5, 2, 0.1, 0.5))
    for order in kind.orders(len(tensor.shape)):
        moved = permute_modes(problem, order)
        turned = kind.make(moved)
        for new, old in enumerate(order):
            np.testing.assert_array_equal(turned.counts(new, moved.masks), tensor.counts(old, problem.masks))
            for rule in RULES if old not in (tensor.pair or ()) else ():  # one of a pair follows the other
                turn = make_turn(problem, int(old), rule, new)
                np.testing.assert_array_equal(
                    fast_update(turned, moved, turn._replace(mode=new)), fast_update(tensor, problem, turn)
                )
        assert turned.confusion(moved.masks) == tensor.confusion(problem.masks)


@pytest.mark.parametrize("L", [5, 70])
@pytest.mark.parametrize("shape", SHAPES)
def test_permuted_components(kind: Kind, shape: tuple[int, ...], L: int) -> None:
    order = np.random.default_rng(3).permutation(L)
    tensor, problem = kind.store(make_problem(shape, L, 3, 0.1, 0.4))
    moved = problem._replace(factors=[factor[:, order] for factor in problem.factors])
    for mode in range(len(tensor.shape)):
        turn = make_turn(problem, mode, "greedy", mode)._replace(prior=np.full((1, 1), 0.4))
        same_turns = turn._replace(order=np.argsort(order)[turn.order])
        np.testing.assert_array_equal(
            fast_update(tensor, moved, same_turns), fast_update(tensor, problem, turn)[:, order]
        )
        for new, old in zip(
            tensor.counts(mode, moved.masks), tensor.counts(mode, problem.masks), strict=True
        ):
            np.testing.assert_array_equal(new, old[:, order])
    assert tensor.confusion(moved.masks) == tensor.confusion(problem.masks)
