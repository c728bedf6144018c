"""Dense tensors whose components have strengths of their own, with the strongest first (ranked.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorm.data.arrays import Counts, Ints, Rows, Words
from tensorm.kernels import decided, runners_up
from tensorm.kernels.ranked import LevelScores
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair, every
from tensorm.tensors.ranked import Ranking, Rivals
from tensorm.tensors.slices import SlicedTensor, read_by
from tensorm.tensors.stored_ranked import StoredCells, count_sums


class RankedSlices(StoredCells):
    """The cells of a tensor that offers a view of each mode's slices."""

    tensor: SlicedTensor

    def _read(self, mode: int, factors: Factors) -> tuple[Any, ...]:
        return read_by(self.tensor._views[mode], factors)

    def _tie(self, pair: Pair, factors: Factors, scores: LevelScores) -> tuple[Any, ...]:
        return self.tensor._tie(pair, factors)

    def _score(self, mode: int, weights: Ranking) -> tuple[LevelScores, int]:
        view = self.tensor._views[mode]
        return weights.scores(mode, self.shape, view.rows, view.packed)

    def _count_levels(self, mode: int, scores: LevelScores) -> Ints:
        return count_sums([scores.rows, scores.columns])

    def _count_known(self, counts: Rivals, factor: Words, rows: Rows, slices: Any, scores: Any) -> None:
        runners_up.count_known(counts, factor, rows, slices, scores)

    def _share(self, mode: int, factors: Factors, rows: Rows, work: Callable[[Rows], Any]) -> list[Any]:
        return self.tensor._share(factors, rows, lambda _, some: work(some))

    def count_decided(self, factors: Factors, probe: int) -> Counts:
        given, groups = (self._read(0, factors), probe), factors.n_components + 1

        def count(some: Rows) -> Counts:
            counts = np.zeros((2, 2, groups), np.int64)
            decided.count_decided(counts, factors[0], some, *given)
            return counts

        counts = np.sum(self._share(0, factors, every(self.shape[0]), count), axis=0)
        counts[0, :, -1] = (self.tensor.n_ones, self.tensor.n_observed) - counts[0].sum(axis=1)
        counts[0] -= counts[1]
        return counts
