"""The slices of a mode, decided or counted row by row (rows.py), wherever their cells come from.

A *source* is a plain tuple from which the words of any row of any slice can be had. Each kind of tensor has
its own, and says in its module how it is read: the first functions below are only named here, and numba
picks the definition that fits the source's type.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from tensorm.kernels.rows import (
    FREE,
    ONE,
    SINGLE,
    count_entry,
    cover_rows,
    decide,
    entry_prior,
    holders,
    make_table,
    make_workspace,
    weigh,
)
from tensorm.kernels.vectors import (
    LANES,
    add,
    both,
    load,
    lowest_bit,
    popcount,
    store,
    total,
    without,
    zeros,
)


def places_of(source, members):
    """Where the rows with these numbers are to be found in any slice."""


def cells_at(source, n, place, at, span):
    """The vector of cells from word `at` of a row of slice n; anything where a cell is not observed."""


def seen_at(source, n, place, at, span):
    """The vector of observed cells from word `at` of a row of slice n."""


def lay_rows(workspace, source, n, places, span):
    """Put all rows of a slice on the workspace, with no component active.

    For each row there are one or two runs of words with the observed cells, then one with the cells, for
    ``laid_cells`` to read.
    """


def laid_cells(workspace, to, source, n, place, at, span):
    """The vector of cells of a row that was laid at word `to` of the workspace."""


def is_far(source):
    """Whether slices should be asked for before they are read."""


def fetch_rows(source, n, places, width, turn, n_turns):
    """Ask for a share of slice n, turn by turn, so that laying it will not wait for memory."""


INLINE = {"error_model": "numpy", "forceinline": True}  # for definitions of what is called for each vector


@njit(error_model="numpy")
def cover_slice(workspace, row, table, span):
    """Let the components that are active in a factor row cover its slice."""
    for m in range(row.shape[0]):
        left = row[m]
        while left:
            component = (m << 6) + lowest_bit(left)
            left &= left - ONE
            cover_rows(workspace, holders(table, component), table.columns[component], span)


@njit(error_model="numpy")
def uncover_rows(workspace, positions, entries, table, source, n, places, span):
    """A component becomes inactive: what is free in its rows is worked out anew from those still active."""
    width = workspace.shape[2]
    for at in range(0, width, LANES * len(span)):
        for position in positions:
            free = seen_at(source, n, places[position], at, span)
            single = free
            for m in range(entries.shape[0]):
                left = entries[m] & table.masks[position, m]
                while left:
                    bits = load(table.columns, ((m << 6) + lowest_bit(left)) * width + at, span)
                    left &= left - ONE
                    free, single = without(free, bits), without(single, without(bits, free))
            to = position * 3 * width + at
            store(workspace, to + FREE * width, free)
            store(workspace, to + SINGLE * width, single)


@njit(nogil=True, cache=True, error_model="numpy")
def update_rows(factor, rows, start, stop, source, row_masks, column_masks, n_components, span, rule, stream):
    """Update factor[rows[start:stop]] in place; rows are independent given the other modes' factors."""
    order, kind, gain, loss, prior = rule
    table = make_table(row_masks, column_masks, order, n_components, span)
    workspace, places = make_workspace(table), places_of(source, table.members)
    far, n_turns = is_far(source), order.shape[0]
    for number in range(start, stop):
        n, following = rows[number], rows[min(number + 1, stop - 1)]
        entries = factor[n]
        lay_rows(workspace, source, n, places, span)
        cover_slice(workspace, entries, table, span)
        for turn in range(n_turns):
            if far:
                fetch_rows(source, following, places, workspace.shape[2], turn, n_turns)
            component = order[turn]
            word, bit = component >> 6, ONE << uint64(component & 63)
            active = (entries[word] & bit) != 0
            positions, column = holders(table, component), table.columns[component]
            log_odds = entry_prior(prior, n, component)
            if not np.isinf(log_odds):
                pos, tot = count_entry(workspace, positions, column, active, span)
                log_odds = weigh(log_odds, gain, loss, pos, tot)
            new = decide(kind, active, log_odds, stream, n, component)
            if new == active:
                continue
            entries[word] ^= bit
            if new:
                cover_rows(workspace, positions, column, span)
            else:
                uncover_rows(workspace, positions, entries, table, source, n, places, span)


