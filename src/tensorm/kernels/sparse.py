"""Sparse tensors: the listed cells of a mode's slices, decided or counted row by row.

A cell counts for a component by what its other indices share, its *shared mask*, and by the row's mask z: if
no component of z is shared, the cell hangs on every component that is; if just one is, on that one alone;
else on none. So one walk through a slice gives the counts of all components, and when an entry flips only
the cells that hold its component change theirs.

Cells that are not listed are counted without being visited: how many index tuples of the other modes share
a mask depends on no data (groups.py), and what they count for depends on z only. It is remembered for each z.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64

from tensorm.kernels.groups import Groups, clear, find, is_empty, make_groups
from tensorm.kernels.rows import CERTAIN, GREEDY, ONE, decide, entry_prior
from tensorm.kernels.vectors import count_bits, lowest_bit

REMEMBERED = 2**23  # numbers kept for the masks met so far, by each thread
NO_WEIGHTS = np.zeros(0, np.int64)


class Listed(NamedTuple):
    """Cells of one kind, seen from one mode: those of its slice n are cells[firsts[n] : firsts[n + 1]]."""

    firsts: Any  # (N + 1,)
    cells: Any  # (n, K - 1) their indices in the other modes, as rows of the stacked factors


class Workspace(NamedTuple):
    """Where a slice is worked on: what its cells share, and what they count for, given the row's mask."""

    masks: Any  # (room, M) shared masks of the ones, those that hold a component
    pos: Any  # (L + 1,) ones for each component, and last of all those that the row's components cover
    other_masks: Any
    others: Any  # the same for the other listed cells
    groups: Groups  # row masks met so far
    totals: Any  # (room, L + 1) for each of them the same for all cells, listed or not
    implied: bool  # whether unlisted cells count


@njit(nogil=True, cache=True, error_model="numpy")
def arrange(keys, shape, edges, mode, firsts, cells):
    """List cells, given by their number in the tensor, by the slices of a mode; their order is kept."""
    K = shape.shape[0]
    place = np.empty(K, np.int64)
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


