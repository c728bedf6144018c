"""Comparisons that count once: the slices of a relational tensor, and where their mirror images are covered.

A component that covers cell (o, a, b) says that a is above b in o, and one that covers its mirror image
(o, b, a) says the opposite. A pair is *contested* if components say both, and then the model is silent. So an
entry's counts are those of eq. 5 less a one and a zero for each of its cells that is contested once the entry
is 1 and not before: pos - v and tot - 2 v. For objects, an entry also decides on the mirror images of its own
cells, and a pair with both cells in the component is contested by that component alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import count_up, new, new_zeros
from tensorm.kernels.compiled import inlined, keep, kernel, lend, maker, part
from tensorm.kernels.decisions import ONE, Rule, bit_of, count, decide_row
from tensorm.kernels.relational import Ranks
from tensorm.kernels.rows import (
    CELLS,
    FREE,
    SINGLE,
    Masks,
    cover_rows,
    holders,
    list_holders,
    make_table,
    transpose_masks,
)
from tensorm.kernels.slices import Slice, lay_rows, lay_slice, make_slice, uncover_rows


class Mirror(NamedTuple):
    """What components say about the mirror images of a slice's cells."""

    masks: Any  # (R, M) the components that the mirror image of each row holds
    positions: Any  # as in Table
    firsts: Any
    columns: Any
    every: Any  # positions of all rows
    planes: Any  # (R, 2, width) FREE: mirror images that no active component covers; SINGLE: at most one


class Objects(NamedTuple):
    """The slice of an object."""

    cells: Slice
    mirror: Mirror

    def count(self, turn, component, active):
        workspace, planes, span = self.cells.workspace, self.mirror.planes, self.cells.span
        column, own = self.cells.table.columns[component], self.mirror.columns[component]
        word, bit = bit_of(component)
        width = column.shape[0]
        side = SINGLE * width if active else FREE * width
        pos, tot, clear, doubled = v.zeros(span), v.zeros(span), v.zeros(span), v.zeros(span)
        for at in range(0, width, v.LANES * len(span)):
            bits, mine = v.load(column, at, span), v.load(own, at, span)
            for position in holders(self.cells.table, component):
                place, down = position * 3 * width + at, position * 2 * width + at
                relevant = v.both(bits, v.load(workspace, place + side, span))
                pos = v.add(pos, v.popcount(v.both(relevant, v.load(workspace, place + CELLS * width, span))))
                tot = v.add(tot, v.popcount(relevant))
                free = v.load(planes, down + FREE * width, span)
                if self.mirror.masks[position, word] & bit:
                    if active:  # the component's own mirror image does not count against it
                        single = v.load(planes, down + SINGLE * width, span)
                        free = v.add(v.without(free, mine), v.both(single, mine))
                    doubled = v.add(doubled, v.popcount(v.both(v.both(relevant, mine), free)))
                clear = v.add(clear, v.popcount(v.both(relevant, free)))
        contested = v.total(tot) - v.total(clear) + v.total(doubled) // 2
        return v.total(pos) - contested, v.total(tot) - 2 * contested

    def flip(self, row, turn, component, stop):
        turn_rows(self.cells, row, component)
        first, last = self.mirror.firsts[component], self.mirror.firsts[component + 1]
        lay_mirror(self.mirror, self.mirror.positions[first:last], row, self.cells.span)
        return stop


class Attributes(NamedTuple):
    """The slice of an attribute, whose own entries leave mirror images as they are."""

    cells: Slice
    mirror: Mirror

    def count(self, turn, component, active):
        workspace, planes, span = self.cells.workspace, self.mirror.planes, self.cells.span
        column = self.cells.table.columns[component]
        width = column.shape[0]
        side = SINGLE * width if active else FREE * width
        pos, tot, clear = v.zeros(span), v.zeros(span), v.zeros(span)
        for at in range(0, width, v.LANES * len(span)):
            bits = v.load(column, at, span)
            for position in holders(self.cells.table, component):
                place = position * 3 * width + at
                relevant = v.both(bits, v.load(workspace, place + side, span))
                pos = v.add(pos, v.popcount(v.both(relevant, v.load(workspace, place + CELLS * width, span))))
                tot = v.add(tot, v.popcount(relevant))
                free = v.load(planes, position * 2 * width + at, span)
                clear = v.add(clear, v.popcount(v.both(relevant, free)))
        contested = v.total(tot) - v.total(clear)
        return v.total(pos) - contested, v.total(tot) - 2 * contested

    def flip(self, row, turn, component, stop):
        turn_rows(self.cells, row, component)
        return stop


