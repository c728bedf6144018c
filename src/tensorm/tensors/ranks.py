"""From numbers to ranks: attributes brought to one scale, then ranked within each object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tensorm.data.inputs import Matrix
from tensorm.errors import InputError
from tensorm.tensors.bits import Bits, words_for
from tensorm.tensors.layout import TAIL

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.unsignedinteger]
Bytes = npt.NDArray[np.uint8]

AT_ONCE = 2**20  # numbers that are looked at together
DIGITS = 12  # decimals of a z-score; what comes after them is mostly rounding


class Scale(Protocol):
    """How the values of an attribute become comparable with those of others."""

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Scale the values of some objects, (n, A)."""
        ...


class AsTheyAre:
    """Values of attributes that are comparable already."""

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values."""
        return values


class ZScores(NamedTuple):
    """Distances from the mean of an attribute in standard deviations; 0 where all values are the same.

    Attributes with the same values in another order, or in another unit, must be tied where they are equal:
    rounding errors would say, alike for all objects, that one is above the other.
    """

    mean: Floats
    spread: Floats  # infinite where all values are the same

    @classmethod
    def of(cls, matrix: Matrix) -> ZScores:
        """Work out the means and spreads of a matrix."""
        A = matrix.values.shape[1]
        mean, spread = np.zeros(A), np.full(A, np.inf)
        for where, values, absent in _columns(matrix):
            for a, column, gone in zip(range(where.start, where.stop), values.T, absent.T, strict=True):
                seen = np.sort(column[~gone]).astype(np.float64)  # the order must not change how sums round
                if seen.size == 0 or seen[0] == seen[-1]:
                    continue
                with np.errstate(over="ignore", invalid="ignore"):
                    mean[a], deviation = seen.mean(), seen.std()
                if not np.isfinite(deviation):
                    raise InputError(
                        "matrix holds values too large to be scaled; divide all of them by one number."
                    )
                spread[a] = deviation or np.inf
        return cls(mean, spread)

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Scale the values of some objects."""
        return np.round((values - self.mean) / self.spread, DIGITS)


class Positions(NamedTuple):
    """Shares of an attribute's values that lie below, ties counted half."""

    values: tuple[npt.NDArray[Any], ...]  # of each attribute, sorted

    @classmethod
    def of(cls, matrix: Matrix) -> Positions:
        """Sort the values of each attribute of a matrix."""
        found: list[npt.NDArray[Any]] = []
        for _, values, absent in _columns(matrix):
            found += [np.sort(column[~gone]) for column, gone in zip(values.T, absent.T, strict=True)]
        return cls(tuple(found))

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Place the values of some objects."""
        places = np.empty(values.shape)
        for column, known, place in zip(values.T, self.values, places.T, strict=True):
            below, up_to = (np.searchsorted(known, column, side) for side in ("left", "right"))
            place[...] = (below + up_to) / max(1, 2 * len(known))
        return places


class RankTable(NamedTuple):
    """Ranks of some attributes for all objects, as kernels read them."""

    flat: Integers  # object after object, each filled up to whole words; and some more to read past the end
    alone: Bytes  # (O, A) 1 where no other rank of the object is equal, and none absent
    numbers: npt.NDArray[np.intp]  # of the attributes in the matrix

    @classmethod
    def empty(cls, n_objects: int, numbers: npt.NDArray[np.intp], kind: npt.DTypeLike) -> RankTable:
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

    def take(
        self, objects: npt.NDArray[np.intp] | None, attributes: npt.NDArray[np.intp] | None
    ) -> RankTable:
        """Return a table with some of the ranks, or this one if that means all (None)."""
        if objects is None and attributes is None:
            return self
        numbers = self.numbers if attributes is None else self.numbers[attributes]
        new = RankTable.empty(len(self.alone) if objects is None else len(objects), numbers, self.flat.dtype)
        for mine, theirs in ((new.ranks, self.ranks), (new.alone, self.alone)):
            some = theirs if objects is None else theirs[objects]
            mine[...] = some if attributes is None else some[:, attributes]
        return new

    def find(self, others: RankTable) -> npt.NDArray[np.int64]:
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


def rank_matrix(matrix: Matrix, scale: Scale) -> tuple[RankTable, bool]:
    """Rank the scaled values of each object, the lowest 0 and equal ones alike; and say if any is missing.

    Two bytes for each rank, or four if one object has more than 65,535 different values.
    """
    O, A = matrix.values.shape
    few, many = np.dtype(np.uint16), np.dtype(np.uint32)
    table, gaps, top = RankTable.empty(O, np.arange(A), many if absent_rank(few) < A else few), False, 0
    for where in _steps(O, A):
        absent, values = _absent(matrix, (where, slice(None))), matrix.values[where]
        holes = absent.any(axis=1, keepdims=True)
        ranks, alone = _rank(scale.apply(np.where(absent, 0, values) if holes.any() else values))
        top, gaps = max(top, int(ranks.max())), gaps or bool(holes.any())
        table.ranks[where] = np.where(absent, absent_rank(table.flat.dtype), ranks)
        table.alone[where] = alone & ~holes
    if table.flat.dtype == many and top < absent_rank(few):
        narrow = RankTable.empty(O, table.numbers, few)
        narrow.ranks[...] = np.minimum(table.ranks, absent_rank(few))
        return narrow._replace(alone=table.alone), gaps
    return table, gaps


def check_finite(matrix: Matrix) -> None:
    """Raise if a value is infinite."""
    if matrix.values.dtype.kind != "f":
        return
    for where in _steps(*matrix.values.shape):
        wrong = np.isinf(matrix.values[where]) & ~_absent(matrix, (where, slice(None)))
        if wrong.any():
            o, a = np.argwhere(wrong)[0]
            raise InputError(
                f"matrix holds {matrix.values[where][o, a]} at {(int(o) + where.start, int(a))}; give finite "
                "numbers, or NaN for missing."
            )


def _rank(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], Bits]:
    """Return the ranks of each row, and which of them occur once."""
    order = np.argsort(values, axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    steps = np.ones((len(values), values.shape[1] + 1), np.bool_)  # from one to the next, and at either end
    np.greater(ranked[:, 1:], ranked[:, :-1], out=steps[:, 1:-1])
    ranks, alone = np.empty(values.shape, np.intp), np.empty(values.shape, np.bool_)
    np.put_along_axis(ranks, order, np.cumsum(steps[:, :-1], axis=1) - 1, axis=1)
    np.put_along_axis(alone, order, steps[:, :-1] & steps[:, 1:], axis=1)
    return ranks, alone


def _columns(matrix: Matrix) -> Iterator[tuple[slice, npt.NDArray[Any], Bits]]:
    """Yield (attributes, their values, which are missing), some attributes at a time."""
    O, A = matrix.values.shape
    for where in _steps(A, O):
        yield where, matrix.values[:, where], _absent(matrix, (slice(None), where))


def _absent(matrix: Matrix, where: tuple[slice, slice]) -> Bits:
    values = matrix.values[where]
    absent = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, np.bool_)
    return absent if matrix.mask is None else absent | matrix.mask[where]


def _steps(length: int, width: int) -> Iterator[slice]:
    step = max(1, AT_ONCE // width)
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))
