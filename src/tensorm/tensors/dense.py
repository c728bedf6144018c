"""Dense tensors: every cell is a bit; a second plane of bits says which are observed if any is missing."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Array, Bits, Indices, Rows, Words
from tensorm.data.checks import check_mask, check_parts
from tensorm.data.inputs import Names, Observations, observe
from tensorm.data.memory import check_fits
from tensorm.errors import InputError
from tensorm.kernels.dense import Packed
from tensorm.tensors.bits import pack, words_for
from tensorm.tensors.dense_ranked import RankedSlices
from tensorm.tensors.layout import NOTHING, Layout, make_layout, packed_modes
from tensorm.tensors.protocol import Tensor, every
from tensorm.tensors.slices import SlicedTensor, View

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
        self._hold(partial(_pack_cells, observations))

    def _hold(
        self, pack: Callable[[tuple[int, ...]], Layout], spans: Sequence[tuple[int, ...]] | None = None
    ) -> None:
        """Hold the cells in a layout for the slices of each mode, made by ``pack`` from the modes to pack."""
        plan = plan_layouts(self.shape)
        packed = {modes: pack(modes) for modes in dict.fromkeys(plan)}
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

    def ranked(self) -> RankedSlices:
        return RankedSlices(self)

    def read_cells(self, indices: Sequence[Indices]) -> npt.NDArray[np.int8]:
        if math.prod(self.shape) > MOST_BYTES:
            return super().read_cells(indices)
        return self._unpacked[np.ix_(*check_parts(indices, self.shape))]

    @cached_property
    def _unpacked(self) -> npt.NDArray[np.int8]:
        """All cells, which searches read again and again."""
        return super().read_cells([every(size) for size in self.shape])

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
