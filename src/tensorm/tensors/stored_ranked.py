"""Cells that are stored here, for noise models with strengths: what dense and sparse tensors do alike.

A kind of storage says how its slices are read and shared among threads. Tensors around others (symmetric.py,
sharded_ranked.py) ask for a few things more than noise models do.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorm.data.arrays import Counts, Ints, Rows, Words
from tensorm.kernels import activities
from tensorm.kernels.activities import Activities
from tensorm.kernels.ranked import LevelScores
from tensorm.kernels.sharded_activities import sort_slices
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair, Rule, Stream, Tensor, every
from tensorm.tensors.ranked import RankedCells, Ranking, Rivals, Sorted


class StoredCells(RankedCells):
    """The cells of a tensor in one place; a subclass has the verbs with an underscore, and count_decided.

    Parameters
    ----------
    tensor : Tensor
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.shape = tensor, tensor.shape

    @abstractmethod
    def _read(self, mode: int, factors: Factors) -> tuple[Any, ...]:
        """Return what kernels read the slices of a mode from, and the components of rows and columns."""

    @abstractmethod
    def _tie(self, pair: Pair, factors: Factors, scores: LevelScores) -> tuple[Any, ...]:
        """Return what depends on the second of two modes in the slices of the first."""

    @abstractmethod
    def _score(self, mode: int, weights: Ranking) -> tuple[LevelScores, int]:
        """Return weights as kernels want them, with the levels of a mode's slices, and the base of these."""

    @abstractmethod
    def _count_levels(self, mode: int, scores: LevelScores) -> Ints:
        """Return how many cells of a slice have which level, but for those that count only where listed."""

    @abstractmethod
    def _count_known(self, counts: Rivals, factor: Words, rows: Rows, slices: Any, scores: Any) -> None:
        """Write gain and zeros of the entries of some rows."""

    @abstractmethod
    def _share(self, mode: int, factors: Factors, rows: Rows, work: Callable[[Rows], Any]) -> list[Any]:
        """Call ``work`` on shares of the rows."""

    def _complete(self, tot: Counts, factors: Factors, probe: int) -> None:
        """Add the cells that kernels did not count, in place."""

    def update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        return self.tensor._update(mode, factors, self._rescore(mode, rule), stream, rows)

    def update_tied(self, pair: Pair, factors: Factors, rule: Rule, *given: Any) -> Words:
        """Return a new factor for two modes that share one, as ``Tensor.update_tied``."""
        return self.tensor.update_tied(pair, factors, self._rescore(pair[0], rule), *given)

    def _rescore(self, mode: int, rule: Rule) -> Rule:
        """Return a rule whose weights are those that kernels want."""
        return rule._replace(weights=self._score(mode, rule.weights)[0])

    def draw_activities(
        self, mode: int, factors: Factors, given: Activities, stream: Stream
    ) -> tuple[Ints, Ints]:
        slices, ready = self._read(mode, factors), as_tuples(self._prepare(mode, given))

        def count(some: Rows) -> tuple[Counts, Counts]:
            counts = given.scores.room()
            activities.draw_activities(counts, factors[mode], some, slices, ready, tuple(stream))
            return counts

        shares = self._share(mode, factors, every(self.shape[mode]), count)
        ones, tot = (np.sum(counts, axis=0) for counts in zip(*shares, strict=True))
        self._complete(tot, factors, given.probe)
        return ones, tot

    def draw_tied_activities(self, pair: Pair, factors: Factors, given: Activities, stream: Stream) -> None:
        """Draw the activities that two modes share."""
        ready = self._prepare(pair[0], given._replace(rest=given.rest.copy()))
        slices = *self._read(pair[0], factors), self._tie(pair, factors, ready.scores)
        counts, rows = given.scores.room(), every(self.shape[pair[0]])
        activities.draw_tied(counts, factors[pair[0]], rows, slices, as_tuples(ready), tuple(stream))

    def _prepare(self, mode: int, given: Activities) -> Activities:
        """Return what is given as kernels want it."""
        scores, base = self._score(mode, given.scores)
        return given._replace(scores=scores, base=base)

    def count_rivals(self, mode: int, factors: Factors, weights: Ranking, rows: Rows) -> Rivals:
        """Return what entries are decided from elsewhere, row after row (kernels/runners_up.py)."""
        slices, (scores, _) = self._read(mode, factors), self._score(mode, weights)

        def count(some: Rows) -> Rivals:
            counts = room_for_rivals(mode, factors, some)
            self._count_known(counts, factors[mode], some, slices, tuple(scores))
            return counts

        gain, zeros = map(np.concatenate, zip(*self._share(mode, factors, rows, count), strict=True))
        return gain, zeros

    def sort_cells(self, mode: int, factors: Factors, weights: Ranking, probe: int) -> Sorted:
        """Return what activities are drawn from elsewhere (kernels/sharded_activities.py)."""
        tot, (scores, base) = np.zeros((2, len(weights.zeros)), np.int64), self._score(mode, weights)
        firsts, places, counts = sort_slices(
            tot, factors[mode], self._read(mode, factors), tuple(scores), probe
        )
        self._complete(tot, factors, probe)
        used = firsts[-1]
        lists = firsts, places[:used], counts[:used]
        return Sorted(tot, self._count_levels(mode, scores), base, lists)


def as_tuples(given: Activities) -> tuple[Any, ...]:
    """Return what is given as kernels take it."""
    return tuple(given._replace(scores=tuple(given.scores)))


def room_for_rivals(mode: int, factors: Factors, rows: Rows) -> Rivals:
    """Return counts of 0 (kernels/runners_up.py) for some rows: what ones gain, and zeros by runner-up."""
    L, members = factors.n_components, int(np.bitwise_count(factors[mode][rows]).sum(dtype=np.int64))
    return np.zeros((len(rows), L), np.int64), np.zeros((len(rows) + members) * L, np.int64)


def count_sums(levels: Sequence[Ints]) -> Ints:
    """Return how many index tuples of some modes have which sum of levels, none of which is below 0."""
    counts = np.ones(1, np.int64)
    for part in levels:
        counts = np.convolve(counts, np.bincount(part))
    return counts
