"""Which component decides each cell, counted: components have strengths, the strongest first (ranked.py)."""

from __future__ import annotations

from tensorm.kernels.compiled import keep, kernel, lend, part
from tensorm.kernels.decisions import ONE, bit_of
from tensorm.kernels.rows import Masks, holders
from tensorm.kernels.slices import laid_cells, lay_rows, make_claims
from tensorm.kernels.vectors import (
    LANES,
    both,
    load_words,
    lowest_bit,
    popcount,
    store_words,
    total,
    without,
)


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
