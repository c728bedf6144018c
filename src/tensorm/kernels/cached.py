"""Decisions from counts that were kept, and which rows of a factor are no longer what they were."""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from tensorm.kernels.philox import fill_uniforms
from tensorm.kernels.rows import CERTAIN, ONE, certain, entry_prior, toss, weigh


@njit(nogil=True, cache=True, error_model="numpy")
def find_flips(factor, pos, tot, inert, rule, stream):
    """Rows of which an entry flips, decided in turn from counts (N, L); they are left to be decided anew.

    The counts of a row hold until its first flip. Entries of `inert` components change no counts but their
    own factor's: they are set at once.
    """
    order, kind, gain, loss, prior = rule
    rows, count = np.empty(factor.shape[0], np.intp), 0
    against, numbers = np.empty(pos.shape[1]), np.empty(pos.shape[1])
    for n in range(factor.shape[0]):
        weigh_row(against, factor[n], pos[n], tot[n], gain, loss, prior, n)
        if np.min(against) > CERTAIN:
            continue
        fill_uniforms(numbers, stream, n)
        if not may_flip(against, numbers):
            continue
        for component in order:
            word, bit = component >> 6, ONE << uint64(component & 63)
            active = (factor[n, word] & bit) != 0
            log_odds = against[component] if active else -against[component]
            if certain(kind, log_odds):
                new = log_odds > 0
            else:
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


@njit(error_model="numpy")
def weigh_row(against, row, pos, tot, gain, loss, prior, n):
    """The log-odds against a flip, of every entry of a row."""
    for component in range(against.shape[0]):
        log_odds = weigh(entry_prior(prior, n, component), gain, loss, pos[component], tot[component])
        active = (row[component >> 6] >> uint64(component & 63)) & ONE
        against[component] = log_odds if active else -log_odds


@njit(error_model="numpy")
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
