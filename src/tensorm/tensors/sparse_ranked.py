"""Sparse tensors whose components have strengths of their own, with the strongest first (ranked.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorm.data.arrays import Counts, Ints, Rows, Words
from tensorm.kernels import sparse_ranked
from tensorm.kernels.activities import WINDOW, Activities
from tensorm.kernels.groups import group_tuples
from tensorm.kernels.ranked import LevelScores
from tensorm.kernels.sparse_activities import LevelledListing
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair, every
from tensorm.tensors.ranked import Ranking, Rivals, by_mode
from tensorm.tensors.stored_ranked import StoredCells, count_sums

if TYPE_CHECKING:
    from tensorm.tensors.sparse import SparseTensor

NO_MASKS = ()
NOBODY = (-1,)  # modes to leave out


class RankedLists(StoredCells):
    """The cells of a tensor that lists them."""

    tensor: SparseTensor

    def _read(self, mode: int, factors: Factors) -> tuple[Any, ...]:
        return LevelledListing(*self.tensor._listing(mode, factors)), NO_MASKS

    def _tie(self, pair: Pair, factors: Factors, scores: LevelScores) -> tuple[Any, ...]:
        return self.tensor._edges[pair[1]], self._count_beside(pair, scores)

    def _score(self, mode: int, weights: Ranking) -> tuple[LevelScores, int]:
        return weights.listed_scores(mode, self.shape)

    def _count_levels(self, mode: int, scores: LevelScores) -> Ints:
        return self._count_beside((mode,), scores)

    def _count_beside(self, modes: tuple[int, ...], scores: LevelScores) -> Ints:
        """Return how many index tuples of all modes but some have which level, none if none is implied."""
        levels = by_mode(scores.rows, self.shape)
        counts = count_sums([level for k, level in enumerate(levels) if k not in modes])
        return counts if self.tensor._implied else counts[:0]

    def _count_known(self, counts: Rivals, factor: Words, rows: Rows, slices: Any, scores: Any) -> None:
        sparse_ranked.count_known_listed(counts, factor, rows, tuple(slices[0]), scores)

    def _share(self, mode: int, factors: Factors, rows: Rows, work: Callable[[Rows], Any]) -> list[Any]:
        return self.tensor._share(mode, rows, work)

    def _prepare(self, mode: int, given: Activities) -> Activities:
        rest = given.rest[: np.flatnonzero(given.rest)[-1] + 1 + WINDOW]  # if tied, levels can rise
        return super()._prepare(mode, given._replace(rest=rest if self.tensor._implied else 0 * rest))

    def _complete(self, tot: Counts, factors: Factors, probe: int) -> None:
        """Add unlisted cells to those that are listed, in place, and cells that no component holds."""
        if self.tensor._implied:
            tuples = group_tuples(np.concatenate(factors.masks), self.tensor._edges, NOBODY)
            sparse_ranked.count_tuples(tot, *tuples, probe)
        tot[0, -1] += self.tensor.n_observed - tot.sum()

    def count_decided(self, factors: Factors, probe: int) -> Counts:
        mode = int(np.argmin(self.shape))
        given = self.tensor._listing(mode, factors), probe

        def count(some: Rows) -> Counts:
            counts = np.zeros((2, 2, factors.n_components + 1), np.int64)
            sparse_ranked.count_decided_listed(counts, factors[mode], some, *given)
            return counts

        counts = np.sum(self._share(mode, factors, every(self.shape[mode]), count), axis=0)
        self._complete(counts[:, 1], factors, probe)
        counts[0, 0, -1] += self.tensor.n_ones - counts[:, 0].sum()
        return counts
