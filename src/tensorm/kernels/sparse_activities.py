"""Activities of indices in sparse tensors (activities.py): listed cells are walked, all others are known.

How many cells of a slice have which level, listed or not, is given; what listed cells take from it is left.
"""

from __future__ import annotations

from tensorm.kernels.activities import Activities, draw_sorted, make_bins, put
from tensorm.kernels.compiled import keep, kernel, lend, part
from tensorm.kernels.ranked import Scores
from tensorm.kernels.sparse import Listing
from tensorm.kernels.sparse_ranked import add_levels, find_decider


@part
def sort_listed(bins, n, row, tot, given, probe):
    """Count the listed cells of slice n as activities.sort_slice does; tot as sparse_ranked.count_decided.

    What is given are the listing and the levels of all indices.
    """
    listing, levels = given
    n_groups, n_levels, implied = tot.shape[1], bins.seen.shape[0], listing.implied
    firsts, cells = listing.ones
    for at in range(firsts[n], firsts[n + 1]):
        group, inside = find_decider(listing.stack, cells, at, row, probe)
        level = add_levels(levels, cells, at)
        tot[inside, group] += not implied
        bins.seen[level] -= implied
        group = n_groups - 1 if group < 0 else group
        put(bins, (inside * n_groups + group) * n_levels + level, 1)
    firsts, cells = listing.others
    sign = -1 if implied else 1
    for at in range(firsts[n], firsts[n + 1]):
        group, inside = find_decider(listing.stack, cells, at, row, probe)
        tot[inside, group] += sign
        bins.seen[add_levels(levels, cells, at)] += sign


@part
def draw_activity(counts, row, n, cells, given, stream):
    """Draw the activity of index n and count the cells of its slice."""
    (ones, tot), (bins, listing) = counts, cells
    for level in range(given.rest.shape[0]):
        bins.seen[level] = given.rest[level] if listing.implied else 0
    sort_listed(bins, n, row, tot, (listing, Scores(*given.scores).rows), given.probe)
    draw_sorted(ones, n, bins, given, stream)


@kernel
def draw_activities(counts, factor, rows, listing, given, stream):
    """Draw the activities of some indices and count their slices' cells (activities.draw_activities)."""
    listing, given, factor = Listing(*lend(listing)), Activities(*lend(given)), lend(factor)
    own, counts = make_bins(counts[1].shape[1], counts[0].shape[2]), lend(counts)
    bins = lend(own)
    for n in rows:
        draw_activity(counts, factor[n], n, (bins, listing), given, stream)
    keep(own)


@kernel
def draw_tied(counts, factor, rows, tied, given, stream):
    """Do the same where another mode has the same activities: it follows row after row.

    What is `tied` are the listing, the first row of that mode in the stack, and how many index tuples of all
    modes beside the two have which level.
    """
    (listed, first, beside), given = tied, Activities(*given)
    cells = make_bins(counts[1].shape[1], counts[0].shape[2]), Listing(*listed)
    levels = Scores(*given.scores).rows
    for n in rows:
        old = given.levels[n]
        draw_activity(counts, factor[n], n, cells, given, stream)
        shift, level = given.levels[n] - old, levels[first + n]
        levels[first + n] += shift
        for i in range(beside.shape[0]):
            given.rest[level + i] -= beside[i]
            given.rest[level + i + shift] += beside[i]
