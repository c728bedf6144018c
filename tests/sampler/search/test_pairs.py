"""Pairs of slices: what is computed of them, and that they lead to components that single cells do not."""

from __future__ import annotations

import numpy as np
import pytest

from explanations import make_explanation
from tensorm.datasets import simulate
from tensorm.model import Noise, boolean_product
from tensorm.sampler.search.explanation import cover
from tensorm.sampler.search.pairs import (
    alternate,
    contract,
    draw_pairs,
    propose,
    score_slices,
    split_rates,
)
from tensorm.sampler.search.seeding import CandidatePool
from tensorm.tensors.factors import Factors

NOISE = Noise(0.7, 0.2)


def test_split_sets_the_parts_furthest_apart() -> None:
    rates = np.random.default_rng(0).random((8, 50))
    for column, chosen in zip(rates.T, split_rates(rates).T, strict=True):
        best = 0.0
        for cut in np.sort(column)[1:]:
            upper = column >= cut
            between = upper.sum() * (~upper).sum() * (column[upper].mean() - column[~upper].mean()) ** 2
            best = max(best, between)
        found = chosen.sum() * (~chosen).sum() * (column[chosen].mean() - column[~chosen].mean()) ** 2
        assert found == pytest.approx(best)
        assert column[chosen].min() > column[~chosen].max()


@pytest.mark.parametrize("shape", [(6, 5), (6, 5, 4), (5, 4, 3, 2)])
def test_the_product_is_that_of_the_model(shape) -> None:
    rng = np.random.default_rng(1)
    factors = [rng.random((size, 70)) < 0.1 for size in shape]
    np.testing.assert_array_equal(cover(Factors.from_bits(factors)), boolean_product(factors))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_scores_are_ratios_of_probabilities(mode: int) -> None:
    """In what is left: cells that are missing or explained say nothing."""
    sim = simulate((7, 6, 5), rank=2, density=0.3, noise=0.2, missing=0.2, random_state=1)
    explanation = make_explanation(sim.observed, sim.factors)
    slices = score_slices(explanation, np.random.default_rng(0), mode, np.array([0, 2, 3]), NOISE, 99)
    X, inside = (np.moveaxis(part, mode, 0) for part in (sim.observed, sim.noise_free))
    ratio = np.where(X == 1, 0.7 / 0.2, 0.3 / 0.8)
    ratio[np.isnan(X) | inside] = 1
    first, second = np.array([0, 1]), np.array([1, 2])
    expected = ratio[[0, 2]] * ratio[[2, 3]] - 1
    found = slices.score(first, second) / slices.scale**2
    np.testing.assert_allclose(found, expected, atol=0.1 * expected.max())  # rounded
    assert not found[expected == 0].any()


def test_large_slices_are_read_in_part() -> None:
    sim = simulate((7, 9, 8), rank=2, density=0.3, noise=0.2, random_state=1)
    explanation = make_explanation(sim.observed, sim.factors).emptied([0, 1])
    slices = score_slices(explanation, np.random.default_rng(0), 1, np.array([4, 8]), NOISE, 20)
    assert 10 < slices.ratios[0].size <= 20
    cells = np.moveaxis(sim.observed[np.ix_(*slices.indices)], 1, 0)
    np.testing.assert_array_equal(slices.ratios > 0, cells == 1)


@pytest.mark.parametrize("shape", [(3, 6), (3, 6, 5), (3, 5, 4, 3)])
def test_contraction_leaves_one_mode(shape) -> None:
    rng = np.random.default_rng(2)
    scores = rng.integers(-5, 9, shape).astype(np.float32)
    vectors = [rng.integers(0, 4, (shape[0], size)).astype(np.float32) for size in shape[1:]]
    letters = "abc"[: len(vectors)]
    for left, kept in enumerate(letters):
        others = [k for k in range(len(vectors)) if k != left]
        names = ",".join([f"n{letters}", *(f"n{letters[k]}" for k in others)])
        expected = np.einsum(f"{names}->n{kept}", scores, *(vectors[k] for k in others))
        np.testing.assert_array_equal(contract(scores, vectors, left), expected)


