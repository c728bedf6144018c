"""Sparse tensors: what the contract does not say, and fits equal to the bit to those of dense tensors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse
import sparse

import tensorm
from tensorm import DenseTensor, InputError, SparseTensor, TensOrMachine
from tensorm.datasets import simulate
from tensorm.kernels.groups import group_tuples
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.search.region import FIRST_SEARCH, choose_region
from tensorm.sampler.search.seeding import begin
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric
from tensorm.tensors import GIBBS, GREEDY, METROPOLIS, Rule, Stream, Weights, pick, read
from tensorm.tensors.bits import pack
from tensorm.tensors.factors import Factors


def random_cells(shape: tuple[int, ...], seed: int, missing: float = 0.1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    cells = (rng.random(shape) < 0.3).astype(float)
    cells[rng.random(shape) < missing] = np.nan
    return cells


def planted(shape: tuple[int, ...], n_blocks: int, sizes: tuple[int, ...], n_noise: int) -> tuple:
    """Blocks of ones, disjoint in no mode, and single ones all over."""
    rng = np.random.default_rng(0)
    factors = [np.zeros((N, n_blocks), bool) for N in shape]
    cells = [np.column_stack([rng.integers(N, size=n_noise) for N in shape])]
    for block in range(n_blocks):
        index = [rng.choice(N, size, replace=False) for N, size in zip(shape, sizes, strict=True)]
        for factor, members in zip(factors, index, strict=True):
            factor[members, block] = True
        cells.append(np.stack(np.meshgrid(*index, indexing="ij"), -1).reshape(-1, len(shape)))
    return SparseTensor(np.unique(np.concatenate(cells), axis=0), shape), factors


@pytest.mark.parametrize("shape", [(9, 70), (6, 7, 8), (3, 4, 5, 6), (2, 3, 4, 2, 3), (2, 3, 2, 3, 2, 3)])
@pytest.mark.parametrize("unlisted", ["zero", "missing"])
def test_fits_are_those_of_dense_tensors(
    shape: tuple[int, ...], unlisted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = random_cells(shape, 1)
    monkeypatch.setattr("tensorm.estimator.machine.pick_storage", lambda tensor, n_components=0: tensor)
    if unlisted == "zero":
        tensor = SparseTensor(np.argwhere(X == 1), shape, missing=np.argwhere(np.isnan(X)))
    else:
        seen = ~np.isnan(X)
        tensor = SparseTensor(np.argwhere(seen), shape, X[seen], unlisted="missing")
    settings = {
        "noise": "asymmetric",
        "n_chains": 2,
        "n_draws": 15,
        "burn_in": 12,
        "random_state": 3,
        "progress": False,
    }
    mine, theirs = (TensOrMachine(3, **settings).fit(data) for data in (tensor, X))
    assert (mine.storage_, theirs.storage_) == ("sparse", "dense")
    for trace, other in zip(mine.posterior_.chains, theirs.posterior_.chains, strict=True):
        for name in ("noise", "density", "confusion", "log_posterior"):
            np.testing.assert_array_equal(getattr(trace, name), getattr(other, name))
        for factor, same in zip(trace.factors, other.factors, strict=True):
            np.testing.assert_array_equal(factor, same)
    assert mine.contributions_ == theirs.contributions_
    np.testing.assert_array_equal(mine.transform(tensor), theirs.transform(X))
    assert mine.score(tensor) == theirs.score(X)


@pytest.mark.parametrize("unlisted", ["zero", "missing"])
@pytest.mark.parametrize("kind", [GIBBS, METROPOLIS, GREEDY])
def test_only_some_rows_are_decided(unlisted: str, kind: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((40, 9, 8)) < 0.3
    X[10:30] = False  # rows without ones, most of which the kernel leaves alone
    bits = [rng.random((N, 4)) < 0.2 for N in X.shape]
    bits[0][8:28] = False
    masks = Factors.from_bits(bits)
    tensor = SparseTensor(np.argwhere(X), X.shape) if unlisted == "zero" else pick.to_sparse(DenseTensor(X))
    rule = Rule(
        np.array([2, 0, 1, 3, 0, 2, 1]), kind, Weights(1.5, 0.02), np.array([[-0.5, 0.3, -30.0, -np.inf]])
    )
    stream = Stream(np.uint64(5), 0, 0, 0)
    whole = DenseTensor(X).update_factor(0, masks, rule, stream)
    rows = np.array([39, 3, 12, 20])
    some = tensor.update_factor(0, masks, rule, stream, rows)
    np.testing.assert_array_equal(tensor.update_factor(0, masks, rule, stream), whole)
    np.testing.assert_array_equal(some[rows], whole[rows])
    others = np.setdiff1d(np.arange(40), rows)
    np.testing.assert_array_equal(some[others], masks[0][others])
    assert (some[rows] != masks[0][rows]).any()


@pytest.mark.parametrize("L", [3, 70])
def test_masks_of_index_tuples_are_counted(L: int) -> None:
    rng = np.random.default_rng(0)
    factors = [rng.random((N, L)) < (0.4 if L == 3 else 0.05) for N in (200, 7, 50)]
    edges = np.array([0, 200, 207, 257])
    masks, weights = group_tuples(np.concatenate(Factors.from_bits(factors).masks), edges, (1,))
    shared = (factors[0][:, None] & factors[2]).reshape(-1, L)
    expected, times = np.unique(pack(shared[shared.any(axis=1)]), axis=0, return_counts=True)
    assert len(expected) > 2
    order = np.lexsort(masks.T[::-1])
    np.testing.assert_array_equal(masks[order], expected)
    np.testing.assert_array_equal(weights[order], times)


def test_counts_of_huge_tensors_are_exact() -> None:
    """10^17 cells: one component holds every index but one, another a few."""
    shape = (400_000, 500_000, 500_000)
    tensor = SparseTensor([(0, 0, 0), (1, 1, 1), (7, 7, 7)], shape, missing=[(2, 2, 2), (7, 7, 8)])
    factors = [np.ones((N, 2), bool) for N in shape]
    for factor in factors:
        factor[7, 0] = False
        factor[:, 1] = False
        factor[[0, 7, 8], 1] = True
    masks = Factors.from_bits(factors)
    big, small = math.prod(N - 1 for N in shape), 27
    both = math.prod(2 for _ in shape)  # indices 0 and 8
    covered = big + small - both - 2
    assert tensor.confusion(masks) == (3, covered - 3, 0, math.prod(shape) - 2 - covered)
    pos, tot = tensor.counts(2, masks)
    inner = (shape[0] - 1) * (shape[1] - 1)
    assert tot[0].tolist() == [inner - 4, 9 - 4]
    assert tot[2].tolist() == [inner - 1, 9 - 4]
    assert tot[7].tolist() == [inner - 4, 9]
    assert tot[8].tolist() == [inner - 4, 9 - 4 - 1]
    assert (pos[1].tolist(), pos[7].tolist()) == ([1, 0], [0, 1])


def test_components_are_found_where_the_ones_are() -> None:
    shape = (30_000, 20_000, 500)
    tensor, factors = planted(shape, 8, (20, 25, 10), 2000)
    model = Target(8, Asymmetric(), LearnedPrior(), np.uint64(0))
    explanation = begin(tensor, model, np.random.default_rng(1))
    for mode, factor in enumerate(factors):
        found = {column.tobytes() for column in explanation.bits[mode].T}
        assert found == {column.tobytes() for column in factor.T}
    left = tensor.sample_ones(np.random.default_rng(0), 500)
    part = choose_region(
        tensor, np.random.default_rng(2), FIRST_SEARCH, explanation
    )  # of the ones that nothing explains
    assert max(map(len, part.indices)) < 500
    assert explanation.confusion.tp > 30_000
    assert len(left) == 500


def test_fixed_entries_stay_fixed_in_a_part() -> None:
    shape = (3000, 200, 500)
    tensor, _ = planted(shape, 3, (20, 25, 10), 100)
    tables = [np.full((N, 3), 0.1) for N in shape]
    tables[0][:, 1], tables[2][5] = 0.0, 1.0
    model = Target(3, Asymmetric(), FixedPrior.from_probabilities(tables), np.uint64(0))
    explanation = begin(tensor, model, np.random.default_rng(0))
    assert not explanation.bits[0][:, 1].any()
    assert explanation.bits[2][5].all()


def test_storage_is_picked_by_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pick, "SMALL", 2**22)
    rare, common = np.zeros((300, 200, 100), bool), np.zeros((300, 200, 100), bool)
    rare[:10, :10, :10] = True
    common[:60, :60, :20] = True
    for cells in (rare, common):
        dense, listed = DenseTensor(cells), SparseTensor(np.argwhere(cells), cells.shape)
        kind = SparseTensor if cells is rare else DenseTensor
        for tensor in (pick.pick_storage(dense), pick.pick_storage(listed)):
            assert type(tensor) is kind
            assert (tensor.n_ones, tensor.n_observed) == (cells.sum(), cells.size)
    assert type(pick.pick_storage(SparseTensor([(1, 1)], (10, 10)))) is DenseTensor
    assert type(pick.pick_storage(SparseTensor([(1, 1)], (10**6, 10**6)))) is SparseTensor


@pytest.mark.parametrize("missing", [0.1, 0.9])
def test_from_dense_and_back(missing: float) -> None:
    X = random_cells((5, 6, 7), 0, missing)
    listed = pick.to_sparse(DenseTensor(X))
    assert listed.unlisted == ("zero" if missing == 0.1 else "missing")
    (_, ones, observed), *_ = pick.to_dense(listed).blocks()
    np.testing.assert_array_equal(ones, X == 1)
    np.testing.assert_array_equal(observed, ~np.isnan(X))


def test_sparse_matrices_and_arrays() -> None:
    X = simulate((12, 9), rank=2, density=0.2, noise=0.0, random_state=0).observed
    cube = np.zeros((4, 5, 6))
    cube[1, 2, 3] = cube[0, 0, 5] = 1
    rated = sparse.COO([[0, 1], [2, 2], [3, 0]], [1.0, 0.0], shape=(4, 5, 6), fill_value=np.nan)
    for given, cells in (
        (scipy.sparse.csr_array(X), X),
        (scipy.sparse.coo_matrix(X), X),
        (sparse.COO.from_numpy(cube), cube),
        (sparse.GCXS.from_numpy(cube), cube),
        (rated, rated.todense()),
    ):
        tensor = read(given)
        assert isinstance(tensor, SparseTensor)
        (_, ones, observed), *_ = tensor.blocks()
        np.testing.assert_array_equal(ones, cells == 1)
        np.testing.assert_array_equal(observed, ~np.isnan(cells))
    with pytest.raises(InputError, match=r"^X contains 2.0 at \(0, 1\); cells must be 0, 1 or missing"):
        read(scipy.sparse.coo_array(np.array([[1.0, 2.0]])))
    with pytest.raises(InputError, match=r"^X has fill value 1.0; give 0, or NaN"):
        read(sparse.COO([[0], [1]], [0.0], shape=(3, 3), fill_value=1.0))


def test_a_run_in_a_folder_is_resumed(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pick, "SMALL", 2**20)
    X = simulate((200, 150, 160), rank=2, density=0.0003, noise=0.0, random_state=2).observed
    model = TensOrMachine(
        2, n_chains=1, n_draws=8, burn_in=5, random_state=0, noise="asymmetric", progress=False
    )
    model.fit(DenseTensor(X), run_dir=tmp_path / "run")
    assert model.storage_ == "sparse"
    (tmp_path / "run" / "fit.tensorm").unlink()
    again = tensorm.resume(tmp_path / "run", progress=False)
    for mine, theirs in zip(again.factors_, model.factors_, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_listed_cells_are_scored_in_any_shape() -> None:
    X = simulate((20, 15, 10), rank=2, density=0.3, noise=0.1, random_state=0).observed
    cells = np.argwhere(np.random.default_rng(0).random(X.shape) < 0.7)
    small, huge = (
        SparseTensor(cells * steps, np.array(X.shape) * steps, X[tuple(cells.T)], "missing")
        for steps in ([1, 1, 1], [2000, 2000, 2000])
    )
    model = TensOrMachine(2, n_chains=1, n_draws=5, random_state=0, noise="asymmetric", progress=False).fit(
        small
    )
    dense = np.full(X.shape, np.nan)
    dense[tuple(cells.T)] = X[tuple(cells.T)]
    assert model.score(small) == model.score(dense) > 0.85
    assert str(model.scores(small)) == str(model.scores(dense))
    model = TensOrMachine(
        2, n_chains=1, n_draws=2, burn_in=5, random_state=0, noise="asymmetric", progress=False
    ).fit(huge)
    assert model.scores(huge).n_cells == len(cells)
    assert 0.5 < model.score(huge) <= 1


def test_too_many_cells_are_not_walked() -> None:
    tensor = SparseTensor([(1, 1, 1)], (10**6, 10**6, 10**3))
    with pytest.raises(InputError, match=r"^X has 1,000,000,000,000,000 cells, too many to go through"):
        next(tensor.blocks())
    with pytest.raises(InputError, match=r"too many to check if it is symmetric in mode 0 and mode 1"):
        TensOrMachine(symmetric=(0, 1)).fit(tensor)
    assert tensor.nbytes < 40_000_000
    np.testing.assert_array_equal(tensor.sample_ones(np.random.default_rng(0), 2), [[1, 1, 1]] * 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"coords": [(0, 5)], "shape": (3, 5)},
            r"coords contains 5 for mode 1 in row 0; give integers from 0",
        ),
        (
            {"coords": [(0, 1), (-2, 1)], "shape": (3, 5)},
            r"coords contains -2 for mode 0 in row 1; give integers",
        ),
        ({"coords": [(0, 1.5)], "shape": (3, 5)}, r"coords contains 1.5 for mode 1 in row 0; give integers"),
        (
            {"coords": [(0, np.nan)], "shape": (3, 5)},
            r"coords contains nan for mode 1 in row 0; give integers",
        ),
        ({"coords": [("a", "b")], "shape": (3, 5)}, r"coords has dtype .* for mode 0; give integers"),
        (
            {"coords": [(0, 1, 2)], "shape": (3, 5)},
            r"coords has shape \(1, 3\); give integers of shape",
        ),
        ({"coords": ([0, 1], [1]), "shape": (3, 5)}, r"coords has columns of lengths 2, 1; give each cell"),
        ({"coords": [(0, 1)], "shape": (3,)}, r"shape is \(3,\); give the sizes of two or more modes"),
        ({"coords": [(0, 1)], "shape": (3, 0)}, r"shape\[1\] is 0; give an integer of at least 1"),
        (
            {"coords": [(0, 1)], "shape": (2**31, 2**31)},
            r"shape is \(2147483648, 2147483648\), which has",
        ),
        (
            {"coords": [(0, 1)], "shape": (3, 5), "values": [2]},
            r"values contains 2 in row 0; give 0, 1 or NaN",
        ),
        ({"coords": [(0, 1)], "shape": (3, 5), "values": [1, 0]}, r"values has shape \(2,\); give \(1,\)"),
        (
            {"coords": [(0, 1), (2, 2), (0, 1)], "shape": (3, 5), "values": [1, 1, 0]},
            r"row 0 and row 2 give the same cell different values; keep one",
        ),
        (
            {"coords": [(2, 2), (0, 1), (0, 1)], "shape": (3, 5), "values": [1, np.nan, 1]},
            r"row 1 and row 2 give the same cell different values; keep one",
        ),
        (
            {"coords": [(0, 1)], "shape": (3, 5), "missing": [(0, 1)]},
            r"coords and missing both list cell \(0, 1\); keep one",
        ),
        (
            {"coords": [(0, 1)], "shape": (3, 5), "unlisted": "one"},
            r"unlisted is 'one'; choose 'zero'",
        ),
        (
            {"coords": [(0, 1)], "shape": (3, 5), "unlisted": "missing", "missing": [(1, 1)]},
            r"missing is given, but unlisted cells are missing anyway; leave it out",
        ),
        ({"coords": [(0, 1)], "shape": (3, 5), "modes": ["a"]}, r"modes is \('a',\); give 2 different names"),
        (
            {"coords": [(0, 1)], "shape": (3, 5), "labels": [None, ["x"]]},
            r"labels of 'mode 1' have shape \(1,\)",
        ),
        ({"coords": [(0, 1)], "shape": (3, 5), "labels": 5}, r"labels is 5; give a list with an entry for"),
        (
            {"coords": [(0, 1)], "shape": (3, 5), "modes": "ab"},
            r"modes is 'ab'; give a list with an entry for",
        ),
        (
            {"coords": [(0, 1), (2,)], "shape": (3, 5)},
            r"coords has rows of different lengths; give integers of shape \(n, 2\)",
        ),
    ],
)
def test_bad_input_is_named(arguments: dict, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}.*\\.$"):
        SparseTensor(**arguments)


def test_duplicates_count_once() -> None:
    with pytest.warns(UserWarning, match=r"^Some cells .* \(2 repeats\); each counts once.$"):
        tensor = SparseTensor([(0, 1), (2, 2), (0, 1), (0, 1)], (3, 5))
    assert tensor.n_ones == 2


def test_listed_values() -> None:
    """A listed zero says nothing new among unlisted zeros, nor a missing cell among missing ones."""
    coords, values = [(0, 1), (1, 1), (2, 4)], [1, 0, np.nan]
    zero = SparseTensor(coords, (3, 5), values)
    assert (zero.n_ones, zero.n_observed) == (1, 14)
    missing = SparseTensor(coords, (3, 5), values, unlisted="missing")
    assert (missing.n_ones, missing.n_observed) == (1, 2)
