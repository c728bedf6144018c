"""Walk'n'Merge: the graph, the blocks, their merging and choice, each by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from tensorm.baselines import WalkNMerge, fibres, walknmerge
from tensorm.baselines.fibres import FibreGraph, volume
from tensorm.baselines.walknmerge import adjoin, merge, shorten, smallest, trim_block
from tensorm.datasets import simulate
from tensorm.model import Confusion, boolean_product, confusion
from tensorm.selection.trials import describe_length
from tensorm.tensors import DenseTensor, SparseTensor


def block(*index: list[int]) -> tuple[np.ndarray, ...]:
    return tuple(np.array(one) for one in index)


@pytest.mark.parametrize("shape", [(6, 7), (4, 5, 3), (3, 3, 2, 4)])
def test_steps_go_to_neighbours_all_alike(shape: tuple[int, ...]) -> None:
    X = simulate(shape, rank=2, density=0.4, noise=0.2, random_state=1).observed
    ones = FibreGraph.of(DenseTensor(X))
    np.testing.assert_array_equal(ones.cells, np.argwhere(X))
    differ = (ones.cells[:, None] != ones.cells).sum(axis=2)
    start = int((differ == 1).sum(axis=1).argmax())
    neighbours = np.flatnonzero(differ[start] == 1)
    n = 400 * len(neighbours)
    reached = ones.step(np.full(n, start), np.random.default_rng(0))
    visits = np.bincount(reached, minlength=len(ones))
    assert set(np.flatnonzero(visits)) == set(neighbours)
    assert (abs(visits[neighbours] - 400) < 6 * np.sqrt(400)).all()


def test_a_cell_without_neighbours_stays() -> None:
    ones = FibreGraph.of(DenseTensor(np.eye(4)))
    np.testing.assert_array_equal(ones.step(np.arange(4), np.random.default_rng(0)), np.arange(4))


def test_ones_inside_a_block_are_counted() -> None:
    X = simulate((6, 7, 5), rank=2, density=0.4, noise=0.2, random_state=2).observed
    ones = FibreGraph.of(DenseTensor(X))
    one = block([0, 2, 5], [1, 2], [0, 3, 4])
    assert len(ones.inside(one)) == X[np.ix_(*one)].sum()
    assert volume(one) == 18


def test_trimming_leaves_slices_that_are_dense() -> None:
    X = np.zeros((8, 8, 8), np.int8)
    X[:4, :4, :4] = 1
    X[0, 0, 6] = X[7, 1, 1] = 1
    ones = FibreGraph.of(DenseTensor(X))
    left = trim_block(ones, block([0, 1, 2, 3, 7], [0, 1, 2, 3], [0, 1, 2, 3, 6]), 0.7)
    assert left is not None
    assert [list(index) for index in left] == [[0, 1, 2, 3]] * 3
    assert trim_block(ones, block([5, 6, 7], [5, 6], [5, 6]), 0.7) is None


def test_smallest_blocks_are_full_and_each_adds_a_cell() -> None:
    X = simulate((8, 8, 8), rank=3, density=0.3, noise=0.1, random_state=0).observed
    ones = FibreGraph.of(DenseTensor(X))
    found = list(smallest(ones, [], np.random.default_rng(0)))
    assert len(found) > 3
    taken = np.zeros(X.shape, bool)
    for one in found:
        assert X[np.ix_(*one)].all()
        assert not taken[np.ix_(*one)].all()
        taken[np.ix_(*one)] = True


def test_blocks_merge_where_their_union_is_dense() -> None:
    X = np.zeros((9, 9, 9), np.int8)
    X[:4, :4, :4] = X[5:, 5:, 5:] = 1
    ones = FibreGraph.of(DenseTensor(X))
    parts = [
        block([0, 1], [0, 1, 2, 3], [0, 1]),
        block([2, 3], [0, 1, 2], [0, 1]),
        block([5, 6], [5, 6], [5, 6]),
    ]
    assert adjoin(parts[0], parts[1])
    assert not adjoin(parts[0], parts[2])
    merged = merge(ones, parts, 0.7)
    assert sorted(volume(one) for one in merged) == [8, 32]


def merge_simply(ones: FibreGraph, blocks: list, density: float) -> list:
    """Try every pair, the largest blocks first."""
    pending, done = sorted(blocks, key=volume, reverse=True), []
    while pending:
        one = pending.pop(0)
        for i, other in enumerate(pending):
            union = tuple(np.union1d(a, b) for a, b in zip(one, other, strict=True))
            if adjoin(one, other) and len(ones.inside(union)) / volume(union) >= density:
                pending[i] = union
                break
        else:
            done.append(one)
    return done


@pytest.mark.parametrize("shape", [(30, 30), (14, 15, 16), (8, 8, 8, 8)])
@pytest.mark.parametrize("cells", [0, 10**6])
def test_pairs_are_found_without_trying_all(
    shape: tuple[int, ...], cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after many unions, and where no array of all cells is made."""
    monkeypatch.setattr(fibres, "ARRAY_CELLS", cells)
    monkeypatch.setattr(walknmerge, "REBUILT", 3)
    X = simulate(shape, rank=4, density=0.5, noise=0.1, random_state=0).observed
    ones = FibreGraph.of(DenseTensor(X))
    blocks = list(smallest(ones, [], np.random.default_rng(0)))
    for density in (0.7, 0.8, 0.9):
        merged, expected = merge(ones, blocks, density), merge_simply(ones, blocks, density)
        assert len(merged) < len(blocks)
        for one, other in zip(merged, expected, strict=True):
            for index, wanted in zip(one, other, strict=True):
                np.testing.assert_array_equal(index, wanted)


