"""The packed cells of a slice, on which the entries of one factor row are counted (eq. 5).

A slice is a table of rows, each a run of 64-bit words. Row r carries a mask, the components whose entries
are 1 in every mode that the row index stands for; `columns[l]` holds component l's entries of the packed
mode as bits. Entry (n, l) touches only the rows with bit l in their mask, and of these the cells in
`columns[l]` that no other component of row n explains. The slice is copied to a workspace (R, 3, width) that
keeps three runs of words for each row: FREE, the observed cells that no active component explains, for a
component that is off; SINGLE, those that at most one does, for one that is on (its own cover must not count
against it); and CELLS, a copy of the cells. The first two are kept up to date when an entry flips, so that
counting needs no branches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import new, new_zeros
from tensorm.kernels.compiled import copied, inlined, kernel, maker, part
from tensorm.kernels.decisions import ONE

FREE, SINGLE, CELLS = 0, 1, 2  # what the workspace keeps of each row
EVERY = np.zeros(0, np.int64)  # any component


class Masks(NamedTuple):
    """The components of all that a slice is made of."""

    rows: Any  # (R, M)
    columns: Any  # (T, M)
    n_components: int
    span: Any  # zeros, one for every v.LANES words that are read at once


class MemberTable(NamedTuple):
    """The rows of a slice that matter, and the components they hold: the same for all slices of a mode."""

    members: Any  # their numbers
    masks: Any  # (R, M) the components that each of them holds
    positions: Any  # the members that hold component l are positions[firsts[l] : firsts[l + 1]]
    firsts: Any
    columns: Any  # (L, width) the entries of each component along the packed modes, as bits


@maker
def make_table(masks, order, every):
    """The table of the rows that hold a component of `order`, or of every row."""
    members = find_members(masks.rows, order, every)
    own = masks.rows[members]
    columns = transpose_masks(masks.columns, masks.n_components, v.LANES * len(masks.span))
    return MemberTable(members, own, *list_holders(own, masks.n_components), columns)


@maker
def find_members(row_masks, order, every):
    """The rows that hold a component of `order`, or every row."""
    n_rows, n_words = row_masks.shape
    wanted = new_zeros(n_words, np.uint64)
    for component in order:
        wanted[component >> 6] |= ONE << uint64(component & 63)
    members, count = new(n_rows, np.int64), 0
    for r in range(n_rows):
        relevant = uint64(0)
        for m in range(n_words):
            relevant |= row_masks[r, m] & wanted[m]
        members[count] = r
        count += every or relevant != 0
    return members[:count]


@maker
def list_holders(masks, n_components):
    """(positions, firsts) of a table with these masks."""
    members = 0
    for position in range(masks.shape[0]):
        for m in range(masks.shape[1]):
            members += v.count_bits(masks[position, m])
    positions, firsts = new(members, np.int64), new(n_components + 2, np.int64)
    write_holders(positions, firsts, masks)
    return positions, firsts


@part
def write_holders(positions, firsts, masks):
    """Write the positions of those that hold each component, one component's after the other."""
    # The rows of l are counted at l + 2: summed up, l + 1 is where they begin; once listed, where they end.
    firsts[:] = 0
    for position in range(masks.shape[0]):
        for m in range(masks.shape[1]):
            left = masks[position, m]
            while left:
                firsts[2 + (m << 6) + v.lowest_bit(left)] += 1
                left &= left - ONE
    for l in range(2, firsts.shape[0]):
        firsts[l] += firsts[l - 1]
    for position in range(masks.shape[0]):
        for m in range(masks.shape[1]):
            left = masks[position, m]
            while left:
                after = 1 + (m << 6) + v.lowest_bit(left)
                positions[firsts[after]] = position
                firsts[after] += 1
                left &= left - ONE


@maker
def transpose_masks(masks, n_components, lanes):
    """Columns of a factor as bits: (L, width) words from (T, M) row masks, width padded to whole vectors."""
    width = -(-masks.shape[0] // (64 * lanes)) * lanes
    columns = new_zeros((n_components, width), np.uint64)
    for t in range(masks.shape[0]):
        bit = ONE << uint64(t & 63)
        for m in range(masks.shape[1]):
            left = masks[t, m]
            while left:
                columns[(m << 6) + v.lowest_bit(left), t >> 6] |= bit
                left &= left - ONE
    return columns


@maker
def make_planes(table):
    """An empty workspace; its rows begin at a cache line, which numba leaves to luck."""
    n_rows, width = table.members.shape[0], table.columns.shape[1]
    room = new(n_rows * 3 * width + 7, np.uint64)
    first = -(room.ctypes.data >> 3) & 7
    return room[first : first + n_rows * 3 * width].reshape((n_rows, 3, width))


@copied
def holders(table, component):
    """Positions of the rows that hold a component."""
    return table.positions[table.firsts[component] : table.firsts[component + 1]]


@inlined
def cover_by(free, row, mask, columns, at, span):
    """(free, single) of the vector at word `at` of a row, once components of both masks cover its cells."""
    single, width = free, columns.shape[1]
    for m in range(row.shape[0]):
        left = row[m] & mask[m]
        while left:
            bits = v.load_words(columns, ((m << 6) + v.lowest_bit(left)) * width + at, span)
            left &= left - ONE
            free, single = v.without(free, bits), v.without(single, v.without(bits, free))
    return free, single


@inlined
def count_entry(workspace, positions, column, active, span):
    """(pos, tot) of an entry (eq. 5): ones and all cells that depend on it; `active` is its current value."""
    width = workspace.shape[2]
    side = SINGLE * width if active else FREE * width
    pos, tot = v.zeros(span), v.zeros(span)
    for at in range(0, width, v.LANES * len(span)):
        bits = v.load_words(column, at, span)
        for position in positions:
            place = position * 3 * width + at
            relevant = v.both(bits, v.load_words(workspace, place + side, span))
            pos = v.add(
                pos, v.popcount(v.both(relevant, v.load_words(workspace, place + CELLS * width, span)))
            )
            tot = v.add(tot, v.popcount(relevant))
    return v.total(pos), v.total(tot)


@part
def cover_rows(workspace, positions, column, span):
    """A component becomes active: what its column covers in these rows is no longer free."""
    width = workspace.shape[2]
    for at in range(0, width, v.LANES * len(span)):
        bits = v.load_words(column, at, span)
        for position in positions:
            place = position * 3 * width + at
            free, single = (
                v.load_words(workspace, place + FREE * width, span),
                v.load_words(workspace, place + SINGLE * width, span),
            )
            v.store_words(workspace, place + FREE * width, v.without(free, bits))
            v.store_words(workspace, place + SINGLE * width, v.without(single, v.without(bits, free)))


@kernel
def count_ones(masks):
    """Set bits of all masks."""
    ones = 0
    for mask in masks.flat:
        ones += v.count_bits(mask)
    return ones
