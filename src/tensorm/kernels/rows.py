"""One row of a factor, decided component by component (eqs. 4 and 5), on the packed cells of its slice.

A slice is a table of rows, each a run of 64-bit words. Row r carries a mask, the components whose entries
are 1 in every mode that the row index stands for; `columns[l]` holds component l's entries of the packed
mode as bits. Entry (n, l) touches only the rows with bit l in their mask, and of these the cells in
`columns[l]` that no other component of row n explains. The slice is worked on at a desk that keeps two
runs of `width` words for each row: the observed cells that no active component explains, for a component
that is off, and those that at most one does, for one that is on (its own cover must not count against it).
Both are kept up to date when an entry flips, so that counting needs no branches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64

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
ONE = np.uint64(1)


class Rule(NamedTuple):
    """How an entry is decided once its counts are known."""

    order: Any  # components in the order of their turn
    kind: int  # GIBBS, METROPOLIS or GREEDY
    gain: float  # log-odds for each one-cell explained
    loss: float  # log-odds against, for each zero-cell covered
    prior: Any  # (N or 1, L or 1) log-odds of the entries; +-inf fixes an entry


@njit
def list_rows(masks, order, n_components):
    """Rows whose (R, M) mask holds a component of `order`, and for each component the rows that hold it.

    Returns their row numbers, their masks, and the positions of the rows that hold component l as
    lists[firsts[l] : firsts[l + 1]].
    """
    n_rows, n_words = masks.shape
    wanted = np.zeros(n_words, np.uint64)
    for component in order:
        wanted[component >> 6] |= ONE << uint64(component & 63)
    members = np.empty(n_rows, np.int64)
    firsts = np.zeros(n_components + 1, np.int64)
    count = 0
    for r in range(n_rows):
        relevant = uint64(0)
        for m in range(n_words):
            relevant |= masks[r, m] & wanted[m]
        if relevant:
            members[count] = r
            count += 1
            for m in range(n_words):
                left = masks[r, m]
                while left:
                    firsts[1 + (m << 6) + lowest_bit(left)] += 1
                    left &= left - ONE
    firsts = np.cumsum(firsts)
    lists, at = np.empty(firsts[-1], np.int64), firsts.copy()
    kept = np.empty((count, n_words), np.uint64)
    for i in range(count):
        for m in range(n_words):
            left = masks[members[i], m]
            kept[i, m] = left
            while left:
                component = (m << 6) + lowest_bit(left)
                lists[at[component]] = i
                at[component] += 1
                left &= left - ONE
    return members[:count].copy(), kept, lists, firsts


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


@njit(error_model="numpy")
def count_entry(desk, width, active, positions, words, starts, column, span):
    """(pos, tot) of an entry (eq. 5): ones and all cells that hang on it; `active` is its current value."""
    side = width if active else 0
    pos, tot = zeros(span), zeros(span)
    for at in range(0, width, LANES * len(span)):
        bits = load(column, at, span)
        for position in positions:
            relevant = both(bits, load(desk, position * 2 * width + side + at, span))
            pos = add(pos, popcount(both(relevant, load(words, starts[position] + at, span))))
            tot = add(tot, popcount(relevant))
    return total(pos), total(tot)


@njit(error_model="numpy")
def cover_row(desk, width, position, column, span):
    """A component becomes active: what its column covers in one row of the slice is no longer free."""
    for at in range(0, width, LANES * len(span)):
        word = position * 2 * width + at
        bits, free = load(column, at, span), load(desk, word, span)
        single = load(desk, word + width, span)
        store(desk, word, without(free, bits))
        store(desk, word + width, without(single, without(bits, free)))


@njit(error_model="numpy")
def entry_prior(prior, n, component):
    """Prior log-odds of an entry, from a table that may be one number for all rows or components."""
    return prior[n if prior.shape[0] > 1 else 0, component if prior.shape[1] > 1 else 0]


@njit(error_model="numpy")
def decide(kind, current, log_odds, u):
    """The new value of an entry; a fair coin where Metropolised flips would alternate for ever."""
    if kind == GREEDY:
        return log_odds > 0
    if kind == GIBBS or log_odds == 0 or np.isinf(log_odds):
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