@njit
def make_workspace(rows, data, n_components):
    """An empty workspace, with room for the largest of some slices."""
    ones, others, table, stack = data
    n_words, implied = stack.shape[1], table[1].shape[0] > 0
    masks = np.empty((longest(ones[0], rows), n_words), np.uint64)
    other_masks = np.empty((longest(others[0], rows), n_words), np.uint64)
    pos, more = np.zeros(n_components + 1, np.int64), np.zeros(n_components + 1, np.int64)
    room = max(16, min(4 * rows.shape[0], REMEMBERED // (n_components + 1))) if implied else 1
    totals = np.empty((room, n_components + 1), np.int64)
    return Workspace(masks, pos, other_masks, more, make_groups(room, n_words), totals, implied)


@njit
def longest(firsts, rows):
    """Cells of the largest of some slices."""
    room = 0
    for n in rows:
        room = max(room, firsts[n + 1] - firsts[n])
    return room


@njit(error_model="numpy", forceinline=True)
def lay_slice(workspace, data, n, row):
    """Count the cells of slice n; return how many ones and others hold components, and where totals are."""
    ones, others, table, stack = data
    size, n_others = share(workspace.masks, ones, n, stack), share(workspace.other_masks, others, n, stack)
    tally(workspace.pos, workspace.masks, NO_WEIGHTS, size, row)
    tally(workspace.others, workspace.other_masks, NO_WEIGHTS, n_others, row)
    return size, n_others, recall(workspace, table, row)


@njit(error_model="numpy", forceinline=True)
def share(masks, listed, n, stack):
    """Write the shared masks of slice n that hold a component; return how many there are."""
    firsts, cells = listed
    count, n_words = 0, masks.shape[1]
    for at in range(firsts[n], firsts[n + 1]):
        some = uint64(0)
        for m in range(n_words):
            shared = stack[cells[at, 0], m]
            for k in range(1, cells.shape[1]):
                shared &= stack[cells[at, k], m]
            masks[count, m] = shared
            some |= shared
        count += some != 0
    return count


@njit(error_model="numpy", forceinline=True)
def overlap(mask, row):
    """(how many components mask and row have in common, one of them)."""
    hits, last = 0, 0
    for m in range(mask.shape[0]):
        common = mask[m] & row[m]
        if common:
            hits += count_bits(common)
            last = (m << 6) + lowest_bit(common)
    return hits, last


@njit(error_model="numpy", forceinline=True)
def add_all(counts, mask, weight):
    """Count a cell for every component that it holds."""
    for m in range(mask.shape[0]):
        left = mask[m]
        while left:
            counts[(m << 6) + lowest_bit(left)] += weight
            left &= left - ONE


@njit(error_model="numpy", forceinline=True)
def tally(counts, masks, weights, size, row):
    """Count cells for each component, given the row's; a cell weighs 1 where there are no weights."""
    counts[:] = 0
    for i in range(size):
        weight = weights[i] if weights.shape[0] else 1
        hits, last = overlap(masks[i], row)
        if hits == 0:
            add_all(counts, masks[i], weight)
            continue
        counts[-1] += weight
        if hits == 1:
            counts[last] += weight


@njit(error_model="numpy", forceinline=True)
def shift(counts, masks, size, rest, component, weight):
    """An entry of the row changes: cells that hold its component count for others by so much more or less.

    `rest` is the row without that entry.
    """
    word, bit = component >> 6, ONE << uint64(component & 63)
    for i in range(size):
        if not masks[i, word] & bit:
            continue
        hits, last = overlap(masks[i], rest)
        if hits == 0:
            add_all(counts, masks[i], weight)
            counts[component] -= weight
        elif hits == 1:
            counts[last] += weight


@njit(error_model="numpy", forceinline=True)
def recall(workspace, table, row):
    """The place of the totals of a row's mask, which are worked out if it is new."""
    if not workspace.implied:
        return 0
    number, new = find(workspace.groups, row)
    if number < 0:
        clear(workspace.groups)
        number, new = find(workspace.groups, row)
    if new:
        masks, weights = table
        tally(workspace.totals[number], masks, weights, masks.shape[0], row)
    return number


@njit(error_model="numpy", forceinline=True)
def observed(workspace, total, component):
    """Observed cells that count for a component."""
    if workspace.implied:
        return workspace.totals[total, component] - workspace.others[component]
    return workspace.pos[component] + workspace.others[component]


@njit(error_model="numpy")
def leave_idle(rows, factor, workspace, data, rule, stream):
    """The rows without those that have no listed cell, are in no component and will join none.

    In a large mode that is most rows. They are all alike: only where the odds are not overwhelming does a
    random number decide, and where it says that a row joins, the row is left to be updated like others.
    """
    order, kind, _, loss, prior = rule
    if prior.shape[0] > 1:
        return rows
    total, odds, open_to, n_open = 0, np.empty(order.shape[0]), np.empty_like(order), 0
    if workspace.implied:
        total = recall(workspace, data[2], np.zeros(factor.shape[1], np.uint64))
    for component in order:
        odds[n_open] = entry_prior(prior, 0, component)
        if workspace.implied:
            odds[n_open] -= loss * workspace.totals[total, component]
        open_to[n_open] = component
        n_open += odds[n_open] > (0 if kind == GREEDY else -CERTAIN)
    busy, count, firsts, other_firsts = np.empty_like(rows), 0, data[0][0], data[1][0]
    for n in rows:
        stays = firsts[n + 1] == firsts[n] and other_firsts[n + 1] == other_firsts[n] and is_empty(factor[n])
        i = 0
        while stays and i < n_open:
            stays = not decide(kind, False, odds[i], stream, n, open_to[i])
            i += 1
        busy[count] = n
        count += not stays
    return busy[:count]


@njit(nogil=True, cache=True, error_model="numpy")
def update_rows(factor, rows, data, n_components, rule, stream):
    """Update some rows of a factor in place; they are independent given the other modes' factors.

    `data` has the ones, the other listed cells, a table and the stacked factors. The table has the masks
    that index tuples share, and how many share each (groups.py). It is empty where unlisted cells are
    missing; then the other cells are zeros, else they are missing.
    """
    order, kind, gain, loss, prior = rule
    workspace = make_workspace(rows, data, n_components)
    for n in leave_idle(rows, factor, workspace, data, rule, stream):
        row = factor[n]
        size, n_others, total = lay_slice(workspace, data, n, row)
        for component in order:
            word, bit = component >> 6, ONE << uint64(component & 63)
            active = (row[word] & bit) != 0
            log_odds = entry_prior(prior, n, component)
            if not np.isinf(log_odds):
                pos, tot = workspace.pos[component], observed(workspace, total, component)
                log_odds += gain * pos - loss * (tot - pos)
            if decide(kind, active, log_odds, stream, n, component) == active:
                continue
            row[word] &= ~bit
            weight = 1 if active else -1
            shift(workspace.pos, workspace.masks, size, row, component, weight)
            shift(workspace.others, workspace.other_masks, n_others, row, component, weight)
            if not active:
                row[word] |= bit
            total = recall(workspace, data[2], row)


@njit(nogil=True, cache=True, error_model="numpy")
def count_entries(counts, factor, rows, data, n_components, chosen):
    """Write (pos, tot) of some components' entries in some rows to counts, all others held."""
    workspace = make_workspace(rows, data, n_components)
    for n in rows:
        _, _, total = lay_slice(workspace, data, n, factor[n])
        for i, component in enumerate(chosen):
            counts[0, n, i] = workspace.pos[component]
            counts[1, n, i] = observed(workspace, total, component)


@njit(nogil=True, cache=True, error_model="numpy")
def count_rows(factor, rows, data, n_components):
    """(ones covered, observed cells covered) over some slices."""
    workspace = make_workspace(rows, data, n_components)
    hits, cover = 0, 0
    for n in rows:
        if is_empty(factor[n]):
            continue
        _, _, total = lay_slice(workspace, data, n, factor[n])
        hits += workspace.pos[n_components]
        cover += observed(workspace, total, n_components)
    return hits, cover
