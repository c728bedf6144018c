"""Counts cached from sweep to sweep, so that an update reads only cells near something that flipped.

The counts of an entry change only when an entry in its Markov blanket does. On large tensors a settled chain
flips few of them, and finding these needs no cells: each entry is decided from the cached counts, with the
random number it would have anyway. Rows in which one flips are updated again from their cells. Counts are
sums over the slices of every other mode, so those of a slice whose entries flipped are taken out as they were
and put in as they are. Nothing is approximate: the draws are those of the plain update, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from tensorm.data.arrays import Counts, Rows, Words
from tensorm.kernels.cached import find_changes, find_flips, present
from tensorm.model import Confusion
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Rule, Stream, Tensor, pass_on
from tensorm.tensors.wrapped import Wrapped

WORTH_KEEPING = 2**27  # cells times components below which a plain sweep is quick enough
LEAST_CORRECTION = 2**26  # the same: plain updates of so many take as long as any correction, however small
SLICE_COST, ROW_COST = 5.0, 2.0  # of a share of changed slices, of flipped rows, beside a plain update
MOST = 0.5  # of a plain update: what keeping counts may cost
ROOM = 2**25  # cells that are copied at once
MEMORY = 0.75  # weight of the past in the cost that is expected


class CachedCounts(Wrapped):
    """A tensor that remembers the last counts of each mode and the last confusion; for one chain alone.

    Parameters
    ----------
    tensor : Tensor
        No two of its modes share a factor: their rows take turns, so that no counts hold for all of them.
    most : float
        Cost of keeping counts, beside a plain update's, above which updates are plain.
    """

    def __init__(self, tensor: Tensor, most: float = MOST) -> None:
        super().__init__(tensor)
        self._most = most
        self._row_cost = [ROW_COST] * len(self.shape)
        self._forget(0)

    def _forget(self, n_components: int) -> None:
        self._n_components = n_components
        self._step = LEAST_CORRECTION / max(1, math.prod(self.shape) * n_components)
        self._factors: dict[int, Factors] = {}  # as they were after the last update of each mode
        self._counts: dict[int, Counts] = {}  # (2, N, L) at that time; not there while updates are plain
        self._last_confusion: tuple[Factors, Confusion] | None = None
        self._flipped = [1.0] * len(self.shape)  # share of rows in the last update
        self._cost = [1.0] * len(self.shape)  # that keeping counts has, or would have had
        self._parts: dict[int, tuple[Rows, Tensor]] = {}

    def _update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        if len(rows) < self.shape[mode]:
            return self.tensor.update_factor(mode, factors, rule, stream, rows)
        if factors.n_components != self._n_components:
            self._forget(factors.n_components)
        inert = ~_common([present(factor) for factor in factors], {mode})
        counts = self._recall(mode, factors)
        if counts is None:
            factor = self.tensor.update_factor(mode, factors, rule, stream)
            now = factors.replace(mode, factor)
            flipped, _ = find_changes(factors[mode], now[mode], ~inert)
        else:
            self._counts[mode] = counts
            now, flipped = self._decide(mode, factors, inert, rule, stream)
        self._flipped[mode] = len(flipped) / self.shape[mode]
        self._factors[mode] = now
        return now[mode]

    def _decide(
        self, mode: int, factors: Factors, inert: Words, rule: Rule, stream: Stream
    ) -> tuple[Factors, Rows]:
        """Decide a mode's entries by their counts, which are kept right; return what flipped, too."""
        factor, counts, flipped = (
            factors[mode].copy(),
            self._counts[mode],
            np.zeros(self.shape[mode], np.intp),
        )
        flipped = flipped[: find_flips(flipped, factor, counts, inert, rule.arguments(), tuple(stream))]
        if len(flipped):
            new = self.tensor.update_factor(mode, factors, rule, stream, flipped)
            factor[flipped] = new[flipped]
            counts[:, flipped] = self.tensor.counts(mode, factors.replace(mode, factor), rows=flipped)
        return factors.replace(mode, factor), flipped

    def _confusion(self, factors: Factors) -> Confusion:
        if factors.n_components != self._n_components:
            self._forget(factors.n_components)
        old, confusion = self._last_confusion or (factors, None)
        rows, _, cost = self._compare(old, factors)
        if confusion is None or cost > self._most:
            confusion = self.tensor.confusion(factors)
        else:
            confusion = self._correct_confusion(confusion, old, factors, rows)
        self._last_confusion = factors, confusion
        return confusion

    def _recall(self, mode: int, factors: Factors) -> Counts | None:
        """Return the counts of a mode's entries, or None if a plain update is cheaper."""
        old = self._factors.get(mode, factors)
        rows, columns, cost = self._compare(old, factors, mode)
        own = np.flatnonzero((old[mode] != factors[mode]).any(axis=1))  # by another part of the sampler
        flipped = self._flipped[mode]
        cost += self._row_cost[mode] * flipped + len(own) / len(old[mode]) + (self._step if flipped else 0)
        self._cost[mode] = MEMORY * self._cost[mode] + (1 - MEMORY) * cost
        counts = self._counts.pop(mode, None)
        if counts is None or cost > self._most:
            if self._cost[mode] > self._most:
                return None
            return np.array(self.tensor.counts(mode, factors))
        self._correct_counts(counts, mode, old, factors, rows, own)
        if columns:
            counts[:, :, columns] = self.tensor.counts(mode, factors, columns)
        if len(own):
            counts[:, own] = self.tensor.counts(mode, factors, rows=own)
        return counts

    def _correct_counts(
        self, counts: Counts, mode: int, old: Factors, new: Factors, rows: dict[int, Rows], own: Rows
    ) -> None:
        """Bring counts up to date with the rows of other modes that changed; some of its own did, too."""
        for part, before, after in self._steps(old, new, rows):
            counts += np.array(part.counts(mode, after))
            counts -= np.array(part.counts(mode, before))

    def _correct_confusion(
        self, confusion: Confusion, old: Factors, new: Factors, rows: dict[int, Rows]
    ) -> Confusion:
        """Return the confusion with the rows that changed."""
        for part, before, after in self._steps(old, new, rows):
            gone, come = (part.confusion(f) for f in (before, after))
            confusion = Confusion(*(a - b + c for a, b, c in zip(confusion, gone, come, strict=True)))
        return confusion

    def _compare(
        self, old: Factors, new: Factors, mode: int | None = None
    ) -> tuple[dict[int, Rows], list[int], float]:
        """Find what changed that matters to the confusion, or to the counts of a mode.

        Returns for each other mode the rows that matter, components of the mode that explain nothing and are
        best counted anew, and the cost.
        An entry matters only where its component has entries in all other modes. If it has none in the mode
        that is counted it explains nothing there, and only its own counts change.
        """
        changed = [k for k in range(len(old)) if k != mode and not np.array_equal(old[k], new[k])]
        if not changed:
            return {}, [], 0.0
        found = [present(a) | present(b) for a, b in zip(old, new, strict=True)]
        own = ~np.zeros_like(found[0]) if mode is None else present(old[mode])
        columns, rows, cost = np.zeros_like(found[0]), {}, 0.0
        for k in changed:
            matters = _common(found, {k, mode})
            rows[k], moved = find_changes(old[k], new[k], matters & own)
            columns |= moved & matters & ~own
            if len(rows[k]):
                cost += SLICE_COST * len(rows[k]) / len(old[k]) + self._step
        listed = np.flatnonzero(unpack(columns, self._n_components)).tolist() if columns.any() else []
        return rows, listed, cost + len(listed) / self._n_components

    def _steps(
        self, old: Factors, new: Factors, rows: dict[int, Rows]
    ) -> Iterator[tuple[Tensor, Factors, Factors]]:
        """Go from old factors to new ones mode by mode; yield changed slices, factors before and after."""
        here = old
        for k, changed in rows.items():
            at_once = max(1, ROOM * self.shape[k] // math.prod(self.shape))
            for first in range(0, len(changed), at_once):
                some = changed[first : first + at_once]
                before, after = (here.replace(k, factors[k][some]) for factors in (old, new))
                yield self._slices(k, some), before, after
            here = here.replace(k, new[k])

    def _slices(self, mode: int, rows: Rows) -> Tensor:
        """Return slices of a mode, which all other modes want one after the other."""
        kept = self._parts.get(mode)
        if kept is None or not np.array_equal(kept[0], rows):
            indices = [np.arange(size) for size in self.shape]
            indices[mode] = rows
            kept = self._parts[mode] = rows, self.tensor.take(indices).compact()
        return kept[1]

    split = pass_on("split")

    def with_threads(self, n_threads: int) -> CachedCounts:
        return type(self)(self.tensor.with_threads(n_threads), self._most)  # nothing remembered

    def miniature(self) -> CachedCounts:
        part = self.tensor.take([np.arange(min(size, 2)) for size in self.shape])
        compact, nothing = part.compact(), Factors.empty(part.shape, 1)  # what corrections are made from
        compact.counts(0, nothing)
        compact.confusion(nothing)
        return type(self)(part, most=math.inf)


def memory_for_counts(tensor: Tensor, n_components: int) -> int:
    """Return about how many bytes the counts that a chain keeps take, with what corrects them."""
    if tensor.cached(n_components) is tensor:
        return 0
    counts = 2 * 8 * sum(tensor.shape) * n_components
    copied = min(ROOM, math.prod(tensor.shape)) * 6 // 8  # two planes of bits, packed in three ways
    return counts + (len(tensor.shape) - 1) * copied


def _common(found: Sequence[Words], but: set[int | None]) -> Words:
    """Return the components that all modes but some have entries of."""
    rest = [masks for k, masks in enumerate(found) if k not in but]
    return reduce(np.bitwise_and, rest) if rest else ~np.zeros_like(found[0])
