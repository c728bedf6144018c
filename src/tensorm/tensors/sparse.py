"""Sparse tensors: only some cells are listed, and all others are 0, or all others are missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Array, Bits, Counts, Floats, Indices, Ints, Keys, Rows, Words
from tensorm.data.checks import check_choice
from tensorm.data.coordinates import MAX_CELLS, CellKeys, ListedCells, check_shape, key_of
from tensorm.data.inputs import Names, check_names
from tensorm.data.memory import check_fits
from tensorm.errors import InputError
from tensorm.kernels import sparse as kernel
from tensorm.kernels.groups import group_tuples
from tensorm.kernels.listed import Listed, arrange
from tensorm.model import Confusion
from tensorm.tensors.bits import digest_arrays
from tensorm.tensors.blocks import PredictsCells, draw_ranks
from tensorm.tensors.dense import ReadTensor
from tensorm.tensors.factors import Factors
from tensorm.tensors.held_cells import draw_share, draw_zeros, give_back_listed
from tensorm.tensors.protocol import MISSING, HeldOut, Pair, Rule, Stream, every
from tensorm.tensors.sparse_ranked import RankedLists
from tensorm.tensors.threads import share_rows

T = TypeVar("T")

LISTED_WORTH_THREADS = 2**17  # rows and listed cells below which a second thread costs more than it saves
OTHERS = {"zero": "missing_cells", "missing": "zero_cells"}  # what is listed beside ones, by what is not
NO_WEIGHTS = np.zeros(0, np.int64)
PREDICTED_AT_ONCE = 2**22  # listed cells
MOST_UNPACKED = 2**34  # cells of a tensor that are handed out one by one


class SparseTensor(ReadTensor):
    """Observations given by a list of cells; memory and time grow with the list and the lengths of the modes.

    Parameters
    ----------
    coords : array of int (n, K), or a tuple of K arrays
        The listed cells, one row each, indices counted from 0.
    shape : sequence of int
        Sizes of the modes, K >= 2; fewer than 2**60 cells in all.
    values : array (n,), optional
        0, 1 or NaN for missing; by default all listed cells are 1.
    unlisted : "zero" or "missing", default "zero"
        What all other cells are: observed zeros, or missing, so that only listed cells count.
    missing : array of int (n, K), or a tuple of K arrays, optional
        With ``unlisted="zero"``: cells that are missing.
    modes : sequence of str, optional
        Names of the modes.
    labels : sequence of array or None, optional
        For each mode the names of its indices, or None.

    Attributes
    ----------
    shape, modes, labels, n_observed, n_ones, nbytes
        As of ``DenseTensor``.
    unlisted : str
        "zero" or "missing".

    Examples
    --------
    >>> from tensorm import SparseTensor
    >>> SparseTensor([(0, 0, 7), (0, 1, 7), (9, 9, 9)], shape=(10, 10, 10))
    SparseTensor(shape=(10, 10, 10), n_observed=1000, n_ones=3, unlisted='zero')
    """

    ESSENTIAL = "one_cells"
    storage = "sparse"
    _facts = ("n_observed", "n_ones", "unlisted")

    def __init__(
        self,
        coords: Any,
        shape: Sequence[int],
        values: Any = None,
        unlisted: str = "zero",
        missing: Any = None,
        *,
        modes: Sequence[str] | None = None,
        labels: Sequence[Any] | None = None,
    ) -> None:
        self.unlisted = check_choice("unlisted", unlisted, ("zero", "missing"))
        if missing is not None and unlisted == "missing":
            raise InputError("missing is given, but unlisted cells are missing anyway; leave it out.")
        sizes = check_shape(shape)
        cells = ListedCells(coords, sizes, values, missing=missing).check()
        self._store(cells, sizes, check_names(sizes, modes, labels))

    @classmethod
    def from_listed(cls, listing: ListedCells) -> Self:
        """Return a tensor of listed cells that are still to be checked."""
        shape = check_shape(listing.shape)
        names = check_names(shape, listing.modes, listing.labels, listing.undirected)
        return cls.from_cells(listing.check(), shape, listing.unlisted, names)

    @classmethod
    def from_cells(cls, cells: CellKeys, shape: tuple[int, ...], unlisted: str, names: Names) -> Self:
        """Return a tensor of cells that are checked already."""
        tensor = cls.__new__(cls)
        tensor.unlisted = unlisted
        tensor._store(cells, shape, names)
        return tensor

    def _store(self, cells: CellKeys, shape: tuple[int, ...], names: Names) -> None:
        self.shape, self.names = shape, names
        self._implied = self.unlisted == "zero"  # whether unlisted cells count
        ones = cells.ones  # beside them, only cells are listed that differ from those that are not
        others = cells.missing if self._implied else cells.zeros
        need = 16 * sum(shape) + 4 * len(shape) * (len(shape) - 1) * (len(ones) + len(others))
        check_fits("The lists of cells take", need, "give smaller modes, or labels instead of indices")
        self._edges = np.concatenate([[0], np.cumsum(shape)])
        self._cells_or_lists: CellKeys | list[list[Listed]] = CellKeys.of(self.unlisted, ones, others)
        self.n_ones, self.n_observed = len(ones), math.prod(shape) - len(others)
        if not self._implied:
            self.n_observed = len(ones) + len(others)

    @property
    def _lists(self) -> list[list[Listed]]:
        """For each mode the ones and the other listed cells by its slices.

        They are made when first needed: to load numba and the kernel takes as long as to read a small table.
        """
        held = self._cells_or_lists
        if isinstance(held, CellKeys):
            kinds = held.ones, held.missing if self._implied else held.zeros
            held = [[self._arrange(keys, mode) for keys in kinds] for mode in range(len(self.shape))]
            self._cells_or_lists = held
        return held

    def _arrange(self, keys: Keys, mode: int) -> Listed:
        firsts = np.zeros(self.shape[mode] + 1, np.int64)
        cells = np.empty((len(keys), len(self.shape) - 1), np.uint32)
        arrange(keys, np.array(self.shape), self._edges, mode, firsts, cells)
        return Listed(firsts, cells)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for kinds in self._lists for listed in kinds for array in listed)

    def _update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        factor = factors[mode].copy()
        given = self._listing(mode, factors), rule.arguments(), tuple(stream)
        self._share(mode, rows, lambda some: kernel.update_listed(factor, some, *given))
        return factor

    def _read_tied(self, pair: Pair, factors: Factors) -> tuple[Any, ...]:
        tie = self._edges[pair[1]], group_tuples(np.concatenate(factors.masks), self._edges, pair)
        return kernel.update_tied_listed, self._listing(pair[0], factors), tie

    def _count(self, mode: int, factors: Factors, components: Rows, rows: Rows) -> Counts:
        listing, factor = self._listing(mode, factors), factors[mode]
        counts = np.empty((2, len(factor), len(components)), np.int64)
        self._share(
            mode, rows, lambda some: kernel.count_entries_listed(counts, factor, some, listing, components)
        )
        return counts if rows is every(len(factor)) else counts[:, rows]

    def _confusion(self, factors: Factors) -> Confusion:
        mode = int(np.argmin(self.shape))  # the others' index tuples are grouped, the more the better
        listing, factor = self._listing(mode, factors), factors[mode]
        rows = every(len(factor))
        return self._confuse(
            self._share(mode, rows, lambda some: kernel.count_covered_listed(factor, some, listing))
        )

    def _ones_at(self, ranks: Ints) -> Indices:
        return self._cells(self._lists[0][0], ranks)

    def listed_keys(self, unlisted: str = "missing") -> tuple[Keys, Keys]:
        if unlisted != self.unlisted:
            return super().listed_keys(unlisted)
        cells = (self._cells(listed, np.arange(len(listed.cells))) for listed in self._lists[0])
        ones, others = (key_of([*indices.T], self.shape) for indices in cells)
        return ones, others

    def digest_slices(self, unlisted: str) -> list[bytes]:
        if unlisted != self.unlisted:
            return super().digest_slices(unlisted)
        size = math.prod(self.shape[1:])
        starts = size * np.arange(1, self.shape[0])
        lists = (np.split(keys, np.searchsorted(keys, starts)) for keys in self.listed_keys(unlisted))
        pairs = enumerate(zip(*lists, strict=True))
        return [digest_arrays(ones - n * size, others - n * size) for n, (ones, others) in pairs]

    def arrays(self) -> dict[str, Array]:
        ones, others = self.listed_keys(self.unlisted)
        return {"one_cells": ones, OTHERS[self.unlisted]: others}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], shape: tuple[int, ...]) -> SparseTensor:
        """Undo ``arrays`` of a tensor of this shape."""
        unlisted = next((kind for kind, name in OTHERS.items() if name in arrays), "")
        if not unlisted or math.prod(shape) >= MAX_CELLS:
            raise InputError("it has too many cells" if unlisted else "the list of other cells is missing")
        ones, others = arrays["one_cells"], arrays[OTHERS[unlisted]]
        for keys in (ones, others):
            if keys.dtype != np.int64 or keys.ndim != 1 or (keys[1:] <= keys[:-1]).any():
                raise InputError("a list of cells is not in order")
            if len(keys) and not (keys[0] >= 0 and keys[-1] < math.prod(shape)):
                raise InputError("a list of cells is not in order")
        if np.intersect1d(ones, others, assume_unique=True).size:
            raise InputError("a cell has two values")
        cells = CellKeys.of(unlisted, ones, others)
        return cls.from_cells(cells, shape, unlisted, check_names(shape))

    def split(self, share: float, rng: np.random.Generator, pair: Pair | None = None) -> HeldOut:
        if pair is None and not self._implied:
            return self.split_listed(share, 1.0, rng)
        return super().split(share, rng, pair)

    def split_listed(self, share: float, zeros: float, rng: np.random.Generator) -> HeldOut:
        """Hold out listed cells and, if zeros are not listed, this many random zeros for each one."""
        ones, others = self.listed_keys(self.unlisted)
        shape, pair = self.shape, self.undirected
        hidden = draw_share(ones, share, rng, shape, pair)
        if self.unlisted == "zero":
            count = round(zeros * np.count_nonzero(hidden))
            drawn = draw_zeros(shape, count, np.concatenate([ones, others]), rng, pair)
            rest = np.sort(np.concatenate([others, ones[hidden], drawn]))
        else:
            both = np.concatenate([hidden, draw_share(others, share, rng, shape, pair)])
            give_back_listed(both, np.concatenate([ones, others]), shape, pair)
            hidden, chosen = both[: len(ones)], both[len(ones) :]
            drawn, rest = others[chosen], others[~chosen]
        tested, fitted = ones[hidden], ones[~hidden]
        if not len(tested):
            raise InputError(
                f"test_size is {share} and X has {len(ones):,} ones, which leaves none to hold out, "
                "because every index keeps a cell; give a larger test_size or more ones."
            )
        cells = CellKeys.of(self.unlisted, fitted, rest)
        train = self.from_cells(cells, self.shape, self.unlisted, self.names)
        held = np.stack(np.unravel_index(np.concatenate([tested, drawn]), shape), axis=1)
        return HeldOut(train, held, np.arange(len(held)) < len(tested))

    def find_known(self, cells: npt.NDArray[np.int8]) -> Bits:
        return super().find_known(cells) if self._implied else cells != MISSING

    def known_keys(self, mode: int, n: int) -> Keys:
        kinds = self._lists[mode][:1] if self._implied else self._lists[mode]
        cells = np.concatenate([listed.cells[listed.firsts[n] : listed.firsts[n + 1]] for listed in kinds])
        others = cells.astype(np.int64) - np.delete(self._edges[:-1], mode)
        return key_of([*np.insert(others, mode, n, axis=1).T], self.shape)

    def sample_observed(self, rng: np.random.Generator, most: int) -> tuple[Indices, Indices]:
        if self._implied:
            return super().sample_observed(rng, most)
        pairs = ((listed, draw_ranks(rng, len(listed.cells), most)) for listed in self._lists[0])
        ones, zeros = (self._cells(listed, ranks) for listed, ranks in pairs)
        return ones, zeros

    def predict_observed(
        self, predictor: PredictsCells, mask: Bits | None = None
    ) -> Iterator[tuple[Bits, Floats]]:
        if self._implied or mask is not None:
            return super().predict_observed(predictor, mask)
        return self._predict_listed(predictor)

    def _predict_listed(self, predictor: PredictsCells) -> Iterator[tuple[Bits, Floats]]:
        for value, listed in zip((True, False), self._lists[0], strict=True):
            for start in range(0, len(listed.cells), PREDICTED_AT_ONCE):
                ranks = np.arange(start, min(start + PREDICTED_AT_ONCE, len(listed.cells)))
                cells = self._cells(listed, ranks)
                yield np.full(len(cells), value), predictor.predict_cells([*cells.T])

    def choose_part(
        self, choose: Callable[[], list[Rows] | None], pair: Pair | None = None
    ) -> list[Rows] | None:
        if pair is None and not self._implied:  # a part would have hardly any of the listed cells
            return None
        return super().choose_part(choose, pair)

    def blocks(self, max_cells: int = 2**22) -> Iterator[tuple[slice, Bits, Bits]]:
        if math.prod(self.shape) > MOST_UNPACKED:
            raise InputError(
                f"X has {math.prod(self.shape):,} cells, too many to go through one by one; "
                "take some of them by their indices, as hold_out does."
            )
        return super().blocks(max_cells)

    def ranked(self) -> RankedLists:
        return RankedLists(self)

    def _read(self, indices: Sequence[Rows]) -> tuple[Bits, Bits]:
        """Return (ones, observed) of the cells with these indices along each mode."""
        ones, others = np.zeros((2, *map(len, indices)), np.bool_)
        for bits, listed in zip((ones, others), self._lists[0], strict=True):
            bits[self._inside(listed, indices)] = True
        return ones, ~others if self._implied else ones | others

    def _cells(self, listed: Listed, ranks: Ints) -> Indices:
        """Return the indices (n, K) of cells by their rank in a list of mode 0, in the order of the ranks."""
        rows = np.searchsorted(listed.firsts, ranks, side="right") - 1
        return np.column_stack([rows, listed.cells[ranks].astype(np.intp) - self._edges[1:-1]])

    def _inside(self, listed: Listed, indices: Sequence[Rows]) -> tuple[Rows, ...]:
        """Return where the cells of a list lie in the part of the tensor with these indices."""
        first, stop = listed.firsts[indices[0]], listed.firsts[indices[0] + 1]
        lengths = stop - first
        ranks = np.arange(lengths.sum()) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
        places = [np.repeat(np.arange(len(first)), lengths)]
        cells = listed.cells[ranks]
        for k, index in enumerate(indices[1:], start=1):
            place = np.full(self.shape[k], -1)
            place[index] = np.arange(len(index))
            places.append(place[cells[:, k - 1] - self._edges[k]])
        inside = np.logical_and.reduce([place >= 0 for place in places])
        return tuple(place[inside] for place in places)

    def _listing(self, mode: int, factors: Factors) -> tuple[Any, ...]:
        """What a kernel needs to read the slices of a mode (kernels.sparse.ListedCells), as plain tuples."""
        stack = np.concatenate(factors.masks)
        tuples = group_tuples(stack, self._edges, (mode,)) if self._implied else (stack[:0], NO_WEIGHTS)
        ones, others = self._lists[mode]
        return tuple(ones), tuple(others), stack, factors.n_components, self._implied, tuples

    def _share(self, mode: int, rows: Rows, work: Callable[[Rows], T]) -> list[T]:
        """Call ``work`` on shares of the rows that have about as many cells each."""
        chosen = np.asarray(rows, np.intp)
        lengths = sum(np.diff(listed.firsts)[chosen] for listed in self._lists[mode])
        effort = np.concatenate([[0], np.cumsum(1 + lengths)])
        n_threads = self._n_threads if effort[-1] >= LISTED_WORTH_THREADS else 1
        edges = np.searchsorted(effort, effort[-1] * np.arange(n_threads + 1) // n_threads)
        return share_rows(lambda i, j: work(chosen[edges[i] : edges[j]]), n_threads, n_threads)
