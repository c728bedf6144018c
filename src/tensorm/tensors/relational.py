"""Relational tensors: which of two attributes is higher, for each object; stored as ranks, not as cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Array, Bits, Counts, Indices, Ints, Rows, Words
from tensorm.data.checks import check_choice, check_generator, check_real
from tensorm.data.inputs import Matrix, Names, check_names
from tensorm.errors import InputError
from tensorm.kernels.relational import Held, Ranks, compare_slices, count_pairs
from tensorm.kernels.vectors import LANES
from tensorm.tensors.bits import digest_arrays, unpack, words_for
from tensorm.tensors.dense import DenseTensor
from tensorm.tensors.factors import Factors
from tensorm.tensors.held_cells import check_share
from tensorm.tensors.layout import TAIL, WIDEST, make_layout
from tensorm.tensors.measurements import (
    RankTable,
    Rescale,
    absent_rank,
    fit_scale,
    leave_out,
    rank_matrix,
    read_finite,
)
from tensorm.tensors.protocol import MISSING, HeldOut, Pair, Tensor
from tensorm.tensors.slices import SlicedTensor, View

SHORT = 32  # attributes of a side that are quicker to count packed along the objects
EVERY_BIT, NO_BIT = np.uint64(2**64 - 1), np.uint64(0)
NO_OBJECTS, NO_KEYS = np.zeros((0, 2), np.uint16), np.zeros(0, np.uint16)


class HeldPairs(NamedTuple):
    """A share of the pairs of attributes, chosen by a hash of their keys and the object's."""

    limit: np.uint16  # hashes below it are in one part
    rest: bool  # whether this is the other one
    objects: npt.NDArray[np.uint16]  # (O, 2)
    left: npt.NDArray[np.uint16]  # (A,)
    right: npt.NDArray[np.uint16]  # (B,)


