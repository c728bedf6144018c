"""Pairs with attributes that have changed: what they add to the counts of objects and of other attributes.

Counts that are kept (tensors/cached_compared.py) change where an attribute's entries do, by pairs that it is
one of. In each object these are one row of cells, read once for both directions. Cells between two of the
changed attributes belong to the row of the one that is above.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import new, new_zeros
from tensorm.kernels.compiled import inlined, keep, kernel, lend, maker, part
from tensorm.kernels.decisions import ONE, bit_of
from tensorm.kernels.relational import values_at
from tensorm.kernels.rows import FREE, SINGLE, Masks, cover_by, transpose_masks
from tensorm.kernels.slices import seen_at

MOST_TALLIED = 2**16 - 1  # rows that counters of 16 bits can count


class Way(NamedTuple):
    """What components say about the row of an attribute: that it is above others, or below."""

    attributes: Any  # (A, M) the components that hold the attribute of the row
    columns: Any  # (L, width) and those that it is compared with
    planes: Any  # (2, width) FREE, SINGLE: as in rows.py


class AttributeRow(NamedTuple):
    """The row of an attribute in an object."""

    source: Any
    objects: Any  # (O, M)
    forth: Way  # as the source reads cells
    back: Way  # their mirror images
    cells: Any  # (width,)
    others: Any  # (width,) columns that are none of the chosen attributes
    span: Any


@maker
def make_attribute_row(source, masks, mirror, chosen):
    """Room for one row after the other."""
    L, lanes = masks.n_components, v.LANES * len(masks.span)
    columns, reverse = transpose_masks(masks.columns, L, lanes), transpose_masks(mirror.columns, L, lanes)
    width = columns.shape[1]
    forth = Way(mirror.columns, columns, new((2, width), np.uint64))
    back = Way(masks.columns, reverse, new((2, width), np.uint64))
    others, cells = new(width, np.uint64), new(width, np.uint64)
    for at in range(width):
        others[at] = ~uint64(0)
    for i in chosen:
        others[i >> 6] ^= ONE << uint64(i & 63)
    return AttributeRow(source, masks.rows, forth, back, cells, others, masks.span)


@part
def lay_row(laid, o, i):
    """Put the row of attribute i in object o on its planes."""
    span, active = laid.span, laid.objects[o]
    for at in range(0, laid.cells.shape[0], v.LANES * len(span)):
        seen = seen_at(laid.source, i, o, at, span)
        v.store_words(laid.cells, at, values_at(laid.source, i, o, at, span))
        lay_way(laid.forth, seen, active, i, at, span)
        lay_way(laid.back, seen, active, i, at, span)


@inlined
def lay_way(way, seen, active, i, at, span):
    """Work out what is free one way round in a vector of a row."""
    free, single = cover_by(seen, active, way.attributes[i], way.columns, at, span)
    v.store_words(way.planes, FREE * way.columns.shape[1] + at, free)
    v.store_words(way.planes, SINGLE * way.columns.shape[1] + at, single)


@kernel
def count_objects_with(counts, rows, slices, mirrored, chosen):
    """Write (pos, tot) of the entries of some objects, from pairs with chosen attributes, to two arrays."""
    source, masks = slices
    own = make_attribute_row(lend(source), Masks(*masks), Masks(*mirrored[0]), chosen)
    laid, (pos, tot) = lend(own), lend(counts)
    for k in range(rows.shape[0]):
        for l in range(pos.shape[1]):
            pos[k, l] = tot[k, l] = 0
        for i in chosen:
            lay_row(laid, rows[k], i)
            add_way(pos[k], tot[k], laid, (rows[k], i), False)
            add_way(pos[k], tot[k], laid, (rows[k], i), True)
        for l in range(pos.shape[1]):  # so far everything counted twice, since some counts by halves
            pos[k, l] //= 2
            tot[k, l] //= 2
    keep(own)


@part
def add_way(pos, tot, laid, row, reverse):
    """Add twice the (pos, tot) that a row has one way round, for all components that hold its attribute."""
    o, i = row
    mine, other = (laid.back, laid.forth) if reverse else (laid.forth, laid.back)
    for m in range(mine.attributes.shape[1]):
        left = mine.attributes[i, m]
        while left:
            component = (m << 6) + v.lowest_bit(left)
            left &= left - ONE
            doubles = (other.attributes[i, m] & bit_of(component)[1]) != 0
            active = (laid.objects[o, m] & bit_of(component)[1]) != 0
            held = component, active, doubles
            ones, seen, clear, doubled = sum_cells(laid, mine, other, held, reverse)
            contested = 2 * (seen - clear) + doubled
            pos[component] += 2 * ones - contested
            tot[component] += 2 * seen - 2 * contested


@inlined
def sum_cells(laid, mine, other, held, reverse):
    """(ones, all, those whose mirror images are free, those that double) of a component's cells in a row."""
    component, active, doubles = held
    span, width = laid.span, laid.cells.shape[0]
    above, tot, clear, doubled = v.zeros(span), v.zeros(span), v.zeros(span), v.zeros(span)
    side = SINGLE * width if active else FREE * width
    for at in range(0, width, v.LANES * len(span)):
        relevant = v.load_words(mine.columns, component * width + at, span)
        relevant = v.both(relevant, v.load_words(mine.planes, side + at, span))
        if reverse:
            relevant = v.both(relevant, v.load_words(laid.others, at, span))
        free = v.load_words(other.planes, FREE * width + at, span)
        if doubles:
            own = v.load_words(other.columns, component * width + at, span)
            if active:
                single = v.load_words(other.planes, SINGLE * width + at, span)
                free = v.add(v.without(free, own), v.both(single, own))
            doubled = v.add(doubled, v.popcount(v.both(v.both(relevant, own), free)))
        above = v.add(above, v.popcount(v.both(relevant, v.load_words(laid.cells, at, span))))
        tot = v.add(tot, v.popcount(relevant))
        clear = v.add(clear, v.popcount(v.both(relevant, free)))
    ones, seen = v.total(above), v.total(tot)
    return seen - ones if reverse else ones, seen, v.total(clear), v.total(doubled)


