"""Sparse tensors whose components have strengths of their own, with the strongest first (ranked.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorm.data.arrays import Counts, Rows, Words
from tensorm.kernels import sparse_activities, sparse_ranked
from tensorm.kernels.activities import WINDOW, Activities
from tensorm.kernels.groups import group_tuples
from tensorm.kernels.ranked import Scores
from tensorm.kernels.sharded_activities import sort_lists
from tensorm.tensors.dense_ranked import count_tuples, join_rivals, room_for_rivals, trim
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair, Rule, Stream, every
from tensorm.tensors.ranked import Ranking, Rivals, Sorted, StoredCells, by_mode

if TYPE_CHECKING:
    from tensorm.tensors.sparse import SparseTensor

NOBODY = (-1,)  # modes to leave out


class RankedLists(StoredCells):
    """The cells of a tensor that lists them.

    Parameters
    ----------
    tensor : SparseTensor
    """

    def __init__(self, tensor: SparseTensor) -> None:
        self.tensor, self.shape = tensor, tensor.shape
        self._listing, self._share, self._edges = tensor._listing, tensor._share, tensor._edges

    def update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        factor = factors[mode].copy()
        given = self._listing(mode, factors), len(rule.prior) == 1, self._score(mode, rule), tuple(stream)
        self._share(mode, rows, lambda some: sparse_ranked.update_rows(factor, some, *given))
        return factor

    def update_tied(self, pair: Pair, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        (mode, other), factor = pair, factors[pair[0]].copy()
        tie = self._edges[other], group_tuples(np.concatenate(factors.masks), self._edges, pair)
        given = self._listing(mode, factors), tie, self._score(mode, rule)
        sparse_ranked.update_tied(factor, rows, *given, tuple(stream))
        return factor

    def _score(self, mode: int, rule: Rule) -> tuple[Any, ...]:
        """Return a rule as kernels want it, with the levels of all indices."""
        return rule.order, rule.kind, rule.weights.listed_scores(mode, self.shape)[0], rule.prior

    def count_decided(self, factors: Factors, probe: int) -> Counts:
        mode = int(np.argmin(self.shape))
        given = factors[mode], self._listing(mode, factors), probe

        def count(some: Rows) -> Counts:
            counts = np.zeros((2, 2, factors.n_components + 1), np.int64)
            sparse_ranked.count_decided(counts, given[0], some, *given[1:])
            return counts

        counts = np.sum(self._share(mode, every(self.shape[mode]), count), axis=0)
        self._complete(counts[:, 1], factors, probe)
        counts[0, 0, -1] += self.tensor.n_ones - counts[:, 0].sum()
        return counts

    def _complete(self, tot: Counts, factors: Factors, probe: int) -> None:
        """Add unlisted cells to those that are listed, in place, and cells that no component holds."""
        if self.tensor._implied:
            tuples = group_tuples(np.concatenate(factors.masks), self._edges, NOBODY)
            sparse_ranked.count_tuples(tot, *tuples, probe)
        tot[0, -1] += self.tensor.n_observed - tot.sum()

    def draw_activities(
        self, mode: int, factors: Factors, given: Activities, stream: Stream
    ) -> tuple[Counts, Counts]:
        ready = self._ready(mode, factors, given)

        def count(some: Rows) -> tuple[Counts, Counts]:
            counts = given.scores.room()
            sparse_activities.draw_activities(counts, factors[mode], some, *ready, tuple(stream))
            return counts

        shares = self._share(mode, every(self.shape[mode]), count)
        ones, tot = (np.sum(counts, axis=0) for counts in zip(*shares, strict=True))
        self._complete(tot, factors, given.probe)
        return ones, tot

    def draw_tied_activities(self, pair: Pair, factors: Factors, given: Activities, stream: Stream) -> None:
        listing, ready = self._ready(pair[0], factors, given._replace(rest=given.rest.copy()))
        levels = by_mode(Scores(*ready[0]).rows, self.shape)
        beside = count_tuples([level for k, level in enumerate(levels) if k not in pair])
        counts, rows, tied = (
            given.scores.room(),
            every(self.shape[pair[0]]),
            (listing, self._edges[pair[1]], beside),
        )
        sparse_activities.draw_tied(counts, factors[pair[0]], rows, tied, ready, tuple(stream))

    def _ready(self, mode: int, factors: Factors, given: Activities) -> tuple[Any, ...]:
        """Return what kernels draw activities from."""
        scores, base = given.scores.listed_scores(mode, self.shape)
        rest = given.rest[: np.flatnonzero(given.rest)[-1] + 1 + WINDOW]  # if tied, levels can rise
        return self._listing(mode, factors), tuple(given._replace(scores=scores, base=base, rest=rest))

    def count_rivals(self, mode: int, factors: Factors, weights: Ranking, rows: Rows) -> Rivals:
        given = self._listing(mode, factors), weights.listed_scores(mode, self.shape)[0]

        def count(some: Rows) -> Rivals:
            counts = room_for_rivals(mode, factors, some)
            sparse_ranked.count_known(counts, factors[mode], some, *given)
            return counts

        return join_rivals(self._share(mode, rows, count))

    def sort_cells(self, mode: int, factors: Factors, weights: Ranking, probe: int) -> Sorted:
        tot, (scores, base) = (
            np.zeros((2, len(weights.zeros)), np.int64),
            weights.listed_scores(mode, self.shape),
        )
        lists = sort_lists(tot, factors[mode], self._listing(mode, factors), scores, probe)
        self._complete(tot, factors, probe)
        levels = by_mode(Scores(*scores).rows, self.shape)
        rest = count_tuples([level for k, level in enumerate(levels) if k != mode])
        return Sorted(tot, rest if self.tensor._implied else rest[:0], base, trim(lists))
