"""Sparse tensors with two rates: listed cells (listed.py) decided or counted row by row.

If no component of the row's mask is shared, a cell depends on every component that is; if just one is, on
that one alone; else on none. When an entry flips only cells that hold its component change what they count.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import new_zeros
from tensorm.kernels.compiled import MAKER, inlined, keep, kernel, lend, maker, verb
from tensorm.kernels.decisions import ONE, bit_of, decide_rows, read_rule
from tensorm.kernels.groups import is_empty
from tensorm.kernels.listed import (
    LISTED,
    ONES,
    TOTAL,
    Listing,
    Lists,
    decide_tied,
    lay_listed,
    leave_idle,
    make_idle,
    make_lists,
    recall,
)


class CountedCells(NamedTuple):
    """A workspace on which cells are counted for each component, given the row's."""

    lists: Lists
    pos: Any  # (L + 1,) ones for each component, and last of all those that the row's components cover
    others: Any  # the same for the other listed cells

    def lay(self, row, rows, i):
        lay_listed(self, rows[i], row)

    def add_cell(self, counts, masks, i, weight, row):
        add_alike(counts, masks, i, weight, row)

    def tally(self, row):
        here, masks = self.lists.here, self.lists.masks
        self.pos[:] = 0
        for i in range(here[ONES]):
            add_alike(self.pos, masks, i, 1, row)
        self.others[:] = 0
        for i in range(here[ONES], here[LISTED]):
            add_alike(self.others, masks, i, 1, row)
        recall(self, row, self.pos.shape[0])
        return self.pos.shape[0]

    def count(self, entry):
        return self.pos[entry.component], observed(self, entry.component)

    def flip(self, row, entry, stop):
        (word, bit), weight, here = bit_of(entry.component), 1 if entry.active else -1, self.lists.here
        row[word] &= ~bit
        shift(self.pos, self.lists.masks[: here[ONES]], row, entry.component, weight)
        shift(self.others, self.lists.masks[here[ONES] : here[LISTED]], row, entry.component, weight)
        if not entry.active:
            row[word] |= bit
        recall(self, row, self.pos.shape[0])
        return stop

    def make_idle(self):
        size = self.pos.shape[0]
        recall(self, new_zeros(self.lists.listing.stack.shape[1], np.uint64), size)
        return IdleCounts(self.lists.totals[self.lists.here[TOTAL] :][:size].copy())

    def with_lists(self, lists):
        return CountedCells(lists, self.pos, self.others)


class IdleCounts(NamedTuple):
    """A slice of which no listed cell holds a component, and whose row is in none."""

    totals: Any  # (L + 1,)

    def count(self, entry):
        return 0, self.totals[entry.component]

    def flip(self, row, entry, stop):
        row[:] = 0
        return 0


@maker
def make_counted(rows, listing, remembered):
    """An empty workspace for some slices, with room for the totals of so many rows."""
    size = listing.n_components + 1
    lists = make_lists(rows, listing, remembered, size, size)
    return CountedCells(lists, new_zeros(size, np.int64), new_zeros(size, np.int64))


@partial(verb, options=MAKER)
def make_workspace(weights, rows, listing, remembered):
    """An empty workspace for some slices; with strengths, another kind (sparse_ranked.py)."""
    return make_counted(rows, listing, remembered)


@inlined
def overlap(masks, i, row):
    """(how many components mask i and the row have in common, one of them)."""
    hits, last = 0, 0
    for m in range(masks.shape[1]):
        common = masks[i, m] & row[m]
        if common:
            hits += v.count_bits(common)
            last = (m << 6) + v.lowest_bit(common)
    return hits, last


@inlined
def add_all(counts, masks, i, weight):
    """Count a cell for every component that it holds."""
    for m in range(masks.shape[1]):
        left = masks[i, m]
        while left:
            counts[(m << 6) + v.lowest_bit(left)] += weight
            left &= left - ONE


@inlined
def add_alike(counts, masks, i, weight, row):
    """Count a cell, or so many alike, for each component that it depends on, given the row's."""
    hits, last = overlap(masks, i, row)
    if hits == 0:
        add_all(counts, masks, i, weight)
    else:
        counts[-1] += weight
        if hits == 1:
            counts[last] += weight


@inlined
def shift(counts, masks, rest, component, weight):
    """An entry of the row changes: cells that hold its component count for others by so much more or less.

    `rest` is the row without that entry.
    """
    word, bit = component >> 6, ONE << uint64(component & 63)
    for i in range(masks.shape[0]):
        if not masks[i, word] & bit:
            continue
        hits, last = overlap(masks, i, rest)
        if hits == 0:
            add_all(counts, masks, i, weight)
            counts[component] -= weight
        elif hits == 1:
            counts[last] += weight


@inlined
def observed(workspace, component):
    """Observed cells that count for a component."""
    lists = workspace.lists
    if lists.listing.implied:
        return lists.totals[lists.here[TOTAL] + component] - workspace.others[component]
    return workspace.pos[component] + workspace.others[component]


@kernel
def update_listed(factor, rows, listing, rule, stream):
    """Update some rows of a factor in place; they are independent given the other modes' factors."""
    listing, factor = Listing(*lend(listing)), lend(factor)
    rule = read_rule(lend(rule))
    own = make_workspace(rule.weights, rows, listing, rows.shape[0])
    workspace = lend(own)
    if not rule.by_row:  # all rows have the same prior
        rows = leave_idle(rows, factor, listing, make_idle(workspace), rule, stream)
    decide_rows(factor, rows, workspace, rule, stream)
    keep(own)


@kernel
def update_tied_listed(factor, rows, listing, tie, rule, stream):
    """Update some rows of a factor in place, row after row, where another mode shares the factor."""
    rule = read_rule(rule)
    workspace = make_workspace(rule.weights, rows, Listing(*listing), 16)
    decide_tied(factor, rows, workspace, tie, rule, stream)


@kernel
def count_entries_listed(counts, factor, rows, listing, components):
    """Write (pos, tot) of some components' entries in some rows to counts, all others held."""
    listing, factor = Listing(*lend(listing)), lend(factor)
    own = make_counted(rows, listing, rows.shape[0])
    workspace = lend(own)
    for n in rows:
        lay_listed(workspace, n, factor[n])
        for i, component in enumerate(components):
            counts[0, n, i] = workspace.pos[component]
            counts[1, n, i] = observed(workspace, component)
    keep(own)


@kernel
def count_covered_listed(factor, rows, listing):
    """(ones covered, observed cells covered) over some slices."""
    listing, factor = Listing(*lend(listing)), lend(factor)
    own = make_counted(rows, listing, rows.shape[0])
    workspace = lend(own)
    hits, cover = 0, 0
    for n in rows:
        if is_empty(factor[n]):
            continue
        lay_listed(workspace, n, factor[n])
        hits += workspace.pos[-1]
        cover += observed(workspace, listing.n_components)
    keep(own)
    return hits, cover