@njit(nogil=True, cache=True, error_model="numpy")
def count_entries(
    counts, factor, rows, start, stop, source, row_masks, column_masks, n_components, span, components
):
    """Write (pos, tot) of some components' entries of factor[rows[start:stop]] to counts, others held."""
    table = make_table(row_masks, column_masks, components, n_components, span)
    workspace, places = make_workspace(table), places_of(source, table.members)
    far, n_turns = is_far(source), components.shape[0]
    for i in range(start, stop):
        n, following = rows[i], rows[min(i + 1, stop - 1)]
        lay_rows(workspace, source, n, places, span)
        cover_slice(workspace, factor[n], table, span)
        for c, component in enumerate(components):
            if far:
                fetch_rows(source, following, places, workspace.shape[2], c, n_turns)
            active = (factor[n, component >> 6] >> uint64(component & 63)) & ONE != 0
            positions, column = holders(table, component), table.columns[component]
            counts[0, i, c], counts[1, i, c] = count_entry(workspace, positions, column, active, span)


@njit(error_model="numpy")
def claim_rows(workspace, positions, column, source, n, places, span):
    """(ones, all) of the free cells that a component covers in these rows; they are free no longer.

    The workspace (R, 2, width) has the free cells and the cells themselves.
    """
    width = column.shape[0]
    pos, tot = zeros(span), zeros(span)
    for at in range(0, width, LANES * len(span)):
        bits = load(column, at, span)
        for position in positions:
            to = position * 2 * width + at
            left = load(workspace, to, span)
            store(workspace, to, without(left, bits))
            claimed = both(left, bits)
            pos = add(
                pos,
                popcount(
                    both(claimed, laid_cells(workspace, to + width, source, n, places[position], at, span))
                ),
            )
            tot = add(tot, popcount(claimed))
    return total(pos), total(tot)


@njit(nogil=True, cache=True, error_model="numpy")
def count_covered(counts, factor, start, stop, source, row_masks, column_masks, n_components, span):
    """Write to counts the ones and the observed cells that components cover in slices start:stop; the sums.

    Counts of shape (2, 0) are left alone.
    """
    table = make_table(row_masks, column_masks, np.arange(n_components), n_components, span)
    places, width = places_of(source, table.members), table.columns.shape[1]
    workspace, far = np.empty((places.shape[0], 2, width), np.uint64), is_far(source)
    all_ones, all_seen = 0, 0
    for n in range(start, stop):
        if far:
            fetch_rows(source, min(n + 1, stop - 1), places, width, 0, 1)
        lay_rows(workspace, source, n, places, span)
        ones, seen = 0, 0
        for m in range(factor.shape[1]):
            left = factor[n, m]
            while left:
                component = (m << 6) + lowest_bit(left)
                left &= left - ONE
                positions, column = holders(table, component), table.columns[component]
                pos, tot = claim_rows(workspace, positions, column, source, n, places, span)
                ones += pos
                seen += tot
        if counts.shape[1] > 0:
            counts[0, n], counts[1, n] = ones, seen
        all_ones += ones
        all_seen += seen
    return all_ones, all_seen


@njit(nogil=True, cache=True, error_model="numpy")
def read_slices(words, start, stop, source, span):
    """Write the ones and the observed cells of slices start:stop to words (2, slices, rows, width)."""
    _, n_slices, n_rows, width = words.shape
    places, to = places_of(source, np.arange(n_rows)), 0
    for n in range(start, stop):
        for place in places:
            for at in range(0, width, LANES * len(span)):
                seen = seen_at(source, n, place, at, span)
                store(words, to + at, both(seen, cells_at(source, n, place, at, span)))
                store(words, to + at + n_slices * n_rows * width, seen)
            to += width
