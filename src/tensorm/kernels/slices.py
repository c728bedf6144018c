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
from tensorm.kernels.arrays import count_up, new, new_zeros
from tensorm.kernels.compiled import MAKER, keep, kernel, lend, maker, part, verb
from tensorm.kernels.decisions import ONE, Rule, bit_of, count, decide_row
from tensorm.kernels.rows import (
    FREE,
    SINGLE,
    Masks,
    Table,
    count_entry,
    cover_rows,
    holders,
    list_holders,
    make_table,
    make_workspace,
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
    table: Table
    workspace: Any
    span: Any
    n_turns: int  # how often it will be counted

    def count(self, turn, component, active):
        width = self.workspace.shape[2]
        fetch_rows(self.source, self.here[1], self.places, width, turn, self.n_turns)
        positions, column = holders(self.table, component), self.table.columns[component]
        return count_entry(self.workspace, positions, column, active, self.span)

    def flip(self, row, turn, component, stop):
        word, bit = bit_of(component)
        positions = holders(self.table, component)
        if row[word] & bit:
            cover_rows(self.workspace, positions, self.table.columns[component], self.span)
        else:
            uncover_rows(self, positions, row)
        return stop


@maker
def make_slice(source, table, span, n_turns):
    """Room for one slice after the other."""
    here, places = new_zeros(2, np.int64), places_of(source, table.members)
    return Slice(here, source, places, table, make_workspace(table), span, n_turns)


@part
def lay_slice(cells, row):
    """Put a slice on its workspace, and let the components that are active in its row cover it."""
    table, span = cells.table, cells.span
    lay_rows(cells.source, cells.workspace, cells.here[0], cells.places, 2, span)
    for m in range(row.shape[0]):
        left = row[m]
        while left:
            component = (m << 6) + v.lowest_bit(left)
            left &= left - ONE
            cover_rows(cells.workspace, holders(table, component), table.columns[component], span)


@part
def uncover_rows(cells, positions, row):
    """A component becomes inactive: what is free in its rows is worked out anew from those still active."""
    here, source, places, table, workspace, span, _ = cells
    n, width = here[0], workspace.shape[2]
    for at in range(0, width, v.LANES * len(span)):
        for position in positions:
            free = seen_at(source, n, places[position], at, span)
            single = free
            for m in range(row.shape[0]):
                left = row[m] & table.masks[position, m]
                while left:
                    bits = v.load(table.columns, ((m << 6) + v.lowest_bit(left)) * width + at, span)
                    left &= left - ONE
                    free, single = v.without(free, bits), v.without(single, v.without(bits, free))
            to = position * 3 * width + at
            v.store(workspace, to + FREE * width, free)
            v.store(workspace, to + SINGLE * width, single)


@maker
def update_rows(factor, rows, source, masks, rule, stream):
    """Update factor[rows] in place; rows are independent given the other modes' factors."""
    rule = Rule(*rule)
    table = make_table(masks, rule.order, False)
    own = make_slice(source, table, masks.span, rule.order.shape[0])
    cells = lend(own)
    for i in range(rows.shape[0]):
        n = rows[i]
        cells.here[0], cells.here[1] = n, rows[min(i + 1, rows.shape[0] - 1)]
        update_row(factor[n], n, cells, rule, stream)
    keep(own)


class Tie(NamedTuple):
    """Another mode that shares the factor being updated: what holds its index n changes with row n."""

    in_rows: bool  # whether it is a mode of the rows of a slice, or one they run along
    inner: int  # index tuples of the modes after it
    rest: Any  # (tuples, M) the components of the other modes beside it


@maker
def update_tied(factor, rows, slices, tie, rule, stream):
    """Update factor[rows] in place, row after row, where another mode shares the factor.

    No cell of row n is observed in slice n, so that the table need not change before the row is decided.
    """
    source, masks = slices
    rule = Rule(*rule)
    table = make_table(masks, rule.order, True)
    cells = make_slice(source, table, masks.span, rule.order.shape[0])
    for n in rows:
        old = factor[n].copy()
        cells.here[:] = n
        update_row(factor[n], n, cells, rule, stream)
        if follow(table, tie, factor, n, old) and tie.in_rows:
            positions, firsts = list_holders(table.masks, masks.n_components)
            table = Table(table.members, table.masks, positions, firsts, table.columns)
            here, _, places, _, workspace, span, n_turns = cells
            cells = Slice(here, source, places, table, workspace, span, n_turns)


@part
def update_row(row, n, cells, rule, stream):
    """Update row n in place; a function of its own where the cells are bound anew between rows."""
    lay_slice(cells, row)
    decide_row(row, n, 0, cells, rule, stream)


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


@maker
def count_entries(counts, factor, rows, source, masks, components):
    """Write (pos, tot) of some components' entries of factor[rows] to two arrays, others held."""
    table, (pos, tot) = make_table(masks, components, False), counts
    own = make_slice(source, table, masks.span, components.shape[0])
    cells = lend(own)
    for i in range(rows.shape[0]):
        n = rows[i]
        cells.here[0], cells.here[1] = n, rows[min(i + 1, rows.shape[0] - 1)]
        count_row(pos[i], tot[i], factor[n], cells, components)
    keep(own)


@part
def count_row(pos, tot, row, cells, components):
    """Write (pos, tot) of some components' entries of a row."""
    lay_slice(cells, row)
    for turn in range(components.shape[0]):
        word, bit = bit_of(components[turn])
        pos[turn], tot[turn] = count(cells, turn, components[turn], (row[word] & bit) != 0)


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
    """(ones, all) of the free cells that a component covers in a slice; they are free no longer.

    The workspace (R, 2, width) has the free cells and the cells themselves.
    """
    workspace, column, span = cells.workspace, cells.table.columns[component], cells.span
    width = column.shape[0]
    pos, tot = v.zeros(span), v.zeros(span)
    for at in range(0, width, v.LANES * len(span)):
        bits = v.load(column, at, span)
        for position in holders(cells.table, component):
            to = position * 2 * width + at
            left = v.load(workspace, to, span)
            v.store(workspace, to, v.without(left, bits))
            claimed = v.both(left, bits)
            ones = v.both(claimed, laid_cells(cells.source, cells, position, at))
            pos = v.add(pos, v.popcount(ones))
            tot = v.add(tot, v.popcount(claimed))
    return v.total(pos), v.total(tot)


@maker
def count_covered(counts, factor, rows, source, masks):
    """Write to counts (2, N) the ones and the observed cells that components cover in slices; their sums."""
    table, span = make_table(masks, count_up(masks.n_components), False), masks.span
    places, width = places_of(source, table.members), table.columns.shape[1]
    workspace = new((places.shape[0], 2, width), np.uint64)
    own = Slice(new_zeros(2, np.int64), source, places, table, workspace, span, 1)
    cells = lend(own)
    all_ones, all_seen = 0, 0
    for n in rows:
        cells.here[0], cells.here[1] = n, min(n + 1, rows[-1])
        ones, seen = cover_slice(cells, factor[n])
        counts[0, n], counts[1, n] = ones, seen
        all_ones += ones
        all_seen += seen
    keep(own)
    return all_ones, all_seen


class Kernels(NamedTuple):
    """The verbs above for one kind of source, to be called from Python."""

    update_rows: Any
    update_tied: Any
    count_entries: Any
    count_covered: Any


def make_kernels(Source):
    """Compile the verbs for a kind of source; plain tuples come in, since numba tells their types sooner.

    `slices` has the source and the masks.
    """

    @kernel
    def update(factor, rows, slices, rule, stream):
        source, masks = slices
        update_rows(lend(factor), rows, Source(*lend(source)), Masks(*masks), lend(rule), stream)

    @kernel
    def update_pair(factor, rows, slices, tie, rule, stream):
        source, masks = slices
        own = Source(*lend(source)), Masks(*masks)
        update_tied(lend(factor), rows, own, Tie(*tie), lend(rule), stream)

    @kernel
    def count_some(counts, factor, rows, slices, components):
        source, masks = slices
        count_entries(lend(counts), lend(factor), rows, Source(*lend(source)), Masks(*masks), components)

    @kernel
    def cover(counts, factor, rows, slices):
        source, masks = slices
        return count_covered(counts, lend(factor), rows, Source(*lend(source)), Masks(*masks))

    return Kernels(update, update_pair, count_some, cover)
