"""Activities of indices in sparse tensors (activities.py): listed cells are walked, all others are known.

How many cells of a slice have which level, listed or not, is given; what listed cells take from it is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorm.kernels.activities import Bins, make_bins, put
from tensorm.kernels.compiled import part
from tensorm.kernels.listed import Listing
from tensorm.kernels.ranked import LevelScores
from tensorm.kernels.sparse_ranked import add_levels, find_decider


class LevelledListing(Listing):
    """A listing whose cells are sorted by level."""

    def make_sorted(self, masks, n_groups, n_levels):
        return SortedList(make_bins(n_groups, n_levels), self)


class SortedList(NamedTuple):
    """Where the listed cells of slices are sorted, one slice after the other."""

    bins: Bins
    listing: Any  # LevelledListing

    def sort_slice(self, n, row, tot, scores, probe):
        sort_listed(self, n, row, tot, scores.rows, probe)

    def follow_levels(self, n, shift, given, tie):
        (first, beside), levels = tie, LevelScores(*given.scores).rows
        for i in range(beside.shape[0]):
            given.rest[levels[first + n] + i] -= beside[i]
            given.rest[levels[first + n] + i + shift] += beside[i]
        levels[first + n] += shift


@part
def sort_listed(cells, n, row, tot, levels, probe):
    """Sort the listed cells of slice n, given the levels of all indices; tot as in count_decided."""
    bins, listing = cells
    n_groups, n_levels, implied = tot.shape[1], bins.seen.shape[0], listing.implied
    firsts, listed = listing.ones
    for at in range(firsts[n], firsts[n + 1]):
        group, inside = find_decider(listing.stack, listed, at, row, probe)
        level = add_levels(levels, listed, at)
        tot[inside, group] += not implied
        bins.seen[level] -= implied
        group = n_groups - 1 if group < 0 else group
        put(bins, (inside * n_groups + group) * n_levels + level, 1)
    firsts, listed = listing.others
    sign = -1 if implied else 1
    for at in range(firsts[n], firsts[n + 1]):
        group, inside = find_decider(listing.stack, listed, at, row, probe)
        tot[inside, group] += sign
        bins.seen[add_levels(levels, listed, at)] += sign
