"""Tensors in which two modes stand for the same things: x[.., i, .., j] = x[.., j, .., i].

The two modes share one factor, and a pair {i, j} is one observation, though it is stored as two cells. The
cells of index i along one of the modes hold each pair of i once, so an entry of the shared factor is decided
by them alone; but its rows are no longer independent of each other, and take turns. Where all cells count,
as for the other modes, each pair counts twice and is halved.
"""

from __future__ import annotations

from typing import Any

from tensorm.data.arrays import Bits, Counts, Rows, Words
from tensorm.kernels.activities import Activities
from tensorm.model import Confusion
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair, Rule, Stream, Tensor
from tensorm.tensors.wrapped import Wrapped


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

    def _update(self, *given: Any) -> Words:
        return self._decide((self.tensor._update, self.tensor.update_tied), *given)

    def _update_ranked(self, *given: Any) -> Words:
        return self._decide((self.tensor._update_ranked, self.tensor.update_ranked_tied), *given)

    def _decide(
        self, verbs: tuple[Any, Any], mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows
    ) -> Words:
        """Return a mode's factor with these rows decided anew by verbs of the tensor inside."""
        (update, update_tied), tied, (first, second) = verbs, self._tie(factors), self.pair
        if mode == second:
            return tied[first].copy()
        if mode != first:  # where each pair counts twice
            return update(mode, tied, rule._replace(weights=rule.weights.tempered(0.5)), stream, rows)
        return update_tied(self.pair, tied, rule, stream, rows)

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
