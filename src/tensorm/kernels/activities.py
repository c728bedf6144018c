"""Activities of indices: the ones of a slice by who decides them and by level, and a draw for each.

The rate at which cells become 1 without any component is the product of a common level and an activity of
each index. Logarithms of activities are whole numbers of STEP, so that cells are counted by their level and
no count depends on how they are stored. An index' activity is drawn from its conditional, with who is in
which component and all others held, by slice sampling on the grid.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels import ranked
from tensorm.kernels.arrays import copy_to, new, new_zeros
from tensorm.kernels.compiled import inlined, kernel, lend, maker, part
from tensorm.kernels.decisions import ONE, bit_of
from tensorm.kernels.ranked import UNIT, Scores
from tensorm.kernels.rows import CELLS, FREE, Masks, Table, make_table, make_workspace
from tensorm.kernels.slice_sampling import draw_step
from tensorm.kernels.slices import Tie, lay_rows, places_of
from tensorm.kernels.vectors import count_bits, lowest_bit

STEP = 1.0 / 16  # of the logarithms of activities
LOWEST, HIGHEST = -128, 64  # activities lie between exp(-8) and exp(4)
EVERY = np.zeros(0, np.int64)  # any component
WINDOW = 24  # steps that an activity usually can move at once


class Activities(NamedTuple):
    """What the activities of a mode's indices are drawn from, beside the cells."""

    scores: Any  # ranked.Scores, as a tuple
    levels: Any  # (N,) logarithms of the activities in steps, written
    exposures: Any  # (N,) written: the rates of a slice's zeros summed, but for the index' own activity
    rates: Any  # (levels,) by the level of a cell without the index' own
    rest: Any  # (levels,) how many cells of a slice have which
    base: int  # what to add to levels for the place of a score
    probe: int  # see ranked.count_decided
    shape: float  # of the Gamma prior, whose mean is 1
    window: int  # steps that an activity can move at once; 0: the cells are only counted


class Bins(NamedTuple):
    """Ones of a slice by who decides them and by level; those in use are listed."""

    counts: Any  # (2 (L + 1) levels,)
    used: Any
    size: Any
    seen: Any  # (levels,) zeros by level


@maker
def make_bins(n_groups, n_levels):
    """Bins without any cell."""
    counts, seen = new_zeros(2 * n_groups * n_levels, np.int64), new_zeros(n_levels, np.int64)
    return Bins(counts, new(counts.shape[0], np.int64), new_zeros(1, np.int64), seen)


@inlined
def fill(bins, first, word, level, levels, start):
    """Count the ones of a word, whose cells have these levels, in bins from `first` on."""
    while word:
        at = level + levels[start + lowest_bit(word)]
        word &= word - ONE
        bins.seen[at] -= 1
        put(bins, first + at, 1)


@inlined
def put(bins, at, number):
    """Count so many ones."""
    counts, used, size, _ = bins
    if counts[at] == 0:
        used[size[0]] = at
        size[0] += 1
    counts[at] += number