@kernel
def count_others_with(counts, rows, slices, mirrored, chosen):
    """Add to counts (2, A, L) the (pos, tot) of other attributes' entries, from pairs with chosen ones.

    The entries are those of the mode that the slices' rows run along.
    """
    source, masks = slices
    own = make_attribute_row(lend(source), Masks(*masks), Masks(*mirrored[0]), chosen)
    tally = new_zeros((counts.shape[2], 3, 64 * own.cells.shape[0]), np.uint16)
    laid, counts, seen = lend(own), lend(counts), lend(tally)
    tallied = 0
    for o in rows:
        for i in chosen:
            if tallied == MOST_TALLIED:
                empty_tally(counts, seen)
                tallied = 0
            lay_row(laid, o, i)
            tally_row(seen, laid, o, i)
            tallied += 1
    empty_tally(counts, seen)
    keep(own)
    keep(tally)


@part
def tally_row(tally, laid, o, i):
    """Count the cells of a row that each active component would cover if it held the other attribute."""
    width, forth = laid.cells.shape[0], laid.forth
    for m in range(forth.attributes.shape[1]):
        left = forth.attributes[i, m] & laid.objects[o, m]
        while left:
            l = (m << 6) + v.lowest_bit(left)
            left &= left - ONE
            for w in range(width):
                bits = forth.columns[l, w]
                relevant = (forth.planes[SINGLE, w] & bits) | (forth.planes[FREE, w] & ~bits)
                relevant &= laid.others[w]
                place = (l * 3 * width + w) * 64
                v.count_each(tally, place, relevant)
                v.count_each(tally, place + 64 * width, relevant & laid.cells[w])
                v.count_each(tally, place + 128 * width, relevant & ~laid.back.planes[FREE, w])


@part
def empty_tally(counts, tally):
    """Add what was counted to the counts, and begin again."""
    for l in range(counts.shape[2]):
        for j in range(counts.shape[1]):
            contested = np.int64(tally[l, 2, j])
            counts[0, j, l] += np.int64(tally[l, 1, j]) - contested
            counts[1, j, l] += np.int64(tally[l, 0, j]) - 2 * contested
            tally[l, 0, j] = tally[l, 1, j] = tally[l, 2, j] = 0


@kernel
def count_said_with(rows, slices, mirrored, chosen):
    """(right, all) of what is said, and not contested, about pairs with chosen attributes in some objects."""
    source, masks = slices
    own = make_attribute_row(lend(source), Masks(*masks), Masks(*mirrored[0]), chosen)
    laid, right, said = lend(own), 0, 0
    for o in rows:
        for i in chosen:
            lay_row(laid, o, i)
            ones, seen = say_row(laid)
            right += ones
            said += seen
    keep(own)
    return right, said


@part
def say_row(laid):
    """(right, all) of what is said in the row on the planes."""
    right, said = 0, 0
    for w in range(laid.cells.shape[0]):
        forth, back = laid.forth.planes[FREE, w], laid.back.planes[FREE, w]
        above, below = back & ~forth, forth & ~back & laid.others[w]
        right += v.count_bits(above & laid.cells[w]) + v.count_bits(below & ~laid.cells[w])
        said += v.count_bits(above) + v.count_bits(below)
    return right, said
