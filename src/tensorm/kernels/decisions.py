"""Entries decided from counts that were made beforehand, where the cells themselves are elsewhere.

The counts of a row hold until one of its entries flips. After that they still hold for the components that
share no index tuple of the other modes with the flipped one; the first that does must be counted again.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from tensorm.kernels.rows import ONE, decide, entry_prior, weigh
from tensorm.kernels.vectors import lowest_bit


@njit(nogil=True, cache=True)
def find_company(masks, n_components):
    """For each component (L, M) the mask of all that it shares a row of this factor with."""
    company = np.zeros((n_components, masks.shape[1]), np.uint64)
    for n in range(masks.shape[0]):
        for m in range(masks.shape[1]):
            left = masks[n, m]
            while left:
                component = (m << 6) + lowest_bit(left)
                left &= left - ONE
                for word in range(masks.shape[1]):
                    company[component, word] |= masks[n, word]
    return company


@njit(nogil=True, cache=True, error_model="numpy")
def decide_rows(factor, rows, turns, counts, first, company, rule, stream):
    """Decide factor[rows] in place, each row from its turn on for as long as its counts hold.

    `counts` is (pos, tot) of the components order[first:]; `turns` is moved on to the next open decision.
    Returns what the flips add to the ones covered and to the cells covered.
    """
    order, kind, gain, loss, prior = rule
    stale = np.empty(factor.shape[1], np.uint64)
    hits, cover = 0, 0
    for i in range(rows.shape[0]):
        n = rows[i]
        row = factor[n]
        stale[:] = 0
        while turns[i] < order.shape[0]:
            component = order[turns[i]]
            word, bit = component >> 6, ONE << uint64(component & 63)
            if stale[word] & bit:
                break
            active = (row[word] & bit) != 0
            pos, tot = counts[0, i, turns[i] - first], counts[1, i, turns[i] - first]
            log_odds = entry_prior(prior, n, component)
            if not np.isinf(log_odds):
                log_odds = weigh(log_odds, gain, loss, pos, tot)
            if decide(kind, active, log_odds, stream, n, component) != active:
                row[word] ^= bit
                stale |= company[component]
                hits += -pos if active else pos
                cover += -tot if active else tot
            turns[i] += 1
    return hits, cover
