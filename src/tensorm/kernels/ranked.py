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

from tensorm.kernels.arrays import new_zeros
from tensorm.kernels.compiled import inlined, keep, kernel, lend, maker, part
from tensorm.kernels.decisions import ONE, bit_of, prior_of
from tensorm.kernels.rows import CELLS, FREE, Masks, MemberTable, holders, make_planes
from tensorm.kernels.slices import (
    laid_cells,
    lay_rows,
    make_claims,
    places_of,
)
from tensorm.kernels.vectors import (
    LANES,
    add,
    both,
    load_words,
    lowest_bit,
    popcount,
    store_words,
    total,
    without,
    zeros,
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

    def lay(self, row, rows, i):
        lay_rows(self.source, self.workspace, rows[i], self.places, 2, self.span)
        self.here[TURN] = 0

    def weigh(self, row, entry, rule):
        cover_stronger(self, row, entry.component)
        count_groups(self, row, entry.component)
        fixed, least, most = weigh_groups(self, row, entry, rule)
        return fixed + least, fixed + most

    def settle(self, row, entry, rule):
        fixed, _, _ = weigh_groups(self, row, entry, rule)
        gain = walk_ones(self, row, entry.component, self.scores.own[entry.n])
        return fixed + self.scores.share * (gain * UNIT)

    def flip(self, row, entry, stop):
        return stop


@maker
def make_ranked(source, table, span, scores):
    """Room for one slice after the other."""
    places, n_groups = places_of(source, table.members), scores.zeros.shape[0]
    pos, tot = new_zeros(n_groups, np.int64), new_zeros(n_groups, np.int64)
    here = new_zeros(3, np.int64)
    if table.members.shape[0]:
        find_range(here, table.members, scores.rows, scores.columns)
    return Ranked(source, places, table, make_planes(table), span, scores, pos, tot, here)


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
    table, workspace, span, pos, tot = cells.table, cells.workspace, cells.span, cells.pos, cells.tot
    width, none, some = workspace.shape[2], pos.shape[0] - 1, uint64(0)
    for m in range(component >> 6, row.shape[0]):
        rivals = weaker(row, row, component, m)
        some |= rivals
        while rivals:
            rival = (m << 6) + lowest_bit(rivals)
            rivals &= rivals - ONE
            pos[rival] = tot[rival] = 0
    ones, seen = zeros(span), zeros(span)
    for at in range(0, width, LANES * len(span)):
        column = load_words(table.columns, component * width + at, span)
        for position in holders(table, component):
            place = position * 3 * width + at
            left = both(column, load_words(workspace, place + FREE * width, span))
            data = load_words(workspace, place + CELLS * width, span)
            if some:
                left = count_rivals(cells, row, component, (position, at), left, data)
            ones = add(ones, popcount(both(left, data)))
            seen = add(seen, popcount(left))
    pos[none], tot[none] = total(ones), total(seen)


@inlined
def count_rivals(cells, row, component, place, left, data):
    """Count the cells of a vector that weaker components of the row hold; return those that are left."""
    table, span, pos, tot, width = cells.table, cells.span, cells.pos, cells.tot, cells.workspace.shape[2]
    position, at = place
    for m in range(component >> 6, row.shape[0]):
        rivals = weaker(row, table.masks[position], component, m)
        while rivals:
            rival = (m << 6) + lowest_bit(rivals)
            rivals &= rivals - ONE
            held = both(left, load_words(table.columns, rival * width + at, span))
            left = without(left, held)
            tot[rival] += total(popcount(held))
            pos[rival] += total(popcount(both(held, data)))
    return left


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
def count_decided(counts, factor, rows, slices, probe):
    """Add to counts (2, 2, L + 1) the ones and all cells that each component decides, by one of them.

    counts[0] has all cells, counts[1] those that component `probe` holds, too; it decides none itself, and
    the last column has the cells that it alone holds.
    """
    source, masks = slices
    own = make_claims(lend(source), Masks(*masks))
    cells, factor = lend(own), lend(factor)
    for n in rows:
        cells.here[0] = n
        lay_rows(cells.source, cells.workspace, n, cells.places, 1, cells.span)
        count_slice(counts, factor[n], cells, probe)
    keep(own)


@part
def count_slice(counts, row, cells, probe):
    """Count the cells of a slice that lies on its workspace."""
    table, workspace, span, (word, bit) = cells.table, cells.workspace, cells.span, bit_of(probe)
    probed, width, last = (row[word] & bit) != 0, table.columns.shape[1], counts.shape[2] - 1
    for m in range(row.shape[0]):
        left = row[m]
        if m == word:
            left &= ~bit
        while left:
            component = (m << 6) + lowest_bit(left)
            left &= left - ONE
            for position in holders(table, component):
                inside = probed and (table.masks[position, word] & bit) != 0
                for at in range(0, width, LANES * len(span)):
                    to = position * 2 * width + at
                    free = load_words(workspace, to, span)
                    held = both(free, load_words(table.columns, component * width + at, span))
                    store_words(workspace, to, without(free, held))
                    data = both(held, laid_cells(cells.source, cells, position, at))
                    counts[0, 0, component] += total(popcount(data))
                    counts[0, 1, component] += total(popcount(held))
                    if inside:
                        own = load_words(table.columns, probe * width + at, span)
                        counts[1, 0, component] += total(popcount(both(data, own)))
                        counts[1, 1, component] += total(popcount(both(held, own)))
    if probed:
        for position in holders(table, probe):
            for at in range(0, width, LANES * len(span)):
                to = position * 2 * width + at
                held = both(
                    load_words(workspace, to, span), load_words(table.columns, probe * width + at, span)
                )
                data = both(held, laid_cells(cells.source, cells, position, at))
                counts[1, 0, last] += total(popcount(data))
                counts[1, 1, last] += total(popcount(held))


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
