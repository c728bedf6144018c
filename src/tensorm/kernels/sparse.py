"""Sparse tensors: the listed cells of a mode's slices, decided or counted row by row.

A cell counts for a component by what its other indices share, its *shared mask*, and by the row's mask z: if
no component of z is shared, the cell depends on every component that is; if just one is, on that one alone;
else on none. So one walk through a slice gives the counts of all components, and when an entry flips only
the cells that hold its component change theirs.

Cells that are not listed are counted without being visited: how many index tuples of the other modes share
a mask depends on no data (groups.py), and what they count for depends on z only. It is remembered for each z.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import copy_to, new, new_zeros
from tensorm.kernels.compiled import MAKER, inlined, keep, kernel, lend, maker, part, verb
from tensorm.kernels.decisions import (
    CERTAIN,
    GREEDY,
    ONE,
    Entry,
    Rule,
    bit_of,
    decide_row,
    decide_rows,
    weigh,
)
from tensorm.kernels.groups import Groups, add, clear, find, is_empty, make_groups

REMEMBERED = 2**23  # numbers kept for the masks met so far, by each thread
SIZE, OTHERS, TOTAL = 0, 1, 2  # what the workspace knows of the slice that lies on it


class Listed(NamedTuple):
    """Cells of one kind, seen from one mode: those of its slice n are cells[firsts[n] : firsts[n + 1]]."""

    firsts: Any  # (N + 1,)
    cells: Any  # (n, K - 1) their indices in the other modes, as rows of the stacked factors


class Listing(NamedTuple):
    """The cells seen from one mode, and the components of all others."""

    ones: Any  # Listed, as a tuple
    others: Any  # the same for the missing cells if unlisted ones are zeros, else for the zeros
    stack: Any  # (rows, M) the factors, stacked
    n_components: int
    implied: bool  # whether unlisted cells count, as zeros
    tuples: Any  # if so: (masks, weights), the masks that index tuples share and how many share each


class Workspace(NamedTuple):
    """Where a slice is worked on: what its cells share, and what they count for, given the row's mask."""

    masks: Any  # (room, M) shared masks of the ones, those that hold a component
    pos: Any  # (L + 1,) ones for each component, and last of all those that the row's components cover
    other_masks: Any
    others: Any  # the same for the other listed cells
    groups: Groups  # row masks met so far
    totals: Any  # (room, L + 1) for each of them the same for all cells, listed or not
    here: Any  # masks of ones and of others in use, and the place of the totals
    listing: Listing
    tuples: Any  # those of the listing, or what they have become

    def lay(self, row, rows, i):
        lay_slice(self, rows[i], row)

    def count(self, entry):
        return self.pos[entry.component], observed(self, entry.component)

    def flip(self, row, entry, stop):
        (word, bit), weight = bit_of(entry.component), 1 if entry.active else -1
        row[word] &= ~bit
        shift(self.pos, self.masks, self.here[SIZE], row, entry.component, weight)
        shift(self.others, self.other_masks, self.here[OTHERS], row, entry.component, weight)
        if not entry.active:
            row[word] |= bit
        recall(self, row)
        return stop

    def with_tuples(self, tuples):
        masks, pos, other_masks, others, groups, totals, here, listing, _ = self
        clear(groups)
        return Workspace(masks, pos, other_masks, others, groups, totals, here, listing, tuples)


@partial(verb, options=MAKER)
def with_tuples(workspace, tuples):
    """The workspace for other tuples, with no totals remembered."""


class Idle(NamedTuple):
    """A slice of which no listed cell holds a component, and whose row is in none."""

    totals: Any  # (L + 1,)

    def count(self, entry):
        return 0, self.totals[entry.component]

    def flip(self, row, entry, stop):
        row[:] = 0
        return 0


@kernel
def arrange(keys, shape, edges, mode, firsts, cells):
    """List cells, given by their number in the tensor, by the slices of a mode; their order is kept."""
    K = shape.shape[0]
    place = new(K, np.int64)
    for key in keys:
        for k in range(K - 1, mode, -1):
            key //= shape[k]
        firsts[key % shape[mode] + 1] += 1
    for n in range(1, firsts.shape[0]):
        firsts[n] += firsts[n - 1]
    free = firsts[:-1].copy()
    for key in keys:
        for k in range(K - 1, -1, -1):
            rest = key // shape[k]
            place[k] = key - rest * shape[k]
            key = rest
        at = free[place[mode]]
        free[place[mode]] += 1
        i = 0
        for k in range(K):
            if k != mode:
                cells[at, i] = edges[k] + place[k]
                i += 1


