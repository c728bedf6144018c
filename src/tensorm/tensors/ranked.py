"""What cells say about entries where components have strengths, and what noise models then ask of a tensor.

Kernels want the strongest component first (kernels/ranked.py). Everybody else numbers components as they
come, so ``Ranking`` puts factors in order before a tensor sees them, and back afterwards.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Array, Floats, Indices, Ints, Rows, Words
from tensorm.kernels.activities import WINDOW, Activities
from tensorm.kernels.decisions import Rule
from tensorm.kernels.ranked import LevelScores, permute_masks
from tensorm.kernels.sparse_ranked import ListedScores
from tensorm.tensors.factors import Factors
from tensorm.tensors.layout import add_up
from tensorm.tensors.weights import with_steps

if TYPE_CHECKING:
    from tensorm.tensors.protocol import Rows, Stream, Tensor

Rivals = tuple[Ints, Ints]  # gain (rows, L), and zeros


class Ranking(NamedTuple):
    """What cells say about an entry where components have strengths; takes the place of ``Weights``."""

    order: Indices  # components, the strongest first
    zeros: Floats  # (L + 1,) log(1 - strength) in this order, then 0 for no component
    ones: Ints  # (L + 1, levels) scores of ones by level
    levels: Ints | None  # of every index of every mode, mode after mode; None: all cells have the same
    first: int  # the level that the first column of ``ones`` is for, beyond those of the indices
    share: float = 1.0  # of a cell that counts

    def tempered(self, beta: float) -> Ranking:
        """Return weights that say so much less."""
        return self._replace(share=beta * self.share)

    def sort(self, factors: Factors) -> Factors:
        """Return the factors with the strongest component first."""
        return factors.permuted(self.order)

    @property
    def back(self) -> Indices:
        """The order that undoes ``sort``."""
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(back))
        return back

    def update(
        self, tensor: Tensor, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows
    ) -> Words:
        """Return a mode's factor with these rows decided anew, the strongest components first."""
        ranked = tensor.ranked().update(mode, self.sort(factors), self._rank(rule), stream, rows)
        return permute_masks(ranked, self.back)

    def update_all(self, tensor: Tensor, factors: Factors, rules: Sequence[Rule], stream: Stream) -> Factors:
        """Return the factors of all modes decided anew in turn; they are put in order and back only once."""
        cells, ranked = tensor.ranked(), self.sort(factors)
        for mode, rule in enumerate(rules):
            rows = tensor._check(ranked, mode)
            own = self._rank(with_steps(rule, (len(rows), ranked.n_components)))
            masks = cells.update(mode, ranked, own, stream._replace(purpose=mode), rows)
            ranked = ranked.replace(mode, masks)
        return ranked.permuted(self.back)

    def _rank(self, rule: Rule) -> Rule:
        """Return a rule for factors with the strongest component first."""
        prior = np.ascontiguousarray(rule.prior[:, self.order]) if rule.by_component else rule.prior
        L, some = len(self.order), rule.order
        turns = np.arange(L) if len(some) == L else np.flatnonzero(np.isin(self.order, some))
        return Rule(turns, rule.kind, self, prior, rule.by_row, rule.by_component)

    def cut(self, rows: slice, size: int) -> Ranking:
        """Return the weights for some slices of mode 0, which has so many, with components in their order."""
        order = np.arange(len(self.order))
        if self.levels is None:
            return self._replace(order=order)
        return self._replace(order=order, levels=np.append(self.levels[:size][rows], self.levels[size:]))

    def room(self) -> tuple[Ints, Ints]:
        """Return counts of 0 (kernels/activities.py): of ones by level, and of all cells."""
        return np.zeros((2, *self.ones.shape), np.int64), np.zeros((2, len(self.zeros)), np.int64)

    def scores(self, mode: int, shape: Sequence[int], rows: Sequence[int], packed: Sequence[int]) -> Any:
        """Return kernels.ranked.LevelScores for slices of a mode, and the base of their levels."""
        if self.levels is None:
            sizes = (math.prod(shape[k] for k in modes) for modes in ((mode,), rows, packed))
            own, along, across = map(_nothing, sizes)
            return LevelScores(self.zeros, self.ones, own, along, across, self.share), 0
        levels = by_mode(self.levels, shape)
        sides = [add_up([levels[k] for k in modes]) for modes in (rows, packed)]
        lows = [int(side.min()) for side in sides]
        base = sum(lows) - self.first - WINDOW  # room for activities that fall (kernels/activities.py)
        along, across = (side - low for side, low in zip(sides, lows, strict=True))
        return LevelScores(
            self.zeros, self.ones, levels[mode] + base, along + WINDOW, across, self.share
        ), base

    def listed_scores(self, mode: int, shape: Sequence[int]) -> Any:
        """Return the same for listed cells, with levels of all indices in place of rows and columns."""
        others = [k for k in range(len(shape)) if k != mode]
        if self.levels is None:
            own, stacked = _nothing(shape[mode]), _nothing(sum(shape), np.int16)
            return ListedScores(self.zeros, self.ones, own, stacked, stacked[:0], self.share), 0
        levels = by_mode(self.levels, shape)
        lows = [int(level.min()) if k in others else 0 for k, level in enumerate(levels)]
        base = sum(lows) - self.first - WINDOW
        lows[others[0]] -= WINDOW
        pairs = zip(levels, lows, strict=True)
        stacked = np.concatenate([level - low for level, low in pairs]).astype(np.int16)
        own = levels[mode] + base
        return ListedScores(self.zeros, self.ones, own, stacked, stacked[:0], self.share), base


def by_mode(flat: Array, shape: Sequence[int]) -> list[Array]:
    """Return the parts of an array that belong to each mode."""
    edges = [0, *accumulate(shape)]
    return [flat[start:stop] for start, stop in pairwise(edges)]


@cache
def _nothing(size: int, kind: type = np.int64) -> Array:
    return np.zeros(size, kind)


class Sorted(NamedTuple):
    """The cells of a mode's slices in a part of a tensor by level."""

    tot: Ints  # as of count_decided
    rest: Ints  # how many cells of a slice have which level, but for those that count only where listed
    base: int  # of the levels
    lists: tuple[Ints, ...]  # kernels.sharded_activities.CellLists


class RankedCells(ABC):
    """What noise models with strengths ask of a tensor's cells; factors have the strongest component first.

    ``Tensor.ranked`` returns it, or refuses.
    """

    @abstractmethod
    def update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        """Return a mode's factor with these rows decided anew."""

    @abstractmethod
    def count_decided(self, factors: Factors, probe: int) -> Ints:
        """Return how many cells each component decides, (2, 2, L + 1).

        Ones and all observed cells that the component `probe` does not hold, then those that it holds, by the
        strongest other component that holds them; last those that no other one holds.
        """

    @abstractmethod
    def draw_activities(
        self, mode: int, factors: Factors, given: Activities, stream: Stream
    ) -> tuple[Ints, Ints]:
        """Draw the activities of a mode's indices in place; return ones, by level, and all cells as above."""
