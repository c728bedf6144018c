"""Cells are held out as promised, and the rule takes the fewest components that are as good."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from tensorm import InputError, datasets, select_components
from tensorm.sampler.search.region import SearchSize
from tensorm.selection import validation
from tensorm.selection.validation import fewest_within_error, score_held_out, split_cells, standard_errors
from tensorm.tensors import DenseTensor, RelationalTensor, SparseTensor, SymmetricTensor


def read(tensor) -> tuple[np.ndarray, np.ndarray]:
    ones, observed = zip(*((ones, observed) for _, ones, observed in tensor.blocks()), strict=True)
    return np.concatenate(ones), np.concatenate(observed)


def test_held_out_cells_are_hidden_from_the_fit_and_nothing_else_is():
    X = datasets.simulate((7, 6, 5), rank=2, missing=0.2, random_state=0).observed
    split = split_cells(DenseTensor(X), 0.3, None, np.random.default_rng(0))
    ones, observed = read(split.train)
    assert np.array_equal(X[split.cells], split.ones)
    assert not observed[split.cells].any()
    assert observed.sum() + len(split.ones) == np.count_nonzero(~np.isnan(X))
    assert np.array_equal(ones[observed], X[observed])
    assert len(split.ones) == pytest.approx(0.3 * np.count_nonzero(~np.isnan(X)), abs=3)


def test_a_slice_keeps_an_observed_cell():
    X = np.full((6, 10), np.nan)
    X[:3] = np.random.default_rng(1).integers(0, 2, (3, 10))
    X[3, 4] = 1  # all that is known of row 3
    for seed in range(20):
        split = split_cells(DenseTensor(X), 0.5, None, np.random.default_rng(seed))
        assert read(split.train)[1][3, 4]


def test_a_part_of_a_large_tensor_is_split(monkeypatch):
    monkeypatch.setattr(validation, "LARGEST_WHOLE", 100)
    monkeypatch.setattr(validation, "FIRST_SEARCH", SearchSize(200, 100, 0))
    X = datasets.simulate((12, 12, 12), rank=2, random_state=0).observed
    split = split_cells(DenseTensor(X), 0.2, None, np.random.default_rng(0))
    assert np.prod(split.train.shape) <= 100


@pytest.mark.parametrize("kind", ["plain", "tied", "relational"])
def test_a_part_holds_mirrored_cells_together(kind, monkeypatch):
    """Both or none, and both or none hidden: else one would give the other away."""
    monkeypatch.setattr(validation, "LARGEST_WHOLE", 100)
    monkeypatch.setattr(validation, "FIRST_SEARCH", SearchSize(1000, 500, 0))
    rng = np.random.default_rng(0)
    if kind == "relational":
        tensor = RelationalTensor(rng.random((9, 20)))
    else:
        half = np.triu(rng.integers(0, 2, (9, 20, 20)).astype(float), 1)
        cells = xr.DataArray(half + half.swapaxes(1, 2), dims=["day", "who", "met"])
        cells.values[:, np.arange(20), np.arange(20)] = np.nan
        tensor = DenseTensor(cells) if kind == "plain" else SymmetricTensor(DenseTensor(cells), (1, 2))
    split = split_cells(tensor, 0.3, (1, 2) if kind == "plain" else None, rng)
    _, observed = read(split.train)
    assert observed.size <= 1000
    assert len(split.ones) > 10
    assert np.array_equal(observed, observed.swapaxes(1, 2))
    assert isinstance(split.train, type(tensor))


def test_listed_cells_are_split_where_all_others_are_missing():
    rng = np.random.default_rng(0)
    cells = np.unique(rng.integers(0, 300, (3000, 3)) * [3000, 3000, 1] % [10**6, 10**6, 50], axis=0)
    tensor = SparseTensor(cells, (10**6, 10**6, 50), rng.integers(0, 2, len(cells)), "missing")
    assert tensor.n_observed < 10**4
    split = split_cells(tensor, 0.4, None, rng)
    assert split.train.n_observed + len(split.ones) == tensor.n_observed
    held = {*map(tuple, np.stack(split.cells, axis=1).tolist())}
    left = [tuple(cell) for cell in cells.tolist() if tuple(cell) not in held]
    assert len(left) == split.train.n_observed
    for mode in range(3):  # every index keeps a cell
        assert {cell[mode] for cell in left} == {*cells[:, mode].tolist()}
    assert 0 < len(split.ones) < 0.4 * len(cells)


def test_scores_are_means_over_cells():
    ones, p = np.array([True, False, True]), np.array([0.9, 0.2, 0.4])
    found = score_held_out(ones, p)
    assert found["log_likelihood"] == pytest.approx(np.log([0.9, 0.8, 0.4]).mean())
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["cells"] == 3


def test_errors_allow_for_the_cells_that_repeats_share():
    scores = np.random.default_rng(0).normal(size=(5, 2))
    plain = scores.std(axis=0, ddof=1) / np.sqrt(5)
    assert standard_errors(scores, 0.2) == pytest.approx(plain * np.sqrt(1 + 5 * 0.25))
    assert np.isnan(standard_errors(scores[:1], 0.2)).all()


@pytest.mark.parametrize(
    ("behind", "chosen"),
    [
        ([0.3, 0.1, 0.0], 3),  # the same in every split: a difference that counts
        ([0.3, 0.0005, 0.0], 2),  # less than one unit over 1000 cells
    ],
)
def test_the_fewest_that_are_as_good_are_taken(behind, chosen):
    common = np.array([[0.0], [0.5], [-0.5], [0.2]])  # splits differ, but alike for all candidates
    assert fewest_within_error(common - behind, 0.2, 1000, [1, 2, 3]) == (3, chosen)


def test_a_difference_that_splits_do_not_agree_on_does_not_count():
    noisy = np.array([[0.0, 0.3], [0.2, 0.0], [0.0, 0.3], [0.2, 0.0]])
    assert fewest_within_error(noisy, 0.2, 1000, [4, 8]) == (8, 4)


def test_too_few_cells_to_hold_some_out():
    with pytest.raises(InputError, match="leaves none to hold out"):
        select_components([[1, np.nan], [np.nan, np.nan]], "cv", [1], progress=False)


def test_mirrored_cells_are_held_out_together():
    half = np.triu(np.random.default_rng(0).integers(0, 2, (10, 10)))
    split = split_cells(DenseTensor(half | half.T), 0.3, (0, 1), np.random.default_rng(0))
    _, observed = read(split.train)
    assert np.array_equal(observed, observed.T)
