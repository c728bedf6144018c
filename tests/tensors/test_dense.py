"""Dense tensors as containers: what they hold, what they weigh, what making one costs, what they refuse."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from tensorm.data import memory
from tensorm.data.inputs import Observations
from tensorm.errors import InputError
from tensorm.tensors import DenseTensor, dense, slices
from tensorm.tensors.dense import check_memory
from tensorm.tensors.factors import Factors


def cells(shape: tuple[int, ...], missing: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = (rng.random(shape) < 0.4).astype(float)
    X[rng.random(shape) < missing] = np.nan
    return X


@pytest.mark.parametrize("shape", [(5, 3), (1, 1, 4), (20, 30, 40), (3, 70, 130), (2, 3, 4, 5), (2, 1000)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("max_cells", [1, 1000, 2**22])
def test_blocks_give_the_cells_back(shape: tuple[int, ...], missing: float, max_cells: int) -> None:
    X = cells(shape, missing)
    tensor = DenseTensor(X)
    back = np.full(shape, -1.0)
    for where, ones, observed in tensor.blocks(max_cells):
        assert not ones[~observed].any()
        assert ones.size <= max(max_cells, math.prod(shape[1:]))
        back[where] = np.where(observed, ones, np.nan)
    np.testing.assert_array_equal(back, X)
    assert tensor.n_observed == np.count_nonzero(~np.isnan(X))
    assert tensor.n_ones == np.count_nonzero(X == 1)


@pytest.mark.parametrize(("shape", "passes"), [((20, 30), 1), ((70, 80, 90), 1), ((3, 70, 130), 3)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_turned_bits_are_those_of_the_cells(
    shape: tuple[int, ...], passes: int, missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bits of many cells are turned where both layouts are packed along one mode: cells are read once."""
    X, read, blocks = cells(shape, missing), [], Observations.blocks
    packed = DenseTensor(X)
    monkeypatch.setattr(
        Observations, "blocks", lambda *args, **named: read.append(1) or blocks(*args, **named)
    )
    monkeypatch.setattr(dense, "WORTH_TURNING", 0)
    turned = DenseTensor(X)
    for mine, other in zip(turned._layouts, packed._layouts, strict=True):
        np.testing.assert_array_equal(mine.words, other.words)
        np.testing.assert_array_equal(mine.observed, other.observed)
    assert len(read) == passes


@pytest.mark.parametrize("where", [(39, 5, 7), (0, 399, 399), (20, 200, 0)])
def test_missing_cells_may_begin_late(where: tuple[int, int, int]) -> None:
    """The observed plane is made when the first missing cell is met: what came before is all observed."""
    X = np.ones((40, 400, 400), np.float32)  # more than one block of cells
    X[where] = np.nan
    tensor = DenseTensor(X)
    for block, ones, observed in tensor.blocks():
        np.testing.assert_array_equal(observed, ~np.isnan(X[block]))
        np.testing.assert_array_equal(ones, observed)
    assert tensor.n_observed == tensor.n_ones == X.size - 1
    for mode, size in enumerate(X.shape):  # every packing has its own plane
        masks = Factors.full(X.shape)
        pos, tot = tensor.counts(mode, masks)
        expected = np.full(size, X.size // size) - (np.arange(size) == where[mode])
        np.testing.assert_array_equal(pos[:, 0], expected)
        np.testing.assert_array_equal(tot[:, 0], expected)


def test_the_observed_plane_is_kept_only_when_something_is_missing() -> None:
    full, holey = DenseTensor(cells((70, 80, 90), 0.0)), DenseTensor(cells((70, 80, 90), 0.01))
    assert holey.nbytes == 2 * full.nbytes


@pytest.mark.parametrize(("missing", "limit"), [(False, 0.3), (True, 0.55)])
def test_bytes_per_cell(missing: bool, limit: float) -> None:
    X = np.zeros((100, 500, 500), np.float16)
    X[50, 250, 250] = np.nan if missing else 1
    assert DenseTensor(X).nbytes <= limit * X.size


def test_making_one_needs_no_copy_of_the_input() -> None:
    """The input is a view of one slice, so that only what the tensor takes is there to be measured."""
    shape = (400, 500, 500)
    X = np.broadcast_to(cells((1, 500, 500), 0.0), shape)
    tracemalloc.start()
    try:
        tensor = DenseTensor(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert tensor.n_ones == 400 * np.count_nonzero(X[0])
    assert peak < 0.6 * X.size  # bytes per cell, where the input has eight
    assert peak > tensor.nbytes  # or the measure sees nothing


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float64])
def test_the_input_is_left_alone(dtype: type) -> None:
    X = cells((30, 40, 50), 0.0).astype(dtype)
    before = X.copy()
    X.flags.writeable = False  # writing to it would raise
    tensor = DenseTensor(X)
    np.testing.assert_array_equal(X, before)
    assert not any(np.shares_memory(ones, X) for _, ones, _ in tensor.blocks())


def test_memory_is_checked_before_anything_is_allocated() -> None:
    X = np.broadcast_to(np.zeros((), np.int8), (10**5, 10**5, 10**5))
    with pytest.raises(
        InputError, match=r"1,000,000,000,000,000 cells.* 2\d\d,\d\d\d\.\d GB packed.*has .* GB"
    ):
        DenseTensor(X)


@pytest.mark.parametrize("shape", [(500, 500, 500), (100, 3, 70), (20, 20, 20)])
def test_the_estimate_of_memory_is_right(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    need = DenseTensor(np.broadcast_to(np.bool_(True), shape)).nbytes
    monkeypatch.setattr(memory, "available_memory", lambda: need)
    check_memory(shape)
    monkeypatch.setattr(memory, "available_memory", lambda: int(0.85 * need) - 1000)
    with pytest.raises(InputError, match=f"{math.prod(shape):,} cells"):
        check_memory(shape)


def test_threads_are_used_only_where_there_is_enough_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def share_rows(work, n_rows, n_threads):
        seen.append(n_threads)
        return [work(0, n_rows)]

    monkeypatch.setattr(slices, "share_rows", share_rows)
    monkeypatch.setattr(slices, "WORTH_THREADS", 50_000)
    for size in (20, 70):
        tensor = DenseTensor(np.ones((size, size, size)))
        factors = Factors.full(tensor.shape)
        assert tensor.with_threads(2).counts(0, factors)[0].sum() == size**3
        assert tensor.counts(0, factors)[0].sum() == size**3
    assert seen == [1, 1, 2, 1]
