"""Dense tensors as a source of slices (slices.py): packed cells, read from memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types, uint64
from numba.extending import overload

from tensorm.kernels.rows import ONE
from tensorm.kernels.slices import (
    INLINE,
    cells_at,
    fetch_rows,
    is_far,
    laid_cells,
    lay_rows,
    places_of,
    seen_at,
)
from tensorm.kernels.vectors import LANES, load, ones, prefetch, store

NEAR = 2**20  # words that stay in a processor's caches, and so need not be asked for in advance


class Packed(NamedTuple):
    """Cells packed along one mode or several, seen from the mode whose slices are read."""

    words: Any  # flat uint64; the last row is followed by enough zeros for a whole vector
    observed: Any  # the same for the observed cells; empty when none is missing
    stride: int  # words from one slice to the next
    offsets: Any  # words from the start of a slice to each of its rows


def _is_packed(source):
    return source[0].dtype == types.uint64


@overload(places_of)
def _places_of(source, members):
    if _is_packed(source):
        return lambda source, members: source[3][members]


@overload(cells_at, jit_options=INLINE)
def _cells_at(source, n, place, at, span):
    if _is_packed(source):
        return lambda source, n, place, at, span: load(source[0], place + n * source[2] + at, span)


@overload(seen_at, jit_options=INLINE)
def _seen_at(source, n, place, at, span):
    if not _is_packed(source):
        return None

    def read(source, n, place, at, span):
        observed = source[1]
        return ones(span) if observed.shape[0] == 0 else load(observed, place + n * source[2] + at, span)

    return read


@overload(lay_rows, jit_options={"error_model": "numpy"})
def _lay_rows(workspace, source, n, places, span):
    if not _is_packed(source):
        return None

    def lay(workspace, source, n, places, span):
        width, kept = workspace.shape[2], workspace.shape[1] == 3
        for at in range(0, width, LANES * len(span)):
            to = at
            for place in places:
                seen = seen_at(source, n, place, at, span)
                store(workspace, to, seen)
                if kept:
                    store(workspace, to + width, seen)
                    store(workspace, to + 2 * width, cells_at(source, n, place, at, span))
                    to += width
                to += 2 * width

    return lay


@overload(laid_cells, jit_options=INLINE)
def _laid_cells(workspace, to, source, n, place, at, span):
    if _is_packed(source):  # read where they are: a copy for a single look does not pay
        return lambda workspace, to, source, n, place, at, span: cells_at(source, n, place, at, span)


@overload(is_far)
def _is_far(source):
    if _is_packed(source):
        return lambda source: source[0].shape[0] > NEAR


@overload(fetch_rows, jit_options={"error_model": "numpy"})
def _fetch_rows(source, n, places, width, turn, n_turns):
    if not _is_packed(source):
        return None

    def fetch(source, n, places, width, turn, n_turns):
        words, observed, stride, _ = source
        for place in places[turn * places.shape[0] // n_turns : (turn + 1) * places.shape[0] // n_turns]:
            start = place + n * stride
            for at in range(start + width - 1, start - 1, -8):
                prefetch(words, at)
                if observed.shape[0] > 0:
                    prefetch(observed, at)

    return fetch


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
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
