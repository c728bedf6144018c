"""Listed cells, checked and turned into keys: the number of each cell in the tensor, sorted, each once.

A key is all that is needed to sort cells, to find duplicates and to recover a cell's indices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Array, Bits, Keys
from tensorm.data.checks import as_numbers, check_count, is_list, read_bits, short
from tensorm.data.inputs import Labels, Pair, RowLocator, check_columns
from tensorm.errors import InputError, note

MAX_CELLS = 2**60  # so that counts, and their sums, are exact
MAX_ROWS = 2**32  # rows of all modes together
MAX_MODES = 32  # what NumPy's arrays can have


class CellKeys(NamedTuple):
    """Keys of the listed cells, by their value."""

    ones: Keys
    zeros: Keys
    missing: Keys

    @classmethod
    def of(cls, unlisted: str, ones: Keys, others: Keys) -> CellKeys:
        """Return ones and others: missing cells if all unlisted are zeros, zeros if those are missing."""
        return cls(ones, others[:0], others) if unlisted == "zero" else cls(ones, others, others[:0])


class ListedCells(NamedTuple):
    """Cells by their indices, not yet checked, and everything that is known about them.

    Attributes
    ----------
    coords : array of int (n, K), or a tuple of K arrays
        The index of each listed cell in each mode.
    shape : tuple of int
    values : array (n,), optional
        0, 1 or NaN; all 1 by default.
    unlisted : "zero" or "missing"
    modes, labels
        Names of the modes and of their indices.
    missing : like coords, optional
        Further cells, all of them missing.
    place : callable
        Says where the cell of a number was found, for messages.
    undirected : (int, int) or None
        Two modes whose pairs have no direction; every cell is listed with its mirror image.
    repeatable : bool
        Whether cells may be listed more than once, such as two meetings in an hour: a cell is 1 if one of its
        rows says so.
    """

    coords: Any
    shape: tuple[int, ...]
    values: Any = None
    unlisted: str = "zero"
    modes: tuple[str, ...] | None = None
    labels: Labels | None = None
    missing: Any = None
    place: RowLocator = "row {}".format
    repeatable: bool = False
    undirected: Pair | None = None

    def check(self) -> CellKeys:
        """Return the keys of the cells, or raise if there are no such cells, or one has two values."""
        keys = key_of(check_columns("coords", self.coords, self.shape, self.place), self.shape)
        gone = () if self.missing is None else self.missing
        hidden = key_of(check_columns("missing", gone, self.shape, "row {}".format), self.shape)
        if self.values is None:
            parts = [keys, hidden[:0], hidden]
        else:
            ones, unknown = self._read_values(len(keys))
            parts = [keys[ones], keys[~ones & ~unknown], np.concatenate([keys[unknown], hidden])]
        distinct = [_sort(part) for part in parts]
        if self.repeatable:  # one of its rows makes a cell 1, whatever the others say
            distinct[1] = np.setdiff1d(distinct[1], distinct[0], assume_unique=True)
            unknown_only = np.setdiff1d(distinct[2], np.concatenate(distinct[:2]), assume_unique=True)
            distinct[2] = _sort(np.concatenate([unknown_only, hidden]))
        repeated = sum(map(len, parts)) - sum(map(len, distinct))
        if repeated and not self.repeatable:
            note(f"Some cells are listed more than once ({repeated:,} repeats); each counts once.")
        for some, others in combinations(distinct, 2):
            few, many = sorted((some, others), key=len)
            both = few[many[np.searchsorted(many[:-1], few)] == few] if len(few) else few
            if len(both):
                raise self._conflict(keys, both[0])
        return CellKeys(*distinct)

    def _read_values(self, n: int) -> tuple[Bits, Bits]:
        """Return which cells are 1, and which are missing."""
        mask = np.ma.getmaskarray(self.values) if isinstance(self.values, np.ma.MaskedArray) else None
        array = as_numbers("values", self.values, "give 0, 1 or NaN for missing")
        if array.shape != (n,):
            raise InputError(f"values has shape {array.shape}; give ({n},), one for each cell.")
        ones, unknown, bad = read_bits(array, mask)
        if bad is not None:
            where = self.place(bad[0])
            raise InputError(f"values contains {array[bad]} in {where}; give 0, 1 or NaN for missing.")
        return ones, np.zeros(n, np.bool_) if unknown is None else unknown

    def _conflict(self, keys: Keys, key: np.int64) -> InputError:
        """Return the error for a cell with two values: in two rows, or in one and among the missing cells."""
        if self.values is not None:
            ones, unknown = self._read_values(len(keys))
            rows = np.flatnonzero(keys == key)
            kinds = ones[rows] + 2 * unknown[rows]
            if other := int((kinds != kinds[0]).argmax()):
                both = " and ".join(self.place(int(rows[n])) for n in (0, other))
                return InputError(f"{both} give the same cell different values; keep one of the two.")
        cell = tuple(int(n) for n in np.unravel_index(key, self.shape))
        return InputError(f"coords and missing both list cell {cell}; keep one of the two.")


def check_shape(shape: Any) -> tuple[int, ...]:
    """Return the sizes of the modes, or raise if there are too few, or too many cells to be counted."""
    if not is_list(shape) or len(shape) < 2:
        raise InputError(f"shape is {short(shape)}; give the sizes of two or more modes.")
    if len(shape) > MAX_MODES:
        raise InputError(f"shape has {len(shape):,} modes; give at most {MAX_MODES}.")
    sizes = tuple(check_count(f"shape[{k}]", size, 1) for k, size in enumerate(shape))
    if math.prod(sizes) >= MAX_CELLS or sum(sizes) >= MAX_ROWS:
        raise InputError(f"shape is {sizes}, which has {math.prod(sizes):.1e} cells; give fewer than 2**60.")
    return sizes


def key_of(columns: Sequence[Array], shape: Sequence[int]) -> Keys:
    """Return the number of each cell in the tensor, rows first."""
    keys = columns[0].astype(np.int64)
    for column, size in zip(columns[1:], shape[1:], strict=True):
        keys *= size
        keys += column.astype(np.int64, copy=False)
    return keys


def _sort(keys: Keys) -> Keys:
    """Return the distinct keys in order."""
    keys.sort()
    new = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys if new.all() else keys[new]
