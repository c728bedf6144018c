"""Decisions from counts that were kept, and which rows of a factor are no longer what they were."""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from tensorm.kernels.philox import fill_uniforms
from tensorm.kernels.rows import ONE, certain, entry_prior, toss, weigh


@njit(nogil=True, cache=True, error_model="numpy")
def find_flips(factor, pos, tot, inert, rule, stream):
    """Rows of which an entry flips, decided in turn from counts (N, L); they are left to be decided anew.

    The counts of a row hold until its first flip. Entries of `inert` components change no counts but their
    own factor's: they are set at once.
    """
    order, kind, gain, loss, prior = rule
    rows, count, numbers = np.empty(factor.shape[0], np.intp), 0, np.empty(pos.shape[1])
    for n in range(factor.shape[0]):
        drawn = False
        for component in order:
            word, bit = component >> 6, ONE << uint64(component & 63)
            active = (factor[n, word] & bit) != 0
            log_odds = entry_prior(prior, n, component)
            if not np.isinf(log_odds):
                log_odds = weigh(log_odds, gain, loss, pos[n, component], tot[n, component])
            if certain(kind, log_odds):
                new = log_odds > 0
            else:
                if not drawn:
                    drawn = True
                    fill_uniforms(numbers, stream, n)
                new = toss(kind, active, log_odds, numbers[component])
            if new == active:
                continue
            if inert[word] & bit:
                factor[n, word] ^= bit
            else:
                rows[count] = n
                count += 1
                break
    return rows[:count]


@njit(nogil=True, cache=True)
def find_changes(old, new, mask):
    """Rows in which two factors differ in a component of the mask, and the components of all differences."""
    rows, moved, count = np.empty(old.shape[0], np.intp), np.zeros(old.shape[1], np.uint64), 0
    for n in range(old.shape[0]):
        found = False
        for m in range(old.shape[1]):
            different = old[n, m] ^ new[n, m]
            moved[m] |= different
            found |= (different & mask[m]) != 0
        if found:
            rows[count] = n
            count += 1
    return rows[:count], moved


@njit(nogil=True, cache=True)
def present(factor):
    """The components that a factor has any entry of."""
    found = np.zeros(factor.shape[1], np.uint64)
    for n in range(factor.shape[0]):
        for m in range(factor.shape[1]):
            found[m] |= factor[n, m]
    return found
