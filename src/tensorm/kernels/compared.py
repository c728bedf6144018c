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
from tensorm.kernels.arrays import copy_to, count_up, new, new_zeros
from tensorm.kernels.compiled import inlined, keep, kernel, lend, maker, part
from tensorm.kernels.decisions import ONE, bit_of, count_rows, decide_rows, read_rule
from tensorm.kernels.relational import lay_values, values_at
from tensorm.kernels.rows import (
    CELLS,
    FREE,
    SINGLE,
    Masks,
    cover_by,
    find_members,
    holders,
    list_holders,
    make_table,
    transpose_masks,
)
from tensorm.kernels.slices import Slice, lay_slice, make_slice, places_of, seen_at, turn_rows


class Side(NamedTuple):
    """What components say one way round: for each row, that it is above a column, or below."""

    masks: Any  # (R, M) the components that each row holds
    positions: Any  # as in MemberTable
    firsts: Any
    columns: Any
    planes: Any  # (R, 2, width) FREE: observed cells that no active component covers; SINGLE: at most one


class Objects(NamedTuple):
    """The slice of an object: each row has its comparisons with all columns, both ways round."""

    here: Any  # its number
    source: Any
    places: Any
    cells: Any  # (R, width) whether the row is above the column
    up: Side
    down: Side
    shorter: Any  # (L,) 1 where fewer rows are below than above, so that these are counted
    span: Any

    def lay(self, row, rows, i):
        self.here[0] = rows[i]
        lay_values(self.source, self.cells, rows[i], self.places)
        cover_sides(self, row)

    def count(self, entry):
        return count_pairs_once(self, entry)

    def flip(self, row, entry, stop):
        cover_side(self, self.up, entry.component, row)
        cover_side(self, self.down, entry.component, row)
        return stop


class Mirror(NamedTuple):
    """What components say about the mirror images of an attribute's cells."""

    columns: Any
    planes: Any  # (R, width) mirror images that no active component covers
    slices: Any  # (N, M) the components that the mirror image of each slice holds
    places: Any  # of an attribute's mirror image among the columns, or -1
    old: Any  # the row as it was


class Attributes(NamedTuple):
    """The slice of an attribute, whose entries change mirror images in the slices of others alone."""

    cells: Slice
    mirror: Mirror

    def lay(self, row, rows, i):
        copy_to(self.mirror.old, row)
        lay_slice(self.cells, row, rows, i)
        lay_mirror(self.mirror, self.cells, self.mirror.slices[rows[i]])

    def count(self, entry):
        return count_once(self, entry)

    def flip(self, row, entry, stop):
        turn_rows(self.cells, row, entry)
        return stop

    def leave(self, factor, n):
        follow_row(self.mirror, factor[n], self.mirror.places[n])


@inlined
def count_pairs_once(both, entry):
    """(pos, tot) of an object's entry, counted along the shorter side of its component.

    The entry also decides on the mirror images of its own cells, of which `doubled` are otherwise free.
    """
    component, span, (word, bit) = entry.component, both.span, bit_of(entry.component)
    turned = both.shorter[component] != 0
    mine, other = (both.down, both.up) if turned else (both.up, both.down)
    column, own = mine.columns[component], other.columns[component]
    width = column.shape[0]
    side = SINGLE * width if entry.active else FREE * width
    above, tot, clear, doubled = v.zeros(span), v.zeros(span), v.zeros(span), v.zeros(span)
    for at in range(0, width, v.LANES * len(span)):
        bits, back = v.load_words(column, at, span), v.load_words(own, at, span)
        for k in range(mine.firsts[component], mine.firsts[component + 1]):
            position = mine.positions[k]
            place = position * 2 * width + at
            relevant = v.both(bits, v.load_words(mine.planes, place + side, span))
            free = v.load_words(other.planes, place + FREE * width, span)
            if other.masks[position, word] & bit:
                if entry.active:  # the component's own mirror image does not count against it
                    single = v.load_words(other.planes, place + SINGLE * width, span)
                    free = v.add(v.without(free, back), v.both(single, back))
                doubled = v.add(doubled, v.popcount(v.both(v.both(relevant, back), free)))
            cells = v.load_words(both.cells, position * width + at, span)
            above = v.add(above, v.popcount(v.both(relevant, cells)))
            tot = v.add(tot, v.popcount(relevant))
            clear = v.add(clear, v.popcount(v.both(relevant, free)))
    ones, seen = v.total(above), v.total(tot)
    contested = seen - v.total(clear) + v.total(doubled) // 2
    return (seen - ones if turned else ones) - contested, seen - 2 * contested


