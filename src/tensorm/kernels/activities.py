"""Activities of indices: the ones of a slice by who decides them and by level, and a draw for each.

The rate at which cells become 1 without any component is the product of a common level and an activity of
each index. Logarithms of activities are whole numbers of STEP, so that cells are counted by their level and
no count depends on how they are stored. An index' activity is drawn from its conditional, with who is in
which component and all others held, by slice sampling on the grid.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels.arrays import copy_to, new, new_zeros
from tensorm.kernels.compiled import MAKER, inlined, keep, kernel, lend, maker, part, verb
from tensorm.kernels.decisions import ONE, bit_of
from tensorm.kernels.ranked import UNIT, LevelScores
from tensorm.kernels.rows import CELLS, EVERY, FREE, Masks, MemberTable, make_planes, make_table
from tensorm.kernels.slice_sampling import draw_step
from tensorm.kernels.slices import Tie, lay_rows, places_of
from tensorm.kernels.vectors import (
    LANES,
    both,
    load_words,
    lowest_bit,
    popcount,
    store_words,
    total,
    without,
)

STEP = 1.0 / 16  # of the logarithms of activities
LOWEST, HIGHEST = -128, 64  # activities lie between exp(-8) and exp(4)
WINDOW = 24  # steps that an activity usually can move at once
MOST_LEVELS, UNKNOWN = 32, -1  # of columns that have maps


class Activities(NamedTuple):
    """What the activities of a mode's indices are drawn from, beside the cells."""

    scores: Any  # ranked.LevelScores, as a tuple
    levels: Any  # (N,) logarithms of the activities in steps, written
    exposures: Any  # (N,) written: the rates of a slice's zeros summed, but for the index' own activity
    rates: Any  # (levels,) by the level of a cell without the index' own
    rest: Any  # (levels,) how many cells of a slice have which
    base: int  # what to add to levels for the place of a score
    probe: int  # see decided.count_decided
    shape: float  # of the Gamma prior, whose mean is 1
    window: int  # steps that an activity can move at once; 0: the cells are only counted


class Bins(NamedTuple):
    """Ones of a slice by who decides them and by level; those in use are listed."""

    counts: Any  # (2 (L + 1) levels,)
    used: Any
    size: Any
    seen: Any  # (levels,) zeros by level
    ones: Any  # as many as are used: the counts of these
    places: Any  # and where their scores are, were the index' own level 0


@maker
def make_bins(n_groups, n_levels):
    """Bins without any cell."""
    size = 2 * n_groups * n_levels
    counts, seen = new_zeros(size, np.int64), new_zeros(n_levels, np.int64)
    used, ones, places = new(size, np.int64), new(size, np.int64), new(size, np.int64)
    return Bins(counts, used, new_zeros(1, np.int64), seen, ones, places)


class LevelMaps(NamedTuple):
    """Which columns have which level, as bits, so that many ones are counted at once."""

    levels: Any  # the distinct ones
    bits: Any  # (levels, words)
    size: Any  # how many there are; UNKNOWN if that has to be found out, 0 if they are too many


@maker
def make_maps(n_words):
    """Maps of columns whose levels are not known yet."""
    size = new(1, np.int64)
    size[0] = UNKNOWN
    return LevelMaps(new(MOST_LEVELS, np.int64), new((MOST_LEVELS, n_words), np.uint64), size)


@part
def find_maps(maps, columns):
    """Write the maps of columns with these levels."""
    levels, bits, size = maps
    size[0] = 0
    for t in range(columns.shape[0]):
        i = 0
        while i < size[0] and levels[i] != columns[t]:
            i += 1
        if i == MOST_LEVELS:
            size[0] = 0
            return
        if i == size[0]:
            levels[i] = columns[t]
            bits[i] = uint64(0)
            size[0] += 1
        bits[i, t >> 6] |= ONE << uint64(t & 63)


@inlined
def fill_bins(cells, first, ones, at, columns):
    """Count the ones of a vector from word `at` of a row in bins from `first` on, by the level of each."""
    bins, maps, span, number = cells.bins, cells.maps, cells.span, total(popcount(ones))
    if number > maps.size[0] > 0:
        width = maps.bits.shape[1]
        for i in range(maps.size[0]):
            count = total(popcount(both(ones, load_words(maps.bits, i * width + at, span))))
            if count:
                put(bins, first + maps.levels[i], count)
    elif number:
        store_words(cells.ones, 0, ones)
        for w in range(cells.ones.shape[0]):
            word = cells.ones[w]
            while word:
                put(bins, first + columns[((at + w) << 6) + lowest_bit(word)], 1)
                word &= word - ONE


