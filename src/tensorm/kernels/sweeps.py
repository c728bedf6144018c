"""All modes of a small dense tensor updated in one call, and its cells counted by the new product.

A call from Python takes longer than the update of a small mode. What differs between modes comes as numbers
in a table (ModePlan), so that one compiled function serves tensors of any number of modes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import count_up, new
from tensorm.kernels.compiled import keep, kernel, lend, maker, part
from tensorm.kernels.decisions import RateWeights, Rule, decide_row, lay
from tensorm.kernels.dense import Packed
from tensorm.kernels.rows import CELLS, FREE, Masks, make_table
from tensorm.kernels.slices import make_slice, seen_at

SIZE, STRIDE, OFFSETS_FROM, OFFSETS_TO, ROW_MODES, PACKED_MODES = range(6)  # columns of ModePlan.table


class ModePlan(NamedTuple):
    """How the slices of all modes are read."""

    words: Any  # cells of all layouts, one after the other
    observed: Any
    complete: bool  # whether none is missing
    offsets: Any  # of each mode the words to the rows of a slice
    table: Any  # (K, 6) columns as above; modes as bits
    span: Any


class CommonRule(NamedTuple):
    """A rule for all modes, each of which has one prior for all entries."""

    n_components: int
    order: Any  # of all of them, or of some
    kind: int
    gain: float
    loss: float
    priors: Any  # (K, 1)


@kernel
def update_modes(factors, plan, rule, stream, updates):
    """Update the factors (sum of sizes, M) of all modes in turn, in place, unless only to count cells.

    Returns the ones and the observed cells that components cover.
    """
    factors, plan, rule, first = lend(factors), lend(plan), lend(rule), np.int64(0)
    read, common, ones, seen = ModePlan(*plan), CommonRule(*rule), 0, 0
    last = read.table.shape[0] - 1
    for mode in range(last + 1):
        if updates or mode == last:
            how = updates, mode == last
            ones, seen = update_mode(factors, first, read, common, ((*stream, mode, 1, 0), how))
        first += read.table[mode, SIZE]
    return ones, seen


@maker
def update_mode(factors, first, plan, rule, given):
    """Update the factor of a mode, which begins at a row of the factors; count what is covered if asked."""
    stream, (updates, counts) = given
    mine, n_components, ones, seen = plan.table[stream[3]], rule.n_components, 0, 0
    table = make_table(masks_of(factors, plan, n_components, mine), count_up(n_components), False)
    own = make_slice(source_of(plan, mine), table, plan.span, rule.order.shape[0])
    factor, prior = factors[first : first + mine[SIZE]], rule.priors[stream[3] : stream[3] + 1]
    turns = rule.order if updates else rule.order[:0]
    weighed = Rule(turns, rule.kind, RateWeights(rule.gain, rule.loss), prior, 0, 0)
    cells, rows = lend(own), count_up(factor.shape[0])
    for n in range(factor.shape[0]):
        lay(cells, factor[n], rows, n)
        decide_row(factor[n], n, 0, cells, weighed, stream)
        if counts:
            pos, tot = count_laid(cells, cells.span)
            ones, seen = ones + pos, seen + tot
    keep(own)
    return ones, seen


@part
def count_laid(cells, span):
    """(ones, all) of the observed cells that the active components cover in the slice on the workspace."""
    workspace, width = cells.workspace, cells.workspace.shape[2]
    pos, tot = v.zeros(span), v.zeros(span)
    for at in range(0, width, v.LANES * len(span)):
        for position in range(workspace.shape[0]):
            to = position * 3 * width + at
            here = seen_at(cells.source, cells.here[0], cells.places[position], at, span)
            covered = v.without(here, v.load_words(workspace, to + FREE * width, span))
            pos = v.add(pos, v.popcount(v.both(covered, v.load_words(workspace, to + CELLS * width, span))))
            tot = v.add(tot, v.popcount(covered))
    return v.total(pos), v.total(tot)


@maker
def source_of(plan, mine):
    """Where the slices of a mode are read from, by its row of the table."""
    offsets = plan.offsets[mine[OFFSETS_FROM] : mine[OFFSETS_TO]]
    return Packed(plan.words, plan.observed, plan.complete, mine[STRIDE], offsets)


@maker
def masks_of(factors, plan, n_components, mine):
    """The components of the rows and the columns of a mode's slices."""
    rows = combine_masks(factors, plan.table, n_components, mine[ROW_MODES])
    columns = combine_masks(factors, plan.table, n_components, mine[PACKED_MODES])
    return Masks(rows, columns, n_components, plan.span)


@maker
def combine_masks(factors, table, n_components, modes):
    """The masks of all index tuples of some modes: the AND of theirs."""
    count, n_words = 1, factors.shape[1]
    for mode in range(table.shape[0]):
        count *= table[mode, SIZE] if (modes >> mode) & 1 else 1
    masks = new((count, n_words), np.uint64)
    for m in range(n_words):
        spare = 64 * (m + 1) - n_components
        masks[0, m] = ~uint64(0) >> uint64(spare if spare > 0 else 0)
    count, first = 1, 0
    for mode in range(table.shape[0]):
        size = table[mode, SIZE]
        if (modes >> mode) & 1:
            for at in range(count * size - 1, -1, -1):  # from behind, so that what is read is still there
                for m in range(n_words):
                    masks[at, m] = masks[at // size, m] & factors[first + at % size, m]
            count *= size
        first += size
    return masks
