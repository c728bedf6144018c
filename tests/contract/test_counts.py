"""The verbs that count: (pos, tot) of every entry and what follows from them, and the confusion of cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from makers import Kind
from problems import OTHERS, SOME, Problem, few, make_problem, problems
from tensorm.sampler.two_rates import Rates

rates = st.floats(0.02, 0.98)


@settings(few, max_examples=150)
@given(problem=problems(), hit=rates, false_alarm=rates, seed=st.integers(0, 2**32 - 1))
def test_conditionals_equal_brute_force(
    kind: Kind, problem: Problem, hit: float, false_alarm: float, seed: int
) -> None:
    """150 tensors, a random entry of every mode in each; Bayes' rule on the whole likelihood is the judge."""
    rng = np.random.default_rng(seed)
    (tensor, problem), noise = kind.store(problem), Rates(hit, false_alarm)
    w1, w0 = noise.weights
    for mode, factor in enumerate(problem.factors):
        pos, tot = tensor.counts(mode, problem.masks)
        n, l = (int(rng.integers(size)) for size in factor.shape)
        prior = rng.choice([0.0, 1.0, 0.5, *rng.random(5)])
        kernel = expit(w1 * pos[n, l] - w0 * (tot[n, l] - pos[n, l]) + logit(prior))
        assert kernel == pytest.approx(problem.conditional(mode, n, l, noise, prior), abs=1e-9)


@few
@given(problem=problems())
def test_counts_of_generated_cases(kind: Kind, problem: Problem) -> None:
    tensor, problem = kind.store(problem)
    for mode in range(problem.ones.ndim):
        check_counts(tensor, problem, mode)


@pytest.mark.parametrize(("shape", "L", "density", "missing"), SOME)
def test_counts_of_awkward_shapes(
    kind: Kind, shape: tuple[int, ...], L: int, density: float, missing: float | None
) -> None:
    problem = make_problem(shape, L, 6, missing, density)
    tensor, problem = kind.store(problem)
    for mode in range(problem.ones.ndim):
        check_counts(tensor, problem, mode)


@pytest.mark.parametrize("L", [5, 70])
def test_counts_of_some_components_and_rows(kind: Kind, L: int) -> None:
    """Which entries are asked for changes nothing: the others still explain cells away."""
    tensor, problem = kind.store(make_problem((7, 66, 5), L, 8, 0.2, 0.5 if L == 5 else 0.2))
    for mode in range(3):
        every = np.array(tensor.counts(mode, problem.masks))
        for chosen in ([L - 1], [3, 0], list(range(L))[::-1]):
            some = tensor.counts(mode, problem.masks, chosen)
            np.testing.assert_array_equal(some, every[:, :, chosen])
        for rows in (np.array([4, 0, 2]), np.arange(0)):
            some = tensor.counts(mode, problem.masks, [3, 0], rows)
            np.testing.assert_array_equal(some, every[:, rows][:, :, [3, 0]])
        assert every[1].any()


def check_counts(tensor, problem: Problem, mode: int) -> None:
    pos, tot = tensor.counts(mode, problem.masks)
    rows, L = problem.factors[mode].shape
    assert pos.shape == tot.shape == (rows, L)
    some = np.linspace(0, rows - 1, min(rows, 12)).astype(int)  # the ends and some between
    for n in some:
        for l in range(L):
            assert (pos[n, l], tot[n, l]) == problem.counts(mode, n, l)


@few
@given(problem=problems())
def test_confusion_of_generated_cases(kind: Kind, problem: Problem) -> None:
    tensor, problem = kind.store(problem)
    assert tensor.confusion(problem.masks) == problem.confusion()


@pytest.mark.parametrize(("shape", "L", "density", "missing"), OTHERS)
def test_confusion_of_awkward_shapes(
    kind: Kind, shape: tuple[int, ...], L: int, density: float, missing: float | None
) -> None:
    tensor, problem = kind.store(make_problem(shape, L, 7, missing, density))
    assert tensor.confusion(problem.masks) == problem.confusion()


@pytest.mark.parametrize("density", [0.0, 1.0])
def test_empty_and_full_factors(kind: Kind, density: float) -> None:
    tensor, problem = kind.store(make_problem((5, 66, 7), 66, 1, 0.2, density))
    tp, fp, fn, tn = tensor.confusion(problem.masks)
    inside, outside = (tp, fp), (fn, tn)
    covered = density and not problem.once  # or all is contested
    assert (outside if covered else inside) == (0, 0)
    assert sum(inside if covered else outside) == sum(problem.confusion())
    pos, tot = tensor.counts(1, problem.masks)
    assert not pos.any()  # no co-parents, or all explained away by 65 others
    assert not tot.any()


@pytest.mark.parametrize("missing", [None, 0.0, 0.3, 1.0])
def test_cells_come_back(kind: Kind, missing: float | None) -> None:
    tensor, problem = kind.store(make_problem((7, 9, 70), 2, 2, missing, 0.5))
    assert tensor.shape == problem.ones.shape
    step = max(1, 1500 // problem.ones[0].size)
    starts = []
    for where, ones, seen in tensor.blocks(max_cells=1500):
        starts.append(where.start)
        np.testing.assert_array_equal(seen, problem.seen[where])
        np.testing.assert_array_equal(ones, (problem.ones & problem.seen)[where])
    assert starts == list(range(0, len(problem.ones), step))
    tp, fp, fn, tn = problem.confusion()
    assert (tensor.n_ones, tensor.n_observed) == (tp + fn, tp + fp + fn + tn)
