"""Sparse tensors whose components have strengths, the strongest first (ranked.py, rivals.py).

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
from tensorm.kernels.compiled import inlined, keep, kernel, lend, maker, part
from tensorm.kernels.decisions import CERTAIN, GREEDY, ONE, Rule, bit_of, prior_of
from tensorm.kernels.groups import Groups, add, clear, find, is_empty, make_groups
from tensorm.kernels.ranked import Scores
from tensorm.kernels.rivals import decide_known, find_places
from tensorm.kernels.sparse import REMEMBERED, Listing, add_tuples, longest

ONES, CELLS, TOTAL, USED = 0, 1, 2, 3  # what the workspace knows of itself
OFTEN = 4  # components, and none, that a row is expected to be in


class Workspace(NamedTuple):
    """Where a slice is worked on: what its cells share, and what they count for, given the row's mask."""

    masks: Any  # (room, M) shared masks of the ones, then of other listed cells, those that hold a component
    levels: Any  # (room,) of these cells, without the row's own
    scores: Any  # (levels, L + 1) of ones
    zeros: Any  # ((L + 1) L,) for the row's mask, as in rivals.py
    gain: Any  # (L,) the same
    places: Any  # (L + 1,) of runners-up
    groups: Groups  # row masks met so far
    firsts: Any  # where the zeros of each begin in the next, were no cell listed
    totals: Any
    here: Any  # ones and listed cells in use, the place of the totals, and how many of these are in use
    implied: bool  # whether unlisted cells count, as zeros
    tuples: Any  # as in the listing


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
    here, by_level, implied, tuples = (
        new_zeros(4, np.int64),
        scores.ones.T.copy(),
        listing.implied,
        listing.tuples,
    )
    return Workspace(
        masks, levels, by_level, zeros, gain, places, groups, firsts, totals, here, implied, tuples
    )


@inlined
def lay_slice(workspace, listing, n, levels):
    """Find what the listed cells of slice n share."""
    size = share(workspace, 0, listing.ones, n, listing.stack, levels)
    workspace.here[ONES] = size
    workspace.here[CELLS] = share(workspace, size, listing.others, n, listing.stack, levels)


@inlined
def share(workspace, count, listed, n, stack, levels):
    """Write masks and levels of the cells of slice n that hold a component; return where they end."""
    (firsts, cells), masks = listed, workspace.masks
    for at in range(firsts[n], firsts[n + 1]):
        some = uint64(0)
        for m in range(masks.shape[1]):
            shared = stack[cells[at, 0], m]
            for k in range(1, cells.shape[1]):
                shared &= stack[cells[at, k], m]
            masks[count, m] = shared
            some |= shared
        if some:
            workspace.levels[count] = add_levels(levels, cells, at)
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
def tally(workspace, row, own):
    """Count the cells of the slice, given its row and its own level; return how many counts there are."""
    size = recall(workspace, row)
    masks, levels, scores, zeros, gain, places, _, _, totals, here, implied, _ = workspace
    for i in range(size):
        zeros[i] = totals[here[TOTAL] + i]
    gain[:] = 0
    for i in range(here[ONES]):
        add_one(workspace, i, row, scores[own + levels[i]], -1 if implied else 0)
    for i in range(here[ONES], here[CELLS]):
        add_cell(zeros, masks, i, -1 if implied else 1, row, places)
    return size


@inlined
def recall(workspace, row):
    """Find the totals of a row's mask, which are worked out if it is new; return how many there are."""
    _, _, _, _, gain, places, groups, firsts, totals, here, implied, (masks, weights) = workspace
    size = find_places(places, row) * gain.shape[0]
    if not implied:
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


class Idle(NamedTuple):
    """What rows without any component are decided from where no listed cell holds one, all of them alike."""

    zeros: Any
    gain: Any
    order: Any  # components that such a row may join, as far as odds can tell