@inlined
def turn_rows(cells, row, component):
    """An entry of the row has changed: bring up to date what its component covers."""
    word, bit = bit_of(component)
    positions = holders(cells.table, component)
    if row[word] & bit:
        cover_rows(cells.workspace, positions, cells.table.columns[component], cells.span)
    else:
        uncover_rows(cells, positions, row)


@maker
def make_mirror(table, masks):
    """Room for the mirror images of one slice after the other."""
    own, width = masks.rows[table.members], table.columns.shape[1]
    positions, firsts = list_holders(own, masks.n_components)
    columns = transpose_masks(masks.columns, masks.n_components, v.LANES * len(masks.span))
    planes = new((own.shape[0], 2, width), np.uint64)
    return Mirror(own, positions, firsts, columns, count_up(own.shape[0]), planes)


@part
def lay_mirror(mirror, positions, row, span):
    """Work out which mirror images are free in some rows, given the components that are active."""
    width = mirror.columns.shape[1]
    for at in range(0, width, v.LANES * len(span)):
        for position in positions:
            free = v.ones(span)
            single = free
            for m in range(row.shape[0]):
                left = row[m] & mirror.masks[position, m]
                while left:
                    bits = v.load(mirror.columns, ((m << 6) + v.lowest_bit(left)) * width + at, span)
                    left &= left - ONE
                    free, single = v.without(free, bits), v.without(single, v.without(bits, free))
            v.store(mirror.planes, (2 * position + FREE) * width + at, free)
            v.store(mirror.planes, (2 * position + SINGLE) * width + at, single)


@part
def lay_both(cells, rows, i, row, mirrored):
    """Put slice rows[i] on its workspace, and its mirror image beside it."""
    inner = cells.cells
    inner.here[0], inner.here[1] = rows[i], rows[min(i + 1, rows.shape[0] - 1)]
    lay_slice(inner, row)
    lay_mirror(cells.mirror, cells.mirror.every, mirrored, inner.span)


@part
def follow_row(mirror, old, new, place):
    """Change the mirror image of an attribute whose entries have changed; it has none if its place is -1."""
    if place < 0:
        return
    for m in range(old.shape[0]):
        left = old[m] ^ new[m]
        while left:
            mirror.columns[(m << 6) + v.lowest_bit(left), place >> 6] ^= ONE << uint64(place & 63)
            left &= left - ONE


@kernel
def update_objects(factor, rows, slices, mirrored, rule, stream):
    """Update factor[rows] in place; objects are independent given the attributes' factors.

    `slices` has the source and the masks, `mirrored` the masks of mirror images.
    """
    given, masks = slices
    factor, source, masks = lend(factor), Ranks(*lend(given)), Masks(*masks)
    rule = Rule(*lend(rule))
    table = make_table(masks, rule.order, False)
    own = Objects(make_slice(source, table, masks.span, 1), make_mirror(table, Masks(*mirrored)))
    cells = lend(own)
    for i in range(rows.shape[0]):
        n = rows[i]
        lay_both(cells, rows, i, factor[n], factor[n])
        decide_row(factor[n], n, 0, cells, rule, stream)
    keep(own)


@kernel
def update_attributes(factor, rows, slices, mirrored, rule, stream):
    """Update factor[rows] in place, row after row: the mirror image of one is in the slices of the others.

    `mirrored` also has the components of each row's mirror image, and its place among the columns, or -1.
    """
    given, masks = slices
    factor, source, masks = lend(factor), Ranks(*lend(given)), Masks(*masks)
    rule = Rule(*lend(rule))
    table = make_table(masks, rule.order, False)
    opposite, opposite_rows, places = mirrored
    own = Attributes(make_slice(source, table, masks.span, 1), make_mirror(table, Masks(*opposite)))
    cells = lend(own)
    for i in range(rows.shape[0]):
        n = rows[i]
        old = factor[n].copy()
        lay_both(cells, rows, i, factor[n], opposite_rows[n])
        decide_row(factor[n], n, 0, cells, rule, stream)
        follow_row(cells.mirror, old, factor[n], places[n])
    keep(own)


