"""Entries decided from counts by runner-up that were made beforehand, where components have strengths.

Of a row it is known what ones gain by each of its entries (*gain*), and the zeros that depend on each, by
their runner-up (*zeros*; ranked.py explains both). Only components of the row, and none, can be runners-up:
zeros has L numbers for none, then L for the weakest of them, and so on. A runner-up's *place* depends on
weaker ones only, so it stays the same while the entries of stronger components are decided.
"""

from __future__ import annotations

import numpy as np

from tensorm.kernels.arrays import count_up, new
from tensorm.kernels.compiled import inlined, maker
from tensorm.kernels.decisions import CERTAIN, GREEDY, ONE, bit_of, prior_of
from tensorm.kernels.philox import uniform
from tensorm.kernels.ranked import (
    UNIT,
    Scores,
    count_groups,
    cover,
    make_ranked,
    threshold,
    walk_ones,
    weaker,
)
from tensorm.kernels.rows import make_table
from tensorm.kernels.slices import lay_rows
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
def decide_known(row, n, component, known, scores, rule, stream):
    """The new value of an entry, with the random number of ranked.decide_entry."""
    (zeros, gain), (word, bit), prior = known, bit_of(component), prior_of(rule, n, component)
    if np.isinf(prior):
        return prior > 0
    fixed = prior + scores.share * lose(zeros, row, component, scores.zeros)
    odds = fixed + scores.share * (gain[component] * UNIT)
    if rule.kind == GREEDY or abs(odds) > CERTAIN + 1:
        return odds > 0
    u = uniform(stream, n, component)
    if odds == 0:
        return u < 0.5
    return odds > threshold(rule.kind, (row[word] & bit) != 0, u)


@maker
def count_rows(counts, factor, rows, source, masks, scores):
    """Write gain (rows, L) and zeros of the entries of some rows, one row's after the other; zeros are 0."""
    L, (gain, zeros), scores = masks.n_components, counts, Scores(*scores)
    table = make_table(masks, count_up(L), False)
    cells, places, at = make_ranked(source, table, scores, masks.span), new(L + 1, np.int64), 0
    for i in range(rows.shape[0]):
        n = rows[i]
        row, size = factor[n], find_places(places, factor[n])
        lay_rows(source, cells.workspace, n, cells.places, 2, masks.span)
        for component in range(L):
            count_groups(cells, row, component)
            gain[i, component] = walk_ones(cells, row, component, scores.own[n])
            zeros[at + component] = cells.tot[L] - cells.pos[L]
            for m in range(component >> 6, row.shape[0]):
                rivals = weaker(row, row, component, m)
                while rivals:
                    rival = (m << 6) + lowest_bit(rivals)
                    rivals &= rivals - ONE
                    zeros[at + places[rival] * L + component] = cells.tot[rival] - cells.pos[rival]
            word, bit = bit_of(component)
            if row[word] & bit:
                cover(cells, component)
        at += size * L
