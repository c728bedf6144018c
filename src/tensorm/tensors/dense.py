"""Dense tensors: every cell is a bit; a second plane of bits says which are observed if any is missing."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Array, Bits, Indices, Rows, Words
from tensorm.data.checks import check_mask, check_parts
from tensorm.data.inputs import Names, Observations, observe
from tensorm.data.memory import check_fits
from tensorm.errors import InputError
from tensorm.kernels.dense import Packed
from tensorm.kernels.sweeps import ModePlan, update_modes
from tensorm.model import Confusion
from tensorm.tensors.bits import pack, words_for
from tensorm.tensors.dense_ranked import RankedSlices
from tensorm.tensors.factors import Factors
from tensorm.tensors.layout import NOTHING, Layout, make_layout, packed_modes
from tensorm.tensors.protocol import GREEDY, MISSING, Rule, Stream, Tensor, Weights, every
from tensorm.tensors.slices import WORTH_THREADS, SlicedTensor, View

WORTH_TURNING = 2**22  # cells, for which it is worth compiling the kernel
MOST_BYTES = 2**20  # cells that are also kept as bytes, once somebody reads them


class DenseTensor(SlicedTensor):
    """Observations stored as bits, one per cell.

    Parameters
    ----------
    X : array-like
        Cells of 0, 1 and missing with K >= 2 modes: an array with NaN for missing, a ``numpy.ma`` array, an
        ``xarray.DataArray``, a wide table; see ``tensorm.data.inputs.observe``.

    Attributes
    ----------
    shape : tuple of int
        Sizes of the modes.
    modes, labels : tuple
        Names of the modes and, for each of them, of its indices or None.
    n_observed, n_ones : int
        Cells that are not missing, and those of them that are 1.
    nbytes : int
        Memory used.
    """

    ESSENTIAL = "ones"
    _views: list[View]

    def __init__(self, X: Any) -> None:
        observations = observe(X)
        self.shape, self.names = observations.shape, Names(observations.modes, observations.labels)
        check_memory(self.shape)
        self._hold(_packer(observations))

    def _hold(
        self, pack: Callable[[tuple[int, ...]], Layout], spans: Sequence[tuple[int, ...]] | None = None
    ) -> None:
        """Hold the cells in a layout for the slices of each mode, made by ``pack`` from the modes to pack."""
        plan = plan_layouts(self.shape)
        packed = {modes: pack(modes) for modes in sorted({*plan}, key=lambda modes: modes[-1], reverse=True)}
        self._layouts = [packed[modes] for modes in plan]  # the one to read each mode's slices from
        if spans is not None:
            self._layouts = [x._replace(span=span) for x, span in zip(self._layouts, spans, strict=True)]
        self._views = [_view(mode, layout) for mode, layout in enumerate(self._layouts)]
        # Counted in another layout than the first, which may have bits past the end of a row (of_layout).
        words, observed = self._layouts[self._layouts[0].packed[0]][-2:]
        self.n_ones, self.n_observed = _count_bits(words), math.prod(self.shape)
        if observed.size:
            self.n_observed = _count_bits(observed)

    @property
    def nbytes(self) -> int:
        distinct = {layout.packed: layout for layout in self._layouts}
        return sum(layout.words.nbytes + layout.observed.nbytes for layout in distinct.values())

    def _take(self, indices: Sequence[Indices]) -> DenseTensor:
        part = DenseTensor.__new__(DenseTensor)
        part.shape, part.names = tuple(len(index) for index in indices), self.names.take(indices)
        neighbours = {layout.packed[-1]: layout for layout in self._layouts}  # in which whole words are moved

        def gather(modes: tuple[int, ...]) -> Layout:
            source = neighbours.get(modes[-1], self._layouts[0])
            return make_layout(part.shape, modes).gather(source, indices, self.shape)

        # Its kernels read as many words at once as this tensor's, so that nothing new is compiled.
        part._hold(gather, [layout.span for layout in self._layouts])
        part._n_threads = self._n_threads
        return part

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], shape: tuple[int, ...]) -> DenseTensor:
        """Undo ``arrays`` of a tensor of this shape."""
        inner = math.prod(shape[1:])
        if any(plane.shape != (shape[0], -(-inner // 8)) for plane in arrays.values()):
            raise InputError("the number of bits is not the number of cells")
        bits = {name: np.unpackbits(plane, 1, inner, "little") == 1 for name, plane in arrays.items()}
        ones, observed = bits["ones"].reshape(shape), bits.get("observed")
        return cls(ones if observed is None else np.ma.array(ones, mask=~observed.reshape(shape)))

    def hide(self, mask: Bits) -> DenseTensor:
        mask = check_mask(mask, self.shape)
        ((_, ones, observed),) = self.blocks(math.prod(self.shape))
        hidden = DenseTensor(np.ma.array(ones, mask=mask | ~observed))
        hidden.names = self.names
        return hidden

    @staticmethod
    def of_layout(layout: Layout, like: SlicedTensor) -> DenseTensor:
        """Return the tensor of another one's cells, packed already along one of its modes, some missing."""
        tensor = DenseTensor.__new__(DenseTensor)
        tensor.shape, tensor.names, tensor._n_threads = like.shape, like.names, like._n_threads

        def turn(modes: tuple[int, ...]) -> Layout:
            return (
                layout if modes == layout.packed else make_layout(like.shape, modes).turn(layout, like.shape)
            )

        tensor._hold(turn)
        return tensor

    def update_all(
        self, factors: Factors, rules: Sequence[Rule], stream: Stream
    ) -> tuple[Factors, Confusion | None]:
        plan, rule = self._plan_for(factors), rules[0]
        alike = isinstance(rule.weights, Weights) and all(rule.prior.size == 1 for rule in rules)
        if plan is None or not alike:
            return super().update_all(factors, rules, stream)
        self._check(factors, 0)
        priors, masks = np.concatenate([rule.prior for rule in rules]), np.concatenate(factors.masks)
        common = factors.n_components, rule.order, rule.kind, *rule.weights, priors
        confusion = self._confuse([update_modes(masks, plan, common, stream[:3], True)])
        return factors.renewed(masks), confusion

    def _confusion(self, factors: Factors) -> Confusion:
        plan = self._plan_for(factors)
        if plan is None:
            return super()._confusion(factors)
        nothing = factors.n_components, every(0), GREEDY, 0.0, 0.0, np.zeros((len(factors), 1))
        masks = np.concatenate(factors.masks)
        return self._confuse([update_modes(masks, plan, nothing, (np.uint64(0), 0, 0), False)])

    def _plan_for(self, factors: Factors) -> tuple[Any, ...] | None:
        """Return how all modes are read in one call, or None if this tensor is too large for that."""
        small = math.prod(self.shape) * factors.n_components < WORTH_THREADS
        return self._mode_plan if small else None

    @cached_property
    def _mode_plan(self) -> tuple[Any, ...] | None:
        return plan_modes(self._views, self.shape)

    def ranked(self) -> RankedSlices:
        return RankedSlices(self)

    def read_cells(self, indices: Sequence[Indices]) -> npt.NDArray[np.int8]:
        if math.prod(self.shape) > MOST_BYTES:
            return super().read_cells(indices)
        return self._unpacked[np.ix_(*check_parts(indices, self.shape))]

    @cached_property
    def _unpacked(self) -> npt.NDArray[np.int8]:
        """All cells, which searches read again and again."""
        ((_, ones, observed),) = self.blocks(math.prod(self.shape))
        return np.where(observed, ones, MISSING).astype(np.int8)

    def _read_slices(self, start: int, stop: int) -> tuple[Bits, Bits]:
        layout = self._layouts[0]
        ones = layout.read(layout.words, 0, start, stop, self.shape)
        if not layout.observed.size:
            return ones, np.ones_like(ones)
        return ones, layout.read(layout.observed, 0, start, stop, self.shape)