def test_a_block_is_found_in_noise_whatever_the_order_of_sums() -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(-4, 5, (4, 40, 30)).astype(np.float32)
    scores[:, 5:15, 20:28] += 8
    (rows, columns), fits = alternate(scores)
    for row, column in zip(rows, columns, strict=True):
        assert np.flatnonzero(split_rates(row[:, None])[:, 0]).tolist() == [*range(5, 15)]
        assert np.flatnonzero(split_rates(column[:, None])[:, 0]).tolist() == [*range(20, 28)]
    order = rng.permutation(40)
    (mixed, same), mixed_fits = alternate(scores[:, order])
    np.testing.assert_array_equal(mixed, rows[:, order])
    np.testing.assert_array_equal(same, columns)
    np.testing.assert_array_equal(mixed_fits, fits)


@pytest.mark.parametrize("shape", [(20, 9), (5, 12, 11), (4, 16, 16, 16)])
def test_sums_are_exact(shape) -> None:
    """So that candidates are the same on every processor."""
    sim = simulate(shape, rank=2, density=0.4, noise=0.2, random_state=1)
    explanation = make_explanation(sim.observed, sim.factors).emptied([0, 1])
    whole = score_slices(explanation, np.random.default_rng(0), 0, np.arange(shape[0]), NOISE, 2**14)
    scores = whole.score(*np.triu_indices(shape[0], 1))
    vectors, fits = alternate(scores)
    exact = [part.astype(np.int64) for part in (scores, *vectors)]
    letters = "abc"[: len(vectors)]
    for left, kept in enumerate(letters):
        others = [k for k in range(len(vectors)) if k != left]
        names = ",".join([f"n{letters}", *(f"n{letters[k]}" for k in others)])
        expected = np.einsum(f"{names}->n{kept}", exact[0], *(exact[1 + k] for k in others))
        np.testing.assert_array_equal(contract(scores, vectors, left), expected)
    norms = np.prod([(vector**2).sum(axis=1) for vector in vectors], axis=0)
    product = np.einsum(f"n{letters},{','.join(f'n{k}' for k in letters)}->n", *exact)
    np.testing.assert_array_equal(fits, product / np.sqrt(np.maximum(norms, 1)))


def test_pairs_are_of_different_indices_and_all_if_there_are_few() -> None:
    rng = np.random.default_rng(4)
    for size, count, expected in ((9, 20, 20), (9, 36, 36), (9, 99, 36), (2, 5, 1)):
        found = draw_pairs(rng, size, count, 100)
        assert found.shape == (2, expected)
        assert (found[0] != found[1]).all()
        assert 0 <= found.min() <= found.max() < size
    assert len({frozenset(pair) for pair in draw_pairs(rng, 9, 40, 100).T.tolist()}) == 36


def test_pairs_share_few_slices_if_these_are_large() -> None:
    """Reading is what takes time in large tensors; but others each time, and none in most of the pairs."""
    rng = np.random.default_rng(4)
    assert len(np.unique(draw_pairs(rng, 300, 66, 200))) > 90
    drawn = [draw_pairs(rng, 300, 66, 4096) for _ in range(40)]
    for found in drawn:
        slices, pairs_of_each = np.unique(found, return_counts=True)
        assert len(slices) <= 17
        assert pairs_of_each.max() < 25
        assert (found[0] != found[1]).all()
    assert len(np.unique(drawn)) > 250


def test_modes_with_one_index_have_no_pairs() -> None:
    sim = simulate((12, 1, 10), rank=1, density=0.3, noise=0.1, random_state=0)
    explanation = make_explanation(sim.observed, sim.factors).emptied([0])
    columns, modes = propose(explanation, np.random.default_rng(0), NOISE, 60, 10)
    assert set(modes.tolist()) <= {0, 2}
    assert [column.shape for column in columns] == [(12, 10), (1, 10), (10, 10)]


def test_a_component_that_single_cells_do_not_lead_to_is_found() -> None:
    factors = [np.zeros((70, 1), bool) for _ in range(3)]
    for factor in factors:
        factor[:10] = True
    rng = np.random.default_rng(5)
    X = boolean_product(factors) ^ (rng.random((70, 70, 70)) < 0.3)
    explanation = make_explanation(X.astype(float), factors).emptied([0])
    cells = explanation.tensor.sample_ones(rng, 96)

    def finds(pool: CandidatePool) -> bool:
        best = int(pool.rises().argmax())
        pairs = zip(pool.columns, factors, strict=True)
        return all((column[:, best] == factor[:, 0]).all() for column, factor in pairs)

    assert finds(CandidatePool.from_pairs(explanation, rng, 0.57, 600, 24))
    assert not finds(CandidatePool.from_cells(explanation, cells, 0.57))
