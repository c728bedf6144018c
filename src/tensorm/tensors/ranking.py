"""Components ranked by strength: what a noise model with strengths gives to kernels (kernels/ranked.py).

Kernels want the strongest component first. Everybody else numbers components as they come, so factors are put
in order here before a tensor sees them, and back afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.kernels.activities import WINDOW
from tensorm.kernels.decisions import Rule
from tensorm.kernels.ranked import permute_masks
from tensorm.tensors.bits import Words
from tensorm.tensors.factors import Factors
from tensorm.tensors.layout import add_up

if TYPE_CHECKING:
    from tensorm.tensors.protocol import Rows, Stream
    from tensorm.tensors.ranked import RankedTensor

Ints = npt.NDArray[np.int64]


class Ranking(NamedTuple):
    """What cells say about an entry where components have strengths; takes the place of ``Weights``."""

    order: npt.NDArray[np.intp]  # components, the strongest first
    zeros: npt.NDArray[np.float64]  # (L + 1,) log(1 - strength) in this order, then 0 for no component
    ones: Ints  # (L + 1, levels) scores of ones by level
    levels: Ints | None  # of every index of every mode, mode after mode; None: all cells have the same
    first: int  # the level that the first column of ``ones`` is for, beyond those of the indices
    share: float = 1.0  # of a cell that counts

    def tempered(self, beta: float) -> Ranking:
        """Return weights that say so much less."""
        return self._replace(share=beta * self.share)

    def rank(self, factors: Factors) -> Factors:
        """Return the factors with the strongest component first."""
        return Factors(tuple(permute_masks(masks, self.order) for masks in factors), factors.n_components)

    def restore(self, masks: Words) -> Words:
        """Undo ``rank`` for one mode."""
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(back))
        return permute_masks(masks, back)

    def update(
        self, tensor: RankedTensor, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows
    ) -> Words:
        """Return a mode's factor with these rows decided anew, the strongest components first."""
        prior = rule.prior if rule.prior.shape[1] == 1 else np.ascontiguousarray(rule.prior[:, self.order])
        turns = np.flatnonzero(np.isin(self.order, rule.order))
        ranked = Rule(turns, rule.kind, self, prior)
        return self.restore(tensor._update_ranked(mode, self.rank(factors), ranked, stream, rows))

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
        """Return kernels.ranked.Scores, as a tuple, for slices of a mode, and the base of their levels."""
        if self.levels is None:
            zeros = (_nothing(int(np.prod([shape[k] for k in modes]))) for modes in ((mode,), rows, packed))
            return (self.zeros, self.ones, *zeros, self.share), 0
        levels = split(self.levels, shape)
        sides = [add_up([levels[k] for k in modes]) for modes in (rows, packed)]
        lows = [int(side.min()) for side in sides]
        base = sum(lows) - self.first - WINDOW  # room for activities that fall (kernels/activities.py)
        along, across = (side - low for side, low in zip(sides, lows, strict=True))
        return (self.zeros, self.ones, levels[mode] + base, along + WINDOW, across, self.share), base

    def listed_scores(self, mode: int, shape: Sequence[int]) -> Any:
        """Return the same for listed cells, with levels of all indices in place of rows and columns."""
        others = [k for k in range(len(shape)) if k != mode]
        if self.levels is None:
            own, stacked = _nothing(shape[mode]), _nothing(sum(shape), np.int16)
            return (self.zeros, self.ones, own, stacked, stacked[:0], self.share), 0
        levels = split(self.levels, shape)
        lows = [int(level.min()) if k in others else 0 for k, level in enumerate(levels)]
        base = sum(lows) - self.first - WINDOW
        lows[others[0]] -= WINDOW
        pairs = zip(levels, lows, strict=True)
        stacked = np.concatenate([level - low for level, low in pairs]).astype(np.int16)
        return (self.zeros, self.ones, levels[mode] + base, stacked, stacked[:0], self.share), base


def split(flat: npt.NDArray[Any], shape: Sequence[int]) -> list[npt.NDArray[Any]]:
    """Return the parts of an array that belong to each mode."""
    return np.split(flat, np.cumsum(shape)[:-1])


def room_for_rivals(mode: int, factors: Factors, rows: Rows) -> tuple[Ints, Ints]:
    """Return counts of 0 (kernels/rivals.py) for some rows: what ones gain, and zeros by runner-up."""
    L, members = factors.n_components, int(np.bitwise_count(factors[mode][rows]).sum(dtype=np.int64))
    return np.zeros((len(rows), L), np.int64), np.zeros((len(rows) + members) * L, np.int64)


def join_rivals(parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Return the counts of rows that were shared out."""
    gain, zeros = (np.concatenate(counts) for counts in zip(*parts, strict=True))
    return gain, zeros


def count_tuples(levels: Sequence[Ints]) -> Ints:
    """Return how many index tuples of some modes have which level, none of which is below 0."""
    counts = np.ones(1, np.int64)
    for part in levels:
        counts = np.convolve(counts, np.bincount(part))
    return counts


@cache
def _nothing(size: int, kind: type = np.int64) -> npt.NDArray[Any]:
    return np.zeros(size, kind)
