"""Eq. 4: the entries of a factor row decided in turn, from whatever can count the cells that depend on them.

There is one loop, and it sees no cell. It asks an object for the counts of an entry (``count``) and tells it
when an entry has changed (``flip``); each way to store or to know cells has a NamedTuple with these methods.
``weigh`` alone turns counts into log-odds, by the rule's weights: there the noise model enters the kernels.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels.compiled import copied, inlined, verb
from tensorm.kernels.philox import uniform

GIBBS, METROPOLIS, GREEDY = 0, 1, 2
CERTAIN = 37.0  # log-odds beyond which no uniform number of 53 bits can decide otherwise
ONE = np.uint64(1)


class Weights(NamedTuple):
    """What cells say about an entry where all ones weigh the same, and all zeros.

    Another noise model brings another NamedTuple with these two methods; kernels compile ``log_ratio``.
    """

    gain: float  # log-odds for each one-cell explained
    loss: float  # log-odds against, for each zero-cell covered

    def log_ratio(self, component, pos, tot):
        """Log-likelihood ratio of an entry, from its counts."""
        return self.gain * pos - self.loss * (tot - pos)

    def update(self, tensor, mode, factors, rule, stream, rows):
        """Let a tensor decide some rows of a factor by such counts."""
        return tensor._update(mode, factors, rule, stream, rows)

    def tempered(self, beta: float) -> Weights:
        """Return weights that say so much less; a chain that is heated uses beta < 1."""
        return Weights(beta * self.gain, beta * self.loss)


class Rule(NamedTuple):
    """How an entry is decided once its counts are known."""

    order: Any  # components in the order of their turn
    kind: int  # GIBBS, METROPOLIS or GREEDY
    weights: Any  # of the noise model: what counts say
    prior: Any  # (N or 1, L or 1) log-odds of the entries; +-inf fixes an entry


@partial(verb, inline="always")
def count(cells, turn, component, active):
    """(pos, tot) of the entry whose turn it is (eq. 5); `active` is its value now."""


@partial(verb, inline="always")
def flip(cells, row, turn, component, stop):
    """Take note that an entry of the row has changed; return the turn to stop at, so far `stop`."""


@partial(verb, inline="always")
def log_ratio(weights, component, pos, tot):
    """Log-likelihood ratio of an entry (eq. 4), from its counts."""


@inlined
def prior_of(rule, n, component):
    """Prior log-odds of an entry; a single row serves all rows, and a single column all components."""
    prior = rule.prior
    return prior[min(n, prior.shape[0] - 1), min(component, prior.shape[1] - 1)]


@inlined
def weigh(rule, n, component, pos, tot):
    """Log-odds of an entry (eq. 4) from its prior and its counts."""
    return prior_of(rule, n, component) + log_ratio(rule.weights, component, pos, tot)


@inlined
def bit_of(component):
    """(word, bit) of a component in a mask."""
    return component >> 6, ONE << uint64(component & 63)


@copied
def decide_row(row, n, turn, cells, rule, stream):
    """Decide the entries of row n in place, from a turn on; return the turn that it stopped at."""
    stop = rule.order.shape[0]
    while turn < stop:
        component = rule.order[turn]
        word, bit = bit_of(component)
        active = (row[word] & bit) != 0
        log_odds = prior_of(rule, n, component)
        if not np.isinf(log_odds):
            pos, tot = count(cells, turn, component, active)
            log_odds = weigh(rule, n, component, pos, tot)
        if decide(rule.kind, active, log_odds, stream, n, component) != active:
            row[word] ^= bit
            stop = flip(cells, row, turn, component, stop)
        turn += 1
    return stop


@inlined
def decide(kind, active, log_odds, stream, n, component):
    """The new value of entry (n, component); the random number is drawn only if it can matter."""
    if kind == GREEDY or abs(log_odds) > CERTAIN:
        return log_odds > 0
    u = uniform(stream, n, component)
    if kind == GIBBS or log_odds == 0:  # a fair coin where Metropolised flips would alternate for ever
        return u < 1 / (1 + np.exp(-log_odds))
    step = -log_odds if active else log_odds
    if step >= 0 or u < np.exp(step):
        return not active
    return active