class RelationalTensor(SlicedTensor):
    """Comparisons of attributes within objects, such as which of two genes is more active in a patient.

    Cell (object, attribute, other attribute) is 1 if the object's value of the first attribute is greater
    than that of the other, 0 if it is less, and missing if both are equal or one is missing; so the diagonal
    is always missing. Only ranks are stored, two bytes for each object and attribute, although an object with
    A attributes has A squared cells.

    Parameters
    ----------
    matrix : array-like
        Objects (rows) by attributes (columns): numbers, NaN or masked where missing. An array, a pandas
        table, an ``xarray.DataArray`` or an ``anndata.AnnData``; the last three bring names.
    normalise : "zscore", "rank" or None, default "zscore"
        How the values of each attribute are made comparable with those of others: distance from its mean in
        standard deviations (0 for an attribute that is the same for all objects; to 12 decimals, so that
        rounding errors are ties), the share of objects with a lower value (those with an equal value count
        half), or not at all.
    floor : float, optional
        Values at or below it are treated as missing: they are not compared, and do not count for the scale.
        Use 0 if zero means that nothing was measured, as in counts with many zeros. By default all values are
        compared; then zeros of two attributes are ties only if their scaled values are equal.
    ties : "missing"
        Cells of equal values are missing.
    modes : three names, optional
        Of the objects, the attributes, and the attributes they are compared with.
    labels : pair of arrays, optional
        Names of the objects and of the attributes, or None for either.

    Attributes
    ----------
    shape : tuple of int
        (O, A, A).
    modes : tuple of str
        "object", "attribute" and "other attribute", or what the matrix calls them.
    labels, n_observed, n_ones, nbytes
        As of ``DenseTensor``.
    """

    ESSENTIAL = "ranks"
    caveat = (
        " The model ignores that comparisons within an object depend on each other, so fewer "
        "components may be enough: try smaller numbers."
    )
    _facts = ("n_observed",)
    _floor: float | None = None

    def __init__(
        self,
        matrix: Any,
        *,
        normalise: str | None = "zscore",
        floor: float | None = None,
        ties: str = "missing",
        modes: Sequence[str] | None = None,
        labels: Sequence[npt.ArrayLike | None] | None = None,
    ) -> None:
        check_choice("ties", ties, ("missing",))
        if normalise is not None:
            check_choice("normalise", normalise, ("zscore", "rank"))
        self._floor = check_real("floor", floor)
        given = leave_out(read_finite(matrix), self._floor)
        self._set_up(given, fit_scale(normalise, given))
        if modes is not None:
            self.names = self.names._replace(modes=check_names(self.shape, modes).modes)
        if labels is not None:
            objects, attributes = check_names(self.shape[:2], self.modes[:2], labels).labels
            self.names = Names(self.modes, (objects, attributes, attributes))

    def _set_up(self, matrix: Matrix, scale: Rescale) -> None:
        table, self._gaps = rank_matrix(matrix, scale)
        self._left = self._right = table
        self._scale: Rescale | None = scale
        self._part: HeldPairs | None = None
        self.shape = (*matrix.values.shape, matrix.values.shape[1])
        modes = (*matrix.modes, f"other {matrix.modes[1]}")
        self.names = Names(modes, (*matrix.labels, matrix.labels[1]))

    def arrays(self) -> dict[str, Array]:
        sides = [self._left.ranks] if self._left is self._right else [self._left.ranks, self._right.ranks]
        arrays: dict[str, Array] = {"ranks": np.hstack(sides)}
        if self._part is not None:
            limit, rest, objects, left, right = self._part
            arrays["part"] = np.array([limit, rest], np.uint16)
            arrays |= {"object_keys": objects, "keys": left, "other_keys": right}
        return arrays

    def digest_slices(self, unlisted: str) -> list[bytes]:
        """Return a digest of each object's ranks, and of how its pairs were held out."""
        part, absent = self._part, absent_rank(self._left.flat.dtype)  # which depends on the other objects
        rows = [
            np.where(side.ranks == absent, -1, side.ranks.astype(np.int64))
            for side in (self._left, self._right)
        ]
        if part is not None:
            chosen = np.concatenate([[part.limit, part.rest], part.left, part.right]).astype(np.int64)
            rows += [np.tile(chosen, (self.shape[0], 1)), part.objects]
        return [digest_arrays(*row) for row in zip(*rows, strict=True)]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], shape: tuple[int, ...]) -> RelationalTensor:
        """Undo ``arrays`` of a tensor of this shape; names and labels are not among them."""
        _check_arrays(arrays, shape)
        ranks, (O, A, B) = arrays["ranks"], shape
        tensor = cls.__new__(cls)
        matrix = Matrix(ranks, ranks == absent_rank(ranks.dtype), ("object", "attribute"), (None, None))
        tensor._set_up(matrix, fit_scale(None, matrix))
        if ranks.shape[1] != A:
            tensor = tensor._take([np.arange(O), np.arange(A), np.arange(A, A + B)])
        tensor._scale = None
        if "part" in arrays:
            limit, rest = arrays["part"]
            keys = (arrays[name] for name in ("object_keys", "keys", "other_keys"))
            tensor._part = HeldPairs(np.uint16(limit), bool(rest), *keys)
        return tensor

    def _with(self, left: RankTable, right: RankTable, part: HeldPairs | None) -> RelationalTensor:
        """Return a tensor of other ranks, or of another part, with all else as in this one.

        Its kernels read as many words at once, so that nothing new is compiled.
        """
        new = type(self).__new__(type(self))
        new._left, new._right, new._part = left, right, part
        new.shape = (*left.alone.shape, right.alone.shape[1])
        for name in ("_gaps", "_scale", "_floor", "_n_threads", "_spans", "names"):
            setattr(new, name, getattr(self, name))
        return new

    @property
    def nbytes(self) -> int:
        held = [*self._left, *self._right, *(() if self._part is None else self._part[2:])]
        return sum({id(array): array.nbytes for array in held}.values())

    @property
    def mirrored(self) -> Pair | None:
        return (1, 2) if self._left is self._right else None

    @cached_property
    def n_ones(self) -> int:  # type: ignore[override]  # set once, when somebody asks
        return int(self._slice_counts[0].sum())

    @cached_property
    def n_observed(self) -> int:  # type: ignore[override]
        return int(self._slice_counts[1].sum())

    def new_objects(self, matrix: Any) -> RelationalTensor:
        """Return the tensor of other objects with the same attributes, scaled as these were.

        ``transform`` can assign them to components. Scaled by themselves, they would not be comparable.

        Parameters
        ----------
        matrix : array-like
            Objects by attributes, as for this tensor.
        """
        if self._scale is None:
            raise InputError("This tensor is a part of another; call new_objects of the whole one.")
        given = leave_out(read_finite(matrix), self._floor)
        if given.values.shape[1] != self.shape[1]:
            raise InputError(f"matrix has {given.values.shape[1]} attributes; give {self.shape[1]}.")
        known, new = self.labels[1], given.labels[1]
        if known is not None and new is not None and not np.array_equal(known, new):
            raise InputError("matrix has different attributes, or a different order; give the same.")
        tensor = type(self).__new__(type(self))
        tensor._set_up(given, self._scale)
        tensor._floor = self._floor
        tensor.names = Names(self.modes, (given.labels[0], *self.labels[1:]))
        return tensor

    def hold_out(
        self, test_size: float = 0.2, random_state: Any = 0
    ) -> tuple[RelationalTensor, RelationalTensor]:
        """Return two tensors of the same shape; each observed cell is observed in one of them.

        A cell and its mirror image, which is its opposite, are in the same part. A hash of object and
        attributes decides which part that is, so nothing is stored, and the share held out is close to
        ``test_size``, but not equal to it.

        Parameters
        ----------
        test_size : float, default 0.2
            Share of the observed cells to hold out, above 0 and below 1.
        random_state : int, numpy.random.Generator or None, default 0
            Seed; the same one gives the same parts.

        Returns
        -------
        train, test : RelationalTensor
            Fit the first, and pass the second to ``scores``.
        """
        share = check_share(test_size)
        if self._part is not None:
            raise InputError("Some cells are held out already; use the tensor before the split.")
        rng, sides = check_generator(random_state), (self._left.numbers, self._right.numbers)
        objects = rng.integers(2**16, size=(self.shape[0], 2), dtype=np.uint16) | np.array([1, 0], np.uint16)
        keys = rng.integers(2**15, size=1 + np.max(np.hstack(sides)), dtype=np.uint16) << np.uint16(1)
        left, right = (keys[numbers] for numbers in sides)
        limit = np.uint16(np.clip(round(share * 2**16), 1, 2**16 - 1))
        parts = (HeldPairs(limit, rest, objects, left, right) for rest in (True, False))
        train, test = (self._with(self._left, self._right, part) for part in parts)
        return train, test

    def split(self, share: float, rng: np.random.Generator, pair: Pair | None = None) -> HeldOut:
        train, test = self.hold_out(share, rng)
        ones, zeros = test.listed_keys()
        keys = np.sort(np.concatenate([ones, zeros]))
        return HeldOut(train, np.stack(np.unravel_index(keys, self.shape), axis=1), np.isin(keys, ones))

    def compared(self) -> Tensor:
        from tensorm.tensors.compared import ComparedTensor  # which has a relational tensor inside

        return ComparedTensor(self)

    def ranked(self) -> NoReturn:
        raise InputError("components of comparisons cannot have strengths")

    def hide(self, mask: Bits) -> DenseTensor:
        raise InputError("X is a RelationalTensor, which stores no cells to hide; use its hold_out instead.")

    def find_known(self, cells: npt.NDArray[np.int8]) -> Bits:
        return cells != MISSING  # the mirror image of a zero is a one

    def sample_slices(self, n_cells: int) -> Rows | None:
        if self.n_observed <= 2 * n_cells:
            return None
        count = max(1, self.shape[0] * n_cells // self.n_observed)
        return np.sort(np.random.default_rng(0).choice(self.shape[0], count, replace=False))

    def _take(self, indices: Sequence[Indices]) -> RelationalTensor:
        chosen = [_unless_all(index, size) for index, size in zip(indices, self.shape, strict=True)]
        objects, first, second = chosen
        left = self._left.take(objects, first)
        together = self.mirrored is not None and np.array_equal(indices[1], indices[2])
        right = left if together else self._right.take(objects, second)
        part = self._part
        if part is not None:
            part = HeldPairs(*part[:2], *(key[index] for key, index in zip(part[2:], chosen, strict=True)))
        new = self._with(left, right, part)
        new._scale, new.names = None, self.names.take(chosen)
        return new

    def compact(self) -> SlicedTensor:
        if min(self.shape[1:]) >= SHORT:  # otherwise most bits of a word would not be used
            return self
        O, view = self.shape[0], self._views[0]
        layout = make_layout(self.shape, view.packed)
        layout = layout._replace(span=view.span, observed=np.zeros_like(layout.words))
        planes = self._read_words(0, 0, O)
        for words, plane in zip((layout.words, layout.observed), planes, strict=True):
            layout.grid(words, 0, 0, O)[...] = plane[..., : words_for(layout.length)]
        return DenseTensor.of_layout(layout, self)

    def _read_slices(self, start: int, stop: int) -> tuple[Bits, Bits]:
        ones, observed = self._read(0, start, stop)
        if self._views[0].packed == (1,):
            ones, observed = ones.swapaxes(1, 2), observed.swapaxes(1, 2)
        return np.ascontiguousarray(ones), np.ascontiguousarray(observed)

    def _read(self, mode: int, start: int, stop: int) -> tuple[Bits, Bits]:
        """Return the ones and the observed cells of some slices, (slices, rows, cells of a row)."""
        length = self.shape[self._views[mode].packed[0]]
        ones, observed = (unpack(plane, length) for plane in self._read_words(mode, start, stop))
        return ones, observed

    def _read_words(self, mode: int, start: int, stop: int) -> Words:
        """Return the same, packed: words (2, slices, rows, words of a row)."""
        view = self._views[mode]
        lanes = LANES * len(view.span)
        width = -(-words_for(self.shape[view.packed[0]]) // lanes) * lanes
        words = np.empty((2, stop - start, self.shape[view.rows[0]], width), np.uint64)
        compare_slices(words, start, stop, view.source, view.span)
        return words

    @cached_property
    def _views(self) -> list[View]:
        _, A, B = self.shape
        along = 2 if B >= A else 1  # for objects: along the longer side
        return [self._make_view(0, 3 - along, along), self._make_view(1, 0, 2), self._make_view(2, 0, 1)]

    def _make_view(self, mode: int, rows: int, packed: int) -> View:
        """Return the slices of a mode, with rows of these two others."""
        running, fixed = (self._right, self._left) if packed == 2 else (self._left, self._right)
        turn, alone = NO_BIT if packed == 2 else EVERY_BIT, fixed.alone_among(running)
        part, held = self._part, Held(np.uint16(0), NO_BIT, NO_OBJECTS, NO_KEYS, NO_KEYS)
        if part is not None:
            mine, others = (part.left, part.right) if packed == 2 else (part.right, part.left)
            room = np.zeros(64 * (words_for(len(others)) + TAIL), np.uint16)
            room[: len(others)] = others
            held = Held(part.limit, EVERY_BIT if part.rest else NO_BIT, part.objects, mine, room)
        source = Ranks(
            fixed=fixed.flat,
            fixed_stride=fixed.stride,
            running=running.flat,
            running_stride=running.stride,
            by_object=mode == 0,
            turn=turn,
            always=alone.min(axis=0),
            alone=alone,
            same=fixed.find(running),
            gaps=self._gaps,
            absent=fixed.flat.dtype.type(absent_rank(fixed.flat.dtype)),
            is_part=part is not None,
            held=tuple(held),
        )
        return View(source, (rows,), (packed,), self._spans[packed])

    @cached_property
    def _spans(self) -> list[tuple[int, ...]]:
        """For each mode, how many words of a row along it are read at once."""
        return [(0,) * min(-(-words_for(size) // LANES), WIDEST) for size in self.shape]

    @cached_property
    def _slice_counts(self) -> Counts:
        """Ones and observed cells of each object, (2, O)."""
        counts = np.zeros((2, self.shape[0]), np.int64)
        if self._part is not None:
            self._cover(Factors.full(self.shape), counts)
            return counts
        sides = self._left.ranks, self._right.ranks
        absent = absent_rank(self._left.flat.dtype)
        levels = 1 + max(int(side.max(where=side < absent, initial=0)) for side in sides)
        count_pairs(counts, *sides, levels)
        return counts

    def _find_ones(self, n: int, ranks: Ints) -> list[Indices]:
        one = self._take([np.array([n]), *(np.arange(size) for size in self.shape[1:])])
        ends = np.cumsum(one.counts(1, Factors.full(one.shape))[0][:, 0])
        first = np.searchsorted(ends, ranks, side="right")
        second = np.empty(len(ranks), np.intp)
        for a in np.unique(first):
            here = first == a
            ones = np.flatnonzero(one._read(1, int(a), int(a) + 1)[0])
            second[here] = ones[ranks[here] - (ends[a] - len(ones))]
        return [first, second]


def _check_arrays(arrays: Mapping[str, Array], shape: tuple[int, ...]) -> None:
    """Raise unless the arrays are those of a tensor of this shape."""
    if len(shape) != 3:
        raise InputError(f"ranks belong to 3 modes, not {len(shape)}")
    O, A, B = shape
    if arrays["ranks"].shape not in ([(O, A), (O, A + B)] if A == B else [(O, A + B)]):
        raise InputError("the number of ranks is not the number of attributes")
    sizes = {"part": (2,), "object_keys": (O, 2), "keys": (A,), "other_keys": (B,)}
    if "part" in arrays and any(arrays.get(name, NO_KEYS).shape != size for name, size in sizes.items()):
        raise InputError("the keys of the part are missing, or do not fit")


def _unless_all(index: Indices, size: int) -> Indices | slice:
    """Return an index, or a slice if it is every one in its order."""
    return slice(None) if np.array_equal(index, np.arange(size)) else index
