"""Strengths, their prior and the background drawn from their conditionals, given the cells that each decides.

Given all other strengths, that of a component has a density in pieces: cells that it shares with another one
are its own only while it is the stronger. One component in each sweep, the *probe*, is drawn from all pieces;
its cells were counted by the strongest other component that holds them. All others are drawn between their
neighbours, which changes nobody's cells: both leave the posterior as it is. So does a common shift of all.
Draws are by slice sampling, with numbers of their own for every parameter.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tensorm.kernels.activities import HIGHEST, LOWEST, STEP
from tensorm.kernels.arrays import new, new_zeros
from tensorm.kernels.compiled import inlined, kernel, maker, part
from tensorm.kernels.philox import one_uniform
from tensorm.kernels.ranked import UNIT
from tensorm.kernels.slice_sampling import draw_number, draw_step, height

EDGE = 1e-12  # probabilities stay this far from 0 and 1
LEAST = 1e-4  # spread of strengths: they differ by about a hundredth
LEAP = 16  # steps that a level can move at once
FAINTEST, LOUDEST = -320, 48  # the common level lies between exp(-20) and exp(3)
SHIFT = 1.0  # log-odds by which all strengths can move at once
PROBE, COMMON, TYPICAL, SPREAD, BACKGROUND, SCALES, FIRST = 1, 2, 3, 4, 5, 6, 40  # rows of the random numbers


class Decided(NamedTuple):
    """The cells that groups decide: zeros, and ones by how probable they are without any component."""

    zeros: Any  # (G,)
    firsts: Any  # the ones of group g are at firsts[g] : firsts[g + 1] of the next two
    ones: Any
    chances: Any


@maker
def list_ones(zeros, ones, chances):
    """What groups decide, from a table (G, levels) of ones; levels without any are left out."""
    firsts, size = new_zeros(zeros.shape[0] + 1, np.int64), 0
    counts, values = new(ones.size, np.float64), new(ones.size, np.float64)
    for group in range(zeros.shape[0]):
        for level in range(chances.shape[0]):
            counts[size], values[size] = ones[group, level], chances[level]
            size += ones[group, level] > 0
        firsts[group + 1] = size
    return Decided(zeros, firsts, counts[:size], values[:size])


@inlined
def likelihood(decided, group, q):
    """Log-likelihood of a group's cells, decided by a strength q."""
    zeros, firsts, ones, chances = decided
    sum_ = zeros[group] * np.log1p(-q)
    for i in range(firsts[group], firsts[group + 1]):
        sum_ += ones[i] * np.log(chances[i] + (1 - chances[i]) * q)
    return sum_


class Prior(NamedTuple):
    """The Beta prior of strengths, from flat (spread 1) to all alike (0)."""

    typical: float  # its mode
    spread: float

    def height(self, q):
        size = 1 / self.spread - 1
        return size * (self.typical * np.log(q) + (1 - self.typical) * np.log1p(-q))


class PriorsOfPrior(NamedTuple):
    """What is known of that prior beforehand."""

    a: float  # of the Beta prior of the typical strength
    b: float
    least: float  # spread; its logarithm is uniform between both
    most: float


class Between(NamedTuple):
    """A strength whose component keeps its place among the others."""

    decided: Decided
    group: int
    prior: Prior

    def height(self, q):
        return likelihood(self.decided, self.group, q) + height(self.prior, q)


class Anywhere(NamedTuple):
    """The strength of the probe: groups of cells are its own where it is stronger than who decides."""

    decided: Decided
    strengths: Any  # (G,) of others, and 0 for none
    theirs: Any  # (G,) log-likelihood if the other one decides
    prior: Prior

    def height(self, q):
        sum_ = height(self.prior, q)
        for group in range(self.strengths.shape[0]):
            stronger = q > self.strengths[group]
            sum_ += likelihood(self.decided, group, q) if stronger else self.theirs[group]
        return sum_


class Common(NamedTuple):
    """A shift of the log-odds of all strengths and of the typical one."""

    decided: Decided
    strengths: Any
    prior: Prior
    above: PriorsOfPrior

    def height(self, shift):
        typical = moved(self.prior.typical, shift)
        prior = Prior(typical, self.prior.spread)
        sum_ = self.above.a * np.log(typical) + self.above.b * np.log1p(-typical)
        sum_ += self.strengths.shape[0] * log_beta(prior)
        for l in range(self.strengths.shape[0]):
            q = moved(self.strengths[l], shift)
            if not EDGE < q < 1 - EDGE:
                return -np.inf
            sum_ += likelihood(self.decided, l, q) + height(prior, q) + np.log(q) + np.log1p(-q)
        return sum_