@inlined
def put(bins, at, number):
    """Count so many ones."""
    counts, used, size = bins.counts, bins.used, bins.size
    if counts[at] == 0:
        used[size[0]] = at
        size[0] += 1
    counts[at] += number


@part
def sort_words(cells, n, row, tot, scores, probe):
    """Sort the cells of slice n, row by row and vector by vector."""
    table, workspace, span, (word, bit) = cells.table, cells.workspace, cells.span, bit_of(probe)
    width, none = workspace.shape[2], scores.zeros.shape[0] - 1
    lay_rows(cells.source, workspace, n, cells.places, 2, span)
    if cells.maps.size[0] == UNKNOWN:
        find_maps(cells.maps, scores.columns)
    for position in range(workspace.shape[0]):
        mask = table.masks[position]
        inside = (row[word] & mask[word] & bit) != 0
        for at in range(0, width, LANES * len(span)):
            free, data = read_row(cells, position, at, scores)
            place = position, at, inside, probe
            for m in range(row.shape[0]):
                left = row[m] & mask[m]
                if m == word:
                    left &= ~bit
                while left:
                    component = (m << 6) + lowest_bit(left)
                    left &= left - ONE
                    held = both(free, load_words(table.columns, component * width + at, span))
                    free = without(free, held)
                    sort_held(cells, (tot, component), place, held, data, scores)
            sort_held(cells, (tot, none), place, free, data, scores)
    bins, n_levels = cells.bins, scores.ones.shape[1]
    for i in range(bins.size[0]):
        bins.seen[bins.used[i] % n_levels] -= bins.counts[bins.used[i]]


@inlined
def read_row(cells, position, at, scores):
    """(observed, cells) of a vector from word `at` of a row; those that are missing are no zeros."""
    span, width, n_cells = cells.span, cells.workspace.shape[2], scores.columns.shape[0]
    place = position * 3 * width + at
    valid = load_words(cells.valid, at, span)
    free = both(valid, load_words(cells.workspace, place + FREE * width, span))
    if total(popcount(free)) != min(n_cells - 64 * at, 64 * LANES * len(span)):
        store_words(cells.ones, 0, without(valid, free))
        for w in range(cells.ones.shape[0]):
            missing = cells.ones[w]
            while missing:
                level = scores.rows[position] + scores.columns[((at + w) << 6) + lowest_bit(missing)]
                cells.bins.seen[level] -= 1
                missing &= missing - ONE
    return free, load_words(cells.workspace, place + CELLS * width, span)


@inlined
def sort_held(cells, where, place, held, data, scores):
    """Sort the cells of a vector that a group decides, apart from those that the probe holds, too."""
    (tot, group), (position, at, inside, probe), width = where, place, cells.workspace.shape[2]
    first = group * scores.ones.shape[1] + scores.rows[position]
    if inside:
        own = both(held, load_words(cells.table.columns, probe * width + at, cells.span))
        held = without(held, own)
        tot[1, group] += total(popcount(own))
        fill_bins(cells, first + tot.shape[1] * scores.ones.shape[1], both(own, data), at, scores.columns)
    tot[0, group] += total(popcount(held))
    fill_bins(cells, first, both(held, data), at, scores.columns)


class Activity(NamedTuple):
    """The activity of one index."""

    bins: Bins
    scores: Any  # flat
    exposure: float
    share: float  # of a cell that counts
    shape: float

    def height(self, level):
        gain = 0
        for i in range(self.bins.size[0]):
            gain += self.bins.ones[i] * self.scores[self.bins.places[i] + level]
        rate = np.exp(STEP * level)
        return self.share * (gain * UNIT - self.exposure * rate) + self.shape * (STEP * level - rate)


@part
def place_ones(bins, given, n_groups, n_levels):
    """Write the ones in the bins side by side, and where their scores are."""
    for i in range(bins.size[0]):
        at = bins.used[i]
        bins.ones[i], bins.places[i] = bins.counts[at], at + given.base
        if at >= n_groups * n_levels:  # the probe's, unless a stronger one decides
            group = at // n_levels
            bins.places[i] -= (group - min(group - n_groups, given.probe)) * n_levels


@maker
def empty_bins(bins, counts, shift):
    """Add the ones to counts (2, L + 1, levels), their levels raised by so much."""
    flat = counts.reshape(-1)
    for i in range(bins.size[0]):
        at = bins.used[i]
        flat[at + shift] += bins.counts[at]
        bins.counts[at] = 0
    bins.size[0] = 0