@inlined
def count_once(both, entry):
    """(pos, tot) of an attribute's entry."""
    inner, component = both.cells, entry.component
    workspace, planes, span = inner.workspace, both.mirror.planes, inner.span
    column = inner.table.columns[component]
    width = column.shape[0]
    side = SINGLE * width if entry.active else FREE * width
    pos, tot, clear = v.zeros(span), v.zeros(span), v.zeros(span)
    for at in range(0, width, v.LANES * len(span)):
        bits = v.load_words(column, at, span)
        for position in holders(inner.table, component):
            place = position * 3 * width + at
            relevant = v.both(bits, v.load_words(workspace, place + side, span))
            cells = v.load_words(workspace, place + CELLS * width, span)
            free = v.load_words(planes, position * width + at, span)
            pos = v.add(pos, v.popcount(v.both(relevant, cells)))
            tot = v.add(tot, v.popcount(relevant))
            clear = v.add(clear, v.popcount(v.both(relevant, free)))
    contested = v.total(tot) - v.total(clear)
    return v.total(pos) - contested, v.total(tot) - 2 * contested


@maker
def make_side(rows, columns, n_components, lanes):
    """Room for what is said one way round, given the components of rows and columns."""
    bits = transpose_masks(columns, n_components, lanes)
    planes = new((rows.shape[0], 2, bits.shape[1]), np.uint64)
    return Side(rows, *list_holders(rows, n_components), bits, planes)


@maker
def make_objects(source, masks, mirrored, order):
    """Room for one object after the other; `places` is not empty if rows and columns are the same."""
    given, _, places = mirrored
    mirror, lanes = Masks(*given), v.LANES * len(masks.span)
    members = find_members(join_masks(masks.rows, mirror.rows), order, False)
    up = make_side(masks.rows[members], masks.columns, masks.n_components, lanes)
    down = make_side(mirror.rows[members], mirror.columns, masks.n_components, lanes)
    shorter = new_zeros(masks.n_components, np.uint8)
    for l in range(masks.n_components):
        fewer = down.firsts[l + 1] - down.firsts[l] < up.firsts[l + 1] - up.firsts[l]
        shorter[l] = places.shape[0] > 0 and fewer
    cells, here = new((members.shape[0], up.columns.shape[1]), np.uint64), new_zeros(1, np.int64)
    return Objects(here, source, places_of(source, members), cells, up, down, shorter, masks.span)


@maker
def join_masks(first, second):
    """The components of either of two tables of masks."""
    both = new(first.shape, np.uint64)
    for r in range(first.shape[0]):
        for m in range(first.shape[1]):
            both[r, m] = first[r, m] | second[r, m]
    return both


@part
def cover_sides(both, row):
    """Work out what is free in all rows of an object, both ways round, given the components that are on."""
    span, up, down, width = both.span, both.up, both.down, both.cells.shape[1]
    for position in range(both.cells.shape[0]):
        for at in range(0, width, v.LANES * len(span)):
            seen, to = (
                seen_at(both.source, both.here[0], both.places[position], at, span),
                2 * position * width + at,
            )
            free, single = cover_by(seen, row, up.masks[position], up.columns, at, span)
            v.store_words(up.planes, to + FREE * width, free)
            v.store_words(up.planes, to + SINGLE * width, single)
            free, single = cover_by(seen, row, down.masks[position], down.columns, at, span)
            v.store_words(down.planes, to + FREE * width, free)
            v.store_words(down.planes, to + SINGLE * width, single)


