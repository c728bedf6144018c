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
from tensorm.kernels.arrays import copy_to, count_up, new
from tensorm.kernels.compiled import inlined, keep, kernel, lend, maker, part
from tensorm.kernels.decisions import ONE, bit_of, count_rows, decide_rows, read_rule
from tensorm.kernels.rows import (
    CELLS,
    FREE,
    SINGLE,
    Masks,
    cover_by,
    holders,
    list_holders,
    make_table,
    transpose_masks,
)
from tensorm.kernels.slices import Slice, lay_rows, lay_slice, make_claims, make_slice, turn_rows


class Mirror(NamedTuple):
    """What components say about the mirror images of a slice's cells."""

    masks: Any  # (R, M) the components that the mirror image of each row holds
    positions: Any  # as in Table
    firsts: Any
    columns: Any
    every: Any  # positions of all rows
    planes: Any  # (R, 2, width) FREE: mirror images that no active component covers; SINGLE: at most one
    slices: Any  # (N, M) the components that the mirror image of each slice holds
    places: Any  # of an attribute's mirror image among the columns, or -1
    old: Any  # the row as it was


class Objects(NamedTuple):
    """The slice of an object."""

    cells: Slice
    mirror: Mirror

    def lay(self, row, rows, i):
        lay_both(self, row, rows, i)

    def count(self, entry):
        return count_once(self, entry, True)

    def flip(self, row, entry, stop):
        turn_rows(self.cells, row, entry)
        first, last = self.mirror.firsts[entry.component], self.mirror.firsts[entry.component + 1]
        lay_mirror(self.mirror, self.mirror.positions[first:last], row, self.cells.span)
        return stop


class Attributes(NamedTuple):
    """The slice of an attribute, whose entries change mirror images in the slices of others alone."""

    cells: Slice
    mirror: Mirror

    def lay(self, row, rows, i):
        copy_to(self.mirror.old, row)
        lay_both(self, row, rows, i)

    def count(self, entry):
        return count_once(self, entry, False)

    def flip(self, row, entry, stop):
        turn_rows(self.cells, row, entry)
        return stop

    def leave(self, factor, n):
        follow_row(self.mirror, factor[n], self.mirror.places[n])


@inlined
def count_once(both, entry, doubles):
    """(pos, tot) of an entry; it may `double`: decide on the mirror images of its own cells, too."""
    inner, mirror, component = both.cells, both.mirror, entry.component
    workspace, planes, span, (word, bit) = inner.workspace, mirror.planes, inner.span, bit_of(component)
    column, own = inner.table.columns[component], mirror.columns[component]
    width = column.shape[0]
    side = SINGLE * width if entry.active else FREE * width
    pos, tot, clear, doubled = v.zeros(span), v.zeros(span), v.zeros(span), v.zeros(span)
    for at in range(0, width, v.LANES * len(span)):
        bits, mine = v.load_words(column, at, span), v.load_words(own, at, span)
        for position in holders(inner.table, component):
            place, down = position * 3 * width + at, position * 2 * width + at
            relevant = v.both(bits, v.load_words(workspace, place + side, span))
            pos = v.add(
                pos, v.popcount(v.both(relevant, v.load_words(workspace, place + CELLS * width, span)))
            )
            tot = v.add(tot, v.popcount(relevant))
            free = v.load_words(planes, down + FREE * width, span)
            if doubles and mirror.masks[position, word] & bit:
                if entry.active:  # the component's own mirror image does not count against it
                    single = v.load_words(planes, down + SINGLE * width, span)
                    free = v.add(v.without(free, mine), v.both(single, mine))
                doubled = v.add(doubled, v.popcount(v.both(v.both(relevant, mine), free)))
            clear = v.add(clear, v.popcount(v.both(relevant, free)))
    contested = v.total(tot) - v.total(clear) + v.total(doubled) // 2
    return v.total(pos) - contested, v.total(tot) - 2 * contested


@maker
def make_mirror(table, mirrored):
    """Room for the mirror images of one slice after the other."""
    given, slices, places = mirrored
    masks = Masks(*given)
    own, width = masks.rows[table.members], table.columns.shape[1]
    positions, firsts = list_holders(own, masks.n_components)
    columns = transpose_masks(masks.columns, masks.n_components, v.LANES * len(masks.span))
    planes, old = new((own.shape[0], 2, width), np.uint64), new(own.shape[1], np.uint64)
    return Mirror(own, positions, firsts, columns, count_up(own.shape[0]), planes, slices, places, old)


