"""Components with strengths of their own: the entries of a factor row decided from the strongest down.

Components are numbered by strength, the strongest first, so that the first component that holds a cell
decides it. For entry l only cells matter that no stronger component of the row holds; they are counted by
their *runner-up*, the strongest weaker component of the row that holds them, or none. A zero loses
``log((1 - q_l) / (1 - r))`` whatever the background. A one gains the difference of two scores, which depend
on how probable the cell is without any component: on its *level*, a whole number, the sum of its indices'.

Where cells differ in their levels, counts give bounds for what ones gain. They settle most entries, for the
random number is drawn first and says how large the log-odds must be; else the ones are walked. Scores of ones
are whole numbers in units of UNIT, so that sums do not depend on the order of the cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels.arrays import new, new_zeros
from tensorm.kernels.compiled import inlined, kernel, maker, part
from tensorm.kernels.decisions import ONE, bit_of, prior_of, straddles
from tensorm.kernels.rows import CELLS, FREE, MemberTable, count_entry, holders, make_planes
from tensorm.kernels.slices import (
    lay_rows,
    places_of,
)
from tensorm.kernels.vectors import (
    LANES,
    both,
    count_bits,
    load_words,
    lowest_bit,
    popcount,
    store_words,
    total,
    without,
)

UNIT = 2.0**-26
LOW, HIGH, TURN = 0, 1, 2  # what cells know of the slice that is worked on


class LevelScores(NamedTuple):
    """What cells say for each component, and last of all for none."""

    zeros: Any  # (L + 1,) log(1 - q)
    ones: Any  # (L + 1, levels) log of the probability of a one, in units of UNIT
    own: Any  # (N,) levels of the rows of the factor
    rows: Any  # (R,) levels of the rows of a slice
    columns: Any  # (T,) levels along the packed modes
    share: float  # of a cell that counts: one half where each is met twice

    def split(self):
        return Strengths(0), tuple(self)

    def make_cells(self, source, table, span, n_turns):
        return make_ranked(source, table, span, self)


class Strengths(NamedTuple):
    """Says that weights are scores."""

    nothing: int

    def join(self, numbers):
        return LevelScores(*numbers)


class Ranked(NamedTuple):
    """The cells of a slice on a workspace that no component decided so far covers."""

    source: Any
    places: Any
    table: MemberTable
    workspace: Any
    span: Any
    scores: LevelScores
    pos: Any  # (L + 1,) ones by runner-up, for the entry whose turn it is
    tot: Any  # all cells
    here: Any  # least and greatest level of rows and columns together, and the component whose turn it is
    shared: Any  # (R,) room for a list of rows
    overlaps: Any  # (L, L) cells of a slice that two components hold, the stronger one first

    def lay(self, row, rows, i):
        lay_rows(self.source, self.workspace, rows[i], self.places, 2, self.span)
        self.here[TURN] = 0

    def weigh(self, row, entry, rule):
        cover_stronger(self, row, entry.component)
        count_all(self, entry.component)
        return weigh_all(self, row, entry, rule)

    def settle(self, row, entry, rule, limit):
        move_to_rivals(self, row, entry.component)
        fixed, least, most = weigh_groups(self, row, entry, rule)
        if not straddles(fixed + least, fixed + most, limit):
            return fixed + least
        gain = walk_ones(self, row, entry.component, self.scores.own[entry.n])
        return fixed + self.scores.share * (gain * UNIT)

    def flip(self, row, entry, stop):
        return stop

    def renew(self):
        find_overlaps(self.overlaps, self.table)


@maker
def make_ranked(source, table, span, scores):
    """Room for one slice after the other."""
    places, n_groups = places_of(source, table.members), scores.zeros.shape[0]
    pos, tot = new_zeros(n_groups, np.int64), new_zeros(n_groups, np.int64)
    here = new_zeros(3, np.int64)
    if table.members.shape[0]:
        find_range(here, table.members, scores.rows, scores.columns)
    shared = new(table.members.shape[0], np.int64)
    overlaps = new((n_groups - 1, n_groups - 1), np.int64)
    find_overlaps(overlaps, table)
    return Ranked(source, places, table, make_planes(table), span, scores, pos, tot, here, shared, overlaps)


@part
def find_overlaps(overlaps, table):
    """Write how many cells of a slice each two components hold: rows times columns that hold both."""
    masks, columns, L = table.masks, table.columns, overlaps.shape[0]
    overlaps[:] = 0
    for position in range(masks.shape[0]):
        for m in range(masks.shape[1]):
            left = masks[position, m]
            while left:
                component = (m << 6) + lowest_bit(left)
                left &= left - ONE
                for other in range(m, masks.shape[1]):
                    rivals = left if other == m else masks[position, other]
                    while rivals:
                        overlaps[component, (other << 6) + lowest_bit(rivals)] += 1
                        rivals &= rivals - ONE
    for component in range(L):
        for rival in range(component + 1, L):
            if overlaps[component, rival]:
                size = 0
                for w in range(columns.shape[1]):
                    size += count_bits(columns[component, w] & columns[rival, w])
                overlaps[component, rival] *= size


@part
def find_range(here, members, rows, columns):
    """Write the least and the greatest level of some rows and all columns together."""
    low, high = rows[members[0]], rows[members[0]]
    for member in members:
        low, high = min(low, rows[member]), max(high, rows[member])
    least, most = columns[0], columns[0]
    for level in columns:
        least, most = min(least, level), max(most, level)
    here[LOW], here[HIGH] = low + least, high + most


@inlined
def weaker(row, mask, component, m):
    """The components of word m that a row and a mask share and that are weaker than one."""
    shared = row[m] & mask[m]
    if m == component >> 6:
        shared &= ~(((ONE << uint64(component & 63)) << ONE) - ONE)
    return shared


@inlined
def count_groups(cells, row, component):
    """Write (pos, tot) of an entry by runner-up: the weaker components of the row, and none."""
    count_all(cells, component)
    move_to_rivals(cells, row, component)


@inlined
def count_all(cells, component):
    """Write (pos, tot) of an entry as if nobody were runner-up."""
    none, positions = cells.pos.shape[0] - 1, holders(cells.table, component)
    cells.pos[none], cells.tot[none] = count_entry(
        cells.workspace, positions, cells.table.columns[component], False, cells.span
    )


@inlined
def move_to_rivals(cells, row, component):
    """Move the cells that weaker components of the row hold to these."""
    pos, tot, some = cells.pos, cells.tot, uint64(0)
    for m in range(component >> 6, row.shape[0]):
        rivals = weaker(row, row, component, m)
        some |= rivals
        while rivals:
            rival = (m << 6) + lowest_bit(rivals)
            rivals &= rivals - ONE
            pos[rival] = tot[rival] = 0
    if some:
        for i in range(list_shared(cells, row, component)):
            count_rivals(cells, row, component, cells.shared[i])


@inlined
def weigh_all(cells, row, entry, rule):
    """Bounds for the log-odds of an entry from all its cells and how many of them rivals can hold at most.

    A zero costs the less, and a one gains the less, the stronger the runner-up is.
    """
    scores, ones, share, component = (
        cells.scores.zeros,
        cells.scores.ones,
        cells.scores.share,
        entry.component,
    )
    none, own, shared = scores.shape[0] - 1, cells.scores.own[entry.n], 0
    strongest = none
    for m in range(row.shape[0] - 1, (component >> 6) - 1, -1):
        rivals = weaker(row, row, component, m)
        if rivals:
            strongest = (m << 6) + lowest_bit(rivals)
        while rivals:
            shared += cells.overlaps[component, (m << 6) + lowest_bit(rivals)]
            rivals &= rivals - ONE
    low, high, mine = own + cells.here[LOW], own + cells.here[HIGH], scores[component]
    pos, zeros = cells.pos[none], cells.tot[none] - cells.pos[none]
    prior, loss = prior_of(rule, entry.n, component), zeros * mine
    least = pos * float(ones[component, high] - ones[none, high])
    most = pos * float(ones[component, low] - ones[none, low])
    lower = prior + share * loss
    upper = prior + share * (loss - min(zeros, shared) * scores[strongest])
    least -= min(pos, shared) * float(ones[strongest, high] - ones[none, high])
    return lower + share * (least * UNIT), upper + share * (most * UNIT)


@inlined
def list_shared(cells, row, component):
    """List the rows of the slice that hold a component and a weaker one of the factor's row; how many."""
    table, shared, size = cells.table, cells.shared, 0
    for position in holders(table, component):
        some = uint64(0)
        for m in range(component >> 6, row.shape[0]):
            some |= weaker(row, table.masks[position], component, m)
        shared[size] = position
        size += some != 0  # no branch, which could not be foreseen
    return size


