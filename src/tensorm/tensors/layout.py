"""How packed cells lie in memory, and which modes are packed for reading the slices of which.

To update a mode, its slices are read as rows of words, so the cells must be packed along another mode.
Two layouts serve every mode of a large tensor: one packed along the longest mode, and one along the next for
the longest itself. Short modes are packed together, to fill whole words and vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from tensorm.data.arrays import Bits, Counts, Indices, Ints, Words
from tensorm.kernels.dense import Lines, gather_bits, turn_bits
from tensorm.kernels.vectors import LANES
from tensorm.tensors.bits import pack, unpack, words_for

VECTOR = 512  # bits that a kernel reads at once; half of that where rows are short
WIDEST = VECTOR // (64 * LANES)  # the longest `span`
TAIL = WIDEST * LANES  # words a kernel may read past the last row
NOTHING = np.zeros(0, np.uint64)


class Layout(NamedTuple):
    """Cells packed along some modes; the others index its rows."""

    packed: tuple[int, ...]  # modes packed together, first one slowest
    rows: tuple[int, ...]  # the other modes
    sizes: tuple[int, ...]  # their sizes
    strides: tuple[int, ...]  # and the words from one index of theirs to the next
    length: int  # cells of a row
    span: tuple[int, ...]  # zeros, one for every LANES words that a kernel reads at once (kernels/vectors.py)
    words: Words
    observed: Words  # empty when no cell is missing

    def view(self, mode: int) -> tuple[int, Ints]:
        """Return the words from one slice of ``mode`` to the next, and the offset of each row in a slice."""
        rows = zip(self.rows, self.sizes, self.strides, strict=True)
        offsets = add_up([stride * np.arange(size) for k, size, stride in rows if k != mode])
        return self.strides[self.rows.index(mode)], offsets

    def addresses(self, indices: Sequence[Indices], modes: tuple[int, ...], shape: Sequence[int]) -> Words:
        """Return what the indices along some modes add to the address of a cell's bit, all combinations."""
        steps = {k: 64 * stride for k, stride in zip(self.rows, self.strides, strict=True)}
        steps |= {k: math.prod(shape[j] for j in self.packed if j > k) for k in self.packed}
        return add_up([steps[k] * indices[k] for k in modes]).astype(np.uint64)

    def gather(self, source: Layout, indices: Sequence[Indices], shape: Sequence[int]) -> Layout:
        """Fill this layout with the cells of another one, of a tensor of that shape, at these indices."""
        starts = add_up([s * np.arange(n) for n, s in zip(self.sizes, self.strides, strict=True)])
        rows, columns = (source.addresses(indices, modes, shape) for modes in (self.rows, self.packed))
        gather_bits(self.words, starts, source.words, rows, columns)
        if not source.observed.size:
            return self
        observed = np.zeros_like(self.words)
        gather_bits(observed, starts, source.observed, rows, columns)
        return self._replace(observed=observed)

    def turn(self, source: Layout, shape: Sequence[int]) -> Layout:
        """Fill this layout with all cells of another one, packed along another mode."""
        if len(self.packed) > 1:
            return self.gather(source, [np.arange(size) for size in shape], shape)
        (ours,), (theirs,) = self.packed, source.packed
        to, at = (dict(zip(layout.rows, layout.strides, strict=True)) for layout in (self, source))
        others = [k for k in self.rows if k != theirs]
        starts = [add_up([steps[k] * np.arange(shape[k]) for k in others]) for steps in (to, at)]
        observed = np.zeros_like(self.words) if source.observed.size else NOTHING
        planes = [(self.words, source.words), (observed, source.observed)]
        for target, words in planes[: 2 if observed.size else 1]:
            for first, second in zip(*starts, strict=True):
                lines = Lines(target, first, to[theirs]), Lines(words, second, at[ours])
                turn_bits(*map(tuple, lines), self.length, source.length)
        return self._replace(observed=observed)

    def write(self, words: Words, mode: int, start: int, bits: Bits) -> None:
        """Pack cells, a block that begins at index ``start`` of a row mode, into their place."""
        turned = bits.transpose(self.rows + self.packed)
        flat = turned.reshape(*turned.shape[: len(self.rows)], -1)
        self.grid(words, mode, start, bits.shape[mode])[...] = pack(flat)

    def read(self, words: Words, mode: int, start: int, stop: int, shape: Sequence[int]) -> Bits:
        """Undo ``write`` for the indices start:stop of a row mode of a tensor of that shape."""
        order = self.rows + self.packed
        flat = unpack(self.grid(words, mode, start, stop - start), self.length)
        turned = flat.reshape([stop - start if k == mode else shape[k] for k in order])
        return turned.transpose(np.argsort(order))

    def grid(self, words: Words, mode: int, start: int, count: int) -> Words:
        """View rows as an array (row modes..., words of a row), with `count` indices of one mode."""
        at = self.rows.index(mode)
        block = (*self.sizes[:at], count, *self.sizes[at + 1 :], words_for(self.length))
        strides = tuple(8 * stride for stride in (*self.strides, 1))
        return np.lib.stride_tricks.as_strided(words[start * self.strides[at] :], block, strides)


def add_up(parts: Sequence[Counts]) -> Counts:
    """Return the sums of all combinations, one number from each part, the last one fastest."""
    return reduce(lambda a, b: (a[:, None] + b).ravel(), parts, np.zeros(1, np.int64))


def packed_modes(shape: Sequence[int], mode: int) -> tuple[int, ...]:
    """Choose the modes to pack for reading the slices of ``mode``: the longest other one, and short ones.

    More modes join while the run is shorter than a word, or still fits one vector.
    """
    others = sorted((k for k in range(len(shape)) if k != mode), key=lambda k: (shape[k], k), reverse=True)
    chosen, length = [others[0]], shape[others[0]]
    for k in others[1:]:
        if length < 64 or length * shape[k] <= VECTOR:
            chosen.append(k)
            length *= shape[k]
    return tuple(sorted(chosen))


def make_layout(shape: Sequence[int], packed: tuple[int, ...]) -> Layout:
    """Return a layout with all cells 0."""
    rows = tuple(k for k in range(len(shape)) if k not in packed)
    length = math.prod(shape[k] for k in packed)
    strides: list[int] = []
    step = words_for(length)
    for k in reversed(rows):
        strides.insert(0, step)
        step *= shape[k]
        if step % 512 == 0:  # rows a whole number of pages apart would fall on the same cache lines
            step += VECTOR // 64
    return Layout(
        packed=packed,
        rows=rows,
        sizes=tuple(shape[k] for k in rows),
        strides=tuple(strides),
        length=length,
        span=(0,) * min(-(-length // (64 * LANES)), WIDEST),
        words=np.zeros(step + TAIL, np.uint64),
        observed=NOTHING,
    )