@kernel
def count_objects(counts, factor, rows, slices, mirrored, components):
    """Write (pos, tot) of some components' entries of factor[rows] to two arrays, others held."""
    given, masks = slices
    source, masks = Ranks(*lend(given)), Masks(*masks)
    table = make_table(masks, components, False)
    own = Objects(make_slice(source, table, masks.span, 1), make_mirror(table, Masks(*mirrored)))
    cells, factor = lend(own), lend(factor)
    for i in range(rows.shape[0]):
        lay_both(cells, rows, i, factor[rows[i]], factor[rows[i]])
        count_row(counts, i, factor[rows[i]], cells, components)
    keep(own)


@kernel
def count_attributes(counts, factor, rows, slices, mirrored, components):
    """Do the same for attributes."""
    given, masks = slices
    source, masks = Ranks(*lend(given)), Masks(*masks)
    table = make_table(masks, components, False)
    opposite, opposite_rows, _ = mirrored
    own = Attributes(make_slice(source, table, masks.span, 1), make_mirror(table, Masks(*opposite)))
    cells, factor = lend(own), lend(factor)
    for i in range(rows.shape[0]):
        lay_both(cells, rows, i, factor[rows[i]], opposite_rows[rows[i]])
        count_row(counts, i, factor[rows[i]], cells, components)
    keep(own)


@part
def count_row(counts, i, row, cells, components):
    """Write (pos, tot) of some of a row's entries."""
    pos, tot = counts
    for turn in range(components.shape[0]):
        word, bit = bit_of(components[turn])
        active = (row[word] & bit) != 0
        pos[i, turn], tot[i, turn] = count(cells, turn, components[turn], active)


@kernel
def count_said(factor, rows, slices, mirrored):
    """(ones, all, contested) of the observed cells that components cover in some objects."""
    given, masks = slices
    source, masks = Ranks(*lend(given)), Masks(*masks)
    table, span = make_table(masks, count_up(masks.n_components), False), masks.span
    mirror = make_mirror(table, Masks(*mirrored))
    width = table.columns.shape[1]
    workspace = new((table.members.shape[0], 2, width), np.uint64)
    own = Objects(Slice(new_zeros(2, np.int64), source, table.members, table, workspace, span, 1), mirror)
    cells = lend(own)
    ones, seen, contested = 0, 0, 0
    for n in rows:
        lay_rows(source, workspace, n, table.members, 1, span)
        lay_mirror(cells.mirror, cells.mirror.every, factor[n], span)
        for m in range(factor.shape[1]):
            left = factor[n, m]
            while left:
                pos, tot, clear = claim(cells, (m << 6) + v.lowest_bit(left))
                left &= left - ONE
                ones += pos
                seen += tot
                contested += tot - clear
    keep(own)
    return ones, seen, contested


@part
def claim(cells, component):
    """(ones, all, those without a mirror image) of the cells that a component is the first to cover."""
    inner, mirror = cells
    workspace, column, span = inner.workspace, inner.table.columns[component], inner.span
    width = column.shape[0]
    pos, tot, clear = v.zeros(span), v.zeros(span), v.zeros(span)
    for at in range(0, width, v.LANES * len(span)):
        bits = v.load(column, at, span)
        for position in holders(inner.table, component):
            to = position * 2 * width + at
            left = v.load(workspace, to, span)
            v.store(workspace, to, v.without(left, bits))
            claimed = v.both(left, bits)
            pos = v.add(pos, v.popcount(v.both(claimed, v.load(workspace, to + width, span))))
            tot = v.add(tot, v.popcount(claimed))
            clear = v.add(clear, v.popcount(v.both(claimed, v.load(mirror.planes, to, span))))
    return v.total(pos), v.total(tot), v.total(clear)