@part
def cover_side(both, side, component, row):
    """An entry has changed: work out again what is free one way round in the rows of its component."""
    width, span = both.cells.shape[1], both.span
    for k in range(side.firsts[component], side.firsts[component + 1]):
        position = side.positions[k]
        for at in range(0, width, v.LANES * len(span)):
            seen = seen_at(both.source, both.here[0], both.places[position], at, span)
            free, single = cover_by(seen, row, side.masks[position], side.columns, at, span)
            to = 2 * position * width + at
            v.store_words(side.planes, to + FREE * width, free)
            v.store_words(side.planes, to + SINGLE * width, single)


@maker
def make_attributes(source, masks, mirrored, order):
    """Room for one attribute after the other."""
    given, slices, places = mirrored
    mirror, table = Masks(*given), make_table(masks, order, False)
    columns = transpose_masks(mirror.columns, mirror.n_components, v.LANES * len(mirror.span))
    planes, old = new((table.members.shape[0], columns.shape[1]), np.uint64), new(slices.shape[1], np.uint64)
    return Attributes(make_slice(source, table, masks.span, 1), Mirror(columns, planes, slices, places, old))


@part
def lay_mirror(mirror, cells, row):
    """Work out which mirror images of an attribute's cells are free."""
    masks, span, width = cells.table.masks, cells.span, mirror.columns.shape[1]
    for at in range(0, width, v.LANES * len(span)):
        for position in range(masks.shape[0]):
            free, _ = cover_by(v.ones(span), row, masks[position], mirror.columns, at, span)
            v.store_words(mirror.planes, position * width + at, free)


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


def make_kernels(make_cells):
    """Compile the verbs for one kind of cells.

    `slices` has the source and the masks, `mirrored` the masks of mirror images, the components that the
    mirror image of each row of the factor holds, and its place among the columns, or -1. Objects are
    independent given the attributes' factors; attributes take turns.
    """

    @kernel
    def update_once(factor, rows, slices, mirrored, rule, stream):
        source, masks = slices
        rule = read_rule(lend(rule))
        own = make_cells(lend(source), Masks(*masks), mirrored, rule.order)
        decide_rows(lend(factor), rows, lend(own), rule, stream)
        keep(own)

    @kernel
    def count_entries_once(counts, factor, rows, slices, mirrored, components):
        source, masks = slices
        own = make_cells(lend(source), Masks(*masks), mirrored, components)
        count_rows(lend(counts), lend(factor), rows, lend(own), components)
        keep(own)

    return Kernels(update_once, count_entries_once)


object_kernels, attribute_kernels = make_kernels(make_objects), make_kernels(make_attributes)


@kernel
def count_said(factor, rows, slices, mirrored):
    """(right, all) of the comparisons that are said, and not the opposite, in some objects."""
    source, masks = slices
    own = make_objects(lend(source), Masks(*masks), mirrored, count_up(masks[2]))
    both, right, said = lend(own), 0, 0
    for n in rows:
        ones, seen = say_object(both, n, factor[n])
        right += ones
        said += seen
    keep(own)
    return right, said


@part
def say_object(both, n, row):
    """(right, all) of what is said and not contested in an object."""
    span, up, down = both.span, both.up, both.down
    right, said = v.zeros(span), v.zeros(span)
    for position in range(both.cells.shape[0]):
        for at in range(0, both.cells.shape[1], v.LANES * len(span)):
            seen = seen_at(both.source, n, both.places[position], at, span)
            free, _ = cover_by(seen, row, up.masks[position], up.columns, at, span)
            clear, _ = cover_by(seen, row, down.masks[position], down.columns, at, span)
            alone = v.without(clear, free)
            cells = values_at(both.source, n, both.places[position], at, span)
            right = v.add(right, v.popcount(v.both(alone, cells)))
            said = v.add(said, v.popcount(alone))
    return v.total(right), v.total(said)
