"""Comparisons that count once: a relational tensor in which a cell and its mirror image are one observation.

A component that covers (o, a, b) says that a is above b in o. Where others say the opposite, the pair is
contested and the model as silent as where nobody says anything. Counts and confusion are those of the plain
tensor less contested pairs, of which each has a one and a zero. They are all that an agreement of what is
said and what is so depends on (sampler/comparisons.py). What decides an entry are still (pos, tot), but both
may be negative: an entry that only contests what others say takes ones and zeros away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorm.data.arrays import Counts, Rows, Words
from tensorm.kernels import changed_attributes
from tensorm.kernels import compared as kernels
from tensorm.model import Confusion
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import HeldOut, Pair, Rule, Stream, Tensor, every
from tensorm.tensors.slices import View, read_by
from tensorm.tensors.wrapped import Wrapped

OBJECT, ABOVE, BELOW = 0, 1, 2  # the modes of a relational tensor
NOT_THERE = -1
NO_PLACES = np.zeros(0, np.int64)


class ComparedTensor(Wrapped):
    """A relational tensor, or a part of one, whose pairs count once.

    Parameters
    ----------
    tensor : RelationalTensor
        A pair counts once if both of its cells are here; attributes are not repeated.
    """

    crowd = OBJECT

    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor)
        self.caveat = ""  # no comparison counts as two facts
        # Where each attribute above is among those below, and the other way round; for objects, if all are.
        above, below = tensor._left.find(tensor._right), tensor._right.find(tensor._left)
        same = len(above) == len(below) and bool((above == every(len(above))).all())
        self._places = above if same else NO_PLACES, above, below

    def compared(self) -> ComparedTensor:
        return self

    def cached(self, n_components: int) -> Tensor:
        from tensorm.tensors.cached_compared import CachedComparisons  # which has comparisons inside

        large = self.tensor.cached(n_components) is not self.tensor
        return CachedComparisons(self) if large and len(self._places[OBJECT]) else self

    def mirror(self, factors: Factors) -> Factors:
        """Return the factors whose product is the mirror image of that of other factors."""
        above, below = (
            np.where(places[:, None] == NOT_THERE, np.uint64(0), factors[other][places])
            for places, other in zip(self._places[1:], (BELOW, ABOVE), strict=True)
        )
        return Factors((factors[OBJECT], above, below), factors.n_components)

    def _update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        factor, given = factors[mode].copy(), (*self._read(mode, factors), rule.arguments(), tuple(stream))
        if mode == OBJECT:
            update = kernels.object_kernels.update_rows
            self.tensor._share(factors, rows, lambda _, some: update(factor, some, *given))
        else:  # which take turns
            kernels.attribute_kernels.update_rows(factor, rows, *given)
        return factor

    def _count(self, mode: int, factors: Factors, components: Rows, rows: Rows) -> Counts:
        counts, factor = np.empty((2, len(rows), len(components)), np.int64), factors[mode]
        given = *self._read(mode, factors), components
        count = (kernels.attribute_kernels if mode else kernels.object_kernels).count_entries
        self.tensor._share(factors, rows, lambda at, some: count(tuple(counts[:, at]), factor, some, *given))
        return counts

    def _confusion(self, factors: Factors) -> Confusion:
        view, mirrored = self._read(OBJECT, factors)
        found = self.tensor._share(
            factors,
            every(self.shape[0]),
            lambda _, some: kernels.count_said(factors[OBJECT], some, view, mirrored),
        )
        return self.tensor._confuse(found)

    def count_pairs_with(self, mode: int, attributes: Rows, factors: Factors, objects: Rows) -> Counts:
        """Return the counts of a mode's entries from pairs with some attributes in some objects.

        For attributes these are entries of all others; for objects, of these objects.
        """
        rows, L = objects, factors.n_components
        given = *self._read(BELOW if mode == ABOVE else ABOVE, factors), attributes
        if mode == OBJECT:
            counts = np.empty((2, len(rows), L), np.int64)
            count = changed_attributes.count_objects_with
            self.tensor._share(factors, rows, lambda at, some: count(tuple(counts[:, at]), some, *given))
            return counts

        def count_others(_: slice, some: Rows) -> Counts:
            found = np.zeros((2, self.shape[mode], L), np.int64)
            changed_attributes.count_others_with(found, some, *given)
            return found

        return np.sum(self.tensor._share(factors, rows, count_others), axis=0)

    def say_pairs_with(self, attributes: Rows, factors: Factors, objects: Rows) -> tuple[int, int]:
        """Return (right, all) of what is said about pairs with some attributes in some objects."""
        given, count = (*self._read(ABOVE, factors), attributes), changed_attributes.count_said_with
        found = self.tensor._share(factors, objects, lambda _, some: count(some, *given))
        right, said = (sum(part) for part in zip(*found, strict=True))
        return right, said

    def _read(self, mode: int, factors: Factors) -> tuple[Any, ...]:
        """Return what kernels read the slices of a mode from, and their mirror images."""
        view: View = self.tensor._views[mode]
        mirrored = self.mirror(factors)
        return read_by(view, factors), (read_by(view, mirrored)[1], mirrored[mode], self._places[mode])

    def split(self, share: float, rng: np.random.Generator, pair: Pair | None = None) -> HeldOut:
        held: HeldOut = self.tensor.split(share, rng)
        return held._replace(train=ComparedTensor(held.train))

    def _take(self, indices: Any) -> ComparedTensor:
        return ComparedTensor(self.tensor._take(indices))
