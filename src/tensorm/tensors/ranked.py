"""Components with strengths of their own: what noise models ask of a tensor then, and dense tensors' answers.

Kernels want the strongest component first (kernels/ranked.py). Everybody else numbers components as they
come, so ``Ranking`` puts factors in order before a tensor sees them, and back afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tensorm.kernels.activities import WINDOW, Activities, RankedKernels
from tensorm.kernels.ranked import permute_masks
from tensorm.kernels.sorted import PartKernels
from tensorm.tensors.bits import Words
from tensorm.tensors.factors import Factors
from tensorm.tensors.layout import add_up
from tensorm.tensors.protocol import Counts, Pair, Rows, Rule, Stream, every
from tensorm.tensors.slices import SlicedTensor, read_by

if TYPE_CHECKING:
    from tensorm.tensors.protocol import Rows, Stream


Ints = npt.NDArray[np.int64]


class Ranking(NamedTuple):
    """What cells say about an entry where components have strengths; takes the place of ``Weights``."""

    order: npt.NDArray[np.intp]  # components, the strongest first
    zeros: npt.NDArray[np.float64]  # (L + 1,) log(1 - strength) in this order, then 0 for no component
    ones: Ints  # (L + 1, levels) scores of ones by level
    levels: Ints | None  # of every index of every mode, mode after mode; None: all cells have the same
    first: int  # the level that the first column of ``ones`` is for, beyond those of the indices
    share: float = 1.0  # of a cell that counts

    def tempered(self, beta: float) -> Ranking:
        """Return weights that say so much less."""
        return self._replace(share=beta * self.share)

    def rank(self, factors: Factors) -> Factors:
        """Return the factors with the strongest component first."""
        return Factors(tuple(permute_masks(masks, self.order) for masks in factors), factors.n_components)

    def restore(self, masks: Words) -> Words:
        """Undo ``rank`` for one mode."""
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(back))
        return permute_masks(masks, back)

    def update(
        self, tensor: RankedTensor, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows
    ) -> Words:
        """Return a mode's factor with these rows decided anew, the strongest components first."""
        prior = rule.prior if rule.prior.shape[1] == 1 else np.ascontiguousarray(rule.prior[:, self.order])
        turns = np.flatnonzero(np.isin(self.order, rule.order))
        ranked = Rule(turns, rule.kind, self, prior)
        return self.restore(tensor._update_ranked(mode, self.rank(factors), ranked, stream, rows))

    def cut(self, rows: slice, size: int) -> Ranking:
        """Return the weights for some slices of mode 0, which has so many, with components in their order."""
        order = np.arange(len(self.order))
        if self.levels is None:
            return self._replace(order=order)
        return self._replace(order=order, levels=np.append(self.levels[:size][rows], self.levels[size:]))

    def room(self) -> tuple[Ints, Ints]:
        """Return counts of 0 (kernels/activities.py): of ones by level, and of all cells."""
        return np.zeros((2, *self.ones.shape), np.int64), np.zeros((2, len(self.zeros)), np.int64)

    def scores(self, mode: int, shape: Sequence[int], rows: Sequence[int], packed: Sequence[int]) -> Any:
        """Return kernels.ranked.Scores, as a tuple, for slices of a mode, and the base of their levels."""
        if self.levels is None:
            zeros = (_nothing(int(np.prod([shape[k] for k in modes]))) for modes in ((mode,), rows, packed))
            return (self.zeros, self.ones, *zeros, self.share), 0
        levels = by_mode(self.levels, shape)
        sides = [add_up([levels[k] for k in modes]) for modes in (rows, packed)]
        lows = [int(side.min()) for side in sides]
        base = sum(lows) - self.first - WINDOW  # room for activities that fall (kernels/activities.py)
        along, across = (side - low for side, low in zip(sides, lows, strict=True))
        return (self.zeros, self.ones, levels[mode] + base, along + WINDOW, across, self.share), base

    def listed_scores(self, mode: int, shape: Sequence[int]) -> Any:
        """Return the same for listed cells, with levels of all indices in place of rows and columns."""
        others = [k for k in range(len(shape)) if k != mode]
        if self.levels is None:
            own, stacked = _nothing(shape[mode]), _nothing(sum(shape), np.int16)
            return (self.zeros, self.ones, own, stacked, stacked[:0], self.share), 0
        levels = by_mode(self.levels, shape)
        lows = [int(level.min()) if k in others else 0 for k, level in enumerate(levels)]
        base = sum(lows) - self.first - WINDOW
        lows[others[0]] -= WINDOW
        pairs = zip(levels, lows, strict=True)
        stacked = np.concatenate([level - low for level, low in pairs]).astype(np.int16)
        return (self.zeros, self.ones, levels[mode] + base, stacked, stacked[:0], self.share), base


