"""From numbers to ranks: attributes brought to one scale, then ranked within each object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Array, Bits, Bytes, Floats, Indices, Ints
from tensorm.data.inputs import Matrix, read_matrix
from tensorm.errors import InputError
from tensorm.tensors.bits import words_for
from tensorm.tensors.layout import TAIL

Integers = npt.NDArray[np.unsignedinteger]
Rescale = Callable[[Array], Array]  # makes the values of some objects, (n, A), comparable across attributes

RANKED_AT_ONCE = 2**20  # numbers that are looked at together
DIGITS = 12  # decimals of a z-score; what comes after them is mostly rounding


def fit_scale(normalise: str | None, matrix: Matrix) -> Rescale:
    """Return the scale of a matrix: by "zscore", by "rank", or None to leave values as they are."""
    if normalise is None:
        return np.asarray
    return _fit_zscores(matrix) if normalise == "zscore" else partial(_place, list(_sorted_columns(matrix)))


def _fit_zscores(matrix: Matrix) -> Rescale:
    """Return distances from the mean of an attribute in standard deviations; 0 where all are the same.

    Attributes with the same values in another order, or in another unit, must be tied where they are equal:
    rounding errors would say, alike for all objects, that one is above the other.
    """
    mean, spread = np.zeros(matrix.shape[1]), np.full(matrix.shape[1], np.inf)
    for a, column in enumerate(_sorted_columns(matrix)):
        seen = column.astype(np.float64)  # sorted, since the order must not change how sums round
        if seen.size == 0 or seen[0] == seen[-1]:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            mean[a], deviation = seen.mean(), seen.std()
        if not np.isfinite(deviation):
            raise InputError(
                "matrix contains values too large to be scaled; divide all of them by one number."
            )
        spread[a] = deviation or np.inf
    return partial(_standardise, mean, spread)


def _standardise(mean: Floats, spread: Floats, values: Array) -> Array:
    return np.round((values - mean) / spread, DIGITS)


def _place(known: list[Array], values: Array) -> Array:
    """Return the shares of an attribute's known values that lie below, ties counted half."""
    places = np.empty(values.shape)
    for column, ordered, place in zip(values.T, known, places.T, strict=True):
        below, up_to = (np.searchsorted(ordered, column, side) for side in ("left", "right"))
        place[...] = (below + up_to) / max(1, 2 * len(ordered))
    return places


