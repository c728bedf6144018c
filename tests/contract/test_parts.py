"""The verbs that seeding needs: random one-cells, and a small tensor out of a large one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from makers import Kind, dense
from problems import Problem, make_problem
from tensorm.tensors import Tensor

SHAPES = [(7, 5), (1, 4), (6, 5, 4), (70, 3, 9), (3, 2, 4, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_sampled_ones_are_ones(kind: Kind, shape: tuple[int, ...]) -> None:
    tensor, problem = kind.store(make_problem(shape, 2, 0, 0.2, 0.5))
    cells = tensor.sample_ones(np.random.default_rng(1), 500)
    assert cells.shape == (500, len(tensor.shape))
    assert (problem.ones & problem.seen)[tuple(cells.T)].all()


def test_every_one_is_as_likely(kind: Kind) -> None:
    tensor, problem = kind.store(make_problem((5, 4, 3), 2, 0, 0.2, 0.5))
    cells = tensor.sample_ones(np.random.default_rng(1), 20_000)
    times = np.zeros(problem.ones.shape, int)
    np.add.at(times, tuple(cells.T), 1)
    assert chisquare(times[problem.ones & problem.seen]).pvalue > 0.001
    first = cells[: len(cells) // 2, 0].mean()
    assert abs(first - cells[:, 0].mean()) < 0.05  # the order tells nothing either


def test_no_ones_give_no_cells(kind: Kind) -> None:
    nothing = make_problem((3, 4, 2), 2, 0, None, 0.5)._replace(ones=np.zeros((3, 4, 2), bool))
    cells = kind.store(nothing)[0].sample_ones(np.random.default_rng(0), 5)
    assert cells.shape == (0, 3)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_taking_cells_keeps_them(kind: Kind, shape: tuple[int, ...], missing: bool) -> None:
    rng = np.random.default_rng(2)
    tensor, problem = kind.store(make_problem(shape, 2, 2, 0.3 if missing else None, 0.5))
    part = [np.sort(rng.choice(N, max(1, N // 2), replace=False)) for N in tensor.shape]
    small = tensor.take(part)
    (_, found, seen), *rest = small.blocks()
    assert not rest
    assert small.shape == found.shape == tuple(map(len, part))
    np.testing.assert_array_equal(seen, problem.seen[np.ix_(*part)])
    np.testing.assert_array_equal(found, (problem.ones & problem.seen)[np.ix_(*part)])


@pytest.mark.parametrize("shape", [(3, 200, 5), (2, 4, 150), (70, 30), (5, 66, 6, 3)])
def test_what_is_taken_can_be_counted(kind: Kind, shape: tuple[int, ...]) -> None:
    """Runs of neighbours, single slices and indices in any order, seen from every mode."""
    rng = np.random.default_rng(5)
    tensor, problem = kind.store(make_problem(shape, 4, 5, 0.3, 0.6))
    whole = [np.arange(N) for N in tensor.shape]
    parts = [[n[len(n) // 5 :] for n in whole], [rng.permutation(n) for n in whole]]
    parts += [[n if j != k else n[-1:] for j, n in enumerate(whole)] for k in range(len(whole))]
    for part in parts:
        if problem.once:
            check_taken_pairs(tensor, problem, part)
            continue
        some = Problem(problem.ones[np.ix_(*part)], problem.seen[np.ix_(*part)], [])
        masks, taken, fresh = problem.masks.take(part), tensor.take(part), dense(some)
        assert (taken.n_ones, taken.n_observed) == (fresh.n_ones, fresh.n_observed)
        assert taken.confusion(masks) == fresh.confusion(masks)
        for mode in range(len(whole)):
            np.testing.assert_array_equal(taken.counts(mode, masks), fresh.counts(mode, masks))


def check_taken_pairs(tensor: Tensor, problem: Problem, part: list[np.ndarray]) -> None:
    """A pair can be contested if both of its cells are taken: all others are as if not observed."""
    taken, masks, seen = tensor.take(part), problem.masks.take(part), np.zeros_like(problem.seen)
    seen[np.ix_(*part)] = problem.seen[np.ix_(*part)]
    here = [np.isin(np.arange(N), index)[:, None] for N, index in zip(problem.ones.shape, part, strict=True)]
    factors = [factor & inside for factor, inside in zip(problem.factors, here, strict=True)]
    whole = problem._replace(observed=seen, factors=factors)
    assert tuple(taken.confusion(masks)) == whole.confusion()
    for mode, index in enumerate(part):
        pos, tot = taken.counts(mode, masks)
        for n, l in itertools.product((0, -1), range(problem.L)):
            assert (pos[n, l], tot[n, l]) == whole.counts(mode, int(index[n]), l)
