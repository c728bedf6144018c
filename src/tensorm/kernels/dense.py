"""Dense tensors as a source of slices (slices.py): packed cells, read from memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import new, new_zeros
from tensorm.kernels.compiled import inlined, kernel
from tensorm.kernels.decisions import ONE
from tensorm.kernels.slices import seen_at

NEAR = 2**20  # words that stay in a processor's caches, and so need not be asked for in advance


class Packed(NamedTuple):
    """Cells packed along one mode or several, seen from the mode whose slices are read."""

    words: Any  # flat uint64; the last row is followed by enough zeros for a whole vector
    observed: Any  # the same for the observed cells
    complete: bool  # whether none is missing, so that `observed` is not read
    stride: int  # words from one slice to the next
    offsets: Any  # words from the start of a slice to each of its rows

    def places_of(self, members):
        return self.offsets[members]

    def seen_at(self, n, place, at, span):
        return (
            v.ones(span) if self.complete else v.load_words(self.observed, place + n * self.stride + at, span)
        )

    def lay_rows(self, workspace, n, places, n_planes, span):
        width = workspace.shape[2]
        for at in range(0, width, v.LANES * len(span)):
            to = at
            for place in places:
                seen = seen_at(self, n, place, at, span)
                v.store_words(workspace, to, seen)
                if n_planes == 2:
                    v.store_words(workspace, to + width, seen)
                    v.store_words(workspace, to + 2 * width, cells_at(self, n, place, at, span))
                to += (n_planes + 1) * width

    def laid_cells(self, cells, position, at):  # a copy for a single look does not pay
        return cells_at(self, cells.here[0], cells.places[position], at, cells.span)

    def fetch_rows(self, n, places, width, turn, n_turns):
        if self.words.shape[0] <= NEAR:
            return
        for place in places[turn * places.shape[0] // n_turns : (turn + 1) * places.shape[0] // n_turns]:
            start = place + n * self.stride
            for at in range(start + width - 1, start - 1, -8):
                v.prefetch(self.words, at)
                if not self.complete:
                    v.prefetch(self.observed, at)


@inlined
def cells_at(source, n, place, at, span):
    """The vector of cells from word `at` of a row of slice n."""
    return v.load_words(source.words, place + n * source.stride + at, span)


@kernel
def gather_bits(target, starts, words, rows, columns):
    """Fill rows of words, which begin at `starts`, with the bits at addresses rows[r] + columns[t].

    Where 64 columns lie side by side, whole words are moved. Addresses are unsigned: bits are then read
    eight at a time.
    """
    n, six, last = columns.shape[0], uint64(6), uint64(63)
    whole = new_zeros(-(-n // 64), np.bool_)
    for first in range(0, n - 63, 64):
        alone = 0
        for t in range(first, first + 63):
            alone += columns[t + 1] != columns[t] + ONE
        whole[first >> 6] = alone == 0
    for r in range(rows.shape[0]):
        for w in range(whole.shape[0]):
            first, word = 64 * w, uint64(0)
            if whole[w]:
                at = rows[r] + columns[first]
                word = words[at >> six] >> (at & last)
                if at & last:
                    word |= words[(at >> six) + ONE] << (uint64(64) - (at & last))
            else:
                for t in range(min(64, n - first)):
                    at = rows[r] + columns[first + t]
                    word |= ((words[at >> six] >> (at & last)) & ONE) << uint64(t)
            target[starts[r] + w] = word


class Lines(NamedTuple):
    """Rows of words in an array, each so many words after the one before."""

    words: Any
    first: int
    step: int


@kernel
def turn_bits(target, source, n_rows, n_columns):
    """Make columns of rows: bit t of row r of the source becomes bit r of row t of the target (Lines).

    By squares of 64 x 64 bits, in which halves, then quarters, ... change places.
    """
    (words, at, at_step), (turned, to, to_step) = source, target
    square = new(64, np.uint64)
    for row in range(0, n_rows, 64):
        for column in range(0, n_columns, 64):
            here = min(64, n_rows - row)
            for r in range(here):
                square[r] = words[at + (row + r) * at_step + (column >> 6)]
            square[here:] = 0
            half, mask = 32, uint64(0xFFFFFFFF)
            while half:
                for block in range(0, 64, 2 * half):
                    for r in range(block, block + half):
                        swap = ((square[r] >> uint64(half)) ^ square[r + half]) & mask
                        square[r] ^= swap << uint64(half)
                        square[r + half] ^= swap
                half >>= 1
                mask ^= mask << uint64(half)
            for t in range(min(64, n_columns - column)):
                turned[to + (column + t) * to_step + (row >> 6)] = square[t]
