"""Dense tensors: the slices of a mode in packed cells, decided or counted row by row (rows.py)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64

from tensorm.kernels.philox import uniform
from tensorm.kernels.rows import ONE, count_entry, cover_row, decide, entry_prior, list_rows, transpose_masks
from tensorm.kernels.vectors import LANES, load, lowest_bit, ones, store


class Packed(NamedTuple):
    """Cells packed along one mode or several, seen from the mode whose slices are read."""

    words: Any  # flat uint64; the last row is followed by enough zeros for a whole vector
    observed: Any  # the same for the observed cells; empty when none is missing
    stride: int  # words from one slice to the next
    offsets: Any  # words from the start of a slice to each of its rows
    row_masks: Any  # components of the modes that index the rows, combined
    column_masks: Any  # components of the packed modes, combined


@njit(error_model="numpy")
def lay_row(desk, width, position, observed, start, span):
    """Put the observed cells of one row on the desk, with no component active."""
    missing = observed.shape[0] > 0
    for at in range(0, width, LANES * len(span)):
        seen = load(observed, start + at, span) if missing else ones(span)
        store(desk, position * 2 * width + at, seen)
        store(desk, (position * 2 + 1) * width + at, seen)


@njit(error_model="numpy")
def lay_slice(desk, row, observed, starts, lists, firsts, columns, span):
    """Put a whole slice on the desk, and let the components that are active in its factor row cover it."""
    width = columns.shape[1]
    for position in range(starts.shape[0]):
        lay_row(desk, width, position, observed, starts[position], span)
    for m in range(row.shape[0]):
        left = row[m]
        while left:
            component = (m << 6) + lowest_bit(left)
            left &= left - ONE
            for position in lists[firsts[component] : firsts[component + 1]]:
                cover_row(desk, width, position, columns[component], span)


@njit(nogil=True, cache=True, error_model="numpy")
def update_rows(factor, start, stop, packed, n_components, span, rule, stream):
    """Update factor[start:stop] in place; rows are independent given the other modes' factors."""
    words, observed, stride, offsets, row_masks, column_masks = packed
    order, kind, gain, loss, prior = rule
    members, masks, lists, firsts = list_rows(row_masks, order, n_components)
    columns = transpose_masks(column_masks, n_components, LANES * len(span))
    starts, width = offsets[members] + start * stride, columns.shape[1]
    desk = np.empty(members.shape[0] * 2 * width, np.uint64)
    for n in range(start, stop):
        row = factor[n]
        lay_slice(desk, row, observed, starts, lists, firsts, columns, span)
        for component in order:
            word, bit = component >> 6, ONE << uint64(component & 63)
            active = (row[word] & bit) != 0
            positions, column = lists[firsts[component] : firsts[component + 1]], columns[component]
            log_odds = entry_prior(prior, n, component)
            if np.isinf(log_odds):
                new = log_odds > 0
            else:
                pos, tot = count_entry(desk, width, active, positions, words, starts, column, span)
                log_odds += gain * pos - loss * (tot - pos)
                new = decide(kind, active, log_odds, uniform(stream, n, component))
            if new == active:
                continue
            row[word] ^= bit
            for position in positions:
                if new:
                    cover_row(desk, width, position, column, span)
                    continue
                lay_row(desk, width, position, observed, starts[position], span)
                for m in range(row.shape[0]):
                    left = row[m] & masks[position, m]
                    while left:
                        cover_row(desk, width, position, columns[(m << 6) + lowest_bit(left)], span)
                        left &= left - ONE
        starts += stride


@njit(nogil=True, cache=True, error_model="numpy")
def count_entries(counts, factor, start, stop, packed, n_components, span, chosen):
    """Write (pos, tot) of some components' entries of factor[start:stop] to counts, all others held."""
    words, observed, stride, offsets, row_masks, column_masks = packed
    members, _, lists, firsts = list_rows(row_masks, chosen, n_components)
    columns = transpose_masks(column_masks, n_components, LANES * len(span))
    starts, width = offsets[members] + start * stride, columns.shape[1]
    desk = np.empty(members.shape[0] * 2 * width, np.uint64)
    for n in range(start, stop):
        lay_slice(desk, factor[n], observed, starts, lists, firsts, columns, span)
        for i, component in enumerate(chosen):
            active = (factor[n, component >> 6] >> uint64(component & 63)) & ONE != 0
            positions, column = lists[firsts[component] : firsts[component + 1]], columns[component]
            pos, tot = count_entry(desk, width, active, positions, words, starts, column, span)
            counts[0, n, i], counts[1, n, i] = pos, tot
        starts += stride


@njit(nogil=True, cache=True, error_model="numpy")
def count_rows(factor, start, stop, packed, n_components, span):
    """(ones covered, observed cells covered) over the slices start:stop."""
    words, observed, stride, offsets, row_masks, column_masks = packed
    members, _, lists, firsts = list_rows(row_masks, np.arange(n_components), n_components)
    columns = transpose_masks(column_masks, n_components, LANES * len(span))
    starts, width = offsets[members] + start * stride, columns.shape[1]
    desk = np.empty(members.shape[0] * 2 * width, np.uint64)
    hits, cover = 0, 0
    for n in range(start, stop):
        row = factor[n]
        for i in range(members.shape[0]):
            lay_row(desk, width, i, observed, starts[i], span)
        for m in range(row.shape[0]):
            left = row[m]
            while left:
                component = (m << 6) + lowest_bit(left)
                left &= left - ONE
                positions, column = lists[firsts[component] : firsts[component + 1]], columns[component]
                pos, tot = count_entry(desk, width, False, positions, words, starts, column, span)
                hits += pos
                cover += tot
                for position in positions:
                    cover_row(desk, width, position, column, span)
        starts += stride
    return hits, cover
