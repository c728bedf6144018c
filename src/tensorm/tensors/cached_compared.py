"""Counts of comparisons, cached from sweep to sweep (cached.py).

An attribute that flips changes the counts of every object and of all other attributes, by pairs that it is
one of: those are counted as they were and as they are (kernels/changed_attributes.py). Rows of attributes
take turns, so counts are corrected after each row that flips, before the next one is decided.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from tensorm.data.arrays import Counts, Rows, Words
from tensorm.kernels.cached import find_flips
from tensorm.model import Confusion
from tensorm.tensors.cached import MOST, CachedCounts
from tensorm.tensors.compared import ABOVE, BELOW, OBJECT, ComparedTensor
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Rule, Stream, every

TURN_COST = 7.0  # of a share of attributes that flip in turn, beside a plain update


class CachedComparisons(CachedCounts):
    """Comparisons that remember the last counts of each mode and the last confusion; for one chain alone.

    Parameters
    ----------
    tensor : ComparedTensor
        The same attributes are compared both ways.
    most : float
        As of ``CachedCounts``.
    """

    tensor: ComparedTensor

    def __init__(self, tensor: ComparedTensor, most: float = MOST) -> None:
        super().__init__(tensor, most)
        self._row_cost = [self._row_cost[OBJECT], TURN_COST, TURN_COST]

    def _decide(
        self, mode: int, factors: Factors, inert: Words, rule: Rule, stream: Stream
    ) -> tuple[Factors, Rows]:
        if mode == OBJECT:
            return super()._decide(mode, factors, inert, rule, stream)
        factor, counts = factors[mode].copy(), self._counts[mode]
        flipped: list[int] = []
        following, N = np.zeros(1, np.intp), self.shape[mode]
        arguments = inert, rule.arguments(), tuple(stream)
        while following[0] < N and find_flips(following, factor, counts, *arguments):
            row = following.copy()
            factor[row] = factors[mode][row]  # in which some may be set already
            now, flipped = factors.replace(mode, factor), [*flipped, *row]
            if TURN_COST * len(flipped) > self._most * N:
                del self._counts[mode]
                rest = np.arange(row[0], N)
                return factors.replace(mode, self.tensor.update_factor(mode, now, rule, stream, rest)), rest
            new = self.tensor.update_factor(mode, now, rule, stream, row)
            after = factors.replace(mode, new)
            self._correct_counts(counts, mode, now, after, {}, row)
            factor, following = new.copy(), row + 1
        return factors.replace(mode, factor), np.array(flipped, np.intp)

    def _correct_counts(
        self, counts: Counts, mode: int, old: Factors, new: Factors, rows: dict[int, Rows], own: Rows
    ) -> None:
        old = (
            self._correct_objects(counts, mode, old, new, rows) if mode else old.replace(OBJECT, new[OBJECT])
        )
        changed = unite([rows.get(ABOVE), rows.get(BELOW), own if mode else None])
        objects = find_concerned(old, new, changed) if mode else every(self.shape[OBJECT])
        if not len(changed) or not len(objects):
            return
        counts += self.tensor.count_pairs_with(mode, changed, new, objects)
        counts -= self.tensor.count_pairs_with(mode, changed, old, objects)
        if mode:
            counts[:, changed] = self.tensor.counts(mode, new, rows=changed)

    def _correct_objects(
        self, counts: Counts, mode: int, old: Factors, new: Factors, rows: dict[int, Rows]
    ) -> Factors:
        """Bring counts of attributes up to date with the objects that changed; return the factors so far."""
        for part, before, after in self._steps(old, new, {OBJECT: rows.get(OBJECT, NONE)}):
            counts += np.array(part.counts(mode, after))
            counts -= np.array(part.counts(mode, before))
        return old.replace(OBJECT, new[OBJECT])

    def _correct_confusion(
        self, confusion: Confusion, old: Factors, new: Factors, rows: dict[int, Rows]
    ) -> Confusion:
        objects = {OBJECT: rows.get(OBJECT, NONE)}
        confusion = super()._correct_confusion(confusion, old, new, objects)
        changed, old = unite([rows.get(ABOVE), rows.get(BELOW)]), old.replace(OBJECT, new[OBJECT])
        concerned = find_concerned(old, new, changed)
        if not len(concerned):
            return confusion
        tp, fp, fn, tn = confusion
        (gone, said), (come, says) = (
            self.tensor.say_pairs_with(changed, factors, concerned) for factors in (old, new)
        )
        right, wrong = come - gone, (says - said) - (come - gone)
        return Confusion(tp + right, fp + wrong, fn - right, tn - wrong)


NONE = np.zeros(0, np.intp)


def find_concerned(old: Factors, new: Factors, attributes: Rows) -> Rows:
    """Return the objects with a component that some attributes have joined or left.

    What is said of the attributes changes nowhere else.
    """
    moved = np.bitwise_or.reduce(
        [(old[mode][attributes] ^ new[mode][attributes]) for mode in (ABOVE, BELOW)], axis=(0, 1)
    )
    return np.flatnonzero((new[OBJECT] & moved).any(axis=1))


def unite(found: list[Rows | None]) -> Rows:
    """Return the rows that are in any of several lists, sorted."""
    return reduce(np.union1d, [rows for rows in found if rows is not None], NONE).astype(np.intp)