@inlined
def count_rivals(cells, row, component, position):
    """Move the cells of a row that weaker components hold from none to their runner-up."""
    table, workspace, span, pos, tot = cells.table, cells.workspace, cells.span, cells.pos, cells.tot
    width, none = workspace.shape[2], pos.shape[0] - 1
    for at in range(0, width, LANES * len(span)):
        place = position * 3 * width + at
        left = both(
            load_words(table.columns, component * width + at, span),
            load_words(workspace, place + FREE * width, span),
        )
        data = load_words(workspace, place + CELLS * width, span)
        for m in range(component >> 6, row.shape[0]):
            rivals = weaker(row, table.masks[position], component, m)
            while rivals:
                rival = (m << 6) + lowest_bit(rivals)
                rivals &= rivals - ONE
                held = both(left, load_words(table.columns, rival * width + at, span))
                left = without(left, held)
                seen, ones = total(popcount(held)), total(popcount(both(held, data)))
                tot[rival] += seen
                pos[rival] += ones
                tot[none] -= seen
                pos[none] -= ones


@inlined
def weigh_groups(cells, row, entry, rule):
    """(fixed, least, most) of an entry's log-odds: its prior and what zeros cost, and bounds for the ones.

    A one gains the more, the rarer it is by itself: least and most are for ones of the highest level alone,
    and of the lowest.
    """
    pos, tot, scores, ones = cells.pos, cells.tot, cells.scores.zeros, cells.scores.ones
    none, component, own = pos.shape[0] - 1, entry.component, cells.scores.own[entry.n]
    low, high = own + cells.here[LOW], own + cells.here[HIGH]
    mine, at_low, at_high = scores[component], ones[component, low], ones[component, high]
    loss, most, least = 0.0, 0.0, 0.0
    for m in range(component >> 6, row.shape[0]):
        rivals = weaker(row, row, component, m)
        while rivals:
            rival = (m << 6) + lowest_bit(rivals)
            rivals &= rivals - ONE
            if tot[rival]:
                loss += (tot[rival] - pos[rival]) * (mine - scores[rival])
                most += pos[rival] * float(at_low - ones[rival, low])
                least += pos[rival] * float(at_high - ones[rival, high])
    loss += (tot[none] - pos[none]) * mine
    most += pos[none] * float(at_low - ones[none, low])
    least += pos[none] * float(at_high - ones[none, high])
    share = cells.scores.share
    fixed = prior_of(rule, entry.n, component) + share * loss
    return fixed, share * (least * UNIT), share * (most * UNIT)


