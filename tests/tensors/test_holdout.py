"""Held-out cells: how many, which, the same ones for a seed, and never all of a slice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray as xr

import tensorm
from tensorm import (
    DenseTensor,
    InputError,
    RelationalTensor,
    TensOrMachine,
    datasets,
    hide,
    hold_out,
    train_test_mask,
)
from tensorm.tensors import held_cells
from tensorm.tensors.pick import to_dense, to_sparse


def cells(shape, seed=0, missing=0.2, density=0.3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < missing, np.nan, rng.random(shape) < density)


@pytest.mark.parametrize("shape", [(40, 30), (12, 11, 10), (7, 6, 5, 4)])
@pytest.mark.parametrize("test_size", [0.05, 0.2, 0.7])
@pytest.mark.parametrize("stratify", [False, True])
def test_a_share_of_the_observed_cells(shape, test_size, stratify) -> None:
    X = cells(shape)
    mask = train_test_mask(X, test_size, stratify=stratify)
    observed = ~np.isnan(X)
    assert mask.shape == X.shape
    assert mask.dtype == bool
    assert not mask[~observed].any()
    assert mask.sum() == pytest.approx(test_size * observed.sum(), abs=1)
    if stratify:
        ones = X == 1
        assert mask[ones].sum() == round(test_size * ones.sum())


def test_a_seed_gives_the_same_cells() -> None:
    X = cells((10, 9, 8))
    first = train_test_mask(X)
    np.testing.assert_array_equal(train_test_mask(X, random_state=0), first)
    np.testing.assert_array_equal(train_test_mask(DenseTensor(X), 0.2, 0), first)
    np.testing.assert_array_equal(train_test_mask(X, random_state=np.random.default_rng(0)), first)
    assert (train_test_mask(X, random_state=1) != first).any()
    assert (train_test_mask(X, random_state=None) != train_test_mask(X, random_state=None)).any()


def test_every_cell_is_as_likely() -> None:
    X = cells((5, 4, 3), missing=0)
    times = sum(train_test_mask(X, 0.3, seed).astype(int) for seed in range(2000))
    assert (np.abs(times - 600) < 4.5 * np.sqrt(2000 * 0.3 * 0.7)).all()


def test_pieces_of_a_large_tensor_give_their_share(monkeypatch) -> None:
    X = cells((10, 9, 8))
    monkeypatch.setattr(held_cells, "CHOSEN_AT_ONCE", 50)
    mask = train_test_mask(X, 0.25)
    observed = ~np.isnan(X)
    assert mask.sum() == round(0.25 * observed.sum())
    assert not mask[~observed].any()
    shares = [mask.ravel()[i : i + 50].sum() / observed.ravel()[i : i + 50].sum() for i in range(0, 720, 50)]
    assert max(shares) - min(shares) < 0.1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("symmetric", [None, (1, 2)])
def test_no_slice_loses_all_its_cells(seed, symmetric) -> None:
    X = cells((4, 6, 6), seed, missing=0.8)
    X[0], X[0, 2, 3] = np.nan, 1  # a slice with one cell, which can never be held out
    X[1] = np.nan  # and one with none
    mask = train_test_mask(X, 0.9, seed, symmetric=symmetric)
    observed = ~np.isnan(X)
    assert mask.any()
    assert not mask[~observed].any()
    assert not mask[0].any()
    for mode in range(3):
        others = tuple(k for k in range(3) if k != mode)
        np.testing.assert_array_equal((observed & ~mask).any(axis=others), observed.any(axis=others))
    if symmetric:
        both = observed & observed.swapaxes(1, 2)
        np.testing.assert_array_equal(mask[both], mask.swapaxes(1, 2)[both])


def test_as_many_zeros_for_each_one_as_asked_for() -> None:
    X = (np.random.default_rng(0).random((30, 40)) < 0.1).astype(float)
    for zeros in (0, 0.5, 3):
        values = hold_out(X, 0.2, zeros=zeros).values
        ones = np.count_nonzero(values)
        assert ones > 15
        assert len(values) - ones == round(zeros * ones)


def test_mirror_images_are_held_out_together() -> None:
    X = datasets.ward()
    mask = train_test_mask(X, 0.2, symmetric=("person", "met"))
    np.testing.assert_array_equal(mask, mask.swapaxes(1, 2))
    assert mask.mean() == pytest.approx(0.2 * 74 / 75, rel=0.001)
    assert not mask[:, range(75), range(75)].any()  # the diagonal is missing
    square = train_test_mask(np.eye(40), 0.3, symmetric=(0, 1))
    assert 0 < np.trace(square) < 40  # where it is not, it may be held out
    alone = train_test_mask(X, 0.2)
    assert (alone & alone.swapaxes(1, 2)).sum() < 0.3 * alone.sum()


def test_a_mirror_image_that_is_missing_is_not_held_out() -> None:
    X = cells((6, 6, 4))
    mask = train_test_mask(X, 0.4, symmetric=(0, 1))
    both = ~np.isnan(X) & ~np.isnan(X.swapaxes(0, 1))
    assert not mask[np.isnan(X)].any()
    np.testing.assert_array_equal(mask[both], mask.swapaxes(0, 1)[both])
    assert (mask & ~both).any()  # a cell without a mirror image may be held out too


def test_hidden_cells_are_missing_and_the_data_stay() -> None:
    X = cells((5, 4, 3))
    mask = train_test_mask(X)
    before = X.copy()
    hidden = hide(X, mask)
    assert np.isnan(hidden[mask]).all()
    np.testing.assert_array_equal(hidden[~mask], X[~mask])
    np.testing.assert_array_equal(X, before)
    assert hidden.dtype == X.dtype


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32])
def test_hiding_in_an_array_of_any_kind(dtype) -> None:
    X = (cells((6, 5), missing=0) == 1).astype(dtype)
    mask = train_test_mask(X)
    before = X.copy()
    hidden = hide(X, mask)
    assert hidden.dtype == np.float32
    np.testing.assert_array_equal(np.isnan(hidden), mask)
    np.testing.assert_array_equal(X, before)
    hidden[~mask] = 7
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(hide(X.tolist(), mask), hide(X, mask))


def test_hiding_in_a_masked_array() -> None:
    X = np.ma.array(np.eye(4, dtype=int), mask=np.eye(4, k=1, dtype=bool))
    mask = train_test_mask(X, 0.3)
    hidden = hide(X, mask)
    np.testing.assert_array_equal(hidden.mask, mask | X.mask)
    assert hidden.dtype == X.dtype
    hidden.data[:] = 9
    assert X.data.max() == 1
    assert X.mask.sum() == 3
    bare = np.ma.array(np.eye(4))
    np.testing.assert_array_equal(hide(bare, mask).mask, mask)
    assert not np.ma.is_masked(bare)


def test_hiding_keeps_names_and_labels() -> None:
    X = datasets.ward()
    mask = train_test_mask(X, symmetric=("person", "met"))
    hidden = hide(X, mask)
    assert isinstance(hidden, xr.DataArray)
    assert hidden.dims == X.dims
    assert hidden.role.equals(X.role)
    np.testing.assert_array_equal(np.isnan(hidden.values), mask | np.isnan(X.values))
    assert np.isnan(datasets.ward().values).sum() == np.isnan(X.values).sum()
    table = pd.DataFrame({"a": [0, 1, 1], "b": [1, 0, 0]}, index=list("xyz"))
    chosen = np.array([[True, False], [False, False], [False, True]])
    gaps = hide(table, chosen)
    assert list(gaps.index) == list("xyz")
    np.testing.assert_array_equal(gaps.isna(), chosen)
    assert not table.isna().any(axis=None)


X = cells((5, 4, 4))


def test_cells_of_a_tensor_can_be_hidden() -> None:
    X = xr.DataArray(cells((5, 4, 3)), dims=["a", "b", "c"], coords={"a": list("vwxyz")})
    mask = train_test_mask(X, 0.3)
    tensor = hide(DenseTensor(X), mask)
    assert tensor.modes == ("a", "b", "c")
    assert list(tensor.labels[0]) == list("vwxyz")
    found = tensor.read_cells([np.arange(size) for size in X.shape])
    np.testing.assert_array_equal(found, np.nan_to_num(np.where(mask, np.nan, X.values), nan=-1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: train_test_mask(X, 0), "test_size is 0; give a number above 0 and below 1."),
        (lambda: train_test_mask(X, 1.0), "test_size is 1.0; give a number above 0 and below 1."),
        (lambda: train_test_mask(X, 12), "test_size is 12.0; give a probability between 0 and 1."),
        (lambda: train_test_mask(X, "half"), "test_size is 'half'; give a probability"),
        (lambda: train_test_mask(X, [0.1, 0.2]), "test_size is an array of shape (2,); give one number"),
        (lambda: train_test_mask(X, 0.001), "test_size is 0.001 and X has"),
        (lambda: train_test_mask([[1, np.nan], [np.nan, 0]], 0.9), "test_size is 0.9 and X has 2 observed"),
        (lambda: train_test_mask(X, random_state="a"), "random_state is 'a'; give a non-negative integer"),
        (lambda: train_test_mask(X, random_state=-1), "random_state is -1; give a non-negative integer"),
        (lambda: train_test_mask(X + 1), "X contains "),
        (lambda: train_test_mask(X, symmetric="met"), "symmetric is 'met'; give a pair of modes, as in ("),
        (lambda: train_test_mask(X, symmetric=(0, 1)), "symmetric is (0, 1), of sizes 5 and 4; give two"),
        (lambda: train_test_mask(X, symmetric=(1, 1)), "symmetric is (1, 1), of sizes 4 and 4; give two"),
        (
            lambda: train_test_mask(X, symmetric=(1, 9)),
            "Unknown mode 9 in symmetric; the modes are 'mode 0', 'mode 1'",
        ),
        (lambda: hold_out(X, zeros="a"), "zeros is 'a'; give a number of zeros per one from 0 to 1,000,000."),
        (
            lambda: hold_out(RelationalTensor(X[0])),
            "X is a RelationalTensor; use its own hold_out, or train_test_mask.",
        ),
        (lambda: hold_out(X, zeros=-1), "zeros is -1; give a number of zeros per one from 0 to 1,000,000"),
        (
            lambda: hold_out(X, zeros=np.inf),
            "zeros is inf; give a number of zeros per one from 0 to 1,000,000",
        ),
        (
            lambda: hide(X, X),
            "mask has shape (5, 4, 4) and dtype float64; give Booleans of the shape of X, (5, 4, 4)",
        ),
        (
            lambda: hide(X, np.ones(5, bool)),
            "mask has shape (5,) and dtype bool; give Booleans of the shape of X, (5,",
        ),
        (
            lambda: hide(RelationalTensor(X[0]), np.ones((4, 4, 4), bool)),
            "X is a RelationalTensor, which stores no cells to hide; use its hold_out instead.",
        ),
        (
            lambda: hide(scipy.sparse.csr_array(np.eye(3)), np.ones((3, 3), bool)),
            "X is a csr_array; give an array",
        ),
    ],
)
def test_wrong_arguments(call, message) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("unlisted", ["zero", "missing"])
def test_mirror_images_of_undirected_pairs_are_held_out_together(unlisted: str) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"hour": rng.integers(4, size=300), "x": rng.integers(2, size=300)})
    rows["i"], rows["j"] = rng.integers(12, size=(2, 300))
    rows = rows.drop_duplicates(["hour", "i", "j"])
    low, high = rows[["i", "j"]].min(axis=1), rows[["i", "j"]].max(axis=1)
    rows = rows.assign(i=low, j=high).drop_duplicates(["hour", "i", "j"])
    told = {"modes": ["hour", "i", "j"], "value": "x", "pair": ["i", "j"], "unlisted": unlisted}
    tensor = tensorm.read(rows, **told, undirected=True)
    mask = train_test_mask(tensor, 0.3)
    np.testing.assert_array_equal(mask, mask.swapaxes(1, 2))
    assert 0.2 < mask.mean() / (tensor.n_observed / mask.size) < 0.4
    train, cells, values = hold_out(tensor, 0.3)
    hidden = {tuple(cell): bool(value) for cell, value in zip(cells.tolist(), values, strict=True)}
    assert hidden
    assert all(hidden[h, j, i] == value for (h, i, j), value in hidden.items())
    assert train.mirrored == (1, 2)
    seen = train.read_cells([np.arange(size) for size in train.shape])
    assert all(seen[cell] == -1 for cell in hidden)
    np.testing.assert_array_equal(seen, seen.swapaxes(1, 2))


def test_an_array_can_be_said_to_be_undirected() -> None:
    X = datasets.ward()
    tensor = tensorm.read(X, pair=["person", "met"], undirected=True)
    assert tensor.mirrored == (1, 2)
    mask = train_test_mask(tensor)
    np.testing.assert_array_equal(mask, mask.swapaxes(1, 2))
    assert tensorm.read(X, pair=["person", "met"]).mirrored is None
    with pytest.raises(InputError, match=r"^pair is hour and person, which have different labels; give two"):
        tensorm.read(X, pair=["hour", "person"])
    with pytest.raises(InputError, match=r"^X is not the same when person and met are exchanged; make it"):
        tensorm.read(
            X.where((X.person != X.person[3]) | X.isnull(), 0), pair=["person", "met"], undirected=True
        )


@pytest.mark.parametrize("storage", [to_dense, to_sparse])
def test_undirected_pairs_stay_so_in_every_storage_and_part(storage: Any, tmp_path: Path) -> None:
    X = datasets.ward()
    tensor = storage(to_sparse(tensorm.read(X, pair=["person", "met"], undirected=True)))
    some = np.arange(5)
    assert tensor.undirected == tensor.hide(np.zeros(X.shape, bool)).undirected == (1, 2)
    assert tensor.take([some, some, some]).undirected == (1, 2)
    assert tensor.take([some, some, some + 1]).undirected is None  # no longer mirror images
    model = TensOrMachine(
        2, n_chains=1, n_draws=2, burn_in=2, noise="asymmetric", progress=False, random_state=0
    )
    model.fit(tensor, run_dir=tmp_path)
    loaded = tensorm.load(tmp_path)
    assert loaded.posterior_.names.undirected == (1, 2)
    pairs = loaded.top_cells("hour", 4).indices[:, 1:]
    assert len(pairs)
    assert (pairs[:, 0] < pairs[:, 1]).all()