class ReadTensor(Tensor):
    """A tensor whose cells are listed or elsewhere; those that are wanted are read into a dense one."""

    @abstractmethod
    def _read(self, indices: Sequence[Rows]) -> tuple[Bits, Bits]:
        """Return (ones, observed) of the cells with these indices along each mode."""

    def _take(self, indices: Sequence[Indices]) -> DenseTensor:
        ones, observed = self._read(indices)
        part = DenseTensor(np.ma.array(ones, mask=~observed))
        part.names = self.names.take(indices)
        return part

    def _read_slices(self, start: int, stop: int) -> tuple[Bits, Bits]:
        return self._read([np.arange(start, stop), *(every(size) for size in self.shape[1:])])


def _view(mode: int, layout: Layout) -> View:
    rows = tuple(k for k in layout.rows if k != mode)
    stride, offsets = layout.view(mode)
    source = Packed(layout.words, layout.observed, not layout.observed.size, stride, offsets)
    return View(source, rows, layout.packed, layout.span)


def plan_modes(views: Sequence[View], shape: Sequence[int]) -> tuple[Any, ...] | None:
    """Return how the slices of all modes are read (kernels/sweeps.py), or None if rows differ in length."""
    if len({view.span for view in views}) > 1:
        return None
    arrays = {id(view.source.words): view.source for view in views}  # modes share layouts
    starts = dict(
        zip(arrays, np.cumsum([0, *(len(source.words) for source in arrays.values())]), strict=False)
    )
    table, offsets, first = [], [], 0
    for size, view in zip(shape, views, strict=True):
        source, last = view.source, first + len(view.source.offsets)
        sides = (sum(1 << k for k in side) for side in (view.rows, view.packed))
        table.append([size, source.stride, first, last, *sides])
        offsets.append(source.offsets + starts[id(source.words)])
        first = last
    words, observed = (
        np.concatenate(parts) for parts in zip(*((x.words, x.observed) for x in arrays.values()), strict=True)
    )
    complete = not observed.size
    return tuple(ModePlan(words, observed, complete, np.concatenate(offsets), np.array(table), views[0].span))