@maker
def make_workspace(rows, listing, remembered):
    """An empty workspace, with room for the largest of some slices and the totals of so many rows."""
    n_words, n_counts = listing.stack.shape[1], listing.n_components + 1
    masks = new((longest(listing.ones[0], rows), n_words), np.uint64)
    other_masks = new((longest(listing.others[0], rows), n_words), np.uint64)
    pos, others = new_zeros(n_counts, np.int64), new_zeros(n_counts, np.int64)
    room = max(16, min(4 * remembered, REMEMBERED // n_counts)) if listing.implied else 1
    groups, totals = make_groups(room, n_words), new((room, n_counts), np.int64)
    totals[0] = 0  # where nothing is implied
    here = new_zeros(3, np.int64)
    return Workspace(masks, pos, other_masks, others, groups, totals, here, listing, listing.tuples)


@part
def longest(firsts, rows):
    """Cells of the largest of some slices."""
    room = 0
    for n in rows:
        room = max(room, firsts[n + 1] - firsts[n])
    return room


@inlined
def lay_slice(workspace, n, row):
    """Count the cells of slice n, given its row."""
    listing = workspace.listing
    workspace.here[SIZE] = share(workspace.masks, listing.ones, n, listing.stack)
    workspace.here[OTHERS] = share(workspace.other_masks, listing.others, n, listing.stack)
    tally(workspace.pos, workspace.masks, workspace.here[SIZE], row)
    tally(workspace.others, workspace.other_masks, workspace.here[OTHERS], row)
    recall(workspace, row)


@inlined
def shared_word(stack, cells, at, m):
    """Word m of the mask that a listed cell shares."""
    shared = stack[cells[at, 0], m]
    for k in range(1, cells.shape[1]):
        shared &= stack[cells[at, k], m]
    return shared


@inlined
def share(masks, listed, n, stack):
    """Write the shared masks of slice n that hold a component; return how many there are."""
    firsts, cells = listed
    count, n_words = 0, masks.shape[1]
    for at in range(firsts[n], firsts[n + 1]):
        some = uint64(0)
        for m in range(n_words):
            masks[count, m] = shared_word(stack, cells, at, m)
            some |= masks[count, m]
        count += some != 0
    return count


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
def add_cell(counts, masks, i, weight, row):
    """Count a cell, or so many alike, for each component that it depends on, given the row's."""
    hits, last = overlap(masks, i, row)
    if hits == 0:
        add_all(counts, masks, i, weight)
    else:
        counts[-1] += weight
        if hits == 1:
            counts[last] += weight


@inlined
def tally(counts, masks, size, row):
    """Count cells for each component, given the row's."""
    counts[:] = 0
    for i in range(size):
        add_cell(counts, masks, i, 1, row)


@inlined
def shift(counts, masks, size, rest, component, weight):
    """An entry of the row changes: cells that hold its component count for others by so much more or less.

    `rest` is the row without that entry.
    """
    word, bit = component >> 6, ONE << uint64(component & 63)
    for i in range(size):
        if not masks[i, word] & bit:
            continue
        hits, last = overlap(masks, i, rest)
        if hits == 0:
            add_all(counts, masks, i, weight)
            counts[component] -= weight
        elif hits == 1:
            counts[last] += weight


@inlined
def recall(workspace, row):
    """Find the totals of a row's mask, which are worked out if it is new."""
    if not workspace.listing.implied:
        return
    number, new = find(workspace.groups, row)
    if number < 0:
        clear(workspace.groups)
        number, new = find(workspace.groups, row)
    workspace.here[TOTAL] = number
    if new:
        masks, weights = workspace.tuples
        totals = workspace.totals[number]
        totals[:] = 0
        for i in range(masks.shape[0]):
            add_cell(totals, masks, i, weights[i], row)


@inlined
def observed(workspace, component):
    """Observed cells that count for a component."""
    if workspace.listing.implied:
        return workspace.totals[workspace.here[TOTAL], component] - workspace.others[component]
    return workspace.pos[component] + workspace.others[component]


@maker
def leave_idle(rows, factor, listing, idle, rule, stream):
    """The rows without those that are in no component, share none with a listed cell, and will join none.

    In a large mode that is most rows. If they have the same prior they are all alike: only where the odds
    are not overwhelming does a random number decide, and where it says that a row joins, the row is left to
    be updated like others.
    """
    blank, likely = new_zeros(factor.shape[1], np.uint64), 0.0 if rule.kind == GREEDY else -CERTAIN
    open_to, n_open = new(rule.order.shape[0], np.int64), 0
    for component in rule.order:
        open_to[n_open] = component
        n_open += weigh(idle, blank, Entry(0, 0, component, False), rule)[0] > likely
    few = Rule(open_to[:n_open], rule.kind, rule.weights, rule.prior)
    busy, n_busy = new(rows.shape[0], np.int64), 0
    for n in rows:
        stays = is_empty(factor[n]) and not (
            shares_any(listing.ones, n, listing.stack) or shares_any(listing.others, n, listing.stack)
        )
        busy[n_busy] = n
        n_busy += not (stays and decide_row(blank, n, 0, idle, few, stream) == n_open)
    return busy[:n_busy]


@part
def shares_any(listed, n, stack):
    """Whether a listed cell of slice n shares any component."""
    firsts, cells = listed
    for at in range(firsts[n], firsts[n + 1]):
        for m in range(stack.shape[1]):
            if shared_word(stack, cells, at, m):
                return True
    return False


@kernel
def update_rows(factor, rows, listing, same_prior, rule, stream):
    """Update some rows of a factor in place; they are independent given the other modes' factors.

    `same_prior` says that all rows have the same prior.
    """
    listing, factor = Listing(*lend(listing)), lend(factor)
    rule = Rule(*lend(rule))
    own = make_workspace(rows, listing, rows.shape[0])
    workspace = lend(own)
    if same_prior:
        recall(workspace, new_zeros(factor.shape[1], np.uint64))
        idle = Idle(workspace.totals[workspace.here[TOTAL]].copy())
        rows = leave_idle(rows, factor, listing, idle, rule, stream)
    decide_rows(factor, rows, workspace, rule, stream)
    keep(own)


@kernel
def update_tied(factor, rows, listing, tie, rule, stream):
    """Update some rows of a factor in place, row after row, where another mode shares the factor."""
    workspace = make_workspace(rows, Listing(*listing), 16)
    decide_tied(factor, rows, workspace, tie, Rule(*rule), stream)


@maker
def decide_tied(factor, rows, workspace, tie, rule, stream):
    """Decide some rows on a workspace of listed cells.

    `tie` has the first row of the other mode in the stack, and (masks, weights) of the tuples of all modes
    beside the two.
    """
    listing, (first, rest) = workspace.listing, tie
    tuples = make_groups(64, factor.shape[1])
    for mask, weight in zip(*listing.tuples):
        tuples = add(tuples, mask, weight)
    for i in range(rows.shape[0]):
        n = rows[i]
        old = listing.stack[first + n].copy()
        decide_rows(factor, rows[i : i + 1], workspace, rule, stream)
        copy_to(listing.stack[first + n], factor[n])
        if listing.implied and np.any(old != factor[n]):
            tuples = add_tuples(add_tuples(tuples, old, rest, -1), factor[n], rest, 1)
            size = tuples.size[0]
            workspace = with_tuples(workspace, (tuples.masks[:size], tuples.weights[:size]))


@maker
def add_tuples(tuples, row, rest, sign):
    """The tuples with more of those, or fewer, that a row of the shared factor makes with others."""
    for mask, weight in zip(*rest):
        shared = mask & row
        if not is_empty(shared):
            tuples = add(tuples, shared, sign * weight)
    return tuples


@kernel
def count_entries(counts, factor, rows, listing, components):
    """Write (pos, tot) of some components' entries in some rows to counts, all others held."""
    listing, factor = Listing(*lend(listing)), lend(factor)
    own = make_workspace(rows, listing, rows.shape[0])
    workspace = lend(own)
    for n in rows:
        lay_slice(workspace, n, factor[n])
        for i, component in enumerate(components):
            counts[0, n, i] = workspace.pos[component]
            counts[1, n, i] = observed(workspace, component)
    keep(own)


@kernel
def count_rows(factor, rows, listing):
    """(ones covered, observed cells covered) over some slices."""
    listing, factor = Listing(*lend(listing)), lend(factor)
    own = make_workspace(rows, listing, rows.shape[0])
    workspace = lend(own)
    hits, cover = 0, 0
    for n in rows:
        if is_empty(factor[n]):
            continue
        lay_slice(workspace, n, factor[n])
        hits += workspace.pos[-1]
        cover += observed(workspace, listing.n_components)
    keep(own)
    return hits, cover
