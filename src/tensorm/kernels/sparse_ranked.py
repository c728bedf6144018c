"""Sparse tensors whose components have strengths, the strongest first (ranked.py, runners_up.py, listed.py).

Of what a listed cell shares with its row only the first two components matter. The cell depends on the first
one, whose runner-up is the second; and on every stronger component that its other indices share, whose
runner-up is the first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import copy_to, new, new_zeros
from tensorm.kernels.compiled import inlined, keep, kernel, lend, maker
from tensorm.kernels.decisions import ONE, bit_of
from tensorm.kernels.groups import is_empty
from tensorm.kernels.listed import (
    LISTED,
    ONES,
    SLICE,
    TOTAL,
    Listing,
    Lists,
    lay_listed,
    make_lists,
    recall,
    tally,
)
from tensorm.kernels.ranked import LevelScores
from tensorm.kernels.runners_up import find_places, weigh_known

OFTEN = 4  # components, and none, that a row is expected to be in


class ListedScores(LevelScores):
    """What listed cells say for each component; `rows` has the levels of all indices, `columns` none."""

    def split(self):
        return ListedStrengths(0), tuple(self)

    def make_workspace(self, rows, listing, remembered):
        return make_weighed(rows, listing, remembered, self)


class ListedStrengths(NamedTuple):
    """Says that weights are scores of listed cells."""

    nothing: int

    def join(self, numbers):
        return ListedScores(*numbers)


class WeighedCells(NamedTuple):
    """A workspace on which cells are counted by runner-up, given the row's components."""

    lists: Lists
    levels: Any  # (room,) of the listed cells, without the row's own
    scores: Any  # (levels, L + 1) of ones
    zeros: Any  # ((L + 1) L,) for the row's mask, as in runners_up.py
    gain: Any  # (L,) the same
    places: Any  # (L + 1,) of runners-up
    given: Any  # ListedScores

    def weigh(self, row, entry, rule):
        return weigh_known(self, row, entry, rule)

    def lay(self, row, rows, i):
        lay_listed(self, rows[i], row)

    def note_cell(self, i, cells, at):
        self.levels[i] = add_levels(self.given.rows, cells, at)

    def add_cell(self, counts, masks, i, weight, row):
        add_by_rival(counts, masks, i, weight, row, self.places)

    def tally(self, row):
        return tally_ranked(self, row)

    def flip(self, row, entry, stop):
        tally(self, row)
        return stop

    def make_idle(self):
        blank = new_zeros(self.lists.listing.stack.shape[1], np.uint64)
        size = recall_ranked(self, blank)
        zeros = self.lists.totals[self.lists.here[TOTAL] :][:size].copy()
        return IdleRanks(zeros, new_zeros(size, np.int64))

    def with_lists(self, lists):
        _, levels, scores, zeros, gain, places, given = self
        return WeighedCells(lists, levels, scores, zeros, gain, places, given)


class IdleRanks(NamedTuple):
    """A slice of which no listed cell holds a component, and whose row is in none."""

    zeros: Any
    gain: Any

    def weigh(self, row, entry, rule):
        return weigh_known(self, row, entry, rule)

    def flip(self, row, entry, stop):
        row[:] = 0
        return 0


@maker
def make_weighed(rows, listing, remembered, scores):
    """An empty workspace for some slices, with room for the totals of so many rows."""
    L = listing.n_components
    lists = make_lists(rows, listing, remembered, OFTEN * L, (L + 1) * L)
    zeros, gain, places = new((L + 1) * L, np.int64), new_zeros(L, np.int64), new(L + 1, np.int64)
    levels, by_level = new(lists.masks.shape[0], np.int64), scores.ones.T.copy()
    return WeighedCells(lists, levels, by_level, zeros, gain, places, scores)


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
def add_by_rival(zeros, masks, i, weight, row, places):
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
    _, _, _, zeros, gain, places, _ = workspace
    masks, L = workspace.lists.masks, gain.shape[0]
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
def tally_ranked(workspace, row):
    """Count the cells of the slice, given its row; return how many counts there are."""
    lists, levels, scores, zeros, gain, places, given = workspace
    size, weight = recall_ranked(workspace, row), -1 if lists.listing.implied else 1
    here, own = lists.here, given.own[lists.here[SLICE]]
    for i in range(size):
        zeros[i] = lists.totals[here[TOTAL] + i]
    gain[:] = 0
    for i in range(here[ONES]):
        add_one(workspace, i, row, scores[own + levels[i]], min(weight, 0))
    for i in range(here[ONES], here[LISTED]):
        add_by_rival(zeros, lists.masks, i, weight, row, places)
    return size


@inlined
def recall_ranked(workspace, row):
    """Find the totals of a row's mask; return how many there are."""
    size = find_places(workspace.places, row) * workspace.gain.shape[0]
    recall(workspace, row, size)
    return size


@kernel
def count_known_listed(counts, factor, rows, listing, scores):
    """Write gain and zeros of the entries of some rows (runners_up.py), one row's after the other."""
    listing, factor, scores = Listing(*lend(listing)), lend(factor), ListedScores(*lend(scores))
    own = make_weighed(rows, listing, rows.shape[0], scores)
    workspace, (gain, zeros), at = lend(own), counts, 0
    for i in range(rows.shape[0]):
        size = lay_listed(workspace, rows[i], factor[rows[i]])
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
def count_decided_listed(counts, factor, rows, listing, probe):
    """Add to counts (2, 2, L + 1) of decided.count_decided the listed ones and cells; none is -1.

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
