"""Sparse tensors whose components have strengths, the strongest first (ranked.py, runners_up.py).

Of what a listed cell shares with its row only the first two components matter. The cell depends on the first
one, whose runner-up is the second; and on every stronger component that its other indices share, whose
runner-up is the first. Cells that are not listed are counted by the masks that index tuples share, once for
each mask of a row that is met, as with two rates (sparse.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import copy_to, new, new_zeros
from tensorm.kernels.compiled import inlined, keep, kernel, lend, maker
from tensorm.kernels.decisions import ONE, bit_of, decide_rows
from tensorm.kernels.groups import Groups, clear, find, is_empty, make_groups
from tensorm.kernels.ranked import Scores, with_scores
from tensorm.kernels.runners_up import find_places, weigh_known
from tensorm.kernels.sparse import REMEMBERED, Listing, decide_tied, leave_idle, longest, shared_word

ONES, CELLS, TOTAL, USED, OWN = 0, 1, 2, 3, 4  # what the workspace knows of itself and of the row
OFTEN = 4  # components, and none, that a row is expected to be in


class Workspace(NamedTuple):
    """Where a slice is worked on: what its cells share, and what they count for, given the row's mask."""

    masks: Any  # (room, M) shared masks of the ones, then of other listed cells, those that hold a component
    levels: Any  # (room,) of these cells, without the row's own
    scores: Any  # (levels, L + 1) of ones
    zeros: Any  # ((L + 1) L,) for the row's mask, as in runners_up.py
    gain: Any  # (L,) the same
    places: Any  # (L + 1,) of runners-up
    groups: Groups  # row masks met so far
    firsts: Any  # where the zeros of each begin in the next, were no cell listed
    totals: Any
    here: Any  # ones and listed cells in use, the place of the totals, how many are in use, the row's level
    given: Scores
    listing: Listing
    tuples: Any  # those of the listing, or what they have become

    def weigh(self, row, entry, rule):
        return weigh_known(self, row, entry, rule)

    def lay(self, row, rows, i):
        lay_slice(self, rows[i], row)

    def flip(self, row, entry, stop):
        tally(self, row)
        return stop

    def with_tuples(self, tuples):
        masks, levels, scores, zeros, gain, places, groups, firsts, totals, here, given, listing, _ = self
        clear(groups)
        here[USED] = 0
        return Workspace(
            masks, levels, scores, zeros, gain, places, groups, firsts, totals, here, given, listing, tuples
        )


class Idle(NamedTuple):
    """A slice of which no listed cell holds a component, and whose row is in none."""

    zeros: Any
    gain: Any

    def weigh(self, row, entry, rule):
        return weigh_known(self, row, entry, rule)

    def flip(self, row, entry, stop):
        row[:] = 0
        return 0


