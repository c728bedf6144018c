"""Listed cells, checked and turned into keys: the number of each cell in the tensor, sorted, each once.

A key is all that is needed to sort cells, to find duplicates and to recover a cell's indices.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.checks import check_count, check_ternary
from tensorm.data.inputs import Labels
from tensorm.errors import InputError

Keys = npt.NDArray[np.int64]
Columns = Sequence[npt.NDArray[Any]]
Place = Callable[[int], str]

MOST_CELLS = 2**60  # so that counts, and their sums, are exact
LONGEST = 2**32  # rows of all modes together
MOST_MODES = 32  # what NumPy's arrays can have


class ConflictError(InputError):
    """A cell is listed with two values."""

    def __init__(self, message: str, cell: tuple[int, ...]) -> None:
        super().__init__(message)
        self.cell = cell


class Cells(NamedTuple):
    """Keys of the listed cells, by their value."""

    ones: Keys
    zeros: Keys
    missing: Keys

    @classmethod
    def of(cls, unlisted: str, ones: Keys, others: Keys) -> Cells:
        """Return ones and others: missing cells if all unlisted are zeros, zeros if those are missing."""
        return cls(ones, others[:0], others) if unlisted == "zero" else cls(ones, others, others[:0])


class Listing(NamedTuple):
    """Cells by their indices, not yet checked, and everything that is known about them.

    Attributes
    ----------
    columns : tuple of arrays (n,)
        The index of each listed cell in each mode.
    shape : tuple of int
    values : array (n,), optional
        0, 1 or NaN; all 1 by default.
    unlisted : "zero" or "missing"
    modes, labels
        Names of the modes and of their indices.
    missing : tuple of arrays, optional
        Further cells, all of them missing.
    place : callable
        Says where the cell of a number was found, for messages.
    repeatable : bool
        Whether cells may be listed more than once: two meetings in an hour are no reason for a warning.
    """

    columns: tuple[npt.NDArray[Any], ...]
    shape: tuple[int, ...]
    values: npt.NDArray[Any] | None = None
    unlisted: str = "zero"
    modes: tuple[str, ...] | None = None
    labels: Labels | None = None
    missing: tuple[npt.NDArray[Any], ...] | None = None
    place: Place = "row {}".format
    repeatable: bool = False

    def check(self) -> Cells:
        """Return the keys of the cells, or raise if they contradict each other or name no cells."""
        try:
            return list_cells(
                self.columns, self.shape, self.values, self.missing, self.place, not self.repeatable
            )
        except ConflictError as conflict:
            pairs = zip(self.columns, conflict.cell, strict=True)
            rows = np.flatnonzero(np.logical_and.reduce([column == index for column, index in pairs]))
            values = np.asarray(self.values)[rows]
            other = rows[int(np.argmax(values != values[0]))]
            first, second = (self.place(int(row)) for row in (rows[0], other))
            raise InputError(
                f"{first} and {second} give the same cell different values; keep one of the two."
            ) from conflict


def check_shape(shape: Any) -> tuple[int, ...]:
    """Return the sizes of the modes, or raise if there are too few, or too many cells to be counted."""
    if isinstance(shape, (str, bytes)) or not isinstance(shape, (Sequence, np.ndarray)) or len(shape) < 2:
        raise InputError(f"shape is {shape!r}; give the sizes of two or more modes.")
    if len(shape) > MOST_MODES:
        raise InputError(f"shape has {len(shape):,} modes; give at most {MOST_MODES}.")
    sizes = tuple(check_count(f"shape[{k}]", size, 1) for k, size in enumerate(shape))
    if math.prod(sizes) >= MOST_CELLS or sum(sizes) >= LONGEST:
        raise InputError(f"shape is {sizes}, which is {math.prod(sizes):.1e} cells; give fewer than 2**60.")
    return sizes


def key_of(columns: Columns, shape: Sequence[int]) -> Keys:
    """Return the number of each cell in the tensor, rows first."""
    keys = columns[0].astype(np.int64)
    for column, size in zip(columns[1:], shape[1:], strict=True):
        keys *= size
        keys += column.astype(np.int64, copy=False)
    return keys


def list_cells(
    coords: Any,
    shape: Sequence[int],
    values: Any = None,
    missing: Any = None,
    place: Place = "row {}".format,
    warn: bool = True,
) -> Cells:
    """Check cells given by their indices, and merge those that are there more than once.

    Parameters
    ----------
    coords : array of int (n, K), or a tuple of K arrays
    shape : sequence of int
    values : array (n,), optional
        0, 1 or missing (NaN); all 1 by default.
    missing : like coords, optional
        Further cells, all of them missing.
    place : callable
        Says where the cell of a number is found, for messages.
    warn : bool
        Whether to warn about cells that are listed more than once.

    Raises
    ------
    InputError
        When an index is not an integer or out of range, or a cell has two values.
    """
    keys = key_of(check_columns("coords", coords, shape, place), shape)
    gone = key_of(check_columns("missing", () if missing is None else missing, shape, "row {}".format), shape)
    if values is None:
        parts = [keys, gone[:0], gone]
    else:
        ones, unknown = check_ternary("values", values, len(keys), place)
        none = np.zeros(len(keys), np.bool_) if unknown is None else unknown
        parts = [keys[ones], keys[~ones & ~none], np.concatenate([keys[none], gone])]
    distinct = [_sort(part) for part in parts]
    repeated = sum(map(len, parts)) - sum(map(len, distinct))
    if repeated and warn:
        warnings.warn(f"Listed cells are repeated {repeated:,} times; each counts once.", stacklevel=4)
    for i, name in enumerate(("1", "0")):
        for other, other_name in zip(distinct[i + 1 :], ("0", "missing")[i:], strict=True):
            _refuse_conflict(distinct[i], other, name, other_name, shape)
    return Cells(*distinct)


def check_columns(name: str, coords: Any, shape: Sequence[int], place: Place) -> list[npt.NDArray[Any]]:
    """Return K arrays of indices, or raise if they name no cells of the shape."""
    K = len(shape)
    if isinstance(coords, tuple) and len(coords) == K and all(np.ndim(column) == 1 for column in coords):
        columns = [np.asarray(column) for column in coords]
    else:
        try:
            array = np.asarray(coords)
        except ValueError as error:
            raise InputError(
                f"{name} has rows of different lengths; give {K} indices for each cell."
            ) from error
        if not array.size:
            return [np.zeros(0, np.int64)] * K
        if array.ndim != 2 or array.shape[1] != K:
            raise InputError(
                f"{name} has shape {array.shape}; give integers of shape (n, {K}), one row for each cell, or "
                f"a tuple of {K} arrays."
            )
        columns = [array[:, k] for k in range(K)]
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise InputError(f"{name} has columns of lengths {lengths}; give each cell an index of every mode.")
    return [_check_column(name, k, *pair, place) for k, pair in enumerate(zip(columns, shape, strict=True))]


def _check_column(name: str, k: int, column: npt.NDArray[Any], size: int, place: Place) -> npt.NDArray[Any]:
    wanted = f"give integers from 0 to {size - 1}"
    if not column.size:
        return np.zeros(0, np.int64)
    if column.dtype.kind == "f":
        odd = column != np.floor(column)  # NaN is, and infinity is out of range
        if odd.any():
            i = int(odd.argmax())
            raise InputError(f"{name} holds {column[i]} for mode {k} in {place(i)}; {wanted}.")
    elif column.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {column.dtype} for mode {k}; {wanted}.")
    if column.min() < 0 or column.max() >= size:
        i = int(((column < 0) | (column >= size)).argmax())
        value = column[i] if column.dtype.kind == "f" else int(column[i])
        raise InputError(f"{name} holds {value:.0f} for mode {k} in {place(i)}; {wanted}.")
    return column


def _sort(keys: Keys) -> Keys:
    """Return the distinct keys in order."""
    keys.sort()
    new = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys if new.all() else keys[new]


def _refuse_conflict(some: Keys, others: Keys, name: str, other_name: str, shape: Sequence[int]) -> None:
    """Raise if a cell is in both lists."""
    few, many = sorted((some, others), key=len)
    if not len(few):
        return
    both = few[many[np.searchsorted(many[:-1], few)] == few]
    if len(both):
        cell = tuple(int(n) for n in np.unravel_index(both[0], shape))
        raise ConflictError(
            f"coords lists cell {cell} as {name} and as {other_name}; keep one of the two.", cell
        )