@part
def lay_mirror(mirror, positions, row, span):
    """Work out which mirror images are free in some rows, given the components that are active."""
    width = mirror.columns.shape[1]
    for at in range(0, width, v.LANES * len(span)):
        for position in positions:
            free, single = cover_by(v.ones(span), row, mirror.masks[position], mirror.columns, at, span)
            v.store_words(mirror.planes, (2 * position + FREE) * width + at, free)
            v.store_words(mirror.planes, (2 * position + SINGLE) * width + at, single)


@part
def lay_both(both, row, rows, i):
    """Put slice rows[i] on its workspace, and its mirror image beside it."""
    lay_slice(both.cells, row, rows, i)
    lay_mirror(both.mirror, both.mirror.every, both.mirror.slices[rows[i]], both.cells.span)


@part
def follow_row(mirror, row, place):
    """Change the mirror image of an attribute whose entries have changed; it has none if its place is -1."""
    if place < 0:
        return
    for m in range(row.shape[0]):
        left = mirror.old[m] ^ row[m]
        while left:
            mirror.columns[(m << 6) + v.lowest_bit(left), place >> 6] ^= ONE << uint64(place & 63)
            left &= left - ONE


class Kernels(NamedTuple):
    """The verbs for objects, or for attributes, to be called from Python."""

    update_rows: Any
    count_entries: Any


def make_kernels(Cells):
    """Compile the verbs for one kind of cells.

    `slices` has the source and the masks, `mirrored` the masks of mirror images, the components that the
    mirror image of each row of the factor holds, and its place among the columns, or -1. Objects are
    independent given the attributes' factors; attributes take turns.
    """

    @kernel
    def update_once(factor, rows, slices, mirrored, rule, stream):
        source, masks = slices
        rule = read_rule(lend(rule))
        table = make_table(Masks(*masks), rule.order, False)
        own = Cells(make_slice(lend(source), table, masks[-1], 1), make_mirror(table, mirrored))
        decide_rows(lend(factor), rows, lend(own), rule, stream)
        keep(own)

    @kernel
    def count_entries_once(counts, factor, rows, slices, mirrored, components):
        source, masks = slices
        table = make_table(Masks(*masks), components, False)
        own = Cells(make_slice(lend(source), table, masks[-1], 1), make_mirror(table, mirrored))
        count_rows(lend(counts), lend(factor), rows, lend(own), components)
        keep(own)

    return Kernels(update_once, count_entries_once)


object_kernels, attribute_kernels = make_kernels(Objects), make_kernels(Attributes)


@kernel
def count_said(factor, rows, slices, mirrored):
    """(ones, all, contested) of the observed cells that components cover in some objects."""
    source, masks = slices
    claims = make_claims(lend(source), Masks(*masks))
    own = Objects(claims, make_mirror(claims.table, mirrored))
    (inner, mirror), ones, seen, contested = lend(own), 0, 0, 0
    for n in rows:
        lay_rows(inner.source, inner.workspace, n, inner.places, 1, inner.span)
        lay_mirror(mirror, mirror.every, factor[n], inner.span)
        for m in range(factor.shape[1]):
            left = factor[n, m]
            while left:
                pos, tot, clear = claim(inner, mirror, (m << 6) + v.lowest_bit(left))
                left &= left - ONE
                ones += pos
                seen += tot
                contested += tot - clear
    keep(own)
    return ones, seen, contested


@part
def claim(inner, mirror, component):
    """(ones, all, those without a mirror image) of the cells that a component is the first to cover."""
    workspace, column, span = inner.workspace, inner.table.columns[component], inner.span
    width = column.shape[0]
    pos, tot, clear = v.zeros(span), v.zeros(span), v.zeros(span)
    for at in range(0, width, v.LANES * len(span)):
        bits = v.load_words(column, at, span)
        for position in holders(inner.table, component):
            to = position * 2 * width + at
            left = v.load_words(workspace, to, span)
            v.store_words(workspace, to, v.without(left, bits))
            claimed = v.both(left, bits)
            pos = v.add(pos, v.popcount(v.both(claimed, v.load_words(workspace, to + width, span))))
            tot = v.add(tot, v.popcount(claimed))
            clear = v.add(clear, v.popcount(v.both(claimed, v.load_words(mirror.planes, to, span))))
    return v.total(pos), v.total(tot), v.total(clear)