class Typical(NamedTuple):
    """The mode of the strengths' prior; it has a Beta prior itself."""

    logs: Any  # sums of log(q) and of log(1 - q)
    number: int
    spread: float
    above: PriorsOfPrior

    def height(self, typical):
        own = (self.above.a - 1) * np.log(typical) + (self.above.b - 1) * np.log1p(-typical)
        return spread_height(self.logs, self.number, typical, self.spread) + own


class Spread(NamedTuple):
    """The logarithm of its spread, which is uniform."""

    logs: Any
    number: int
    typical: float

    def height(self, log_spread):
        return spread_height(self.logs, self.number, self.typical, np.exp(log_spread))


@inlined
def spread_height(logs, count, typical, spread):
    """Log density of strengths under their prior."""
    size = 1 / spread - 1
    return count * log_beta(Prior(typical, spread)) + size * (typical * logs[0] + (1 - typical) * logs[1])


class Background(NamedTuple):
    """The constant background, with a Beta prior."""

    zeros: float
    ones: Any  # (L + 1,) by who decides them
    strengths: Any  # (L + 1,), the last one 0
    prior: Any  # its two numbers

    def height(self, background):
        a, b = self.prior
        sum_ = (self.zeros + b - 1) * np.log1p(-background) + (a - 1) * np.log(background)
        for group in range(self.strengths.shape[0]):
            if self.ones[group]:
                sum_ += self.ones[group] * np.log(background + (1 - background) * self.strengths[group])
        return sum_


@inlined
def moved(p, shift):
    """The probability whose log-odds differ by so much."""
    odds = np.exp(shift) * p / (1 - p)
    return odds / (1 + odds)


@inlined
def log_beta(prior):
    """What normalises the density of one strength."""
    size = 1 / prior.spread - 1
    a, b = prior.typical * size, (1 - prior.typical) * size
    return math.lgamma(size + 2) - math.lgamma(a + 1) - math.lgamma(b + 1)


@maker
def draw_probe(q, prior, counts, probe, stream):
    """Draw the strength of the probe; afterwards zeros[0] and ones[0] have what each decides."""
    zeros, ones, chances = counts
    inside = list_ones(zeros[1], ones[1], chances)
    theirs = new_zeros(q.shape[0], np.float64)
    for group in range(q.shape[0] - 1):
        theirs[group] = likelihood(inside, group, q[group])
    target = Anywhere(inside, q.copy(), theirs, prior)
    target.strengths[probe] = 0  # it decides none of these
    q[probe] = draw_number(target, q[probe], EDGE, 1 - EDGE, stream, PROBE)
    for group in range(q.shape[0]):
        if group != probe:
            winner = group if q[group] > q[probe] else probe
            zeros[0, winner] += zeros[1, group]
            for level in range(chances.shape[0]):
                ones[0, winner, level] += ones[1, group, level]


@maker
def rank(q):
    """The strongest first."""
    order = new(q.shape[0], np.int64)
    for l in range(q.shape[0]):
        place = l
        while place and q[order[place - 1]] < q[l]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = l
    return order


@part
def sum_numbers(numbers):
    """The sum of an array of one dimension."""
    total = 0.0
    for number in numbers:
        total += number
    return total


@maker
def draw_others(q, prior, decided, stream):
    """Draw every strength between those of its neighbours."""
    order = rank(q)  # none is last
    for place in range(q.shape[0] - 1):
        l = order[place]
        high = q[order[place - 1]] if place else 1 - EDGE
        low = max(q[order[place + 1]], EDGE)
        if low < q[l] < high:
            q[l] = draw_number(Between(decided, l, prior), q[l], low, high, stream, FIRST + l)


@maker
def draw_prior(q, prior, above, decided, stream):
    """Draw the mode and the spread of the strengths, and shift all of them; return the prior."""
    L = q.shape[0] - 1
    u = one_uniform(stream, COMMON, 1000)
    shift = draw_number(
        Common(decided, q[:L].copy(), prior, above), 0.0, -SHIFT * u, SHIFT * (1 - u), stream, COMMON
    )
    logs = new_zeros(2, np.float64)
    for l in range(L):
        q[l] = moved(q[l], shift)
        logs[0] += np.log(q[l])
        logs[1] += np.log1p(-q[l])
    typical = moved(prior.typical, shift)
    typical = draw_number(Typical(logs, L, prior.spread, above), typical, EDGE, 1 - EDGE, stream, TYPICAL)
    low, high = np.log(above.least), np.log(above.most)
    spread = draw_number(Spread(logs, L, typical), np.log(prior.spread), low, high, stream, SPREAD)
    return Prior(typical, np.exp(spread))


