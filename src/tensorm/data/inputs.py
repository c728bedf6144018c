"""Input data, turned into checked observations with labels.

``observe`` names and describes an input without copying it; ``Observations.blocks`` reads it piece by piece
and refuses any cell that is not 0, 1 or missing, so that storing a tensor never needs a second full copy.
pandas, xarray and scipy.sparse are never imported here: an object of theirs means that they are loaded.
Every error is an ``InputError`` of one sentence.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Array, Bits
from tensorm.data.checks import as_numbers, check_label_array, is_broken, is_list, read_bits, short
from tensorm.errors import InputError

Labels = tuple[Array | None, ...]
Pair = tuple[int, int]  # two modes, the smaller one first

RowLocator = Callable[[int], str]  # says where a row is, for messages
Opened = tuple[Array, Bits | None, tuple[str, ...], Labels]

# What every column of a table must be, and what to do with what is no array of numbers.
CELLS_WANTED = (
    "every column of a wide table must contain 0, 1 or missing",
    "convert to bool, integer, or float with NaN for missing",
)
NUMBERS_WANTED = (
    "every column must contain numbers or be left out",
    "convert to integer, or float with NaN for missing",
)
OTHER_VALUE = "cells must be 0, 1 or missing (NaN), unless you use tensorm.read(X, threshold=NUMBER)"
LARGEST_UNPACKED = 2**24  # cells of a scipy.sparse matrix that are unpacked to a dense array


class Names(NamedTuple):
    """What the modes of a tensor are called, and what else its user said of them.

    Attributes
    ----------
    modes : tuple of str
        A name for each mode.
    labels : tuple of ndarray or None
        For each mode the names of its indices, or None.
    undirected : (int, int) or None
        Two modes whose pairs have no direction.
    """

    modes: tuple[str, ...]
    labels: Labels
    undirected: Pair | None = None

    def take(self, indices: Sequence[Any]) -> Names:
        """Return the names of some indices along each mode."""
        parts = zip(self.labels, indices, strict=True)
        labels = tuple(None if names is None else names[index] for names, index in parts)
        i, j = self.undirected or (0, 0)
        return Names(self.modes, labels, self.undirected if _same(indices[i], indices[j]) else None)


class Named:
    """Has names of modes and labels of their indices."""

    names: Names

    @property
    def modes(self) -> tuple[str, ...]:
        """Names of the modes."""
        return self.names.modes

    @property
    def labels(self) -> Labels:
        """For each mode the names of its indices, or None."""
        return self.names.labels


def _same(some: Any, others: Any) -> bool:
    return some is others or (type(some) is type(others) and np.array_equal(some, others))


class Observations(NamedTuple):
    """An input as it came, with the names of its modes and of their indices.

    Attributes
    ----------
    values : ndarray
        The cells, K >= 2 modes, boolean, integer or floating; shares the memory of the input where it can.
    mask : ndarray of bool, or None
        True where a cell is missing, whatever its value; NaN cells are missing besides.
    modes : tuple of str
        One name per mode.
    labels : tuple of ndarray or None
        For each mode the names of its indices, or None.
    """

    values: Array
    mask: Bits | None
    modes: tuple[str, ...]
    labels: Labels

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the modes."""
        return self.values.shape

    def blocks(self, axis: int = 0, max_cells: int = 2**22) -> Iterator[tuple[slice, Bits, Bits | None]]:
        """Walk along one mode in blocks of whole slices, checking every cell.

        Parameters
        ----------
        axis : int
            The mode to walk along.
        max_cells : int
            Size of a block; a single slice may be larger.

        Yields
        ------
        where : slice
            The indices of the block along ``axis``.
        ones : ndarray of bool
            Which cells are 1, False where missing; C-contiguous and the caller's to keep.
        observed : ndarray of bool, or None
            Which cells are not missing; None when no cell of the block is.

        Raises
        ------
        InputError
            When a cell is neither 0, 1 nor missing.
        """
        axis = range(self.values.ndim)[axis]
        size = self.shape[axis]
        step = max(1, max_cells * size // math.prod(self.shape))
        for start in range(0, size, step):
            where = slice(start, min(start + step, size))
            index = (slice(None),) * axis + (where,)
            cells = self.values[index]
            ones, missing, bad = read_bits(cells, None if self.mask is None else self.mask[index])
            if bad is not None:
                place = tuple(n + start * (k == axis) for k, n in enumerate(bad))
                known = zip(self.modes, self.labels, place, strict=True)
                names = [f"{mode} {str(labels[n])!r}" for mode, labels, n in known if labels is not None]
                named = f" ({', '.join(names)})" if names else ""
                raise InputError(f"X contains {cells[bad]} at {place}{named}; {OTHER_VALUE}.")
            yield where, ones, None if missing is None else ~missing


class Matrix(Observations):
    """Numbers of objects and attributes, to be compared with each other."""


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy.sparse matrix or array, or a ``sparse.COO`` or similar."""
    known = ("scipy.sparse", "sparray"), ("scipy.sparse", "spmatrix"), ("sparse", "SparseArray")
    return any(is_a(X, module, name) for module, name in known)


def as_coo(name: str, X: Any) -> Any:
    """Return a sparse matrix or array as coordinates, or raise unless all of them are inside its shape.

    Compiled code of scipy and sparse trusts indices, so none of it is called before they are checked.
    """
    try:
        _check_compressed(X)
        matrix = X.tocsr() if getattr(X, "format", "") == "lil" else X
        if matrix is not X:
            _check_compressed(matrix)
        matrix = matrix.asformat("coo")
    except ValueError as error:
        problem = "a sparse matrix whose indices do not fit its shape"
        raise InputError(f"{name} is {problem}; create it again from its cells.") from error
    check_columns(f"{name}'s list of cells", tuple(matrix.coords), matrix.shape, "entry {}".format)
    if len(matrix.data) != len(matrix.coords[0]):
        raise InputError(
            f"{name} is a sparse matrix with different numbers of cells and values; create it again."
        )
    if not getattr(X, "has_canonical_format", True):  # a cell may be stored twice: SciPy means the sum
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _check_compressed(X: Any) -> None:
    """Raise ValueError if the indices of a compressed matrix, or of one of lists, lead out of it."""
    if getattr(X, "format", "") == "lil" and [*map(len, X.rows)] != [*map(len, X.data)]:
        raise ValueError("lists of different lengths")
    bounds = getattr(X, "indptr", None)
    if bounds is None:
        return
    if not (
        bounds.dtype.kind in "iu" and X.indices.dtype.kind in "iu" and bounds.ndim == X.indices.ndim == 1
    ):
        raise ValueError("no integers")
    inside = len(bounds) and bounds[0] == 0 and bounds[-1] <= len(X.indices)
    if not (inside and (bounds[1:] >= bounds[:-1]).all()):
        raise ValueError("pointers out of order")
    if hasattr(X, "check_format"):
        copy.copy(X).check_format(full_check=True)  # a copy, since it may shorten arrays


def observe(X: Any) -> Observations:
    """Take in cells of 0, 1 and missing, without copying or changing them.

    Parameters
    ----------
    X : array-like
        At least two modes: nested lists, any array with NaN for missing, a ``numpy.ma`` array, an
        ``xarray.DataArray`` (names and labels are kept), a wide pandas table (two modes), or a scipy.sparse
        matrix (unlisted cells are 0).

    Returns
    -------
    Observations
        Type and shape are checked now, the cells while they are read by ``Observations.blocks``.

    Raises
    ------
    InputError
        When this is no array of numbers, or has fewer than two modes, or an empty one.
    """
    if isinstance(X, Observations):
        return X
    cells = Observations(*_open("X", X, map("mode {}".format, count()), *CELLS_WANTED))
    K = len(cells.shape)
    if K < 2:
        raise InputError(f"X has {K} mode{'s' * (K != 1)} (shape {cells.shape}); give at least 2 modes.")
    if 0 in cells.shape:
        empty = cells.modes[cells.shape.index(0)]
        raise InputError(
            f"X has shape {cells.shape}; {empty} is empty, but every mode needs at least one index."
        )
    return cells


def read_matrix(matrix: Any) -> Matrix:
    """Take in numbers of objects (rows) and attributes (columns), without copying or changing them.

    Parameters
    ----------
    matrix : array-like
        Two axes: an array with NaN for missing, a ``numpy.ma`` array, an ``xarray.DataArray``, a pandas table
        or an ``anndata.AnnData``.

    Raises
    ------
    InputError
        When there are not two axes of numbers, or one is empty.
    """
    if isinstance(matrix, Matrix):
        return matrix
    numbers = Matrix(*_open("matrix", matrix, ("object", "attribute"), *NUMBERS_WANTED))
    if len(numbers.shape) != 2 or 0 in numbers.shape:
        wanted = "give objects by attributes, at least one of each"
        raise InputError(f"matrix has shape {numbers.shape}; {wanted}.")
    return numbers


def check_names(
    shape: Sequence[int],
    modes: Sequence[str] | None = None,
    labels: Sequence[Any] | None = None,
    undirected: Pair | None = None,
) -> Names:
    """Return names of the modes, and of their indices or None, or raise if they do not fit the shape."""
    K = len(shape)
    for what, given in (("modes", modes), ("labels", labels)):
        if given is not None and not is_list(given):
            raise InputError(
                f"{what} is {short(given)}; give a list with an entry for each of the {K} modes."
            )
    names = tuple(f"mode {k}" for k in range(K)) if modes is None else tuple(map(str, modes[: K + 1]))
    if len(names) != K or len(set(names)) != K:
        raise InputError(f"modes is {short(names)}; give {K} different names.")
    _check_modes(names)
    if labels is not None and len(labels) != K:
        raise InputError(f"labels has length {len(labels)}; give {K} arrays, one for each mode, or None.")
    lists = (None,) * K if labels is None else tuple(labels)
    try:
        arrays = tuple(None if array is None else np.asarray(array) for array in lists)
    except ValueError:  # lists of lists
        raise InputError("labels must be flat lists; give one name for each index of a mode.") from None
    for name, array, size in zip(names, arrays, shape, strict=True):
        if array is not None and array.shape != (size,):
            raise InputError(f"labels of {name!r} have shape {array.shape}; give ({size},).")
        check_label_array(f"{name!r}", array)
    return Names(names, arrays, undirected)


def _check_modes(names: Sequence[str]) -> None:
    for name in names:
        if is_broken(name):
            problem = "which has a NUL or an incomplete character"
            raise InputError(f"X has a mode {name[:40]!a}, {problem}; rename it.")


def check_columns(name: str, coords: Any, shape: Sequence[int], place: RowLocator) -> list[Array]:
    """Return K arrays of indices, or raise if they are no cells of the shape."""
    K = len(shape)
    if not (
        isinstance(coords, tuple) and len(coords) == K and all(np.ndim(column) == 1 for column in coords)
    ):
        wanted = f"give integers of shape (n, {K}), one row for each cell, or a tuple of {K} arrays"
        try:
            array = np.asarray(coords)
        except ValueError as error:
            raise InputError(f"{name} has rows of different lengths; {wanted}.") from error
        except MemoryError as error:
            raise InputError(f"{name} needs more memory than is available; {wanted}.") from error
        if not array.size:
            return [np.zeros(0, np.int64)] * K
        if array.ndim != 2 or array.shape[1] != K:
            raise InputError(f"{name} has shape {array.shape}; {wanted}.")
        coords = array.T
    columns = [np.asarray(column) for column in coords]
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise InputError(f"{name} has columns of lengths {lengths}; give each cell an index of every mode.")
    for k, (column, size) in enumerate(zip(columns, shape, strict=True)):
        wanted = f"give integers from 0 to {size - 1}"
        if len(column) and column.dtype.kind not in "iuf":
            raise InputError(f"{name} has dtype {column.dtype} for mode {k}; {wanted}.")
        whole = column.dtype.kind != "f" or (column == np.floor(column)).all()  # NaN is not
        if len(column) and not (whole and column.min() >= 0 and column.max() < size):
            i = int(((column != np.floor(column)) | (column < 0) | (column >= size)).argmax())
            raise InputError(f"{name} contains {column[i].item()} for mode {k} in {place(i)}; {wanted}.")
    return columns


def _open(name: str, X: Any, defaults: Iterable[str], column: str, remedy: str) -> Opened:
    """Return the values and the mask of what was given, names of its modes, and the labels it has."""
    names: Sequence[Any] | None = None
    labels: Labels | None = None
    mask: Bits | None = None
    if is_a(X, "anndata", "AnnData"):
        names = X.obs_names.name, X.var_names.name
        labels = X.obs_names.to_numpy(), X.var_names.to_numpy()
        X = X.X
    if is_a(X, "xarray", "DataArray"):
        names = X.dims
        labels = tuple(X.coords[dim].values if dim in X.coords else None for dim in X.dims)
        X = X.values
    elif is_a(X, "pandas", "DataFrame"):
        names = name_wide(X.index.name, X.columns.name, name == "matrix")
        labels = (X.index.to_numpy(), X.columns.to_numpy())
        X = _unpack_table(name, X, column)
    elif is_sparse(X):
        if (cells := math.prod(X.shape)) > LARGEST_UNPACKED:
            problem = f"{cells:,} cells, and only up to {LARGEST_UNPACKED:,} are unpacked"
            raise InputError(f"{name} is a sparse matrix of {problem}; give a part of it, or a dense array.")
        matrix = as_coo(name, X)
        X = matrix.todense() if is_a(X, "sparse", "SparseArray") else matrix.toarray()
    elif isinstance(X, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(X) if np.ma.is_masked(X) else None
        X = np.ma.getdata(X)
    for array in labels or ():
        check_label_array(name, array)
    values = as_numbers(name, X, remedy)
    if isinstance(X, (list, tuple)) and any(isinstance(part, np.ma.MaskedArray) for part in X):
        mask = np.array([np.ma.getmaskarray(part) for part in X])
    unnamed = (None,) * values.ndim
    pairs = zip(names or unnamed, defaults, strict=False)
    modes = tuple(default if given is None else str(given) for given, default in pairs)
    _check_modes(modes)
    return values, mask, modes, labels or unnamed


def name_wide(rows: Any, columns: Any, relational: bool = False) -> tuple[str, str]:
    """Return the modes of a wide table: what it calls its rows and columns, or words that fit all tables."""
    defaults = ("object", "attribute") if relational else ("row", "column")
    given = zip((rows, columns), defaults, strict=True)
    first, second = (default if name in (None, "") else str(name) for name, default in given)
    return defaults if first == second else (first, second)


def _unpack_table(name: str, table: Any, wanted: str) -> Array:
    """Return the cells of a wide table; nullable and mixed columns become floats, in which NaN is missing."""
    for column, dtype in zip(table.columns, table.dtypes, strict=True):
        if dtype.kind not in "biuf":
            raise InputError(f"{name} has a column {column!r} of dtype {dtype}; {wanted}.")
    cells = table.to_numpy()
    if cells.dtype.kind not in "biuf":
        cells = table.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(cells)


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether a value is an instance of a class of a package that is not imported here."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)