def plan_layouts(shape: Sequence[int]) -> list[tuple[int, ...]]:
    """Return for each mode the modes to pack for reading its slices."""
    return [packed_modes(shape, mode) for mode in range(len(shape))]


def check_memory(shape: Sequence[int]) -> None:
    """Raise, before anything is allocated, if the packed cells cannot fit in this machine's memory."""
    need = 0
    for packed in set(plan_layouts(shape)):
        length = math.prod(shape[k] for k in packed)
        need += 8 * words_for(length) * math.prod(shape) // length
    what, detail = f"X has {math.prod(shape):,} cells, which take", " packed (twice that if some are missing)"
    check_fits(what, need, "give fewer cells or a sparse tensor", detail)


def _count_bits(words: Words) -> int:
    return int(np.bitwise_count(words).sum(dtype=np.int64))


def _packer(observations: Observations) -> Callable[[tuple[int, ...]], Layout]:
    """Return a function that packs cells along some modes; ask it first for those next to each other.

    Of many cells, another layout is made by turning the bits of the first: the cells are read once.
    """
    shape, done = observations.shape, list[Layout]()

    def pack(modes: tuple[int, ...]) -> Layout:
        turns = done and len(modes) == len(done[0].packed) == 1 and math.prod(shape) >= WORTH_TURNING
        layout = make_layout(shape, modes).turn(done[0], shape) if turns else _pack_cells(observations, modes)
        done.append(layout)
        return layout

    return pack


def _pack_cells(observations: Observations, packed: tuple[int, ...]) -> Layout:
    """Pack all cells into one layout, block by block."""
    layout, seen = make_layout(observations.shape, packed), NOTHING
    mode = max(layout.rows, key=lambda k: observations.shape[k])  # many small blocks along a long mode
    for where, ones, observed in observations.blocks(axis=mode):
        layout.write(layout.words, mode, where.start, ones)
        if observed is not None and not seen.size:  # the first missing cell
            seen = np.zeros_like(layout.words)
            layout.grid(seen, mode, 0, where.start)[...] = pack(np.ones(layout.length, np.bool_))
        if seen.size:
            layout.write(seen, mode, where.start, np.ones_like(ones) if observed is None else observed)
    return layout._replace(observed=seen)
