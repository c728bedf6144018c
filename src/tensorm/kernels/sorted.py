"""Cells of slices sorted by level where they are (activities.py), and activities drawn from them elsewhere.

What a part of a tensor has found in a slice is a list of places with counts: the bins that are in use, and
after all of them, by level, the zeros beyond those that the part would have if all its cells were zeros.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorm.kernels.activities import (
    Activities,
    draw_sorted,
    make_bins,
    make_count,
    make_list,
    put,
    sort_slice,
)
from tensorm.kernels.arrays import copy_to, new, new_zeros
from tensorm.kernels.compiled import kernel, lend, maker
from tensorm.kernels.ranked import Scores
from tensorm.kernels.rivals import count_rows
from tensorm.kernels.rows import Masks
from tensorm.kernels.slices import lay_rows
from tensorm.kernels.sparse import Listing
from tensorm.kernels.sparse_activities import sort_listed


class Lists(NamedTuple):
    """The cells of slice n are at firsts[n] : firsts[n + 1] of the other two."""

    firsts: Any
    places: Any
    counts: Any


@maker
def make_lists(n_rows):
    """Lists without any cell."""
    return Lists(new_zeros(n_rows + 1, np.int64), new(64, np.int64), new(64, np.int64))


@maker
def doubled(numbers):
    """The numbers with as much room again after them."""
    larger = new(2 * numbers.shape[0], np.int64)
    copy_to(larger, numbers)
    return larger


@maker
def append(lists, n, bins):
    """The lists with the bins of slice n, the next one, which are emptied."""
    (firsts, places, counts), (found, used, size, seen) = lists, bins
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
    return Lists(firsts, places, counts)


@maker
def sort_slices(tot, factor, source, masks, scores, probe):
    """Sort the cells of all slices of a dense tensor; add to tot (2, L + 1) as activities.sort_slice does."""
    scores = Scores(*scores)
    count, lists = make_count(source, masks, tot.shape[1], scores.ones.shape[1]), make_lists(factor.shape[0])
    for n in range(factor.shape[0]):
        lay_rows(source, count.workspace, n, count.places, 2, masks.span)
        sort_slice(count.bins, tot, factor[n], count.table, count.workspace, scores, probe)
        lists = append(lists, n, count.bins)
    return lists


@kernel
def sort_lists(tot, factor, listing, scores, probe):
    """Do the same in a sparse tensor; its unlisted cells are not in tot."""
    listing, scores = Listing(*listing), Scores(*scores)
    bins, lists = make_bins(tot.shape[1], scores.ones.shape[1]), make_lists(factor.shape[0])
    for n in range(factor.shape[0]):
        sort_listed(bins, tot, factor[n], n, listing, scores.rows, probe)
        lists = append(lists, n, bins)
    return lists


@kernel
def draw_from_lists(ones, lists, given, stream):
    """Draw all activities of a mode from the lists of several parts, which are those of one after the other.

    `firsts` (parts, N + 1) has where each part's slices begin; the ones are added to ones (2, L + 1, levels).
    """
    (firsts, places, counts), given, scores = lists, Activities(*given), Scores(*given[0])
    bins = make_bins(ones.shape[1], ones.shape[2])
    room, n_bins = make_list(bins), bins.counts.shape[0]
    for n in range(firsts.shape[1] - 1):
        copy_to(bins.seen, given.rest)
        for of in range(firsts.shape[0]):
            for i in range(firsts[of, n], firsts[of, n + 1]):
                if places[i] < n_bins:
                    put(bins, places[i], counts[i])
                else:
                    bins.seen[places[i] - n_bins] += counts[i]
        draw_sorted(ones, n, bins, room, (scores.ones, scores.share), given, stream)


class PartKernels(NamedTuple):
    """What a part of a tensor is asked for in rivals.py and here, for one kind of source."""

    count_rivals: Any
    sort_cells: Any


def make_part_kernels(Source):
    """Compile the verbs for a kind of source, as slices.make_kernels does."""

    @kernel
    def count_rivals(counts, factor, rows, slices, scores):
        source, masks = slices
        count_rows(counts, lend(factor), rows, Source(*lend(source)), Masks(*masks), lend(scores))

    @kernel
    def sort_cells(tot, factor, slices, scores, probe):
        source, masks = slices
        return sort_slices(tot, factor, Source(*source), Masks(*masks), scores, probe)

    return PartKernels(count_rivals, sort_cells)