@verb
def sort_slice(cells, n, row, tot, scores, probe):
    """Count the cells of slice n by who decides them: all in tot (2, L + 1), ones by level in the bins."""


@verb
def follow_levels(cells, n, shift, given, tie):
    """Index n has become more active by so many steps, in the mode that is tied to this one as well."""


class SortedSlice(NamedTuple):
    """Where the cells of slices are sorted, one slice after the other."""

    bins: Bins
    source: Any
    places: Any
    table: MemberTable
    workspace: Any
    span: Any
    maps: LevelMaps
    valid: Any  # (width,) bits of the cells of a row
    ones: Any  # room for a vector

    def sort_slice(self, n, row, tot, scores, probe):
        sort_words(self, n, row, tot, scores, probe)

    def follow_levels(self, n, shift, given, tie):
        shift_sides(n, shift, given, Tie(*tie))
        self.maps.size[0] = UNKNOWN


@partial(verb, options=MAKER)
def make_sorted(source, masks, n_groups, n_levels):
    """Room for one slice after the other; where cells are listed, of another kind (sparse_activities.py)."""
    masks = Masks(*masks)
    table, bins = make_table(masks, EVERY, True), make_bins(n_groups, n_levels)
    places, width, n_cells = places_of(source, table.members), table.columns.shape[1], masks.columns.shape[0]
    valid = new_zeros(width, np.uint64)
    for t in range(n_cells):
        valid[t >> 6] |= ONE << uint64(t & 63)
    room, planes, maps = new(LANES * len(masks.span), np.uint64), make_planes(table), make_maps(width)
    return SortedSlice(bins, source, places, table, planes, masks.span, maps, valid, room)


@part
def draw_activity(counts, row, n, cells, given, stream):
    """Draw the activity of index n and count the cells of its slice."""
    ones, tot = counts
    copy_to(cells.bins.seen, given.rest)
    sort_slice(cells, n, row, tot, LevelScores(*given.scores), given.probe)
    draw_sorted(ones, n, cells.bins, given, stream)


@maker
def draw_sorted(ones, n, bins, given, stream):
    """Draw the activity of index n, whose cells lie in the bins, and count its ones."""
    scores, exposure = LevelScores(*given.scores), 0.0
    n_groups, n_levels = scores.ones.shape
    for level in range(given.rest.shape[0]):  # beyond it, there are no cells
        exposure += bins.seen[level] * given.rates[level]
    place_ones(bins, given, n_groups, n_levels)
    target = Activity(bins, scores.ones.reshape(-1), exposure, scores.share, given.shape)
    given.levels[n] = draw_step(target, given.levels[n], (LOWEST, HIGHEST), given.window, stream, n)
    given.exposures[n] = exposure
    empty_bins(bins, ones, given.base + given.levels[n])


@kernel
def draw_activities(counts, factor, rows, slices, given, stream):
    """Draw the activities of some indices and count their slices' cells.

    counts are (ones (2, L + 1, levels), all (2, L + 1)), to which the cells are added in the groups of
    decided.count_decided, those that the probe holds apart.
    """
    source, masks = slices
    given, factor, counts = Activities(*lend(given)), lend(factor), lend(counts)
    own = make_sorted(lend(source), masks, counts[1].shape[1], counts[0].shape[2])
    cells = lend(own)
    for n in rows:
        draw_activity(counts, factor[n], n, cells, given, stream)
    keep(own)


@kernel
def draw_tied(counts, factor, rows, slices, given, stream):
    """Do the same where another mode has the same activities: it follows row after row.

    `slices` has a tie, too. What was counted before an index took its turn is not true any more afterwards.
    """
    source, masks, tie = slices
    given, factor, counts = Activities(*lend(given)), lend(factor), lend(counts)
    own = make_sorted(lend(source), masks, counts[1].shape[1], counts[0].shape[2])
    cells = lend(own)
    for n in rows:
        old = given.levels[n]
        draw_activity(counts, factor[n], n, cells, given, stream)
        if given.levels[n] != old:
            follow_levels(cells, n, given.levels[n] - old, given, tie)
    keep(own)


@part
def shift_sides(n, shift, given, tie):
    """Change the levels of the rows or the columns that belong to an index, and how many cells have which."""
    scores, N = LevelScores(*given.scores), given.levels.shape[0]
    mine, others = (scores.rows, scores.columns) if tie.in_rows else (scores.columns, scores.rows)
    for j in range(tie.rest.shape[0]):
        at = (j // tie.inner * N + n) * tie.inner + j % tie.inner
        for other in others:
            given.rest[mine[at] + other] -= 1
            given.rest[mine[at] + other + shift] += 1
        mine[at] += shift
