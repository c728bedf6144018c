"""Tensors in which two modes stand for the same things: x[.., i, .., j] = x[.., j, .., i].

The two modes share one factor, and a pair {i, j} is one observation, though it is stored as two cells. The
cells of index i along one of the modes hold each pair of i once, so an entry of the shared factor is decided
by them alone; but its rows are no longer independent of each other, and take turns. Where all cells count,
as for the other modes, each pair counts twice and is halved.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from tensorm.errors import InputError
from tensorm.model import Confusion
from tensorm.tensors.bits import Bits, Words
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Counts, Rows, Rule, Stream, Tensor
from tensorm.tensors.wrapped import Wrapped

MOST_CHECKED = 2**34  # cells of a tensor


class SymmetricTensor(Wrapped[Tensor]):
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

    def __init__(self, tensor: Tensor, pair: tuple[int, int]) -> None:
        _check(tensor, pair)
        super().__init__(tensor)
        self.pair = pair
        self.n_observed, self.n_ones = tensor.n_observed // 2, tensor.n_ones // 2

    def update_factor(
        self,
        mode: int,
        factors: Factors,
        rule: Rule,
        stream: Stream,
        rows: Rows | None = None,
    ) -> Words:
        """Return a new factor for ``mode``, every entry decided in turn given all others (eq. 4)."""
        tied, (first, second) = self._tie(factors), self.pair
        if mode == second:
            return tied[first].copy()
        if mode != first:
            halved = rule._replace(gain=rule.gain / 2, loss=rule.loss / 2)
            return self.tensor.update_factor(mode, tied, halved, stream, rows)
        return self.tensor.update_tied(self.pair, tied, rule, stream, rows)

    def counts(
        self,
        mode: int,
        factors: Factors,
        components: Sequence[int] | None = None,
        rows: Rows | None = None,
    ) -> tuple[Counts, Counts]:
        """Return (pos, tot) of a mode's entries (eq. 5), each pair counted once.

        The factors of the two modes are taken as they are, so that components can be grown in one of them.
        """
        pos, tot = self.tensor.counts(mode, factors, components, rows)
        return (pos, tot) if mode in self.pair else (pos // 2, tot // 2)

    def times_counted(self, mode: int) -> int:
        """Return how often a cell counts when the counts of all rows of a mode are added up."""
        return 2 if mode in self.pair else 1

    def confusion(self, factors: Factors) -> Confusion:
        """Count the observed pairs by the value of the Boolean product and their own."""
        return Confusion(*(n // 2 for n in self.tensor.confusion(self._tie(factors))))

    def with_threads(self, n_threads: int) -> Self:
        """Return the same tensor, using so many threads."""
        twin = copy.copy(self)
        twin.tensor = self.tensor.with_threads(n_threads)
        return twin

    def _tie(self, factors: Factors) -> Factors:
        return factors.replace(self.pair[1], factors[self.pair[0]])


def _check(tensor: Tensor, pair: tuple[int, int]) -> None:
    """Raise unless the cells are mirrored and none on the diagonal is observed."""
    i, j = pair
    if math.prod(tensor.shape) > MOST_CHECKED:
        raise InputError(
            f"X has {math.prod(tensor.shape):,} cells, too many to see whether {tensor.modes[i]} and "
            f"{tensor.modes[j]} can be exchanged; leave symmetric out."
        )
    if i:
        parts: Iterator[tuple[Bits, Bits]] = ((ones, seen) for _, ones, seen in tensor.blocks())
    else:
        planes = zip(*(block[1:] for block in tensor.blocks()), strict=True)
        parts = iter([tuple(np.concatenate(plane) for plane in planes)])  # type: ignore[list-item]
    for ones, seen in parts:
        if np.diagonal(seen, axis1=i, axis2=j).any():
            raise InputError(
                f"X has observed cells where {tensor.modes[i]} and {tensor.modes[j]} are the same; make "
                "these cells missing (NaN)."
            )
        for plane in (ones, seen):
            if not np.array_equal(plane, plane.swapaxes(i, j)):
                raise InputError(
                    f"X is not the same when {tensor.modes[i]} and {tensor.modes[j]} are exchanged; make it "
                    "so, or leave symmetric out."
                )