def test_the_description_is_that_of_the_factors() -> None:
    sim = simulate((12, 11, 10), rank=3, density=0.2, noise=0.05, random_state=3)
    X = sim.observed
    ones = FibreGraph.of(DenseTensor(X))
    blocks = [tuple(np.flatnonzero(f[:, l]) for f in sim.factors) for l in range(3)]
    chosen, bits = shorten(ones, [*blocks, block([0, 1], [0, 1], [0, 1])], None)
    factors = [np.zeros((size, len(chosen)), bool) for size in X.shape]
    for l, one in enumerate(chosen):
        for factor, index in zip(factors, one, strict=True):
            factor[index, l] = True
    assert len(chosen) == 3
    found = confusion(X.astype(bool), None, factors)
    assert bits == pytest.approx(describe_length(factors, found).total)
    nothing = Confusion(0, 0, int(X.sum()), int((1 - X).sum()))
    assert bits < describe_length([np.zeros((size, 1), bool) for size in X.shape], nothing).total
    assert len(shorten(ones, blocks, 2)[0]) == 2


@pytest.mark.parametrize("shape", [(30, 30), (15, 16, 17), (8, 8, 8, 8)])
def test_planted_blocks_are_found_without_their_number(shape: tuple[int, ...]) -> None:
    factors = [np.zeros((size, 2), bool) for size in shape]
    for factor in factors:
        factor[:5, 0] = factor[-4:, 1] = True  # 5 and 4 of each mode
        if len(shape) == 2:
            factor[5:10, 0] = True
    truth = boolean_product(factors)
    rng = np.random.default_rng(0)
    X = truth & (rng.random(shape) < 0.95) | (rng.random(shape) < 0.005)
    model = WalkNMerge(random_state=0).fit(X)
    assert model.factors_[0].shape[1] >= 2
    assert (model.predict() == truth).mean() > 0.995


def test_a_sparse_tensor_may_have_any_shape() -> None:
    members = [np.arange(3, 9) * 10**4, np.arange(6) * 10**5, np.arange(5)]
    cells = np.stack(np.meshgrid(*members, indexing="ij"), axis=-1).reshape(-1, 3)
    model = WalkNMerge(random_state=0).fit(SparseTensor(cells, (10**6, 10**6, 10**4)))
    for factor, index in zip(model.factors_, members, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(factor[:, 0]), index)


def test_missing_cells_are_zeros() -> None:
    X = np.zeros((10, 10, 10))
    X[:5, :5, :5] = 1
    X[2, 2, 2] = X[8, 8, 8] = np.nan
    model = WalkNMerge(random_state=0).fit(X)
    twin = WalkNMerge(random_state=0).fit(np.nan_to_num(X))
    np.testing.assert_array_equal(model.predict(), twin.predict())
    assert model.length_ == twin.length_


def test_nothing_to_find_is_no_error() -> None:
    for X in (np.zeros((3, 4, 5)), np.eye(5)):
        model = WalkNMerge(random_state=0).fit(X)
        assert model.factors_[0].shape[1] == 0
        assert model.predict().sum() == 0
        assert model.predict([[0] * X.ndim]) == 0
