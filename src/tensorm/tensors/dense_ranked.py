"""Dense tensors whose components have strengths of their own, with the strongest first (ranked.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorm.data.arrays import Counts, Ints, Rows, Words
from tensorm.kernels import activities, ranked
from tensorm.kernels.activities import Activities
from tensorm.kernels.runners_up import count_known
from tensorm.kernels.sharded_activities import sort_slices
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair, Rule, Stream, every
from tensorm.tensors.ranked import Ranking, Rivals, Sorted, StoredCells
from tensorm.tensors.slices import SlicedTensor, read_by


def room_for_rivals(mode: int, factors: Factors, rows: Rows) -> Rivals:
    """Return counts of 0 (kernels/runners_up.py) for some rows: what ones gain, and zeros by runner-up."""
    L, members = factors.n_components, int(np.bitwise_count(factors[mode][rows]).sum(dtype=np.int64))
    return np.zeros((len(rows), L), np.int64), np.zeros((len(rows) + members) * L, np.int64)


def join_rivals(parts: Sequence[Rivals]) -> Rivals:
    """Return the counts of rows that were shared out."""
    gain, zeros = (np.concatenate(counts) for counts in zip(*parts, strict=True))
    return gain, zeros


def count_tuples(levels: Sequence[Ints]) -> Ints:
    """Return how many index tuples of some modes have which level, none of which is below 0."""
    counts = np.ones(1, np.int64)
    for part in levels:
        counts = np.convolve(counts, np.bincount(part))
    return counts


def trim(lists: tuple[Counts, ...]) -> tuple[Counts, ...]:
    """Return lists without room for more."""
    firsts, places, counts = lists
    return firsts, places[: firsts[-1]], counts[: firsts[-1]]


class RankedSlices(StoredCells):
    """The cells of a tensor that offers a view of each mode's slices.

    Parameters
    ----------
    tensor : SlicedTensor
    """

    def __init__(self, tensor: SlicedTensor) -> None:
        self.tensor, self.shape = tensor, tensor.shape
        self._views, self._share = tensor._views, tensor._share

    def update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        view, factor = self._views[mode], factors[mode].copy()
        given = read_by(view, factors), self._score(mode, rule), tuple(stream)
        self._share(factors, rows, lambda _, some: ranked.update_rows(factor, some, *given))
        return factor

    def update_tied(self, pair: Pair, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        view, factor = self._views[pair[0]], factors[pair[0]].copy()
        given = read_by(view, factors), self.tensor._tie(pair, factors), self._score(pair[0], rule)
        ranked.update_tied(factor, rows, *given, tuple(stream))
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
            ranked.count_decided(counts, factors[0], some, *given)
            return counts

        counts = np.sum(self._share(factors, rows, count), axis=0)
        counts[0, :, -1] = (self.tensor.n_ones, self.tensor.n_observed) - counts[0].sum(axis=1)
        counts[0] -= counts[1]
        return counts

    def draw_activities(
        self, mode: int, factors: Factors, given: Activities, stream: Stream
    ) -> tuple[Counts, Counts]:
        ready, rows = self._ready(mode, factors, given), every(self.shape[mode])

        def count(_: slice, some: Rows) -> tuple[Counts, Counts]:
            counts = given.scores.room()
            activities.draw_activities(counts, factors[mode], some, *ready, tuple(stream))
            return counts

        ones, tot = zip(*self._share(factors, rows, count), strict=True)
        return sum(ones), sum(tot)

    def draw_tied_activities(self, pair: Pair, factors: Factors, given: Activities, stream: Stream) -> None:
        slices, ready = self._ready(pair[0], factors, given._replace(rest=given.rest.copy()))
        counts, rows, tied = given.scores.room(), every(self.shape[pair[0]]), self.tensor._tie(pair, factors)
        activities.draw_tied(counts, factors[pair[0]], rows, (*slices, tied), ready, tuple(stream))

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
            count_known(counts, factors[mode], some, *given)
            return counts

        return join_rivals(self._share(factors, rows, count))

    def sort_cells(self, mode: int, factors: Factors, weights: Ranking, probe: int) -> Sorted:
        view, tot = self._views[mode], np.zeros((2, len(weights.zeros)), np.int64)
        scores, base = weights.scores(mode, self.shape, view.rows, view.packed)
        given = factors[mode], read_by(view, factors), scores, probe
        lists = sort_slices(tot, *given)
        return Sorted(tot, count_tuples(scores[3:5]), base, trim(lists))