@part
def walk_ones(cells, row, component, own):
    """What the ones gain by an entry, in units of UNIT, one after the other."""
    table, workspace, scores = cells.table, cells.workspace, cells.scores
    width, none = workspace.shape[2], scores.zeros.shape[0] - 1
    gain, mine = 0, scores.ones[component]
    for position in holders(table, component):
        mask, level = table.masks[position], own + scores.rows[table.members[position]]
        for w in range(width):
            left = table.columns[component, w] & workspace[position, FREE, w] & workspace[position, CELLS, w]
            if not left:
                continue
            for m in range(component >> 6, row.shape[0]):
                rivals = weaker(row, mask, component, m)
                while rivals and left:
                    rival = (m << 6) + lowest_bit(rivals)
                    rivals &= rivals - ONE
                    held = left & table.columns[rival, w]
                    left &= ~held
                    other = scores.ones[rival]
                    while held:
                        at = level + scores.columns[(w << 6) + lowest_bit(held)]
                        held &= held - ONE
                        gain += mine[at] - other[at]
            other = scores.ones[none]
            while left:
                at = level + scores.columns[(w << 6) + lowest_bit(left)]
                left &= left - ONE
                gain += mine[at] - other[at]
    return gain


@inlined
def cover_stronger(cells, row, component):
    """What stronger components of the row cover does not depend on a component."""
    for other in range(cells.here[TURN], component):
        word, bit = bit_of(other)
        if row[word] & bit:
            cover_cells(cells, other)
    cells.here[TURN] = component


@inlined
def cover_cells(cells, component):
    """Take what a component covers from the cells that are left."""
    table, workspace, span = cells.table, cells.workspace, cells.span
    positions, width = holders(table, component), workspace.shape[2]
    for at in range(0, width, LANES * len(span)):
        bits = load_words(table.columns, component * width + at, span)
        for position in positions:
            place = position * 3 * width + FREE * width + at
            store_words(workspace, place, without(load_words(workspace, place, span), bits))


@kernel
def permute_masks(masks, order):
    """Masks in which bit i is what bit order[i] was."""
    turned = new_zeros(masks.shape, np.uint64)
    for n in range(masks.shape[0]):
        for i in range(order.shape[0]):
            (word, bit), (to, new_bit) = bit_of(order[i]), bit_of(i)
            if masks[n, word] & bit:
                turned[n, to] |= new_bit
    return turned