class RankTable(NamedTuple):
    """Ranks of some attributes for all objects, as kernels read them."""

    flat: Integers  # object after object, each filled up to whole words; and some more to read past the end
    alone: Bytes  # (O, A) 1 where no other rank of the object is equal, and none absent
    numbers: Indices  # of the attributes in the matrix

    @classmethod
    def empty(cls, n_objects: int, numbers: Indices, kind: npt.DTypeLike) -> RankTable:
        """Return a table with every rank absent; it begins at a cache line."""
        size = n_objects * 64 * words_for(len(numbers)) + 64 * TAIL
        room = np.full(size + 32, absent_rank(np.dtype(kind)), kind)
        first = -(room.ctypes.data // room.itemsize) % (64 // room.itemsize)
        alone = np.zeros((n_objects, len(numbers)), np.uint8)
        return cls(room[first : first + size], alone, numbers)

    @property
    def stride(self) -> int:
        """Numbers from one object to the next."""
        return 64 * words_for(len(self.numbers))

    @property
    def ranks(self) -> Integers:
        """The ranks (O, A), a view."""
        n_objects, n_attributes = self.alone.shape
        rows = self.flat[: n_objects * self.stride].reshape(n_objects, self.stride)
        return rows[:, :n_attributes]

    def take(self, objects: Indices | slice, attributes: Indices | slice) -> RankTable:
        """Return a table with some of the ranks, or this one if that means all (a slice)."""
        if isinstance(objects, slice) and isinstance(attributes, slice):
            return self
        new = RankTable.empty(len(self.alone[objects]), self.numbers[attributes], self.flat.dtype)
        new.ranks[...], new.alone[...] = (table[objects][:, attributes] for table in (self.ranks, self.alone))
        return new

    def find(self, others: RankTable) -> Ints:
        """Return the place of each attribute among those of another table, or -1."""
        places = np.full(1 + max(self.numbers.max(), others.numbers.max()), -1, np.int64)
        places[others.numbers] = np.arange(len(others.numbers))
        return places[self.numbers]

    def alone_among(self, others: RankTable) -> Bytes:
        """Return ``alone``, but 0 for attributes that another table has twice, and so equal to themselves."""
        times = np.bincount(others.numbers, minlength=1 + self.numbers.max())
        return self.alone if times.max() == 1 else self.alone & (times[self.numbers] < 2)


def absent_rank(kind: np.dtype[Any]) -> int:
    """Return the rank that stands for a missing value."""
    return int(np.iinfo(kind).max)


def rank_matrix(matrix: Matrix, scale: Rescale) -> tuple[RankTable, bool]:
    """Rank the scaled values of each object, the lowest 0 and equal ones alike; and say if any is missing.

    Two bytes for each rank, or four if one object has more than 65,535 different values.
    """
    O, A = matrix.values.shape
    few, many = np.dtype(np.uint16), np.dtype(np.uint32)
    table, top = RankTable.empty(O, np.arange(A), many if absent_rank(few) < A else few), 0
    step, missing = max(1, RANKED_AT_ONCE // A), _absent(matrix)
    for start in range(0, O, step):
        where = slice(start, start + step)
        absent, values = missing[where], matrix.values[where]
        holes = absent.any(axis=1, keepdims=True)
        ranks, alone = _rank(scale(np.where(absent, 0, values) if holes.any() else values))
        top = max(top, int(ranks.max()))
        table.ranks[where] = np.where(absent, absent_rank(table.flat.dtype), ranks)
        table.alone[where] = alone & ~holes
    if table.flat.dtype == many and top < absent_rank(few):
        narrow = RankTable.empty(O, table.numbers, few)
        narrow.ranks[...] = np.minimum(table.ranks, absent_rank(few))
        table = narrow._replace(alone=table.alone)
    return table, bool(missing.any())


def read_finite(given: Any) -> Matrix:
    """Return a matrix of objects by attributes, or raise if a value is infinite."""
    matrix = read_matrix(given)
    wrong = np.argwhere(np.isinf(matrix.values) & ~_absent(matrix))
    if len(wrong):
        o, a = map(int, wrong[0])
        raise InputError(f"matrix contains {matrix.values[o, a]} at {(o, a)}; give finite numbers or NaN.")
    return matrix


def leave_out(matrix: Matrix, floor: float | None) -> Matrix:
    """Return a matrix in which values at or below a floor, if there is one, are missing."""
    if floor is None:
        return matrix
    low = matrix.values <= floor
    return matrix._replace(mask=low if matrix.mask is None else low | matrix.mask)


def _rank(values: Array) -> tuple[Indices, Bits]:
    """Return the ranks of each row, and which of them occur once."""
    order = np.argsort(values, axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    steps = np.ones((len(values), values.shape[1] + 1), np.bool_)  # from one to the next, and at either end
    np.greater(ranked[:, 1:], ranked[:, :-1], out=steps[:, 1:-1])
    ranks, alone = np.empty(values.shape, np.intp), np.empty(values.shape, np.bool_)
    np.put_along_axis(ranks, order, np.cumsum(steps[:, :-1], axis=1) - 1, axis=1)
    np.put_along_axis(alone, order, steps[:, :-1] & steps[:, 1:], axis=1)
    return ranks, alone


def _sorted_columns(matrix: Matrix) -> Iterator[Array]:
    """Yield the values of each attribute that are not missing, in order."""
    for column, absent in zip(matrix.values.T, _absent(matrix).T, strict=True):
        yield np.sort(column[~absent])


def _absent(matrix: Matrix) -> Bits:
    """Return which values are missing, (O, A)."""
    absent = np.isnan(matrix.values)
    return absent if matrix.mask is None else absent | matrix.mask