@maker
def make_idle(workspace, scores, rule):
    """What all these rows share, if they have the same prior."""
    size = recall(workspace, new_zeros(workspace.masks.shape[1], np.uint64))
    open_to, n_open = new(rule.order.shape[0], np.int64), 0
    zeros, gain = workspace.totals[workspace.here[TOTAL] :][:size].copy(), new_zeros(size, np.int64)
    likely = 0.0 if rule.kind == GREEDY else -CERTAIN - 1
    for component in rule.order:
        loss = scores.share * (zeros[component] * scores.zeros[component])
        open_to[n_open] = component
        n_open += prior_of(rule, 0, component) + loss > likely
    return Idle(zeros, gain, open_to[:n_open])


@part
def stays_idle(row, n, workspace, idle, scores, rule, stream):
    """Whether a row without any component joins none; in a large mode that is what most rows do."""
    if workspace.here[CELLS] or not is_empty(row):
        return False
    for component in idle.order:
        if decide_known(row, n, component, (idle.zeros, idle.gain), scores, rule, stream):
            return False
    return True


@part
def decide_row(row, n, workspace, scores, rule, stream):
    """Decide the entries of row n in place, whose slice lies on the workspace."""
    tally(workspace, row, scores.own[n])
    known = workspace.zeros, workspace.gain
    for component in rule.order:
        word, bit = bit_of(component)
        if decide_known(row, n, component, known, scores, rule, stream) != ((row[word] & bit) != 0):
            row[word] ^= bit
            tally(workspace, row, scores.own[n])


@kernel
def update_rows(factor, rows, listing, same_prior, rule, stream):
    """Update some rows of a factor in place; they are independent given the other modes' factors.

    `same_prior` says that all rows have the same prior.
    """
    listing, factor = Listing(*lend(listing)), lend(factor)
    rule = Rule(*lend(rule))
    scores = Scores(*rule.weights)
    made = make_workspace(rows, listing, scores, rows.shape[0])
    own = made, make_idle(made, scores, rule)
    workspace, idle = lend(own)
    for n in rows:
        lay_slice(workspace, listing, n, scores.rows)
        if not (same_prior and stays_idle(factor[n], n, workspace, idle, scores, rule, stream)):
            decide_row(factor[n], n, workspace, scores, rule, stream)
    keep(own)


@part
def update_row(row, n, workspace, listing, scores, rule, stream):
    """Update row n in place; a function of its own where the workspace is bound anew between rows."""
    lay_slice(workspace, listing, n, scores.rows)
    decide_row(row, n, workspace, scores, rule, stream)


@kernel
def update_tied(factor, rows, listing, tie, rule, stream):
    """Update some rows in place, row after row, where another mode shares the factor (sparse.py)."""
    listing, (first, rest) = Listing(*listing), tie
    rule = Rule(*rule)
    scores, tuples = Scores(*rule.weights), make_groups(64, factor.shape[1])
    for mask, weight in zip(*listing.tuples):
        tuples = add(tuples, mask, weight)
    workspace = make_workspace(rows, listing, scores, 16)
    for n in rows:
        old = listing.stack[first + n].copy()
        update_row(factor[n], n, workspace, listing, scores, rule, stream)
        copy_to(listing.stack[first + n], factor[n])
        if listing.implied and np.any(old != factor[n]):
            tuples = add_tuples(add_tuples(tuples, old, rest, -1), factor[n], rest, 1)
            workspace = with_tuples(workspace, tuples)


@maker
def with_tuples(workspace, tuples):
    """The workspace for other tuples, with no totals remembered."""
    masks, levels, scores, zeros, gain, places, groups, firsts, totals, here, implied, _ = workspace
    clear(groups)
    here[USED] = 0
    listed = tuples.masks[: tuples.size[0]], tuples.weights[: tuples.size[0]]
    return Workspace(
        masks, levels, scores, zeros, gain, places, groups, firsts, totals, here, implied, listed
    )


@kernel
def count_rivals(counts, factor, rows, listing, scores):
    """Write gain and zeros of the entries of some rows (rivals.py), one row's after the other."""
    listing, factor, scores = Listing(*lend(listing)), lend(factor), Scores(*lend(scores))
    own = make_workspace(rows, listing, scores, rows.shape[0])
    workspace, (gain, zeros), at = lend(own), counts, 0
    for i in range(rows.shape[0]):
        lay_slice(workspace, listing, rows[i], scores.rows)
        size = tally(workspace, factor[rows[i]], scores.own[rows[i]])
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