def by_mode(flat: npt.NDArray[Any], shape: Sequence[int]) -> list[npt.NDArray[Any]]:
    """Return the parts of an array that belong to each mode."""
    return np.split(flat, np.cumsum(shape)[:-1])


def room_for_rivals(mode: int, factors: Factors, rows: Rows) -> tuple[Ints, Ints]:
    """Return counts of 0 (kernels/rivals.py) for some rows: what ones gain, and zeros by runner-up."""
    L, members = factors.n_components, int(np.bitwise_count(factors[mode][rows]).sum(dtype=np.int64))
    return np.zeros((len(rows), L), np.int64), np.zeros((len(rows) + members) * L, np.int64)


def join_rivals(parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Return the counts of rows that were shared out."""
    gain, zeros = (np.concatenate(counts) for counts in zip(*parts, strict=True))
    return gain, zeros


def count_tuples(levels: Sequence[Ints]) -> Ints:
    """Return how many index tuples of some modes have which level, none of which is below 0."""
    counts = np.ones(1, np.int64)
    for part in levels:
        counts = np.convolve(counts, np.bincount(part))
    return counts


@cache
def _nothing(size: int, kind: type = np.int64) -> npt.NDArray[Any]:
    return np.zeros(size, kind)


Rivals = tuple[Counts, Counts]  # gain (rows, L), and zeros


class RankedTensor(Protocol):
    """What noise models with strengths ask of a tensor besides the verbs of the protocol."""

    def _update_ranked(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        """Return a mode's factor with these rows decided anew, the strongest component first."""

    def update_ranked_tied(
        self, pair: Pair, factors: Factors, rule: Rule, stream: Stream, rows: Rows
    ) -> Words:
        """Do the same for two modes that share a factor, as ``Tensor.update_tied``."""

    def count_decided(self, factors: Factors, probe: int) -> Counts:
        """Return how many cells each component decides, (2, 2, L + 1), the strongest first.

        Ones and all observed cells that the component `probe` does not hold, then those that it holds, by the
        strongest other component that holds them; last those that no other one holds.
        """

    def draw_activities(
        self, mode: int, factors: Factors, given: Activities, stream: Stream
    ) -> tuple[Counts, Counts]:
        """Draw the activities of a mode's indices in place; return ones, by level, and all cells as above."""

    def draw_tied_activities(self, pair: Pair, factors: Factors, given: Activities, stream: Stream) -> None:
        """Draw the activities that two modes share."""

    def count_rivals(self, mode: int, factors: Factors, weights: Ranking, rows: Rows) -> Rivals:
        """Return what entries are decided from elsewhere, row after row (kernels/rivals.py)."""

    def sort_cells(self, mode: int, factors: Factors, weights: Ranking, probe: int) -> Sorted:
        """Return what activities are drawn from elsewhere (kernels/sorted.py)."""


class Sorted(NamedTuple):
    """The cells of a mode's slices in a part of a tensor by level."""

    tot: Counts  # as of count_decided
    rest: Counts  # how many cells of a slice have which level, but for those that count only where listed
    base: int  # of the levels
    lists: tuple[Counts, ...]  # kernels.sorted.Lists


def trim(lists: tuple[Counts, ...]) -> tuple[Counts, ...]:
    """Return lists without room for more."""
    firsts, places, counts = lists
    return firsts, places[: firsts[-1]], counts[: firsts[-1]]


class RankedSlices(SlicedTensor):
    """These verbs for tensors that offer a view of each mode's slices."""

    _ranked_kernels: ClassVar[RankedKernels]  # those that read such a view
    _part_kernels: ClassVar[PartKernels]
    takes_strengths = True

    def _update_ranked(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        view, factor = self._views[mode], factors[mode].copy()
        given = read_by(view, factors), self._score(mode, rule), tuple(stream)
        self._share(factors, rows, lambda _, some: self._ranked_kernels.update_rows(factor, some, *given))
        return factor

    def update_ranked_tied(
        self, pair: Pair, factors: Factors, rule: Rule, stream: Stream, rows: Rows
    ) -> Words:
        view, factor = self._views[pair[0]], factors[pair[0]].copy()
        given = read_by(view, factors), self._tie(pair, factors), self._score(pair[0], rule)
        self._ranked_kernels.update_tied(factor, rows, *given, tuple(stream))
        return factor

    def _score(self, mode: int, rule: Rule) -> tuple[Any, ...]:
        """Return a rule as kernels want it, with the levels of a mode's slices."""
        view = self._views[mode]
        scores, _ = rule.weights.scores(mode, self.shape, view.rows, view.packed)
        return rule.order, rule.kind, scores, rule.prior

    def count_decided(self, factors: Factors, probe: int) -> Counts:
        view, rows = self._views[0], every(self.shape[0])
        given, groups = (read_by(view, factors), probe), factors.n_components + 1

        def count(_: slice, some: Rows) -> Counts:
            counts = np.zeros((2, 2, groups), np.int64)
            self._ranked_kernels.count_decided(counts, factors[0], some, *given)
            return counts

        counts = np.sum(self._share(factors, rows, count), axis=0)
        counts[0, :, -1] = (self.n_ones, self.n_observed) - counts[0].sum(axis=1)
        counts[0] -= counts[1]
        return counts

    def draw_activities(
        self, mode: int, factors: Factors, given: Activities, stream: Stream
    ) -> tuple[Counts, Counts]:
        ready, rows = self._ready(mode, factors, given), every(self.shape[mode])

        def count(_: slice, some: Rows) -> tuple[Counts, Counts]:
            counts = given.scores.room()
            self._ranked_kernels.draw_activities(counts, factors[mode], some, *ready, tuple(stream))
            return counts

        ones, tot = zip(*self._share(factors, rows, count), strict=True)
        return sum(ones), sum(tot)

    def draw_tied_activities(self, pair: Pair, factors: Factors, given: Activities, stream: Stream) -> None:
        slices, ready = self._ready(pair[0], factors, given._replace(rest=given.rest.copy()))
        counts, rows, tied = given.scores.room(), every(self.shape[pair[0]]), self._tie(pair, factors)
        self._ranked_kernels.draw_tied(counts, factors[pair[0]], rows, (*slices, tied), ready, tuple(stream))

    def _ready(self, mode: int, factors: Factors, given: Activities) -> tuple[Any, ...]:
        """Return what kernels draw activities from."""
        view = self._views[mode]
        scores, base = given.scores.scores(mode, self.shape, view.rows, view.packed)
        return read_by(view, factors), tuple(given._replace(scores=scores, base=base))

    def count_rivals(self, mode: int, factors: Factors, weights: Ranking, rows: Rows) -> Rivals:
        view = self._views[mode]
        scores, _ = weights.scores(mode, self.shape, view.rows, view.packed)
        given = read_by(view, factors), scores

        def count(_: slice, some: Rows) -> Rivals:
            counts = room_for_rivals(mode, factors, some)
            self._part_kernels.count_rivals(counts, factors[mode], some, *given)
            return counts

        return join_rivals(self._share(factors, rows, count))

    def sort_cells(self, mode: int, factors: Factors, weights: Ranking, probe: int) -> Sorted:
        view, tot = self._views[mode], np.zeros((2, len(weights.zeros)), np.int64)
        scores, base = weights.scores(mode, self.shape, view.rows, view.packed)
        given = factors[mode], read_by(view, factors), scores, probe
        lists = self._part_kernels.sort_cells(tot, *given)
        return Sorted(tot, count_tuples(scores[3:5]), base, trim(lists))
