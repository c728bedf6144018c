"""What is accepted, how it is read block by block, and the sentence each wrong input gets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorm
from tensorm.data import inputs
from tensorm.data.checks import (
    check_amount,
    check_bits,
    check_choice,
    check_count,
    check_probability,
    check_tables,
)
from tensorm.data.inputs import observe
from tensorm.errors import InputError

NAN = np.nan


def read(X: Any, axis: int = 0, max_cells: int = 2**22) -> tuple[np.ndarray, np.ndarray]:
    """All blocks put together again: ones, observed."""
    observations = observe(X)
    ones = np.zeros(observations.shape, dtype=bool)
    observed = np.ones(observations.shape, dtype=bool)
    for where, block, seen in observations.blocks(axis, max_cells):
        index = (slice(None),) * (axis % observations.values.ndim) + (where,)
        assert block.flags.c_contiguous
        assert block.flags.writeable
        ones[index] = block
        observed[index] = True if seen is None else seen
    return ones, observed


TENSOR = np.array([[[0, 1, 1], [0, 0, 1]], [[1, 1, 1], [0, 0, 0]]])


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "<i2", ">i4", "u8", "f2", "<f4", ">f8", "g"])
def test_every_number_type_reads_the_same(dtype: str) -> None:
    ones, observed = read(TENSOR.astype(dtype))
    np.testing.assert_array_equal(ones, TENSOR == 1)
    assert observed.all()


@pytest.mark.parametrize("dtype", ["f2", "<f4", ">f8", "g"])
def test_nan_is_missing(dtype: str) -> None:
    X = TENSOR.astype(dtype)
    X[1, 0, 1] = NAN
    ones, observed = read(X)
    assert np.argwhere(~observed).tolist() == [[1, 0, 1]]
    assert not ones[1, 0, 1]
    assert ones.sum() == TENSOR.sum() - 1


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=4), st.data(), st.integers(0, 2**32 - 1))
def test_blocks_cover_the_input_along_any_axis(shape: list[int], data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, -0.0, 1.0, NAN], size=shape)
    X = data.draw(st.sampled_from([X, np.asfortranarray(X), np.repeat(X, 2, axis=-1)[..., ::2], X[::-1]]))
    X.flags.writeable = False
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    max_cells = data.draw(st.integers(1, 200))
    ones, observed = read(X, axis, max_cells)
    np.testing.assert_array_equal(ones, X == 1)
    np.testing.assert_array_equal(observed, ~np.isnan(X))
    for _, block, seen in observe(X).blocks(axis, max_cells):
        assert block.size <= max(max_cells, X.size // X.shape[axis])
        assert seen is None or not seen.all()


def test_observe_copies_nothing(tmp_path: Path) -> None:
    X = np.zeros((4, 5, 6))
    mapped = np.memmap(tmp_path / "cells", dtype=np.uint8, mode="w+", shape=(4, 5, 6))
    mapped[1, 2, 3] = 1
    assert np.shares_memory(observe(X).values, X)
    assert np.shares_memory(observe(np.ma.array(X, mask=X == 0)).values, X)
    assert np.shares_memory(observe(xr.DataArray(X)).values, X)
    assert np.shares_memory(observe(mapped).values, mapped)
    assert np.argwhere(read(mapped)[0]).tolist() == [[1, 2, 3]]


def test_blocks_are_the_readers_to_write() -> None:
    X = np.ones((2, 2), dtype=bool)
    for _, ones, _ in observe(X).blocks():
        ones[:] = False
    assert X.all()


def test_defaults_and_nested_lists() -> None:
    observations = observe([[0, 1, NAN], [1, 1, 0]])
    assert observations.shape == (2, 3)
    assert observations.modes == ("mode 0", "mode 1")
    assert observations.labels == (None, None)
    assert observations.mask is None


def test_masked_cells_may_hold_anything() -> None:
    data = np.array([[0.0, 7.5, np.inf], [1.0, NAN, 1.0]])
    mask = np.array([[0, 1, 1], [0, 0, 1]], dtype=bool)
    ones, observed = read(np.ma.array(data, mask=mask))
    np.testing.assert_array_equal(ones, [[0, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(observed, [[1, 0, 0], [1, 0, 0]])
    for dtype in ("?", "i8"):
        ones, observed = read(np.ma.array([[0, 1], [1, 1]], mask=[[0, 1], [0, 0]], dtype=dtype))
        np.testing.assert_array_equal(ones, [[0, 0], [1, 1]])
        np.testing.assert_array_equal(observed, [[1, 0], [1, 1]])


def test_masks_in_a_list_of_masked_rows_are_kept() -> None:
    rows = [np.ma.array([1, 9], mask=[False, True]), np.array([1, 0])]
    ones, observed = read(rows)
    np.testing.assert_array_equal(ones, [[1, 0], [1, 0]])
    np.testing.assert_array_equal(observed, [[1, 0], [1, 1]])


def test_a_mask_that_hides_nothing_is_dropped() -> None:
    assert observe(np.ma.array(TENSOR)).mask is None
    assert observe(np.ma.array(TENSOR, mask=np.zeros(TENSOR.shape))).mask is None


def test_dataarray_keeps_names_and_labels() -> None:
    X = xr.DataArray(
        TENSOR, dims=("hour", "person", "met"), coords={"person": ["ann", "bob"], "met": [5, 6, 7]}
    )
    observations = observe(X.assign_coords(role=("person", ["a", "b"])))
    assert observations.modes == ("hour", "person", "met")
    hour, person, met = observations.labels
    assert hour is None
    assert person is not None
    assert met is not None
    assert person.tolist() == ["ann", "bob"]
    assert met.tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [True, False], "b": [True, True]},
        {"a": [True, False], "b": [1, 1]},
        {"a": [1, 0], "b": [1.0, 1.0]},
        {"a": pd.array([1, 0], dtype="Int64"), "b": pd.array([True, True], dtype="boolean")},
    ],
)
def test_wide_table(columns: dict[str, Any]) -> None:
    table = pd.DataFrame(columns, index=pd.Index(["x", "y"], name="row"))
    observations = observe(table)
    assert observations.modes == ("row", "column")
    assert [list(labels) for labels in observations.labels if labels is not None] == [["x", "y"], ["a", "b"]]
    np.testing.assert_array_equal(read(table)[0], [[1, 1], [0, 1]])


def test_wide_table_with_nullable_missing() -> None:
    table = pd.DataFrame({"a": pd.array([1, None], dtype="Int8"), "b": [0, 1]})
    ones, observed = read(table)
    np.testing.assert_array_equal(ones, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(observed, [[1, 1], [0, 1]])


@pytest.mark.parametrize("kind", ["coo_matrix", "coo_array", "csr_array", "csc_matrix"])
def test_cells_that_are_stored_twice_are_summed_as_scipy_does(kind: str) -> None:
    def make(values: list[Any], dtype: type) -> Any:
        cells = np.array([0, 0, 1]), np.array([1, 1, 0])
        if kind.startswith("coo"):
            return getattr(scipy.sparse, kind)((np.array(values, dtype), cells), shape=(2, 2))
        first, second = cells if kind.startswith("csr") else cells[::-1]
        order = np.argsort(first, kind="stable")
        starts = np.searchsorted(first[order], [0, 1, 2])
        parts = np.array(values, dtype)[order], second[order], starts
        return getattr(scipy.sparse, kind)(parts, shape=(2, 2))

    with pytest.raises(InputError, match=r"^X contains 2\.0 at \(0, 1\)"):
        tensorm.read(make([1, 1, 1], int))
    X = make([2, -1, 1], int)
    assert tensorm.read(X).n_ones == 2
    assert X.nnz == 3  # the caller's matrix stays as it was
    assert tensorm.read(make([1, -1, 1], int)).n_ones == 1
    assert tensorm.read(make([True, True, True], bool)).n_ones == 2


def test_sparse_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = np.array([[0, 1, 0], [0, 0, 1]])
    for X in (scipy.sparse.csr_array(dense), scipy.sparse.coo_matrix(dense)):
        np.testing.assert_array_equal(read(X)[0], dense == 1)
    monkeypatch.setattr(inputs, "LARGEST_UNPACKED", 5)
    with pytest.raises(
        InputError, match=r"^X is a sparse matrix of 6 cells, and only up to 5 are unpacked; "
    ):
        observe(scipy.sparse.csr_array(dense))


def test_observe_imports_neither_pandas_nor_xarray() -> None:
    code = "import sys, sklearn.base; before = set(sys.modules); "  # scikit-learn loads pandas by itself
    code += "import tensorm.data.inputs; tensorm.data.inputs.observe([[0, 1]]); "
    code += "assert not {'pandas', 'xarray'} & (set(sys.modules) - before)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("value", [2, 3.0, 0.5, 1e-320, -1, np.inf, -np.inf, 1 + 1e-15])
@pytest.mark.parametrize("max_cells", [1, 2**22])
def test_other_values_are_refused_with_their_place(value: float, max_cells: int) -> None:
    X = np.zeros((6, 2, 3), dtype=type(value))
    X[4, 0, 2] = value
    expected = f"X contains {value} at (4, 0, 2); cells must be 0, 1 or missing (NaN), "
    expected += "unless you use tensorm.read(X, threshold=NUMBER)."
    for axis in range(3):
        with pytest.raises(InputError) as caught:
            list(observe(X).blocks(axis, max_cells))
        assert str(caught.value) == expected


def test_other_values_next_to_missing_ones_are_refused() -> None:
    with pytest.raises(InputError, match=r"^X contains 5\.0 at \(1, 1\);"):
        read([[0, NAN], [NAN, 5]])
    with pytest.raises(InputError, match=r"^X contains 5 at \(1, 1\);"):
        read(np.ma.array([[0, 7], [1, 5]], mask=[[0, 1], [0, 0]]))


def test_labels_are_named_with_the_place() -> None:
    X = xr.DataArray([[0, 1], [1, 3]], dims=("hour", "person"), coords={"person": ["ann", "bob"]})
    with pytest.raises(InputError, match=r"^X contains 3 at \(1, 1\) \(person 'bob'\); cells must be"):
        read(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (1, "X has 0 modes (shape ()); give at least 2 modes."),
        ([0, 1], "X has 1 mode (shape (2,)); give at least 2 modes."),
        (pd.Series([0, 1]), "X has 1 mode (shape (2,)); give at least 2 modes."),
        (
            np.zeros((3, 0, 2)),
            "X has shape (3, 0, 2); mode 1 is empty, but every mode needs at least one index.",
        ),
        (
            xr.DataArray(np.zeros((0, 2)), dims=("hour", "person")),
            "X has shape (0, 2); hour is empty, but every mode needs at least one index.",
        ),
        ([[0, 1], [1]], "X has lists of different lengths; make them equally long."),
        (
            [[0, None]],
            "X has dtype object, with None at (0, 1); convert to bool, integer, or float with NaN",
        ),
        (np.array([[0, NAN]], dtype=object), "X has dtype object, with nan at (0, 1); convert to bool,"),
        (np.array([[0, 1]], dtype=object), "X has dtype object; convert to bool, integer, or float with NaN"),
        ([["0", "1"]], "X has dtype <U1, with '0' at (0, 0); convert to bool, integer, or float with NaN"),
        (
            [[0j, 1]],
            "X has dtype complex128, with 0j at (0, 0); convert to bool, integer, or float with NaN",
        ),
        (np.zeros((1, 1), dtype="M8[s]"), "X has dtype datetime64[s], with "),
        (np.zeros((1, 1), dtype="m8[s]"), "X has dtype timedelta64[s]; convert to "),
        (np.zeros((1, 1), dtype="i4,i4"), "X has dtype [('f0', '<i4'), ('f1', '<i4')], with "),
        ({"a": [0, 1]}, "X is {'a': [0, 1]}, which cannot be read as an array; convert to bool, integer,"),
        (object(), "X is of type object, which cannot be read as an array; convert to bool, integer,"),
        (xr.Dataset({"a": ("x", [0, 1])}), "X is of type Dataset, which cannot be read as an array; convert"),
        (
            pd.DataFrame({"a": [0], "b": ["x"]}),
            f"X has a column 'b' of dtype {pd.Series(['x']).dtype}; every column of a wide table",
        ),
        (
            pd.DataFrame({"a": [0], "b": [1j]}),
            "X has a column 'b' of dtype complex128; every column of a wide",
        ),
    ],
)
def test_what_is_no_tensor_is_refused(X: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        observe(X)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(".")


def test_check_count() -> None:
    assert check_count("n", 3, 1) == 3
    assert type(check_count("n", np.uint8(3), 1)) is int
    for value, shown in [
        (0, "0"),
        (2.0, "2.0"),
        (True, "True"),
        (np.True_, "True"),
        ("3", "'3'"),
        (None, "None"),
    ]:
        with pytest.raises(InputError) as caught:
            check_count("n_components", value, 1)
        assert str(caught.value) == f"n_components is {shown}; give an integer of at least 1."


def test_check_amount() -> None:
    assert check_amount("effort", np.float32(0.5)) == 0.5
    assert type(check_amount("effort", 3)) is float
    for value, shown in [
        (-1, "-1"),
        (1e308, "1e+308"),
        (np.inf, "inf"),
        (np.nan, "nan"),
        (True, "True"),
        ("3", "'3'"),
        (None, "None"),
    ]:
        with pytest.raises(InputError) as caught:
            check_amount("effort", value)
        assert str(caught.value) == f"effort is {shown}; give a number from 0 to 1,000,000."


def test_check_choice() -> None:
    assert check_choice("noise", "symmetric", ("symmetric", "asymmetric")) == "symmetric"
    for value in ("sym", None, 1, np.zeros(2), ["symmetric"]):
        with pytest.raises(InputError, match=r"^noise is .*; choose 'symmetric' or 'asymmetric'\.$"):
            check_choice("noise", value, ("symmetric", "asymmetric"))


def test_check_probability() -> None:
    assert check_probability("p", 1) == 1.0
    assert type(check_probability("p", np.float32(0.5))) is float
    array = check_probability("p", [[0, 1], [0.5, 1]])
    np.testing.assert_array_equal(array, [[0, 1], [0.5, 1]])
    given = np.array([0.5])
    returned = check_probability("p", given)
    assert not np.shares_memory(given, np.asarray(returned))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, "p is 1.5; give a probability between 0 and 1."),
        (-1e-9, "p is -1e-09; give a probability between 0 and 1."),
        (NAN, "p is nan; give a probability between 0 and 1."),
        (True, "p is True; give a probability between 0 and 1."),
        (None, "p is None; give a probability between 0 and 1."),
        ("high", "p is 'high'; give a probability between 0 and 1."),
        ([[0.5, 0.1], [0.2, 2]], "p contains 2.0 at (1, 1); give probabilities between 0 and 1."),
        ([0.5, NAN], "p contains nan at (1,); give probabilities between 0 and 1."),
        ([0.5, None], "p has dtype object, with None at (1,); give probabilities between 0 and 1."),
    ],
)
def test_check_probability_refuses(value: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_probability("p", value)
    assert str(caught.value) == message


def test_check_tables_gives_new_booleans() -> None:
    given = [np.ones((3, 2), dtype=bool), [[0, 1], [1.0, 0]]]
    factors = check_tables("init", given, (3, 2), 2, check_bits)
    assert [factor.dtype for factor in factors] == [bool, bool]
    np.testing.assert_array_equal(factors[1], [[0, 1], [1, 0]])
    assert not np.shares_memory(given[0], factors[0])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ("random", "init is 'random'; give a list of 2 arrays, one per mode."),
        (5, "init is 5; give a list of 2 arrays, one per mode."),
        ([np.zeros((3, 2))], "init has length 1; give 2 arrays, one per mode."),
        (
            [np.zeros((3, 2)), np.zeros((2, 4))],
            "init for mode 1 has shape (2, 4); give (2, 2), the size of the mode by n_components.",
        ),
        ([np.zeros((3, 2)), [[0, 1], [2, 0]]], "init for mode 1 contains 2 at (1, 0); give only 0 and 1."),
        (
            [np.full((3, 2), NAN), np.zeros((2, 2))],
            "init for mode 0 contains nan at (0, 0); give only 0 and 1.",
        ),
        (
            [np.zeros((3, 2)), [[0], [2, 0]]],
            "init for mode 1 has lists of different lengths; make",
        ),
        (
            [np.zeros((3, 2)), None],
            "init for mode 1 is None, which cannot be read as an array; give only 0 and 1.",
        ),
    ],
)
def test_check_tables_refuses(arrays: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_tables("init", arrays, (3, 2), 2, check_bits)
    assert str(caught.value).startswith(message)
