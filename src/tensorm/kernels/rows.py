"""One row of a factor, decided component by component (eqs. 4 and 5), on the packed cells of its slice.

A slice is a table of rows, each a run of 64-bit words. Row r carries a mask, the components whose entries
are 1 in every mode that the row index stands for; `columns[l]` holds component l's entries of the packed
mode as bits. Entry (n, l) touches only the rows with bit l in their mask, and of these the cells in
`columns[l]` that no other component of row n explains. The slice is copied to a workspace (R, 3, width) that
keeps three runs of words for each row: FREE, the observed cells that no active component explains, for a
component that is off; SINGLE, those that at most one does, for one that is on (its own cover must not count
against it); and CELLS, a copy of the cells. The first two are kept up to date when an entry flips, so that
counting needs no branches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64

from tensorm.kernels.philox import uniform
from tensorm.kernels.vectors import (
    LANES,
    add,
    both,
    count_bits,
    load,
    lowest_bit,
    popcount,
    store,
    total,
    without,
    zeros,
)

GIBBS, METROPOLIS, GREEDY = 0, 1, 2
FREE, SINGLE, CELLS = 0, 1, 2  # what the workspace keeps of each row
CERTAIN = 37.0  # log-odds beyond which no uniform number of 53 bits can decide otherwise
ONE = np.uint64(1)


class Rule(NamedTuple):
    """How an entry is decided once its counts are known."""

    order: Any  # components in the order of their turn
    kind: int  # GIBBS, METROPOLIS or GREEDY
    gain: float  # log-odds for each one-cell explained
    loss: float  # log-odds against, for each zero-cell covered
    prior: Any  # (N or 1, L or 1) log-odds of the entries; +-inf fixes an entry


class Table(NamedTuple):
    """The rows of a slice that matter, and the components they hold: the same for all slices of a mode."""

    members: Any  # their numbers
    masks: Any  # (R, M) the components that each of them holds
    positions: Any  # the members that hold component l are positions[firsts[l] : firsts[l + 1]]
    firsts: Any
    columns: Any  # (L, width) the entries of each component along the packed modes, as bits


@njit
def make_table(row_masks, column_masks, order, n_components, span):
    """The table of the rows that hold a component of `order`."""
    members, masks, positions, firsts = list_rows(row_masks, order, n_components)
    columns = transpose_masks(column_masks, n_components, LANES * len(span))
    return Table(members, masks, positions, firsts, columns)


@njit
def list_rows(row_masks, order, n_components):
    """The rows that hold a component of `order`, their masks, and which of them hold each component."""
    n_rows, n_words = row_masks.shape
    wanted = np.zeros(n_words, np.uint64)
    for component in order:
        wanted[component >> 6] |= ONE << uint64(component & 63)
    members, masks = np.empty(n_rows, np.int64), np.empty((n_rows, n_words), np.uint64)
    # The rows of l are counted at l + 2: summed up, l + 1 is where they begin; once listed, where they end.
    firsts = np.zeros(n_components + 2, np.int64)
    count = 0
    for r in range(n_rows):
        relevant = uint64(0)
        for m in range(n_words):
            relevant |= row_masks[r, m] & wanted[m]
        if relevant == 0:
            continue
        members[count] = r
        for m in range(n_words):
            left = masks[count, m] = row_masks[r, m]
            while left:
                firsts[2 + (m << 6) + lowest_bit(left)] += 1
                left &= left - ONE
        count += 1
    for l in range(2, n_components + 2):
        firsts[l] += firsts[l - 1]
    positions = np.empty(firsts[-1], np.int64)
    for position in range(count):
        for m in range(n_words):
            left = masks[position, m]
            while left:
                after = 1 + (m << 6) + lowest_bit(left)
                positions[firsts[after]] = position
                firsts[after] += 1
                left &= left - ONE
    return members[:count], masks, positions, firsts


@njit
def transpose_masks(masks, n_components, lanes):
    """Columns of a factor as bits: (L, width) words from (T, M) row masks, width padded to whole vectors."""
    width = -(-masks.shape[0] // (64 * lanes)) * lanes
    columns = np.zeros((n_components, width), np.uint64)
    for t in range(masks.shape[0]):
        bit = ONE << uint64(t & 63)
        for m in range(masks.shape[1]):
            left = masks[t, m]
            while left:
                columns[(m << 6) + lowest_bit(left), t >> 6] |= bit
                left &= left - ONE
    return columns


@njit
def make_workspace(table):
    """An empty workspace; its rows begin at a cache line, which numba leaves to luck."""
    n_rows, width = table.members.shape[0], table.columns.shape[1]
    room = np.empty(n_rows * 3 * width + 7, np.uint64)
    first = -(room.ctypes.data >> 3) & 7
    return room[first : first + n_rows * 3 * width].reshape((n_rows, 3, width))


@njit
def holders(table, component):
    """Positions of the rows that hold a component."""
    return table.positions[table.firsts[component] : table.firsts[component + 1]]


@njit(error_model="numpy", forceinline=True)
def count_entry(workspace, positions, column, active, span):
    """(pos, tot) of an entry (eq. 5): ones and all cells that hang on it; `active` is its current value."""
    width = workspace.shape[2]
    side = SINGLE * width if active else FREE * width
    pos, tot = zeros(span), zeros(span)
    for at in range(0, width, LANES * len(span)):
        bits = load(column, at, span)
        for position in positions:
            place = position * 3 * width + at
            relevant = both(bits, load(workspace, place + side, span))
            pos = add(pos, popcount(both(relevant, load(workspace, place + CELLS * width, span))))
            tot = add(tot, popcount(relevant))
    return total(pos), total(tot)


@njit(error_model="numpy")
def cover_rows(workspace, positions, column, span):
    """A component becomes active: what its column covers in these rows is no longer free."""
    width = workspace.shape[2]
    for at in range(0, width, LANES * len(span)):
        bits = load(column, at, span)
        for position in positions:
            place = position * 3 * width + at
            free, single = (
                load(workspace, place + FREE * width, span),
                load(workspace, place + SINGLE * width, span),
            )
            store(workspace, place + FREE * width, without(free, bits))
            store(workspace, place + SINGLE * width, without(single, without(bits, free)))


@njit(error_model="numpy")
def entry_prior(prior, n, component):
    """Prior log-odds of an entry, from a table that may be one number for all rows or components."""
    return prior[n if prior.shape[0] > 1 else 0, component if prior.shape[1] > 1 else 0]


@njit(error_model="numpy", forceinline=True)
def weigh(log_odds, gain, loss, pos, tot):
    """Log-odds of an entry (eq. 4) from those of its prior and its counts."""
    return log_odds + (gain * pos - loss * (tot - pos))


@njit(error_model="numpy", forceinline=True)
def decide(kind, current, log_odds, stream, n, component):
    """The new value of entry (n, component); the random number is drawn only if it can matter."""
    if certain(kind, log_odds):
        return log_odds > 0
    return toss(kind, current, log_odds, uniform(stream, n, component))


@njit(error_model="numpy", forceinline=True)
def certain(kind, log_odds):
    """Whether no random number can matter."""
    return kind == GREEDY or abs(log_odds) > CERTAIN


@njit(error_model="numpy", forceinline=True)
def toss(kind, current, log_odds, u):
    """The new value of an entry that is not certain, from a uniform number."""
    if kind == GIBBS or log_odds == 0:  # a fair coin where Metropolised flips would alternate for ever
        return u < 1 / (1 + np.exp(-log_odds))
    step = -log_odds if current else log_odds
    if step >= 0 or u < np.exp(step):
        return not current
    return current


@njit(nogil=True, cache=True)
def count_ones(masks):
    """Set bits of all masks."""
    ones = 0
    for mask in masks.flat:
        ones += count_bits(mask)
    return ones
