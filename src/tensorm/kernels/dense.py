"""Dense tensors as a source of slices (slices.py): packed cells, read from memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels import activities, ranked, slices
from tensorm.kernels.compiled import inlined, kernel, lend
from tensorm.kernels.decisions import ONE
from tensorm.kernels.rows import Masks
from tensorm.kernels.slices import Tie, seen_at
from tensorm.kernels.vectors import LANES, load, ones, prefetch, store

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
        return ones(span) if self.complete else load(self.observed, place + n * self.stride + at, span)

    def lay_rows(self, workspace, n, places, n_planes, span):
        width = workspace.shape[2]
        for at in range(0, width, LANES * len(span)):
            to = at
            for place in places:
                seen = seen_at(self, n, place, at, span)
                store(workspace, to, seen)
                if n_planes == 2:
                    store(workspace, to + width, seen)
                    store(workspace, to + 2 * width, cells_at(self, n, place, at, span))
                to += (n_planes + 1) * width

    def laid_cells(self, workspace, to, n, place, at, span):
        return cells_at(self, n, place, at, span)  # a copy for a single look does not pay

    def fetch_rows(self, n, places, width, turn, n_turns):
        if self.words.shape[0] <= NEAR:
            return
        for place in places[turn * places.shape[0] // n_turns : (turn + 1) * places.shape[0] // n_turns]:
            start = place + n * self.stride
            for at in range(start + width - 1, start - 1, -8):
                prefetch(self.words, at)
                if not self.complete:
                    prefetch(self.observed, at)


@inlined
def cells_at(source, n, place, at, span):
    """The vector of cells from word `at` of a row of slice n."""
    return load(source.words, place + n * source.stride + at, span)


# The verbs of slices.py for this source. Plain tuples come in, since numba tells their types sooner.


@kernel
def update_rows(factor, rows, source, masks, rule, stream):
    """See slices.py."""
    slices.update_rows(lend(factor), rows, Packed(*lend(source)), Masks(*masks), lend(rule), stream)


@kernel
def update_tied(factor, rows, source, masks, tie, rule, stream):
    """See slices.py."""
    slices.update_tied(
        lend(factor), rows, Packed(*lend(source)), Masks(*masks), Tie(*tie), lend(rule), stream
    )


@kernel
def count_entries(counts, factor, rows, source, masks, components):
    """See slices.py."""
    slices.count_entries(lend(counts), lend(factor), rows, Packed(*lend(source)), Masks(*masks), components)


@kernel
def count_covered(counts, factor, rows, source, masks):
    """See slices.py."""
    return slices.count_covered(counts, lend(factor), rows, Packed(*lend(source)), Masks(*masks))


@kernel
def gather_bits(target, starts, words, rows, columns):
    """Fill rows of words, which begin at `starts`, with the bits at addresses rows[r] + columns[t].

    Where 64 columns lie side by side, whole words are moved. Addresses are unsigned: bits are then read
    eight at a time.
    """
    n, six, last = columns.shape[0], uint64(6), uint64(63)
    whole = np.zeros(-(-n // 64), np.bool_)
    for first in range(0, n - 63, 64):
        steps = np.diff(columns[first : first + 64])
        whole[first >> 6] = np.all(steps == ONE)
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


@kernel
def turn_bits(target, to, to_step, words, at, at_step, n_rows, n_columns):
    """Make columns of rows: bit t of row r, rows `at_step` words apart, becomes bit r of row t of the target.

    By squares of 64 x 64 bits, in which halves, then quarters, ... change places.
    """
    square = np.empty(64, np.uint64)
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
                target[to + (column + t) * to_step + (row >> 6)] = square[t]


@kernel
def update_ranked(factor, rows, source, masks, rule, stream):
    """See ranked.py."""
    ranked.update_rows(lend(factor), rows, Packed(*lend(source)), Masks(*masks), lend(rule), stream)


@kernel
def update_ranked_tied(factor, rows, source, masks, tie, rule, stream):
    """See ranked.py."""
    ranked.update_tied(
        lend(factor), rows, Packed(*lend(source)), Masks(*masks), Tie(*tie), lend(rule), stream
    )


@kernel
def count_decided(counts, factor, rows, source, masks, probe):
    """See ranked.py."""
    ranked.count_decided(counts, lend(factor), rows, Packed(*lend(source)), Masks(*masks), probe)


@kernel
def draw_activities(counts, factor, rows, source, masks, given, stream):
    """See activities.py."""
    activities.draw_activities(
        counts, lend(factor), rows, Packed(*lend(source)), Masks(*masks), lend(given), stream
    )


@kernel
def draw_tied_activities(counts, factor, rows, source, masks, tie, given, stream):
    """See activities.py."""
    activities.draw_tied(
        counts, lend(factor), rows, Packed(*lend(source)), Masks(*masks), Tie(*tie), lend(given), stream
    )
