"""The slices of a mode, decided or counted row by row (rows.py), wherever their cells come from.

A *source* is a NamedTuple from which the words of any row of any slice can be read. Each kind of tensor has
its own (dense.py, relational.py), with the verbs below as methods.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import copy_to, count_up, new, new_zeros
from tensorm.kernels.compiled import MAKER, inlined, keep, kernel, lend, maker, part, verb
from tensorm.kernels.decisions import ONE, count_rows, decide_rows, flip, lay, read_rule, renew, settle, weigh
from tensorm.kernels.rows import (
    EVERY,
    FREE,
    SINGLE,
    Masks,
    MemberTable,
    count_entry,
    cover_by,
    cover_rows,
    holders,
    make_planes,
    make_table,
    write_holders,
)


@partial(verb, options=MAKER)
def places_of(source, members):
    """Where the rows with these numbers are to be found in any slice."""


@verb
def seen_at(source, n, place, at, span):
    """The vector of observed cells from word `at` of a row of slice n."""


@verb
def lay_rows(source, workspace, n, places, n_planes, span):
    """Put all rows of a slice on the workspace, with no component active.

    For each row there are one or two runs of words with the observed cells, then one for the cells, which
    ``laid_cells`` reads; where there are two planes it is filled.
    """


@verb
def laid_cells(source, cells, position, at):
    """The vector of cells from word `at` of a row of a slice that was laid with one plane."""


@verb
def fetch_rows(source, n, places, width, turn, n_turns):
    """Ask for a share of slice n, turn by turn, so that laying it will not wait for memory."""


class Slice(NamedTuple):
    """The cells of a slice on a workspace, given the entries of its row."""

    here: Any  # its number, and that of the slice after it
    source: Any
    places: Any
    table: MemberTable
    workspace: Any
    span: Any
    n_turns: int  # how often it will be counted

    def lay(self, row, rows, i):
        lay_slice(self, row, rows, i)

    def count(self, entry):
        width = self.workspace.shape[2]
        fetch_rows(self.source, self.here[1], self.places, width, entry.turn, self.n_turns)
        positions, column = holders(self.table, entry.component), self.table.columns[entry.component]
        return count_entry(self.workspace, positions, column, entry.active, self.span)

    def flip(self, row, entry, stop):
        turn_rows(self, row, entry)
        return stop


@partial(verb, options=MAKER)
def make_cells(weights, source, table, span, n_turns):
    """Room for one slice after the other; with strengths, of another kind (ranked.py)."""
    return make_slice(source, table, span, n_turns)


@maker
def make_slice(source, table, span, n_turns):
    """Room for one slice after the other."""
    here, places = new_zeros(2, np.int64), places_of(source, table.members)
    return Slice(here, source, places, table, make_planes(table), span, n_turns)


@part
def lay_slice(cells, row, rows, i):
    """Put slice rows[i] on its workspace, and let the components that are active in its row cover it."""
    table, span = cells.table, cells.span
    cells.here[0], cells.here[1] = rows[i], rows[min(i + 1, rows.shape[0] - 1)]
    lay_rows(cells.source, cells.workspace, rows[i], cells.places, 2, span)
    for m in range(row.shape[0]):
        left = row[m]
        while left:
            component = (m << 6) + v.lowest_bit(left)
            left &= left - ONE
            cover_rows(cells.workspace, holders(table, component), table.columns[component], span)


@inlined
def turn_rows(cells, row, entry):
    """An entry of the row has changed: bring up to date what its component covers."""
    positions = holders(cells.table, entry.component)
    if entry.active:
        uncover_rows(cells, positions, row)
    else:
        cover_rows(cells.workspace, positions, cells.table.columns[entry.component], cells.span)


@part
def uncover_rows(cells, positions, row):
    """A component becomes inactive: what is free in its rows is worked out anew from those still active."""
    here, source, places, table, workspace, span, _ = cells
    n, width = here[0], workspace.shape[2]
    for at in range(0, width, v.LANES * len(span)):
        for position in positions:
            free = seen_at(source, n, places[position], at, span)
            free, single = cover_by(free, row, table.masks[position], table.columns, at, span)
            to = position * 3 * width + at
            v.store_words(workspace, to + FREE * width, free)
            v.store_words(workspace, to + SINGLE * width, single)


@kernel
def update_rows(factor, rows, slices, rule, stream):
    """Update factor[rows] in place; rows are independent given the other modes' factors.

    `slices` has the source and the masks (rows.Masks, as a tuple).
    """
    source, masks = slices
    rule = read_rule(lend(rule))
    table = make_table(Masks(*masks), rule.order, False)
    own = make_cells(rule.weights, lend(source), table, masks[-1], rule.order.shape[0])
    decide_rows(lend(factor), rows, lend(own), rule, stream)
    keep(own)


class Tie(NamedTuple):
    """Another mode that shares the factor being updated: what holds its index n changes with row n."""

    in_rows: bool  # whether it is a mode of the rows of a slice, or one they run along
    inner: int  # index tuples of the modes after it
    rest: Any  # (tuples, M) the components of the other modes beside it


class Tied(NamedTuple):
    """The cells of a slice where another mode shares the factor, so that its table changes row after row.

    No cell of row n is observed in slice n, so that the table need not change before the row is decided.
    """

    cells: Any
    table: MemberTable  # that of the cells
    tie: Tie
    old: Any  # the row as it was

    def lay(self, row, rows, i):
        copy_to(self.old, row)
        lay(self.cells, row, rows, i)

    def weigh(self, row, entry, rule):
        return weigh(self.cells, row, entry, rule)

    def settle(self, row, entry, rule, limit):
        return settle(self.cells, row, entry, rule, limit)

    def flip(self, row, entry, stop):
        return flip(self.cells, row, entry, stop)

    def leave(self, factor, n):
        if follow(self.table, self.tie, factor, n, self.old):
            if self.tie.in_rows:
                write_holders(self.table.positions, self.table.firsts, self.table.masks)
            renew(self.cells)


@maker
def make_tied_table(masks):
    """The table of every row, with room for any of them to hold any component."""
    members, own, _, firsts, columns = make_table(masks, EVERY, True)
    positions = new(own.shape[0] * columns.shape[0], np.int64)
    write_holders(positions, firsts, own)
    return MemberTable(members, own, positions, firsts, columns)


@kernel
def update_tied(factor, rows, slices, tie, rule, stream):
    """Update factor[rows] in place, row after row, where another mode shares the factor."""
    source, masks = slices
    rule = read_rule(lend(rule))
    table = make_tied_table(Masks(*masks))
    cells = make_cells(rule.weights, lend(source), table, masks[-1], rule.order.shape[0])
    own = Tied(cells, table, Tie(*tie), new(factor.shape[1], np.uint64))
    decide_rows(lend(factor), rows, lend(own), rule, stream)
    keep(own)


@part
def follow(table, tie, factor, n, old):
    """Change what depends on row n of a shared factor in the masks or the columns; say whether any does."""
    changed = False
    for j in range(tie.rest.shape[0]):
        at = (j // tie.inner * factor.shape[0] + n) * tie.inner + j % tie.inner
        for m in range(old.shape[0]):
            left = (old[m] ^ factor[n, m]) & tie.rest[j, m]
            changed |= left != 0
            if tie.in_rows:
                table.masks[at, m] ^= left
                continue
            while left:
                table.columns[(m << 6) + v.lowest_bit(left), at >> 6] ^= ONE << uint64(at & 63)
                left &= left - ONE
    return changed


@kernel
def count_entries(counts, factor, rows, slices, components):
    """Write (pos, tot) of some components' entries of factor[rows] to two arrays, others held."""
    source, masks = slices
    table = make_table(Masks(*masks), components, False)
    own = make_slice(lend(source), table, masks[-1], components.shape[0])
    count_rows(lend(counts), lend(factor), rows, lend(own), components)
    keep(own)


