"""Listed cells of a mode's slices: what sparse tensors do alike, whatever the noise model.

A cell counts for components by what its other indices share, its *shared mask*, and by the row's mask z. So
one walk through a slice gives the counts of all components. Cells that are not listed are counted without
being visited: how many index tuples of the other modes share a mask depends on no data (groups.py), and what
they count for depends on z only. It is remembered for each z.

A *workspace* has ``Lists`` and what its cells count for (sparse.py, sparse_ranked.py), and the verbs below.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels.arrays import copy_to, new, new_zeros
from tensorm.kernels.compiled import MAKER, inlined, kernel, maker, part, verb
from tensorm.kernels.decisions import CERTAIN, GREEDY, Entry, Rule, decide_row, decide_rows, weigh
from tensorm.kernels.groups import Groups, add_group, clear, find, is_empty, make_groups

REMEMBERED = 2**23  # numbers kept for the masks met so far, by each thread
ONES, LISTED, TOTAL, USED, SLICE = 0, 1, 2, 3, 4  # what the lists know of the slice and of themselves


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


class Lists(NamedTuple):
    """Where a slice is laid: what its cells share, and what all cells of a row would count for."""

    masks: Any  # (room, M) shared masks of the ones, then of other listed cells, those that hold a component
    groups: Groups  # row masks met so far
    firsts: Any  # where the totals of each begin in the next
    totals: Any
    here: Any  # ones and listed cells in use, place of the totals, how many are in use, number of the slice
    listing: Listing
    tuples: Any  # those of the listing, or what they have become


@verb
def note_cell(workspace, i, cells, at):
    """Take note of a listed cell whose shared mask has number i."""


@verb
def add_cell(workspace, counts, masks, i, weight, row):
    """Count a cell, or so many alike, for each component that it depends on, given the row's."""


@verb
def tally(workspace, row):
    """Count the cells of the slice, given its row; return how many totals there are."""


@partial(verb, options=MAKER)
def make_idle(workspace):
    """What a slice counts of which no listed cell holds a component, and whose row is in none."""


@partial(verb, options=MAKER)
def with_lists(workspace, lists):
    """The same workspace with other lists."""


@maker
def make_lists(rows, listing, remembered, usual, most):
    """Room for the largest of some slices and the totals of so many rows, of a usual and a largest size."""
    n_words = listing.stack.shape[1]
    masks = new((longest(listing.ones[0], rows) + longest(listing.others[0], rows), n_words), np.uint64)
    room = max(16, min(4 * remembered, REMEMBERED // usual)) if listing.implied else 1
    totals = new(max(room * usual, most), np.int64)
    totals[:most] = 0  # where nothing is implied
    groups, firsts, here = make_groups(room, n_words), new_zeros(room, np.int64), new_zeros(5, np.int64)
    return Lists(masks, groups, firsts, totals, here, listing, listing.tuples)


@part
def longest(firsts, rows):
    """Cells of the largest of some slices."""
    room = 0
    for n in rows:
        room = max(room, firsts[n + 1] - firsts[n])
    return room


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


@inlined
def shared_word(stack, cells, at, m):
    """Word m of the mask that a listed cell shares."""
    shared = stack[cells[at, 0], m]
    for k in range(1, cells.shape[1]):
        shared &= stack[cells[at, k], m]
    return shared


@inlined
def lay_listed(workspace, n, row):
    """Find what the listed cells of slice n share, and count them; return how many totals there are."""
    here, listing = workspace.lists.here, workspace.lists.listing
    here[SLICE] = n
    here[ONES] = share(workspace, 0, listing.ones, n)
    here[LISTED] = share(workspace, here[ONES], listing.others, n)
    return tally(workspace, row)


@inlined
def share(workspace, count, listed, n):
    """Write the shared masks of slice n that hold a component; return where they end."""
    (firsts, cells), masks, stack = listed, workspace.lists.masks, workspace.lists.listing.stack
    for at in range(firsts[n], firsts[n + 1]):
        some = uint64(0)
        for m in range(masks.shape[1]):
            masks[count, m] = shared_word(stack, cells, at, m)
            some |= masks[count, m]
        if some:
            note_cell(workspace, count, cells, at)
            count += 1
    return count


@inlined
def recall(workspace, row, size):
    """Find the totals of a row's mask, so many, which are worked out if it is new."""
    _, groups, firsts, totals, here, listing, (masks, weights) = workspace.lists
    if not listing.implied:
        return
    number, new = find(groups, row)
    if number < 0 or (new and here[USED] + size > totals.shape[0]):
        clear(groups)
        number, new = find(groups, row)
        here[USED] = 0
    if new:
        firsts[number] = here[USED]
        here[USED] += size
        counts = totals[firsts[number] : here[USED]]
        counts[:] = 0
        for i in range(masks.shape[0]):
            add_cell(workspace, counts, masks, i, weights[i], row)
    here[TOTAL] = firsts[number]


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
    few = Rule(open_to[:n_open], rule.kind, rule.weights, rule.prior, rule.by_row, rule.by_component)
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


@maker
def decide_tied(factor, rows, workspace, tie, rule, stream):
    """Decide some rows on a workspace of listed cells.

    `tie` has the first row of the other mode in the stack, and (masks, weights) of the tuples of all modes
    beside the two.
    """
    lists, (first, rest) = workspace.lists, tie
    listing = lists.listing
    tuples = make_groups(64, factor.shape[1])
    for mask, weight in zip(*listing.tuples):
        tuples = add_group(tuples, mask, weight)
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
def with_tuples(workspace, tuples):
    """The workspace for other tuples, with no totals remembered."""
    masks, groups, firsts, totals, here, listing, _ = workspace.lists
    clear(groups)
    here[USED] = 0
    return with_lists(workspace, Lists(masks, groups, firsts, totals, here, listing, tuples))


@maker
def add_tuples(tuples, row, rest, sign):
    """The tuples with more of those, or fewer, that a row of the shared factor makes with others."""
    for mask, weight in zip(*rest):
        shared = mask & row
        if not is_empty(shared):
            tuples = add_group(tuples, shared, sign * weight)
    return tuples