@kernel
def draw_strengths(q, prior, counts, probe, stream):
    """Draw all strengths q (L + 1), the last one 0, in place; return their prior, and what each decides.

    The prior is the typical strength, the spread, and a tuple of PriorsOfPrior.
    counts are all cells (2, L + 1) and ones (2, L + 1, levels) in the groups of decided.count_decided, in the
    first place without the cells that the probe holds, and the chances of a one without components by level.
    """
    tot, ones, chances = counts
    zeros, above, prior = new(tot.shape, np.float64), PriorsOfPrior(*prior[2]), Prior(prior[0], prior[1])
    for side in range(2):
        for group in range(q.shape[0]):
            zeros[side, group] = tot[side, group] - sum_numbers(ones[side, group])
    if q.shape[0] > 1:
        draw_probe(q, prior, (zeros, ones, chances), probe, stream)
        decided = list_ones(zeros[0], ones[0], chances)
        draw_others(q, prior, decided, stream)
        prior = draw_prior(q, prior, above, decided, stream)
    return prior.typical, prior.spread, zeros[0], ones[0]


@kernel
def draw_background(background, q, zeros, ones, prior, stream):
    """Draw a constant background."""
    target = Background(sum_numbers(zeros), ones[:, 0], q, prior)
    return draw_number(target, background, EDGE, 1 - EDGE, stream, BACKGROUND)


class Level(NamedTuple):
    """The common level of all rates, in steps from what it is, given the strengths."""

    q: Any
    ones: Any  # (G, levels) by who decides them
    chances: Any  # (levels,) as they are now
    room: Any  # (levels,) for chances
    exposure: float  # sum of the rates of all zeros

    def height(self, shift):
        factor = np.exp(STEP * shift)
        sum_ = -self.exposure * factor
        for level in range(self.room.shape[0]):
            self.room[level] = -np.expm1(factor * np.log1p(-self.chances[level]))
        for group in range(self.q.shape[0]):
            q = self.q[group]
            for level in range(self.room.shape[0]):
                if self.ones[group, level]:
                    chance = self.room[level]
                    sum_ += self.ones[group, level] * np.log(chance + (1 - chance) * q)
        return sum_


class Scale(NamedTuple):
    """How the level is divided between a mode's activities and the common one."""

    shape: float
    number: int
    sum: float  # of the mode's activities

    def height(self, shift):
        return self.shape * (self.number * STEP * shift - self.sum * np.exp(STEP * shift))


@kernel
def draw_level(level, bounds, q, decided, exposure, stream):
    """Draw the common level, between bounds, given the ones that each component decides, and chances."""
    ones, chances = decided
    target = Level(q, ones, chances, new(chances.shape[0], np.float64), exposure)
    steps = bounds[0] - level, bounds[1] - level
    return level + draw_step(target, 0, steps, LEAP, stream, BACKGROUND)


@kernel
def draw_scale(levels, common, shape, times, stream, row):
    """By how much a mode's activities rise, while the level falls `times` as much and no rate changes.

    `common` is the level and its bounds.
    """
    (level, faintest, loudest), sum_, least, most = common, 0.0, HIGHEST, LOWEST
    for n in levels:
        sum_ += np.exp(STEP * n)
        least, most = min(least, n), max(most, n)
    low = max(LOWEST - least, -((loudest - level) // times))
    high = min(HIGHEST - most, (level - faintest) // times)
    return draw_step(Scale(shape, levels.shape[0], sum_), 0, (low, high), LEAP, stream, row)


@kernel
def draw_shape(levels, shapes, normalisers, stream, row):
    """Draw the shape of a mode's Gamma prior from a grid."""
    sum_ = 0.0
    for n in levels:
        sum_ += STEP * n - np.exp(STEP * n)
    shares, highest, whole = new(shapes.shape[0], np.float64), -np.inf, 0.0
    for i in range(shapes.shape[0]):
        shares[i] = shapes[i] * sum_ - levels.shape[0] * normalisers[i]
        highest = max(highest, shares[i])
    for i in range(shapes.shape[0]):
        whole += np.exp(shares[i] - highest)
        shares[i] = whole
    place, wanted = 0, one_uniform(stream, row, 0) * whole
    while place < shapes.shape[0] - 1 and shares[place] < wanted:
        place += 1
    return shapes[place]


@kernel
def make_scores(q, levels, first):
    """Scores of ones (L + 1, levels) by component and level, in units of UNIT."""
    scores = new((q.shape[0], levels), np.int64)
    for level in range(levels):
        chance = -np.expm1(-np.exp(STEP * (first + level)))
        for group in range(q.shape[0]):
            scores[group, level] = np.rint(np.log(chance + (1 - chance) * q[group]) / UNIT)
    return scores
