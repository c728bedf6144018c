"""Eq. 4: the entries of a factor decided in turn, from whatever can weigh the cells that depend on them.

There is one loop over the entries of a row, and it sees no cell. It asks an object for the log-odds of an
entry (``weigh``) and tells it when an entry has changed (``flip``); each way to store or to know cells has a
NamedTuple with these methods. Most only ``count`` cells, and the rule's weights turn counts into log-odds.
Where components have strengths (ranked.py), cells may first give bounds, and are walked (``settle``) if these
decide nothing. What goes from row to row has two methods more, ``lay`` and ``leave``.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels.compiled import MAKER, copied, inlined, maker, part, verb
from tensorm.kernels.philox import uniform

GIBBS, METROPOLIS, GREEDY = 0, 1, 2
CERTAIN = 37.0  # log-odds beyond which no uniform number of 53 bits can decide otherwise
CLOSE = 1e-6  # log-odds with bounds this near to the limit are worked out, whatever rounding does
ONE = np.uint64(1)


class RateWeights(NamedTuple):
    """What cells say about an entry where all ones weigh the same, and all zeros."""

    gain: float  # log-odds for each one-cell explained
    loss: float  # log-odds against, for each zero-cell covered

    def log_ratio(self, component, pos, tot):
        """Log-likelihood ratio of an entry, from its counts."""
        return self.gain * pos - self.loss * (tot - pos)

    def split(self):
        """(what says which class it is, numbers) for a kernel, which puts both together (``join``)."""
        return self, ()


class Rule(NamedTuple):
    """How an entry is decided once its counts are known."""

    order: Any  # components in the order of their turn
    kind: int  # GIBBS, METROPOLIS or GREEDY
    weights: Any  # of the noise model: what counts say
    prior: Any  # (N or 1, L or 1) log-odds of the entries; +-inf fixes an entry
    by_row: int = 1  # how far to go in it from row to row: 0 or 1
    by_component: int = 1  # and from component to component

    def arguments(self):
        """The rule as kernels take it: numba recognises plain tuples sooner than NamedTuples with arrays."""
        return self.order, self.kind, *self.weights.split(), self.prior, self.by_row, self.by_component


class Entry(NamedTuple):
    """The entry whose turn it is."""

    n: int  # its row
    turn: int
    component: int
    active: bool  # its value now


@partial(verb, options=MAKER)
def join(weights, numbers):
    """Weights of a class that is told by the first argument; two rates are all there themselves."""
    return weights


@maker
def read_rule(arguments):
    """A rule from what ``Rule.arguments`` returned."""
    order, kind, weights, numbers, prior, by_row, by_component = arguments
    return Rule(order, kind, join(weights, numbers), prior, by_row, by_component)


@partial(verb, inline="always")
def count(cells, entry):
    """(pos, tot) of an entry (eq. 5)."""


@partial(verb, inline="always")
def log_ratio(weights, component, pos, tot):
    """Log-likelihood ratio of an entry, from its counts."""


@partial(verb, inline="always")
def flip(cells, row, entry, stop):
    """Take note that an entry of the row has changed; return the turn to stop at, so far `stop`."""


@partial(verb, inline="always")
def weigh(cells, row, entry, rule):
    """Bounds for the log-odds of an entry, the same number twice where its cells are counted."""
    pos, tot = count(cells, entry)
    log_odds = weigh_counts(rule, entry.n, entry.component, pos, tot)
    return log_odds, log_odds


@verb
def settle(cells, row, entry, rule, limit):
    """The log-odds of an entry, or a bound on the same side of the limit.

    Asked for only where ``weigh`` gave two bounds, one on either side.
    """
    return 0.0


@verb
def renew(cells):
    """Take note that the table of rows and columns has changed."""


@verb
def lay(cells, row, rows, i):
    """Make ready for the entries of row rows[i]."""


@verb
def leave(cells, factor, n):
    """Take note that row n of the factor has been decided."""


@inlined
def prior_of(rule, n, component):
    """Prior log-odds of an entry."""
    return rule.prior[rule.by_row * n, rule.by_component * component]


@inlined
def weigh_counts(rule, n, component, pos, tot):
    """Log-odds of an entry (eq. 4) from its prior and its counts."""
    return prior_of(rule, n, component) + log_ratio(rule.weights, component, pos, tot)


@inlined
def bit_of(component):
    """(word, bit) of a component in a mask."""
    return component >> 6, ONE << uint64(component & 63)


@part
def decide_rows(factor, rows, cells, rule, stream):
    """Decide factor[rows] in place, one row after the other."""
    for i in range(rows.shape[0]):
        n = rows[i]
        lay(cells, factor[n], rows, i)
        decide_row(factor[n], n, 0, cells, rule, stream)
        leave(cells, factor, n)


@part
def count_rows(counts, factor, rows, cells, components):
    """Write (pos, tot) of some components' entries of factor[rows] to two arrays, all others held."""
    pos, tot = counts
    for i in range(rows.shape[0]):
        n = rows[i]
        lay(cells, factor[n], rows, i)
        for turn in range(components.shape[0]):
            word, bit = bit_of(components[turn])
            entry = Entry(n, turn, components[turn], (factor[n, word] & bit) != 0)
            pos[i, turn], tot[i, turn] = count(cells, entry)


@copied
def decide_row(row, n, turn, cells, rule, stream):
    """Decide the entries of row n in place, from a turn on; return the turn that it stopped at."""
    stop = rule.order.shape[0]
    while turn < stop:
        component = rule.order[turn]
        word, bit = bit_of(component)
        entry = Entry(n, turn, component, (row[word] & bit) != 0)
        least = most = prior_of(rule, n, component)
        if not np.isinf(least):
            least, most = weigh(cells, row, entry, rule)
        limit = draw_limit(rule.kind, entry, least, most, stream)
        if straddles(least, most, limit):
            least = settle(cells, row, entry, rule, limit)
        if (least > limit) != entry.active:
            row[word] ^= bit
            stop = flip(cells, row, entry, stop)
        turn += 1
    return stop


@inlined
def straddles(least, most, limit):
    """Whether two bounds leave it open on which side of a limit a number lies."""
    return least < most and least <= limit + CLOSE and most >= limit - CLOSE


@inlined
def draw_limit(kind, entry, least, most, stream):
    """The log-odds beyond which an entry becomes 1; the random number is drawn only if it can matter."""
    if kind == GREEDY or most < -CERTAIN or least > CERTAIN:
        return 0.0
    u = uniform(stream, entry.n, entry.component)
    if kind == GIBBS or (least == 0 and most == 0):  # where Metropolised flips would alternate for ever
        return np.log(u) - np.log1p(-u)
    return -np.log(u) if entry.active else np.log(u)
