"""Dense tensors: the slices of a mode in packed cells, decided or counted row by row (rows.py)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64

from tensorm.kernels.rows import (
    CELLS,
    FREE,
    ONE,
    SINGLE,
    count_entry,
    cover_rows,
    decide,
    entry_prior,
    holders,
    make_desk,
    make_table,
    weigh,
)
from tensorm.kernels.vectors import (
    LANES,
    add,
    both,
    load,
    lowest_bit,
    ones,
    popcount,
    prefetch,
    store,
    total,
    without,
    zeros,
)

NEAR = 2**20  # words that stay in a processor's caches, and so need not be asked for in advance


class Packed(NamedTuple):
    """Cells packed along one mode or several, seen from the mode whose slices are read."""

    words: Any  # flat uint64; the last row is followed by enough zeros for a whole vector
    observed: Any  # the same for the observed cells; empty when none is missing
    stride: int  # words from one slice to the next
    offsets: Any  # words from the start of a slice to each of its rows
    row_masks: Any  # components of the modes that index the rows, combined
    column_masks: Any  # components of the packed modes, combined


@njit(error_model="numpy")
def lay_rows(desk, words, observed, starts, span):
    """Put all rows of a slice on the desk, with no component active."""
    width, missing = desk.shape[2], observed.shape[0] > 0
    for at in range(0, width, LANES * len(span)):
        place = at
        for start in starts:
            seen = load(observed, start + at, span) if missing else ones(span)
            store(desk, place + FREE * width, seen)
            store(desk, place + SINGLE * width, seen)
            store(desk, place + CELLS * width, load(words, start + at, span))
            place += 3 * width


@njit(error_model="numpy")
def fetch_rows(packed, starts, step, width, turn, n_turns):
    """Ask for a share of the slice `step` words on, turn by turn, so that laying it will not wait."""
    words, observed = packed[:2]
    for start in starts[turn * starts.shape[0] // n_turns : (turn + 1) * starts.shape[0] // n_turns]:
        for at in range(start + step + width - 1, start + step - 1, -8):
            prefetch(words, at)
            if observed.shape[0] > 0:
                prefetch(observed, at)


@njit(error_model="numpy")
def cover_slice(desk, row, table, span):
    """Let the components that are active in a factor row cover its slice."""
    for m in range(row.shape[0]):
        left = row[m]
        while left:
            component = (m << 6) + lowest_bit(left)
            left &= left - ONE
            cover_rows(desk, holders(table, component), table.columns[component], span)


@njit(error_model="numpy")
def uncover_rows(desk, positions, row, table, observed, starts, span):
    """A component becomes inactive: what is free in its rows is worked out anew from those still active."""
    width, missing = desk.shape[2], observed.shape[0] > 0
    for at in range(0, width, LANES * len(span)):
        for position in positions:
            free = load(observed, starts[position] + at, span) if missing else ones(span)
            single = free
            for m in range(row.shape[0]):
                left = row[m] & table.masks[position, m]
                while left:
                    bits = load(table.columns, ((m << 6) + lowest_bit(left)) * width + at, span)
                    left &= left - ONE
                    free, single = without(free, bits), without(single, without(bits, free))
            place = position * 3 * width + at
            store(desk, place + FREE * width, free)
            store(desk, place + SINGLE * width, single)


@njit(nogil=True, cache=True, error_model="numpy")
def update_rows(factor, rows, start, stop, packed, n_components, span, rule, stream):
    """Update factor[rows[start:stop]] in place; rows are independent given the other modes' factors."""
    words, observed, stride, offsets, row_masks, column_masks = packed
    order, kind, gain, loss, prior = rule
    table = make_table(row_masks, column_masks, order, n_components, span)
    starts, desk = offsets[table.members] + rows[start] * stride, make_desk(table)
    far, n_turns = words.shape[0] > NEAR, order.shape[0]
    for i in range(start, stop):
        n = rows[i]
        row, step = factor[n], (rows[min(i + 1, stop - 1)] - n) * stride
        lay_rows(desk, words, observed, starts, span)
        cover_slice(desk, row, table, span)
        for turn in range(n_turns):
            if far:
                fetch_rows(packed, starts, step, desk.shape[2], turn, n_turns)
            component = order[turn]
            word, bit = component >> 6, ONE << uint64(component & 63)
            active = (row[word] & bit) != 0
            positions, column = holders(table, component), table.columns[component]
            log_odds = entry_prior(prior, n, component)
            if not np.isinf(log_odds):
                pos, tot = count_entry(desk, positions, column, active, span)
                log_odds = weigh(log_odds, gain, loss, pos, tot)
            new = decide(kind, active, log_odds, stream, n, component)
            if new == active:
                continue
            row[word] ^= bit
            if new:
                cover_rows(desk, positions, column, span)
            else:
                uncover_rows(desk, positions, row, table, observed, starts, span)
        starts += step


