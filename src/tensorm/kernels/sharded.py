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
from tensorm.kernels.decisions import ONE, bit_of, decide_row, read_rule
from tensorm.kernels.runners_up import find_places, weigh_known


class Counted(NamedTuple):
    """The cells of a row, of which only counts are known: those of the components order[first:]."""

    pos: Any
    tot: Any
    first: int
    order: Any
    company: Any  # (L, M) for each component those that it shares index tuples with
    gained: Any  # what flips have added to the ones covered and to the cells covered

    def count(self, entry):
        return self.pos[entry.turn - self.first], self.tot[entry.turn - self.first]

    def flip(self, row, entry, stop):
        sign = -1 if entry.active else 1
        self.gained[0] += sign * self.pos[entry.turn - self.first]
        self.gained[1] += sign * self.tot[entry.turn - self.first]
        return find_open(self.order, entry.turn + 1, stop, self.company[entry.component])


class KnownRow(NamedTuple):
    """The same where components have strengths (runners_up.py)."""

    zeros: Any
    gain: Any
    order: Any
    company: Any

    def weigh(self, row, entry, rule):
        return weigh_known(self, row, entry, rule)

    def flip(self, row, entry, stop):
        return find_open(self.order, entry.turn + 1, stop, self.company[entry.component])


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
def decide_counted(factor, turns, rows, known, rule, stream):
    """Decide factor[rows] in place, each row from its turn on for as long as its counts hold.

    `known` has counts (2, rows, components), from the first of all turns on, and the components' company.
    `turns` is moved on to the next open decision. Returns what the flips add to the ones covered and to the
    cells covered.
    """
    counts, company = lend(known)
    rule, first = read_rule(lend(rule)), turns.min()
    gained = new_zeros(2, np.int64)
    for i in range(rows.shape[0]):
        cells = Counted(counts[0, i], counts[1, i], first, rule.order, company, lend(gained))
        turns[i] = decide_row(factor[rows[i]], rows[i], turns[i], cells, rule, stream)
    return gained[0], gained[1]


@kernel
def decide_ranked(factor, turns, rows, known, rule, stream):
    """Do the same where components have strengths: `known` has gain, zeros and the components' company."""
    (gain, zeros, company), rule, at = lend(known), read_rule(lend(rule)), 0
    places = new(company.shape[0] + 1, np.int64)
    for i in range(rows.shape[0]):
        row = factor[rows[i]]
        size = find_places(places, row) * company.shape[0]
        cells = KnownRow(zeros[at : at + size], gain[i], rule.order, company)
        turns[i] = decide_row(row, rows[i], turns[i], cells, rule, stream)
        at += size
