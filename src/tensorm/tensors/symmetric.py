"""Tensors in which two modes stand for the same things: x[.., i, .., j] = x[.., j, .., i].

The two modes share one factor, and a pair {i, j} is one observation, though it is stored as two cells. The
cells of index i along one of the modes hold each pair of i once, so an entry of the shared factor is decided
by them alone; but its rows are no longer independent of each other, and take turns. Where all cells count,
as for the other modes, each pair counts twice and is halved.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tensorm.kernels.activities import Activities
from tensorm.model import Confusion
from tensorm.tensors.bits import Bits, Words
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Counts, Pair, Rows, Rule, Stream, Tensor


class Wrapped(Tensor):
    """A tensor around another one, which answers wherever it has nothing to add.

    Parameters
    ----------
    tensor : Tensor
    """

    nbytes: int

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.nbytes, self.lists_cells = tensor, tensor.nbytes, tensor.lists_cells
        self.shape, self.modes, self.labels = tensor.shape, tensor.modes, tensor.labels
        self.n_observed, self.n_ones, self.comparisons = tensor.n_observed, tensor.n_ones, tensor.comparisons
        self.takes_strengths = tensor.takes_strengths

    def around(self, tensor: Tensor) -> Self:
        """Return the same around another tensor with the same cells."""
        twin = copy.copy(self)
        twin.tensor, twin.nbytes, twin.lists_cells = tensor, tensor.nbytes, tensor.lists_cells
        twin.takes_strengths = tensor.takes_strengths
        return twin

    def with_threads(self, n_threads: int) -> Self:
        return self.around(self.tensor.with_threads(n_threads))

    def update_tied(self, pair: Pair, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        return self.tensor.update_tied(pair, factors, rule, stream, rows)

    def _update_ranked(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        return self.tensor._update_ranked(mode, factors, rule, stream, rows)

    def update_ranked_tied(
        self, pair: Pair, factors: Factors, rule: Rule, stream: Stream, rows: Rows
    ) -> Words:
        return self.tensor.update_ranked_tied(pair, factors, rule, stream, rows)

    def count_decided(self, factors: Factors, probe: int) -> Counts:
        return self.tensor.count_decided(factors, probe)

    def draw_activities(
        self, mode: int, factors: Factors, given: Activities, stream: Stream
    ) -> tuple[Counts, Counts]:
        return self.tensor.draw_activities(mode, factors, given, stream)

    def draw_tied_activities(self, pair: Pair, factors: Factors, given: Activities, stream: Stream) -> None:
        self.tensor.draw_tied_activities(pair, factors, given, stream)

    def _count(self, mode: int, factors: Factors, components: Rows, rows: Rows) -> Counts:
        return self.tensor._count(mode, factors, components, rows)

    def sample_ones(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.intp]:
        return self.tensor.sample_ones(rng, count)

    @property
    def mirrored(self) -> Pair | None:
        return self.pair or self.tensor.mirrored

    def _ones_at(self, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        return self.tensor._ones_at(ranks)

    def _take(self, indices: Sequence[npt.NDArray[np.intp]]) -> Tensor:
        return self.tensor._take(indices)

    def _read_slices(self, start: int, stop: int) -> tuple[Bits, Bits]:
        return self.tensor._read_slices(start, stop)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return self.tensor.arrays()

    def hide(self, mask: Bits) -> Tensor:
        return self.tensor.hide(mask)

    def digest(self) -> str:
        return self.tensor.digest()


class SymmetricTensor(Wrapped):
    """A tensor with two equal modes that share a factor.

    Parameters
    ----------
    tensor : Tensor
        Its cells are the same when the two modes are exchanged, and none on the diagonal is observed.
    pair : (int, int)
        The two modes, the smaller one first. The factor of the second is always that of the first.

    Raises
    ------
    InputError
        When the cells are not like that.
    """

    pair: Pair

    def __init__(self, tensor: Tensor, pair: Pair) -> None:
        tensor.check_mirrored(pair)
        super().__init__(tensor)
        self.pair = pair
        self.n_observed, self.n_ones = tensor.n_observed // 2, tensor.n_ones // 2

    def _update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        tied, (first, second) = self._tie(factors), self.pair
        if mode == second:
            return tied[first].copy()
        if mode != first:
            halved = rule._replace(weights=rule.weights.tempered(0.5))
            return self.tensor.update_factor(mode, tied, halved, stream, rows)
        return self.tensor.update_tied(self.pair, tied, rule, stream, rows)

    def _update_ranked(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        tied, (first, second) = self._tie(factors), self.pair
        if mode == second:
            return tied[first].copy()
        if mode != first:
            halved = rule._replace(weights=rule.weights.tempered(0.5))
            return self.tensor._update_ranked(mode, tied, halved, stream, rows)
        return self.tensor.update_ranked_tied(self.pair, tied, rule, stream, rows)

    def count_decided(self, factors: Factors, probe: int) -> Counts:
        return self.tensor.count_decided(self._tie(factors), probe) // 2

    def draw_activities(
        self, mode: int, factors: Factors, given: Activities, stream: Stream
    ) -> tuple[Counts, Counts]:
        tied = self._tie(factors)
        if mode in self.pair and given.window:
            self.tensor.draw_tied_activities(self.pair, tied, given, stream)
            return given.scores.room()
        halved = given._replace(scores=given.scores.tempered(0.5))
        ones, tot = self.tensor.draw_activities(mode, tied, halved, stream)
        return ones // 2, tot // 2

    def _count(self, mode: int, factors: Factors, components: Rows, rows: Rows) -> Counts:
        # The factors of the two modes are taken as they are, so that components can be grown in one of them.
        counts = super()._count(mode, factors, components, rows)
        return counts if mode in self.pair else counts // 2

    def times_counted(self, mode: int) -> int:
        return 2 if mode in self.pair else 1

    def _confusion(self, factors: Factors) -> Confusion:
        return Confusion(*(n // 2 for n in self.tensor._confusion(self._tie(factors))))

    def hide(self, mask: Bits) -> SymmetricTensor:
        return SymmetricTensor(self.tensor.hide(mask), self.pair)

    def _tie(self, factors: Factors) -> Factors:
        return factors.replace(self.pair[1], factors[self.pair[0]])
