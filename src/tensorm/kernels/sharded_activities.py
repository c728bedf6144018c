"""Cells of slices sorted by level where they are (activities.py), and activities drawn from them elsewhere.

What a part of a tensor has found in a slice is a list of places with counts: the bins that are in use, and
after all of them, by level, the zeros beyond those that the part would have if all its cells were zeros.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorm.kernels.activities import Activities, draw_sorted, make_bins, make_sorted, put, sort_slice
from tensorm.kernels.arrays import copy_to, new, new_zeros
from tensorm.kernels.compiled import kernel, maker
from tensorm.kernels.ranked import LevelScores


class CellLists(NamedTuple):
    """The cells of slice n are at firsts[n] : firsts[n + 1] of the other two."""

    firsts: Any
    places: Any
    counts: Any


@maker
def make_cell_lists(n_rows):
    """Lists without any cell."""
    return CellLists(new_zeros(n_rows + 1, np.int64), new(64, np.int64), new(64, np.int64))


@maker
def doubled(numbers):
    """The numbers with as much room again after them."""
    larger = new(2 * numbers.shape[0], np.int64)
    copy_to(larger, numbers)
    return larger


@maker
def append(lists, n, bins):
    """The lists with the bins of slice n, the next one, which are emptied."""
    (firsts, places, counts), (found, used, size, seen, _, _) = lists, bins
    at = firsts[n]
    while at + size[0] + seen.shape[0] > places.shape[0]:
        places, counts = doubled(places), doubled(counts)
    for i in range(size[0]):
        places[at], counts[at] = used[i], found[used[i]]
        found[used[i]] = 0
        at += 1
    for level in range(seen.shape[0]):
        places[at], counts[at] = found.shape[0] + level, seen[level]
        at += seen[level] != 0
        seen[level] = 0
    firsts[n + 1], size[0] = at, 0
    return CellLists(firsts, places, counts)


@kernel
def sort_slices(tot, factor, slices, scores, probe):
    """Sort the cells of all slices; add to tot (2, L + 1) as activities.sort_slice does."""
    (source, masks), scores = slices, LevelScores(*scores)
    cells = make_sorted(source, masks, tot.shape[1], scores.ones.shape[1])
    lists = make_cell_lists(factor.shape[0])
    for n in range(factor.shape[0]):
        sort_slice(cells, n, factor[n], tot, scores, probe)
        lists = append(lists, n, cells.bins)
    return lists


@kernel
def draw_from_lists(ones, lists, given, stream):
    """Draw all activities of a mode from the lists of several parts, which are those of one after the other.

    `firsts` (parts, N + 1) has where each part's slices begin; the ones are added to ones (2, L + 1, levels).
    """
    (firsts, places, counts), given = lists, Activities(*given)
    bins = make_bins(ones.shape[1], ones.shape[2])
    n_bins = bins.counts.shape[0]
    for n in range(firsts.shape[1] - 1):
        copy_to(bins.seen, given.rest)
        for of in range(firsts.shape[0]):
            for i in range(firsts[of, n], firsts[of, n + 1]):
                if places[i] < n_bins:
                    put(bins, places[i], counts[i])
                else:
                    bins.seen[places[i] - n_bins] += counts[i]
        draw_sorted(ones, n, bins, given, stream)