@part
def cover_slice(cells, row):
    """(ones, all) of the observed cells that components cover in a slice."""
    source, places, workspace, ones, seen = cells.source, cells.places, cells.workspace, 0, 0
    fetch_rows(source, cells.here[1], places, workspace.shape[2], 0, 1)
    lay_rows(source, workspace, cells.here[0], places, 1, cells.span)
    for m in range(row.shape[0]):
        left = row[m]
        while left:
            pos, tot = claim_cells(cells, (m << 6) + v.lowest_bit(left))
            left &= left - ONE
            ones += pos
            seen += tot
    return ones, seen


@part
def claim_cells(cells, component):
    """(ones, all) of the free cells that a component covers in a slice; they are free no longer."""
    workspace, column, span = cells.workspace, cells.table.columns[component], cells.span
    width = column.shape[0]
    pos, tot = v.zeros(span), v.zeros(span)
    for at in range(0, width, v.LANES * len(span)):
        bits = v.load_words(column, at, span)
        for position in holders(cells.table, component):
            to = position * 2 * width + at
            left = v.load_words(workspace, to, span)
            v.store_words(workspace, to, v.without(left, bits))
            claimed = v.both(left, bits)
            ones = v.both(claimed, laid_cells(cells.source, cells, position, at))
            pos = v.add(pos, v.popcount(ones))
            tot = v.add(tot, v.popcount(claimed))
    return v.total(pos), v.total(tot)


@kernel
def count_covered(counts, factor, rows, slices):
    """Write to counts (2, N) the ones and the observed cells that components cover in slices; their sums."""
    source, masks = slices
    own = make_claims(lend(source), Masks(*masks))
    cells, factor, all_ones, all_seen = lend(own), lend(factor), 0, 0
    for n in rows:
        cells.here[0], cells.here[1] = n, min(n + 1, rows[-1])
        ones, seen = cover_slice(cells, factor[n])
        counts[0, n], counts[1, n] = ones, seen
        all_ones += ones
        all_seen += seen
    keep(own)
    return all_ones, all_seen


@maker
def make_claims(source, masks):
    """Room for slices whose cells are claimed (R, 2, width): those that are free, and the cells."""
    table = make_table(masks, count_up(masks.n_components), False)
    places = places_of(source, table.members)
    workspace = new((places.shape[0], 2, table.columns.shape[1]), np.uint64)
    return Slice(new_zeros(2, np.int64), source, places, table, workspace, masks.span, 1)
