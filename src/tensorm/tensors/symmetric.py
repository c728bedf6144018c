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
from tensorm.tensors.ranked import RankedCells
from tensorm.tensors.stored_ranked import StoredCells
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

    def _update(self, mode: int, factors: Factors, *given: Any) -> Words:
        verbs = self.tensor._update, self.tensor.update_tied
        return update_once(verbs, self.pair, mode, tie(factors, self.pair), *given)

    def ranked(self) -> RankedPairs:
        return RankedPairs(self.tensor.ranked(), self.pair)

    def _count(self, mode: int, factors: Factors, components: Rows, rows: Rows) -> Counts:
        # The factors of the two modes are taken as they are, so that components can be grown in one of them.
        counts = super()._count(mode, factors, components, rows)
        return counts if mode in self.pair else counts // 2

    def times_counted(self, mode: int) -> int:
        return 2 if mode in self.pair else 1

    def _confusion(self, factors: Factors) -> Confusion:
        return Confusion(*(n // 2 for n in self.tensor._confusion(tie(factors, self.pair))))

    def hide(self, mask: Bits) -> SymmetricTensor:
        return SymmetricTensor(self.tensor.hide(mask), self.pair)


class RankedPairs(RankedCells):
    """The cells of a tensor with two equal modes that share a factor, for models with strengths.

    Parameters
    ----------
    cells : StoredCells
    pair : (int, int)
    """

    def __init__(self, cells: StoredCells, pair: Pair) -> None:
        self.cells, self.pair = cells, pair

    def update(self, mode: int, factors: Factors, *given: Any) -> Words:
        verbs = self.cells.update, self.cells.update_tied
        return update_once(verbs, self.pair, mode, tie(factors, self.pair), *given)

    def count_decided(self, factors: Factors, probe: int) -> Counts:
        return self.cells.count_decided(tie(factors, self.pair), probe) // 2

    def draw_activities(
        self, mode: int, factors: Factors, given: Activities, stream: Stream
    ) -> tuple[Counts, Counts]:
        tied = tie(factors, self.pair)
        if mode in self.pair and given.window:
            self.cells.draw_tied_activities(self.pair, tied, given, stream)
            return given.scores.room()
        halved = given._replace(scores=given.scores.tempered(0.5))
        ones, tot = self.cells.draw_activities(mode, tied, halved, stream)
        return ones // 2, tot // 2


def tie(factors: Factors, pair: Pair) -> Factors:
    """Return factors in which the second mode has that of the first."""
    return factors.replace(pair[1], factors[pair[0]])


def update_once(
    verbs: tuple[Any, Any], pair: Pair, mode: int, tied: Factors, rule: Rule, *given: Any
) -> Words:
    """Return a mode's factor decided anew by two verbs, update and update_tied, of cells in both orders."""
    update, update_tied = verbs
    if mode == pair[1]:
        return tied[pair[0]].copy()
    if mode == pair[0]:
        return update_tied(pair, tied, rule, *given)
    return update(mode, tied, rule._replace(weights=rule.weights.tempered(0.5)), *given)  # pairs count twice
