"""Contributions against element loops: every cell is looked at, with and without the component."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import naive
from posteriors import make_trace
from tensorm import Posterior, TensOrMachine, datasets
from tensorm.posterior.contributions import Contribution, contributions, strongest_first
from tensorm.sampler.two_rates import Rates
from tensorm.tensors import DenseTensor
from tensorm.tensors.factors import Factors

NOISE = Rates(0.7, 0.1)


def problem(shape, L, seed, missing=0.2):
    rng = np.random.default_rng(seed)
    factors = [rng.random((size, L)) < 0.6 for size in shape]
    ones = naive.product(factors) ^ (rng.random(shape) < 0.15)
    observed = rng.random(shape) >= missing
    return ones, observed, factors


def without(factors, *components):
    copies = [factor.copy() for factor in factors]
    copies[-1][:, list(components)] = False
    return copies


def expected(ones, observed, factors, noise):
    """Each count by a walk over all cells."""
    L, rows = factors[0].shape[1], []
    full = naive.confusion(ones, observed, factors)
    fit = naive.log_likelihood(ones, observed, factors, *noise)
    for l in range(L):
        covered = explained = added = added_errors = alone = errors = 0
        for index in naive.cells(factors):
            by = [i for i in range(L) if all(f[n, i] for f, n in zip(factors, index, strict=True))]
            if not observed[index] or l not in by:
                continue
            covered += 1
            explained += bool(ones[index])
            added += bool(ones[index] and by[0] == l)
            added_errors += bool(not ones[index] and by[0] == l)
            alone += bool(ones[index] and by == [l])
            errors += bool(not ones[index] and by == [l])
        left = without(factors, l)
        lost = naive.confusion(ones, observed, left)
        accuracy = (full[0] + full[3] - lost[0] - lost[3]) / observed.sum()
        drop = fit - naive.log_likelihood(ones, observed, left, *noise)
        rows.append(Contribution(l, covered, explained, added, added_errors, alone, errors, accuracy, drop))
    return rows


@pytest.mark.parametrize(
    ("shape", "L"), [((6, 5), 3), ((5, 4, 3), 1), ((4, 5, 3), 4), ((3, 2, 3, 2), 2), ((2, 2, 2, 2, 2), 3)]
)
def test_every_count_is_what_a_walk_over_the_cells_gives(shape, L) -> None:
    ones, observed, factors = problem(shape, L, seed=L)
    tensor = DenseTensor(np.where(observed, ones, np.nan))
    found = contributions(tensor, Factors.from_bits(factors), NOISE)
    for mine, other in zip(found, expected(ones, observed, factors, NOISE), strict=True):
        assert mine[:7] == other[:7]
        assert mine[7:] == pytest.approx(other[7:])


def test_added_ones_add_up_to_all_that_are_explained() -> None:
    ones, observed, factors = problem((6, 5, 4), 4, seed=1)
    tensor = DenseTensor(np.where(observed, ones, np.nan))
    found = contributions(tensor, Factors.from_bits(factors), NOISE)
    tp, fp = naive.confusion(ones, observed, factors)[:2]
    assert sum(row.added for row in found) == tp
    assert sum(row.added_errors for row in found) == fp
    assert sum(row.explained for row in found) > tp  # these would be counted twice
    assert sum(row.alone for row in found) < tp  # and these not at all


def test_two_of_the_same_explain_nothing_alone() -> None:
    factors = [np.ones((3, 2), bool)] * 3
    tensor = DenseTensor(np.ones((3, 3, 3)))
    first, second = contributions(tensor, Factors.from_bits(factors), NOISE)
    assert (first.explained, first.added, first.alone, first.log_likelihood_lost) == (27, 27, 0, 0)
    assert (second.explained, second.added, second.alone, second.accuracy_lost) == (27, 0, 0, 0)


def test_an_empty_component_contributes_nothing() -> None:
    factors = [np.ones((3, 2), bool), np.ones((4, 2), bool)]
    factors[1][:, 0] = False
    tensor = DenseTensor(np.ones((3, 4)))
    assert contributions(tensor, Factors.from_bits(factors), NOISE)[0] == (0,) * 9


def test_a_component_of_mostly_zeros_costs_accuracy_and_still_raises_the_likelihood() -> None:
    cells = np.zeros((5, 10))
    cells[0, :4] = 1  # a row of which 40% are ones
    factors = [np.eye(5, 1, dtype=bool), np.ones((10, 1), bool)]
    (found,) = contributions(DenseTensor(cells), Factors.from_bits(factors), Rates(0.4, 0.01))
    assert (found.alone, found.errors) == (4, 6)
    assert found.accuracy_lost == pytest.approx(-2 / 50)
    assert found.log_likelihood_lost > 10


@pytest.mark.parametrize("L", [1, 2, 4, 9])
def test_the_strongest_is_the_one_that_would_be_missed_most(L) -> None:
    ones, observed, factors = problem((5, 5, 5), L, seed=5)
    tensor = DenseTensor(np.where(observed, ones, np.nan))
    left = [naive.log_likelihood(ones, observed, without(factors, l), *NOISE) for l in range(L)]
    order = strongest_first(tensor, Factors.from_bits(factors), NOISE)
    assert order == np.argsort(left, kind="stable").tolist()


def test_a_fit_orders_its_components_by_what_their_removal_costs() -> None:
    sim = datasets.simulate((15, 14, 13), rank=4, density=0.3, noise=0.1, random_state=2)
    model = TensOrMachine(4, n_chains=2, n_draws=20, random_state=0, noise="asymmetric", progress=False).fit(
        sim.observed
    )
    rows = model.contributions_
    assert [row.component for row in rows] == [0, 1, 2, 3]
    assert all(a.log_likelihood_lost >= b.log_likelihood_lost for a, b in itertools.pairwise(rows))
    best = [factor > 0.5 for factor in model.factors_]
    by_hand = expected(sim.observed == 1, np.ones(sim.observed.shape, bool), best, NOISE)
    for mine, other in zip(rows, by_hand, strict=True):  # all but the likelihood, which has its own noise
        assert mine[:8] == pytest.approx(other[:8])
    table = pd.DataFrame(rows)
    assert tuple(table.columns) == Contribution._fields
    assert table["added"].sum() == (naive.product(best) & (sim.observed == 1)).sum()


def test_contributions_are_those_of_the_members_in_the_first_explanation() -> None:
    """Another explanation does not count, nor does a lucky draw; the table has the order of the factors."""
    ones, observed, factors = problem((8, 7, 6), 3, seed=3)
    tensor = DenseTensor(np.where(observed, ones, np.nan))
    worst_first = strongest_first(tensor, Factors.from_bits(factors), NOISE)[::-1]
    good = [factor[:, worst_first] for factor in factors]
    bad = [~factor for factor in factors]
    kept, stuck = make_trace([bad, good, good], NOISE, 0.8), make_trace([bad] * 3, NOISE, 0.8)
    kept.log_posterior[:], stuck.log_posterior[:] = (-3, -1, -2), (-90, 50, -90)
    found = Posterior.from_traces([stuck, kept], tensor)
    assert found.explanations == (1, 0)
    for mine, factor in zip(found.best_factors, factors, strict=True):
        np.testing.assert_array_equal(mine, factor[:, worst_first[::-1]])
    by_hand = expected(ones, observed, found.best_factors, NOISE)
    for mine, other in zip(found.contributions, by_hand, strict=True):
        assert mine == pytest.approx(other)
