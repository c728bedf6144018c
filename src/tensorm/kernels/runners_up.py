"""Entries decided from counts by runner-up that were made beforehand, where components have strengths.

Of a row it is known what ones gain by each of its entries (*gain*), and the zeros that depend on each, by
their runner-up (*zeros*; ranked.py explains both). Only components of the row, and none, can be runners-up:
zeros has L numbers for none, then L for the weakest of them, and so on. A runner-up's *place* depends on
weaker ones only, so it stays the same while the entries of stronger components are decided.
"""

from __future__ import annotations

import numpy as np

from tensorm.kernels.arrays import count_up, new
from tensorm.kernels.compiled import inlined, keep, kernel, lend
from tensorm.kernels.decisions import ONE, bit_of, lay, prior_of
from tensorm.kernels.ranked import (
    UNIT,
    LevelScores,
    count_groups,
    cover_stronger,
    make_ranked,
    walk_ones,
    weaker,
)
from tensorm.kernels.rows import Masks, make_table
from tensorm.kernels.vectors import count_bits, lowest_bit


@inlined
def find_places(places, row):
    """Write the place of each component of a row; return how many runners-up there can be, with none."""
    size, L = 1, places.shape[0] - 1
    places[L] = 0
    for component in range(L - 1, -1, -1):
        word, bit = bit_of(component)
        if row[word] & bit:
            places[component] = size
            size += 1
    return size


@inlined
def lose(zeros, row, component, scores):
    """What zeros lose by an entry, runner-up after runner-up as in ranked.weigh_groups."""
    L, mine, loss, place = scores.shape[0] - 1, scores[component], 0.0, 0
    for m in range(component >> 6, row.shape[0]):
        place += count_bits(weaker(row, row, component, m))
    for m in range(component >> 6, row.shape[0]):
        rivals = weaker(row, row, component, m)
        while rivals:
            rival = (m << 6) + lowest_bit(rivals)
            rivals &= rivals - ONE
            loss += zeros[place * L + component] * (mine - scores[rival])
            place -= 1
    return loss + zeros[component] * mine


@inlined
def weigh_known(cells, row, entry, rule):
    """The method ``weigh`` of cells of which zeros and gain are known."""
    scores, component = rule.weights, entry.component
    fixed = prior_of(rule, entry.n, component) + scores.share * lose(
        cells.zeros, row, component, scores.zeros
    )
    log_odds = fixed + scores.share * (cells.gain[component] * UNIT)
    return log_odds, log_odds


@kernel
def count_known(counts, factor, rows, slices, scores):
    """Write gain (rows, L) and zeros of the entries of some rows, one row's after the other; zeros are 0."""
    source, masks = slices
    (gain, zeros), L = counts, masks[2]
    table = make_table(Masks(*masks), count_up(L), False)
    own = make_ranked(lend(source), table, masks[-1], LevelScores(*lend(scores))), new(L + 1, np.int64)
    (cells, places), factor, at = lend(own), lend(factor), 0
    for i in range(rows.shape[0]):
        row, size = factor[rows[i]], find_places(places, factor[rows[i]])
        lay(cells, row, rows, i)
        for component in range(L):
            cover_stronger(cells, row, component)
            count_groups(cells, row, component)
            gain[i, component] = walk_ones(cells, row, component, cells.scores.own[rows[i]])
            zeros[at + component] = cells.tot[L] - cells.pos[L]
            for m in range(component >> 6, row.shape[0]):
                rivals = weaker(row, row, component, m)
                while rivals:
                    rival = (m << 6) + lowest_bit(rivals)
                    rivals &= rivals - ONE
                    zeros[at + places[rival] * L + component] = cells.tot[rival] - cells.pos[rival]
        at += size * L
    keep(own)
