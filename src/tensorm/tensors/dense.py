"""Dense tensors: every cell is a bit; a second plane of bits says which are observed if any is missing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tensorm.data.inputs import Observations, observe
from tensorm.errors import InputError
from tensorm.kernels import dense as kernels
from tensorm.tensors.bits import Bits, Words, words_for
from tensorm.tensors.layout import NOTHING, Layout, make_layout, packed_modes
from tensorm.tensors.memory import available_memory
from tensorm.tensors.slices import SlicedTensor, View


class DenseTensor(SlicedTensor):
    """Observations held as bits, one per cell.

    Parameters
    ----------
    X : array-like
        Cells of 0, 1 and missing with K >= 2 modes: an array with NaN for missing, a ``numpy.ma`` array, an
        ``xarray.DataArray``, a wide table; see ``tensorm.data.inputs.observe``.

    Attributes
    ----------
    shape : tuple of int
        Sizes of the modes.
    modes : tuple of str
        Their names.
    labels : tuple of ndarray or None
        For each mode the names of its indices, or None.
    n_observed, n_ones : int
        Cells that are not missing, and those of them that are 1.
    nbytes : int
        Memory held.
    """

    ESSENTIAL = "ones"
    _kernels: ClassVar[Any] = kernels
    _views: list[View]

    def __init__(self, X: Any) -> None:
        observations = observe(X)
        self.shape, self.modes, self.labels = observations.shape, observations.modes, observations.labels
        plan = plan_layouts(self.shape)
        check_memory(self.shape, set(plan))
        packed = {modes: _pack_cells(observations, modes) for modes in dict.fromkeys(plan)}
        _, self.n_ones, self.n_observed = packed[plan[0]]
        self._hold([packed[modes][0] for modes in plan])

    def _hold(self, layouts: list[Layout]) -> None:
        self._layouts = layouts  # the one to read each mode's slices from
        self._views = [_view(mode, layout) for mode, layout in enumerate(layouts)]

    def __repr__(self) -> str:
        return f"DenseTensor(shape={self.shape}, n_observed={self.n_observed}, n_ones={self.n_ones})"

    @property
    def nbytes(self) -> int:
        distinct = {layout.packed: layout for layout in self._layouts}
        return sum(layout.words.nbytes + layout.observed.nbytes for layout in distinct.values())

    def take(self, indices: Sequence[npt.NDArray[np.intp]]) -> DenseTensor:
        # Its kernels read as many words at once as this tensor's, so that nothing new is compiled.
        part = DenseTensor.__new__(DenseTensor)
        part.shape, part.modes = tuple(len(index) for index in indices), self.modes
        part.labels = tuple(
            None if names is None else names[index] for names, index in zip(self.labels, indices, strict=True)
        )
        neighbours = {layout.packed[-1]: layout for layout in self._layouts}  # in which whole words are moved
        plan, packed = plan_layouts(part.shape), {}
        for modes in dict.fromkeys(plan):
            source = neighbours.get(modes[-1], self._layouts[0])
            packed[modes] = make_layout(part.shape, modes).gather(source, indices, self.shape)
        part._hold([packed[p]._replace(span=x.span) for p, x in zip(plan, self._layouts, strict=True)])
        words, observed = part._layouts[0].words, part._layouts[0].observed
        part.n_ones, part.n_observed = _count_bits(words), math.prod(part.shape)
        if observed.size:
            part.n_observed = _count_bits(observed)
        part._n_threads = self._n_threads
        return part

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], shape: tuple[int, ...]) -> DenseTensor:
        """Undo ``arrays`` of a tensor of this shape."""
        inner = math.prod(shape[1:])
        if any(plane.shape != (shape[0], -(-inner // 8)) for plane in arrays.values()):
            raise InputError("there are not as many bits as cells")
        bits = {name: np.unpackbits(plane, 1, inner, "little") == 1 for name, plane in arrays.items()}
        ones, observed = bits["ones"].reshape(shape), bits.get("observed")
        return cls(ones if observed is None else np.ma.array(ones, mask=~observed.reshape(shape)))

    def hide(self, mask: Bits) -> DenseTensor:
        ((_, ones, observed),) = self.blocks(math.prod(self.shape))
        hidden = DenseTensor(np.ma.array(ones, mask=mask | ~observed))
        hidden.modes, hidden.labels = self.modes, self.labels
        return hidden

    @staticmethod
    def of_layout(layout: Layout, like: SlicedTensor) -> DenseTensor:
        """Return the tensor of another one's cells, packed already along one of its modes, some missing."""
        tensor = DenseTensor.__new__(DenseTensor)
        plan, packed = plan_layouts(like.shape), {layout.packed: layout}
        for modes in dict.fromkeys(plan):
            if modes not in packed:
                packed[modes] = make_layout(like.shape, modes).turn(layout, like.shape)
        tensor._hold([packed[modes] for modes in plan])
        tensor.shape, tensor.modes, tensor.labels = like.shape, like.modes, like.labels
        # Counted where nothing is set past the end of a row, which is not sure of the layout that came.
        turned = next(made for modes, made in packed.items() if modes != layout.packed)
        tensor.n_ones, tensor.n_observed = _count_bits(turned.words), _count_bits(turned.observed)
        tensor._n_threads = like._n_threads
        return tensor

    def blocks(self, max_cells: int = 2**22) -> Iterator[tuple[slice, Bits, Bits]]:
        layout = self._layouts[0]
        step = max(1, max_cells // math.prod(self.shape[1:]))
        for start in range(0, self.shape[0], step):
            stop = min(start + step, self.shape[0])
            ones = layout.read(layout.words, 0, start, stop, self.shape)
            if layout.observed.size:
                observed = layout.read(layout.observed, 0, start, stop, self.shape)
            else:
                observed = np.ones_like(ones)
            yield slice(start, stop), ones, observed

    def _ones_of_slices(self) -> npt.NDArray[np.int64]:
        return np.concatenate([bits.reshape(len(bits), -1).sum(axis=1) for _, bits, _ in self.blocks()])

    def _find_ones(self, n: int, ranks: npt.NDArray[np.int64]) -> list[npt.NDArray[np.intp]]:
        layout = self._layouts[0]
        ones = np.flatnonzero(layout.read(layout.words, 0, n, n + 1, self.shape))
        return list(np.unravel_index(ones[ranks], self.shape[1:]))


def _view(mode: int, layout: Layout) -> View:
    rows = tuple(k for k in layout.rows if k != mode)
    stride, offsets = layout.view(mode)
    source = kernels.Packed(layout.words, layout.observed, not layout.observed.size, stride, offsets)
    return View(tuple(source), rows, layout.packed, layout.span)


def plan_layouts(shape: Sequence[int]) -> list[tuple[int, ...]]:
    """Return for each mode the modes to pack for reading its slices."""
    return [packed_modes(shape, mode) for mode in range(len(shape))]


def check_memory(shape: Sequence[int], plans: set[tuple[int, ...]], available: int | None = None) -> None:
    """Raise, before anything is allocated, if the packed cells cannot fit in this machine's memory."""
    room = available_memory() if available is None else available
    need = 0
    for packed in plans:
        length = math.prod(shape[k] for k in packed)
        need += 8 * words_for(length) * math.prod(shape) // length
    if need > room:
        raise InputError(
            f"X has {math.prod(shape):,} cells, which take {need / 2**30:,.1f} GB packed (twice that if some "
            f"are missing), but this machine has {room / 2**30:,.1f} GB; give fewer cells or a sparse tensor."
        )


def _count_bits(words: Words) -> int:
    return int(np.bitwise_count(words).sum(dtype=np.int64))


def _pack_cells(observations: Observations, packed: tuple[int, ...]) -> tuple[Layout, int, int]:
    """Pack all cells into one layout, block by block; also count the ones and the observed cells."""
    layout = make_layout(observations.shape, packed)
    n_ones = n_observed = 0
    seen = NOTHING
    mode = max(layout.rows, key=lambda k: observations.shape[k])  # many small blocks along a long mode
    for where, ones, observed in observations.blocks(axis=mode):
        n_ones += int(np.count_nonzero(ones))
        n_observed += ones.size if observed is None else int(np.count_nonzero(observed))
        layout.write(layout.words, mode, where.start, ones)
        if observed is not None and not seen.size:  # the first missing cell
            seen = np.zeros_like(layout.words)
            layout.write_ones(seen, mode, where.start)
        if seen.size:
            layout.write(seen, mode, where.start, np.ones_like(ones) if observed is None else observed)
    return layout._replace(observed=seen), n_ones, n_observed