@part
def sort_slice(bins, tot, row, table, workspace, scores, probe):
    """Count the cells of a slice by who decides them: all in tot (2, L + 1), ones by level in the bins."""
    none, n_cells = scores.zeros.shape[0] - 1, scores.columns.shape[0]
    word, bit = bit_of(probe)
    probed = (row[word] & bit) != 0
    for position in range(workspace.shape[0]):
        level, inside = scores.rows[position], probed and (table.masks[position, word] & bit) != 0
        for w in range(-(-n_cells // 64)):
            start, valid = w << 6, ~uint64(0)
            if n_cells - start < 64:
                valid = (ONE << uint64(n_cells - start)) - ONE
            free = workspace[position, FREE, w] & valid
            data, missing = workspace[position, CELLS, w] & free, free ^ valid
            while missing:
                bins.seen[level + scores.columns[start + lowest_bit(missing)]] -= 1
                missing &= missing - ONE
            own = table.columns[probe, w] if inside else uint64(0)
            for m in range(row.shape[0]):
                left = row[m] & table.masks[position, m]
                if m == word:
                    left &= ~bit
                while left:
                    component = (m << 6) + lowest_bit(left)
                    left &= left - ONE
                    held = free & table.columns[component, w]
                    free &= ~held
                    split(bins, tot, component, held, data, own, level, scores, start)
            split(bins, tot, none, free, data, own, level, scores, start)


@inlined
def split(bins, tot, group, held, data, own, level, scores, start):
    """Count the cells of a word that a group decides, apart from those that the probe holds."""
    n_groups, n_levels = tot.shape[1], scores.ones.shape[1]
    tot[0, group] += count_bits(held & ~own)
    tot[1, group] += count_bits(held & own)
    data &= held
    fill(bins, group * n_levels, data & ~own, level, scores.columns, start)
    fill(bins, (n_groups + group) * n_levels, data & own, level, scores.columns, start)


class Ones(NamedTuple):
    """The ones of a slice, those with the same score together."""

    counts: Any
    places: Any  # of their scores, were the index' own level 0
    size: Any


class Activity(NamedTuple):
    """The activity of one index."""

    ones: Ones
    scores: Any  # flat
    exposure: float
    share: float  # of a cell that counts
    shape: float

    def height(self, level):
        gain = 0
        for i in range(self.ones.size[0]):
            gain += self.ones.counts[i] * self.scores[self.ones.places[i] + level]
        rate = np.exp(STEP * level)
        return self.share * (gain * UNIT - self.exposure * rate) + self.shape * (STEP * level - rate)


@part
def list_ones(ones, bins, given, n_groups, n_levels):
    """Fill the list of ones from the bins."""
    ones.size[0] = bins.size[0]
    for i in range(bins.size[0]):
        at = bins.used[i]
        ones.counts[i], ones.places[i] = bins.counts[at], at + given.base
        if at >= n_groups * n_levels:  # the probe's, unless a stronger one decides
            group = at // n_levels
            ones.places[i] -= (group - min(group - n_groups, given.probe)) * n_levels


@maker
def empty_bins(bins, counts, shift):
    """Add the ones to counts (2, L + 1, levels), their levels raised by so much."""
    flat = counts.reshape(-1)
    for i in range(bins.size[0]):
        at = bins.used[i]
        flat[at + shift] += bins.counts[at]
        bins.counts[at] = 0
    bins.size[0] = 0


class Count(NamedTuple):
    """Where the cells of slices are counted, one slice after the other."""

    bins: Bins
    listed: Ones
    places: Any
    table: Table
    workspace: Any


@maker
def make_count(source, masks, n_groups, n_levels):
    """Room for one slice after the other."""
    table, bins = make_table(masks, EVERY, True), make_bins(n_groups, n_levels)
    return Count(bins, make_list(bins), places_of(source, table.members), table, make_workspace(table))


@maker
def make_list(bins):
    """Room for the ones in the bins."""
    return Ones(new(bins.used.shape[0], np.int64), new(bins.used.shape[0], np.int64), new_zeros(1, np.int64))


@part
def draw_activity(counts, row, n, source, count, given, span, stream):
    """Draw the activity of index n and count the cells of its slice."""
    (ones, tot), scores, (bins, listed, places, table, workspace) = counts, Scores(*given.scores), count
    lay_rows(source, workspace, n, places, 2, span)
    copy_to(bins.seen, given.rest)
    sort_slice(bins, tot, row, table, workspace, scores, given.probe)
    draw_sorted(ones, n, bins, listed, (scores.ones, scores.share), given, stream)


@maker
def draw_sorted(ones, n, bins, listed, scores, given, stream):
    """Draw the activity of index n, whose cells lie in the bins, and count its ones."""
    (by_group, share), exposure = scores, 0.0
    n_groups, n_levels = by_group.shape
    for level in range(given.rest.shape[0]):  # beyond it, there are no cells
        exposure += bins.seen[level] * given.rates[level]
    list_ones(listed, bins, given, n_groups, n_levels)
    target = Activity(listed, by_group.reshape(-1), exposure, share, given.shape)
    given.levels[n] = draw_step(target, given.levels[n], (LOWEST, HIGHEST), given.window, stream, n)
    given.exposures[n] = exposure
    empty_bins(bins, ones, given.base + given.levels[n])


@maker
def draw_activities(counts, factor, rows, source, masks, given, stream):
    """Draw the activities of some indices and count their slices' cells.

    counts are (ones (2, L + 1, levels), all (2, L + 1)), to which the cells are added in the groups of
    ranked.count_decided, those that the probe holds apart.
    """
    given = Activities(*given)
    count = make_count(source, masks, counts[1].shape[1], counts[0].shape[2])
    for n in rows:
        draw_activity(counts, factor[n], n, source, count, given, masks.span, stream)


@maker
def draw_tied(counts, factor, rows, source, masks, tie, given, stream):
    """Do the same where another mode has the same activities: it follows row after row.

    What was counted before an index took its turn is not true any more afterwards.
    """
    given = Activities(*given)
    count = make_count(source, masks, counts[1].shape[1], counts[0].shape[2])
    scores = Scores(*given.scores)
    for n in rows:
        old = given.levels[n]
        draw_activity(counts, factor[n], n, source, count, given, masks.span, stream)
        shift = given.levels[n] - old
        if shift:
            mine, others = (scores.rows, scores.columns) if tie.in_rows else (scores.columns, scores.rows)
            for j in range(tie.rest.shape[0]):
                at = (j // tie.inner * factor.shape[0] + n) * tie.inner + j % tie.inner
                for other in others:
                    given.rest[mine[at] + other] -= 1
                    given.rest[mine[at] + other + shift] += 1
                mine[at] += shift


class RankedKernels(NamedTuple):
    """The verbs here and in ranked.py for one kind of source, to be called from Python."""

    update_rows: Any
    update_tied: Any
    count_decided: Any
    draw_activities: Any
    draw_tied: Any


def make_ranked_kernels(Source):
    """Compile the verbs for a kind of source, as slices.make_kernels does."""

    @kernel
    def update_ranked(factor, rows, slices, rule, stream):
        source, masks = slices
        ranked.update_rows(lend(factor), rows, Source(*lend(source)), Masks(*masks), lend(rule), stream)

    @kernel
    def update_ranked_pair(factor, rows, slices, tie, rule, stream):
        source, masks = slices
        own = Source(*lend(source))
        ranked.update_tied(lend(factor), rows, own, Masks(*masks), Tie(*tie), lend(rule), stream)

    @kernel
    def count_by_rank(counts, factor, rows, slices, probe):
        source, masks = slices
        ranked.count_decided(counts, lend(factor), rows, Source(*lend(source)), Masks(*masks), probe)

    @kernel
    def draw_indices(counts, factor, rows, slices, given, stream):
        source, masks = slices
        own = Source(*lend(source))
        draw_activities(counts, lend(factor), rows, own, Masks(*masks), lend(given), stream)

    @kernel
    def draw_pair(counts, factor, rows, slices, given, stream):
        source, masks, tie = slices
        own = Source(*lend(source))
        draw_tied(counts, lend(factor), rows, own, Masks(*masks), Tie(*tie), lend(given), stream)

    return RankedKernels(update_ranked, update_ranked_pair, count_by_rank, draw_indices, draw_pair)
