"""Decide entries from cached counts, and find the rows of a factor that changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels.arrays import new, new_zeros
from tensorm.kernels.compiled import kernel, lend, part
from tensorm.kernels.decisions import CERTAIN, ONE, bit_of, decide_row, read_rule, weigh_counts
from tensorm.kernels.philox import fill_uniforms


class CachedRow(NamedTuple):
    """The cells of a row, of which only counts are known, and only until the first flip that matters."""

    pos: Any
    tot: Any
    inert: Any  # components whose entries change no counts but their own factor's

    def count(self, entry):
        return self.pos[entry.component], self.tot[entry.component]

    def flip(self, row, entry, stop):
        word, bit = bit_of(entry.component)
        if self.inert[word] & bit:
            return stop
        row[word] ^= bit
        return 0


@kernel
def find_flips(rows, factor, counts, inert, rule, stream):
    """Write the rows in which an entry would flip, judged by cached counts (2, N, L); return their number.

    The first row to look at is rows[0], and no more are found than there is room for. They are left as they
    are; the caller updates them. Entries of inert components are set at once.
    """
    factor, counts, inert, found = lend(factor), lend(counts), lend(inert), 0
    pos, tot = counts[0], counts[1]
    rule = read_rule(lend(rule))
    against, numbers = new(pos.shape[1], np.float64), new(pos.shape[1], np.float64)
    for n in range(rows[0], factor.shape[0]):
        weigh_row(against, factor[n], n, pos[n], tot[n], rule)
        if np.min(against) > CERTAIN:
            continue
        fill_uniforms(numbers, stream, n)
        if not may_flip(against, numbers):
            continue
        stop = decide_row(factor[n], n, 0, CachedRow(pos[n], tot[n], inert), rule, stream)
        rows[found] = n
        found += stop < rule.order.shape[0]
        if found == rows.shape[0]:
            break
    return found


@part
def weigh_row(against, row, n, pos, tot, rule):
    """The log-odds against a flip, of every entry of a row."""
    for component in range(against.shape[0]):
        log_odds = weigh_counts(rule, n, component, pos[component], tot[component])
        active = (row[component >> 6] >> uint64(component & 63)) & ONE
        against[component] = log_odds if active else -log_odds


@part
def may_flip(against, numbers):
    """False if no entry flips by either rule: exp(-x) < (1 + x / 8)^-8 for x > 0, and needs no branches."""
    loud = 0
    for component in range(against.shape[0]):
        x, u = against[component], numbers[component]
        bound = (1 + x / 8) ** 2
        bound *= bound
        bound *= bound
        loud += (x < 1) | (min(u, 1 - u) * bound < 1)
    return loud > 0


@kernel
def find_changes(old, changed, mask):
    """Rows in which two factors differ in a component of the mask, and the components of all differences."""
    rows, moved, count = new(old.shape[0], np.int64), new_zeros(old.shape[1], np.uint64), 0
    for n in range(old.shape[0]):
        found = False
        for m in range(old.shape[1]):
            different = old[n, m] ^ changed[n, m]
            moved[m] |= different
            found |= (different & mask[m]) != 0
        if found:
            rows[count] = n
            count += 1
    return rows[:count], moved


@kernel
def present(factor):
    """The components that a factor has any entry of."""
    found = new_zeros(factor.shape[1], np.uint64)
    for n in range(factor.shape[0]):
        for m in range(factor.shape[1]):
            found[m] |= factor[n, m]
    return found