@njit(nogil=True, cache=True, error_model="numpy")
def count_entries(counts, factor, rows, start, stop, packed, n_components, span, chosen):
    """Write (pos, tot) of some components' entries of factor[rows[start:stop]] to counts, others held."""
    words, observed, stride, offsets, row_masks, column_masks = packed
    table = make_table(row_masks, column_masks, chosen, n_components, span)
    starts, desk = offsets[table.members] + rows[start] * stride, make_desk(table)
    far, n_turns = words.shape[0] > NEAR, chosen.shape[0]
    for i in range(start, stop):
        row, step = factor[rows[i]], (rows[min(i + 1, stop - 1)] - rows[i]) * stride
        lay_rows(desk, words, observed, starts, span)
        cover_slice(desk, row, table, span)
        for c, component in enumerate(chosen):
            if far:
                fetch_rows(packed, starts, step, desk.shape[2], c, n_turns)
            active = (row[component >> 6] >> uint64(component & 63)) & ONE != 0
            positions, column = holders(table, component), table.columns[component]
            counts[0, i, c], counts[1, i, c] = count_entry(desk, positions, column, active, span)
        starts += step


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


@njit(error_model="numpy")
def lay_free(free, observed, starts, span):
    """Put only the observed cells of all rows on a desk (R, width) of its own."""
    width, missing = free.shape[1], observed.shape[0] > 0
    for at in range(0, width, LANES * len(span)):
        place = at
        for start in starts:
            store(free, place, load(observed, start + at, span) if missing else ones(span))
            place += width


@njit(error_model="numpy")
def claim_rows(free, positions, column, words, starts, span):
    """(ones, all) of the free cells that a component covers in these rows; they are free no longer."""
    width = column.shape[0]
    pos, tot = zeros(span), zeros(span)
    for at in range(0, width, LANES * len(span)):
        bits = load(column, at, span)
        for position in positions:
            place = position * width + at
            left = load(free, place, span)
            store(free, place, without(left, bits))
            claimed = both(left, bits)
            pos = add(pos, popcount(both(claimed, load(words, starts[position] + at, span))))
            tot = add(tot, popcount(claimed))
    return total(pos), total(tot)


@njit(nogil=True, cache=True, error_model="numpy")
def count_rows(factor, start, stop, packed, n_components, span):
    """(ones covered, observed cells covered) over the slices start:stop."""
    words, observed, stride, offsets, row_masks, column_masks = packed
    table = make_table(row_masks, column_masks, np.arange(n_components), n_components, span)
    starts, width = offsets[table.members] + start * stride, table.columns.shape[1]
    free = np.empty((starts.shape[0], width), np.uint64)
    hits, cover = 0, 0
    for n in range(start, stop):
        if words.shape[0] > NEAR:
            fetch_rows(packed, starts, stride, width, 0, 1)
        lay_free(free, observed, starts, span)
        for m in range(factor.shape[1]):
            left = factor[n, m]
            while left:
                component = (m << 6) + lowest_bit(left)
                left &= left - ONE
                positions, column = holders(table, component), table.columns[component]
                pos, tot = claim_rows(free, positions, column, words, starts, span)
                hits += pos
                cover += tot
        starts += stride
    return hits, cover
