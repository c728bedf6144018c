"""Entries decided from counts that were made beforehand, where the cells themselves are elsewhere.

The counts of a row hold until one of its entries flips. After that they still hold for the components that
share no index tuple of the other modes with the flipped one; the first that does must be counted again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorm.kernels import vectors as v
from tensorm.kernels.arrays import new, new_zeros
from tensorm.kernels.compiled import inlined, kernel, lend
from tensorm.kernels.decisions import ONE, Rule, bit_of, decide_row
from tensorm.kernels.ranked import Scores
from tensorm.kernels.rivals import decide_known, find_places


class Counted(NamedTuple):
    """The cells of a row, of which only counts are known: those of the components order[first:]."""

    pos: Any
    tot: Any
    first: int
    order: Any
    company: Any  # (L, M) for each component those that it shares index tuples with
    gained: Any  # what flips have added to the ones covered and to the cells covered

    def count(self, turn, component, active):
        return self.pos[turn - self.first], self.tot[turn - self.first]

    def flip(self, row, turn, component, stop):
        word, bit = bit_of(component)
        sign = 1 if row[word] & bit else -1
        self.gained[0] += sign * self.pos[turn - self.first]
        self.gained[1] += sign * self.tot[turn - self.first]
        return find_open(self.order, turn + 1, stop, self.company[component])


@inlined
def find_open(order, turn, stop, company):
    """The first turn whose component is among some, or `stop`."""
    while turn < stop:
        word, bit = bit_of(order[turn])
        if company[word] & bit:
            break
        turn += 1
    return turn


@kernel
def find_company(masks, n_components):
    """For each component (L, M) the mask of all that it shares a row of this factor with."""
    company = new_zeros((n_components, masks.shape[1]), np.uint64)
    for n in range(masks.shape[0]):
        for m in range(masks.shape[1]):
            left = masks[n, m]
            while left:
                component = (m << 6) + v.lowest_bit(left)
                left &= left - ONE
                for word in range(masks.shape[1]):
                    company[component, word] |= masks[n, word]
    return company


@kernel
def decide_rows(factor, turns, rows, known, rule, stream):
    """Decide factor[rows] in place, each row from its turn on for as long as its counts hold.

    `known` has counts (2, rows, components), from the first of all turns on, and the components' company.
    `turns` is moved on to the next open decision. Returns what the flips add to the ones covered and to the
    cells covered.
    """
    counts, company = lend(known)
    rule, first = Rule(*lend(rule)), turns.min()
    gained = new_zeros(2, np.int64)
    for i in range(rows.shape[0]):
        cells = Counted(counts[0, i], counts[1, i], first, rule.order, company, lend(gained))
        turns[i] = decide_row(factor[rows[i]], rows[i], turns[i], cells, rule, stream)
    return gained[0], gained[1]


@kernel
def decide_ranked(factor, turns, rows, known, rule, stream):
    """Do the same where components have strengths: `known` has gain, zeros (rivals.py) and the company."""
    gain, zeros, company = lend(known)
    rule = Rule(*lend(rule))
    scores, n_turns, at = Scores(*rule.weights), rule.order.shape[0], 0
    places = new(company.shape[0] + 1, np.int64)
    for i in range(rows.shape[0]):
        row, turn, stop = factor[rows[i]], turns[i], n_turns
        size = find_places(places, row) * company.shape[0]
        mine = zeros[at : at + size], gain[i]
        while turn < stop:
            component = rule.order[turn]
            word, bit = bit_of(component)
            turn += 1
            if decide_known(row, rows[i], component, mine, scores, rule, stream) != ((row[word] & bit) != 0):
                row[word] ^= bit
                stop = find_open(rule.order, turn, stop, company[component])
        turns[i] = stop
        at += size
