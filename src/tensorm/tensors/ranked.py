"""Dense tensors whose components have strengths of their own, with the strongest first (ranking.py)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from tensorm.kernels.activities import Activities, RankedKernels
from tensorm.kernels.sorted import PartKernels
from tensorm.tensors.bits import Words
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Counts, Pair, Rows, Rule, Stream, every
from tensorm.tensors.ranking import Ranking, count_tuples, join_rivals, room_for_rivals
from tensorm.tensors.slices import SlicedTensor, read_by

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