@maker
def make_workspace(rows, listing, scores, remembered):
    """An empty workspace, with room for the largest of some slices and the totals of so many rows."""
    n_words, L = listing.stack.shape[1], listing.n_components
    room = longest(listing.ones[0], rows) + longest(listing.others[0], rows)
    masks, levels = new((room, n_words), np.uint64), new(room, np.int64)
    zeros, gain, places = new((L + 1) * L, np.int64), new_zeros(L, np.int64), new(L + 1, np.int64)
    known = max(16, min(4 * remembered, REMEMBERED // (OFTEN * L))) if listing.implied else 1
    groups, firsts = make_groups(known, n_words), new_zeros(known, np.int64)
    totals = new(max(known * OFTEN * L, zeros.shape[0]), np.int64)
    totals[: zeros.shape[0]] = 0  # where nothing is implied
    here, by_level, tuples = new_zeros(5, np.int64), scores.ones.T.copy(), listing.tuples
    return Workspace(
        masks, levels, by_level, zeros, gain, places, groups, firsts, totals, here, scores, listing, tuples
    )


@inlined
def lay_slice(workspace, n, row):
    """Find what the listed cells of slice n share, and count them; return how many counts there are."""
    here, listing = workspace.here, workspace.listing
    here[ONES] = share(workspace, 0, listing.ones, n)
    here[CELLS] = share(workspace, here[ONES], listing.others, n)
    here[OWN] = workspace.given.own[n]
    return tally(workspace, row)


@inlined
def share(workspace, count, listed, n):
    """Write masks and levels of the cells of slice n that hold a component; return where they end."""
    (firsts, cells), masks = listed, workspace.masks
    for at in range(firsts[n], firsts[n + 1]):
        some = uint64(0)
        for m in range(masks.shape[1]):
            masks[count, m] = shared_word(workspace.listing.stack, cells, at, m)
            some |= masks[count, m]
        if some:
            workspace.levels[count] = add_levels(workspace.given.rows, cells, at)
            count += 1
    return count


@inlined
def add_levels(levels, cells, at):
    """The level of a cell, without that of its row."""
    level = 0
    for k in range(cells.shape[1]):
        level += levels[cells[at, k]]
    return level


@inlined
def first_two(masks, i, row, none):
    """The two strongest components that mask i and the row have in common; none where there are fewer."""
    first = none
    for m in range(masks.shape[1]):
        common = masks[i, m] & row[m]
        if common and first == none:
            first = (m << 6) + v.lowest_bit(common)
            common &= common - ONE
        if common:
            return first, (m << 6) + v.lowest_bit(common)
    return first, none


@inlined
def stronger(masks, i, component, m):
    """The components of word m of a mask that are stronger than one."""
    word, bit = bit_of(component)
    return masks[i, m] & (bit - ONE) if m == word else masks[i, m]


@inlined
def add_cell(zeros, masks, i, weight, row, places):
    """Count a cell, or so many alike, for each component that it depends on, by runner-up."""
    L = places.shape[0] - 1
    first, second = first_two(masks, i, row, L)
    at = places[first] * L
    for m in range(min((first >> 6) + 1, masks.shape[1])):
        left = stronger(masks, i, first, m)
        while left:
            zeros[at + (m << 6) + v.lowest_bit(left)] += weight
            left &= left - ONE
    if first < L:
        zeros[places[second] * L + first] += weight


@inlined
def add_one(workspace, i, row, scores, weight):
    """Add what a one gains by each component that it depends on, given its scores, and so many zeros."""
    masks, zeros, gain, places = workspace.masks, workspace.zeros, workspace.gain, workspace.places
    L = gain.shape[0]
    first, second = first_two(masks, i, row, L)
    at, other = places[first] * L, scores[first]
    for m in range(min((first >> 6) + 1, masks.shape[1])):
        left = stronger(masks, i, first, m)
        while left:
            component = (m << 6) + v.lowest_bit(left)
            gain[component] += scores[component] - other
            zeros[at + component] += weight
            left &= left - ONE
    if first < L:
        gain[first] += other - scores[second]
        zeros[places[second] * L + first] += weight


@inlined
def tally(workspace, row):
    """Count the cells of the slice, given its row; return how many counts there are."""
    size, weight = recall(workspace, row), -1 if workspace.listing.implied else 1
    masks, levels, scores, zeros, gain, places, _, _, totals, here, _, _, _ = workspace
    for i in range(size):
        zeros[i] = totals[here[TOTAL] + i]
    gain[:] = 0
    for i in range(here[ONES]):
        add_one(workspace, i, row, scores[here[OWN] + levels[i]], min(weight, 0))
    for i in range(here[ONES], here[CELLS]):
        add_cell(zeros, masks, i, weight, row, places)
    return size


@inlined
def recall(workspace, row):
    """Find the totals of a row's mask, which are worked out if it is new; return how many there are."""
    _, _, _, _, gain, places, groups, firsts, totals, here, _, listing, (masks, weights) = workspace
    size = find_places(places, row) * gain.shape[0]
    if not listing.implied:
        return size
    number, new = find(groups, row)
    if number < 0 or (new and here[USED] + size > totals.shape[0]):
        clear(groups)
        number, new = find(groups, row)
        here[USED] = 0
    if new:
        firsts[number] = here[USED]
        here[USED] += size
        block = totals[firsts[number] : here[USED]]
        block[:] = 0
        for i in range(masks.shape[0]):
            add_cell(block, masks, i, weights[i], row, places)
    here[TOTAL] = firsts[number]
    return size


@kernel
def update_rows(factor, rows, listing, same_prior, rule, stream):
    """Update some rows of a factor in place (sparse.py)."""
    listing, factor = Listing(*lend(listing)), lend(factor)
    rule = with_scores(lend(rule))
    own = make_workspace(rows, listing, rule.weights, rows.shape[0])
    workspace = lend(own)
    if same_prior:
        size = recall(workspace, new_zeros(factor.shape[1], np.uint64))
        zeros = workspace.totals[workspace.here[TOTAL] :][:size].copy()
        idle = Idle(zeros, new_zeros(size, np.int64))
        rows = leave_idle(rows, factor, listing, idle, rule, stream)
    decide_rows(factor, rows, workspace, rule, stream)
    keep(own)


@kernel
def update_tied(factor, rows, listing, tie, rule, stream):
    """Update some rows in place, row after row, where another mode shares the factor (sparse.py)."""
    rule = with_scores(rule)
    workspace = make_workspace(rows, Listing(*listing), rule.weights, 16)
    decide_tied(factor, rows, workspace, tie, rule, stream)


@kernel
def count_known(counts, factor, rows, listing, scores):
    """Write gain and zeros of the entries of some rows (runners_up.py), one row's after the other."""
    listing, factor, scores = Listing(*lend(listing)), lend(factor), Scores(*lend(scores))
    own = make_workspace(rows, listing, scores, rows.shape[0])
    workspace, (gain, zeros), at = lend(own), counts, 0
    for i in range(rows.shape[0]):
        size = lay_slice(workspace, rows[i], factor[rows[i]])
        copy_to(gain[i], workspace.gain)
        copy_to(zeros[at:], workspace.zeros[:size])
        at += size
    keep(own)


@inlined
def find_decider(stack, cells, at, row, probe):
    """(the strongest component but the probe that holds a cell, whether the probe holds it)."""
    found, inside, (word, bit) = -1, 0, bit_of(probe)
    for m in range(row.shape[0]):
        shared = row[m]
        if not shared:
            continue
        for k in range(cells.shape[1]):
            shared &= stack[cells[at, k], m]
        if m == word and shared & bit:
            inside = 1
            shared &= ~bit
        if shared and found < 0:
            found = (m << 6) + v.lowest_bit(shared)
    return found, inside


@kernel
def count_decided(counts, factor, rows, listing, probe):
    """Add to counts (2, 2, L + 1) of ranked.count_decided the listed ones and cells; none is -1.

    Where unlisted cells count, missing ones are taken away instead.
    """
    listing, factor = Listing(*lend(listing)), lend(factor)
    sign = -1 if listing.implied else 1
    for n in rows:
        row = factor[n]
        if is_empty(row):
            continue
        firsts, cells = listing.ones
        for at in range(firsts[n], firsts[n + 1]):
            group, inside = find_decider(listing.stack, cells, at, row, probe)
            counts[inside, 0, group] += 1
            counts[inside, 1, group] += not listing.implied
        firsts, cells = listing.others
        for at in range(firsts[n], firsts[n + 1]):
            group, inside = find_decider(listing.stack, cells, at, row, probe)
            counts[inside, 1, group] += sign


@kernel
def count_tuples(counts, masks, weights, probe):
    """Add to counts (2, L + 1) the cells of index tuples that share masks, by who decides them."""
    cells = new((1, 0), np.uint32)
    for i in range(masks.shape[0]):
        group, inside = find_decider(masks, cells, 0, masks[i], probe)
        counts[inside, group] += weights[i]
