"""Activities of indices: how many ones of a slice each component decides, level by level, and a draw for each.

The rate at which cells become 1 without any component is the product of a common level and an activity of
each index. Logarithms of activities are whole numbers of STEP, so that cells are counted by their level and
no count depends on how they are stored. An index' activity is drawn from its conditional, with who is in
which component and all others held, by slice sampling on the grid.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from tensorm.kernels.compiled import inlined, part
from tensorm.kernels.decisions import ONE, bit_of
from tensorm.kernels.philox import uniform
from tensorm.kernels.ranked import UNIT
from tensorm.kernels.rows import CELLS, FREE, make_table, make_workspace
from tensorm.kernels.slices import lay_rows, places_of
from tensorm.kernels.vectors import count_bits, lowest_bit

STEP = 1.0 / 16  # of the logarithms of activities
LOWEST, HIGHEST = -128, 64  # activities lie between exp(-8) and exp(4)
WINDOW = 24  # steps that an activity can move at once


class Activities(NamedTuple):
    """What an index' activity is drawn from beside the ones of its slice."""

    levels: Any  # (N,) logarithms of the activities in steps, written
    base: int  # what to add for the level of a row
    rates: Any  # (levels,) by level
    rest: Any  # (levels,) how many cells of a slice have which level, without the index' own
    shape: float  # of the Gamma prior, whose mean is 1
    share: float  # of a cell that counts
    exposures: Any  # (N,) written: sums of the rates of a slice's zeros, but for the index' own activity


class Bins(NamedTuple):
    """Ones of a slice by who decides them and by level; those in use are listed."""

    counts: Any  # (2 (L + 1) levels,)
    used: Any
    size: Any
    seen: Any  # (levels,) zeros by level


@part
def make_bins(n_groups, n_levels):
    """Bins without any cell."""
    counts, seen = np.zeros(2 * n_groups * n_levels, np.int64), np.zeros(n_levels, np.int64)
    return Bins(counts, np.empty_like(counts), np.zeros(1, np.int64), seen)


@inlined
def fill(bins, first, word, level, levels, start):
    """Count the ones of a word, whose cells have these levels, in bins from `first` on."""
    counts, used, size, seen = bins
    while word:
        at = level + levels[start + lowest_bit(word)]
        word &= word - ONE
        seen[at] -= 1
        at += first
        if counts[at] == 0:
            used[size[0]] = at
            size[0] += 1
        counts[at] += 1


@part
def sort_slice(bins, tot, row, table, workspace, scores, probe):
    """Count the cells of a slice by who decides them: all in tot (2, L + 1), ones by level in the bins."""
    n_levels, none, n_cells = scores.ones.shape[1], scores.zeros.shape[0] - 1, scores.columns.shape[0]
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


@inlined
def log_density(level, ones, scores, activities, exposure):
    """Log density of an index' activity."""
    gain = 0
    for i in range(ones.size[0]):
        gain += ones.counts[i] * scores[ones.places[i] + level]
    rate = np.exp(STEP * level)
    return activities.share * (gain * UNIT - exposure * rate) + activities.shape * (STEP * level - rate)


@part
def draw_level(level, ones, scores, activities, exposure, stream, n):
    """A new activity of index n: slice sampling in a window placed at random."""
    height = log_density(level, ones, scores, activities, exposure) + np.log(uniform(stream, n, 0))
    low = level - int(uniform(stream, n, 1) * (WINDOW + 1))
    high = min(low + WINDOW, HIGHEST)
    low, turn = max(low, LOWEST), 2
    while True:
        new = low + int(uniform(stream, n, turn) * (high - low + 1))
        if new == level or log_density(new, ones, scores, activities, exposure) >= height:
            return new
        low, high = (new + 1, high) if new < level else (low, new - 1)
        turn += 1


@part
def list_ones(ones, bins, base, probe, n_groups, n_levels):
    """Fill the list of ones from the bins."""
    ones.size[0] = bins.size[0]
    for i in range(bins.size[0]):
        at = bins.used[i]
        group, rest = at // n_levels, at % n_levels
        if group >= n_groups:
            group = min(group - n_groups, probe)
        ones.counts[i], ones.places[i] = bins.counts[at], group * n_levels + rest + base


@part
def count_levels(ones, tot, factor, rows, source, masks, probe, scores, activities, stream):
    """Draw the activities of some indices; add their cells to tot (2, L + 1), ones to ones (2, L + 1, levels).

    See ranked.count_decided for the groups.
    """
    table = make_table(masks, np.arange(masks.n_components), True)
    places, n_groups, n_levels = places_of(source, table.members), tot.shape[1], scores.ones.shape[1]
    workspace, bins = make_workspace(table), make_bins(n_groups, n_levels)
    ones_here = Ones(np.empty_like(bins.used), np.empty_like(bins.used), np.zeros(1, np.int64))
    flat = scores.ones.reshape(-1)
    for n in rows:
        lay_rows(source, workspace, n, places, 2, masks.span)
        bins.seen[:] = activities.rest
        sort_slice(bins, tot, factor[n], table, workspace, scores, probe)
        exposure = 0.0
        for level in range(n_levels):
            if bins.seen[level]:
                exposure += bins.seen[level] * activities.rates[level]
        list_ones(ones_here, bins, activities.base, probe, n_groups, n_levels)
        level = draw_level(activities.levels[n], ones_here, flat, activities, exposure, stream, n)
        activities.levels[n], activities.exposures[n] = level, exposure
        for i in range(bins.size[0]):
            at = bins.used[i]
            group, rest = at // n_levels, at % n_levels
            ones[group // n_groups, group % n_groups, rest + activities.base + level] += bins.counts[at]
            bins.counts[at] = 0
        bins.size[0] = 0
