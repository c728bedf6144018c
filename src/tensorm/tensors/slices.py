"""Dense and relational tensors share these methods, which need only the slices of a mode as rows of words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Counts, Indices, Ints, Rows, Words
from tensorm.kernels import slices as kernel
from tensorm.model import Confusion
from tensorm.tensors import cached
from tensorm.tensors.bits import combine
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair, Rule, Stream, Tensor, every
from tensorm.tensors.threads import share_rows

WORTH_THREADS = 2**26  # cells times components below which a second thread costs more than it saves


class View(NamedTuple):
    """How the slices of one mode are read."""

    source: Any  # what a kernel reads them from (kernels/slices.py)
    rows: tuple[int, ...]  # modes that index the rows of a slice
    packed: tuple[int, ...]  # modes along which a row runs
    span: tuple[int, ...]  # zeros, one for every LANES words that a kernel reads at once (kernels/vectors.py)


class SlicedTensor(Tensor):
    """Verbs that need no more than a view of each mode's slices, which a subclass offers."""

    if TYPE_CHECKING:

        @property
        def _views(self) -> list[View]:
            """How the slices of each mode are read."""

    def cached(self, n_components: int) -> Tensor:
        large = math.prod(self.shape) * n_components >= cached.WORTH_KEEPING
        return cached.CachedCounts(self) if large else self

    def _update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        view, factor = self._views[mode], factors[mode].copy()
        given = read_by(view, factors), rule.arguments(), tuple(stream)
        self._share(factors, rows, lambda _, some: kernel.update_rows(factor, some, *given))
        return factor

    def _read_tied(self, pair: Pair, factors: Factors) -> tuple[Any, ...]:
        return kernel.update_tied, read_by(self._views[pair[0]], factors), self._tie(pair, factors)

    def _tie(self, pair: Pair, factors: Factors) -> tuple[Any, ...]:
        """Return what depends on the second of two modes in the slices of the first (kernels.slices.Tie)."""
        other, view = pair[1], self._views[pair[0]]
        in_rows = other in view.rows
        side = view.rows if in_rows else view.packed
        inner = math.prod(self.shape[k] for k in side[side.index(other) + 1 :])
        return in_rows, inner, combine([factors[k] for k in side if k != other], factors.n_components)

    def _count(self, mode: int, factors: Factors, components: Rows, rows: Rows) -> Counts:
        view, factor = self._views[mode], factors[mode]
        counts = np.empty((2, len(rows), len(components)), np.int64)
        given, count = (read_by(view, factors), components), kernel.count_entries
        self._share(factors, rows, lambda at, some: count(tuple(counts[:, at]), factor, some, *given))
        return counts

    def _confusion(self, factors: Factors) -> Confusion:
        return self._confuse(self._cover(factors, np.empty((2, self.shape[0]), np.int64)))

    def _ones_at(self, ranks: Ints) -> Indices:
        slices = np.searchsorted(self._ones_before, ranks, side="right") - 1
        cells = np.empty((len(ranks), len(self.shape)), np.intp)
        for n in np.unique(slices):
            here = slices == n
            cells[here, 0] = n
            cells[here, 1:] = np.transpose(self._find_ones(int(n), ranks[here] - self._ones_before[n]))
        return cells

    def _find_ones(self, n: int, ranks: Ints) -> Sequence[Indices]:
        """Return the indices along the other modes of some of the ones in slice n of mode 0, by number."""
        ones = np.flatnonzero(self._read_slices(n, n + 1)[0])
        return np.unravel_index(ones[ranks], self.shape[1:])

    @cached_property
    def _slice_counts(self) -> Counts:
        """Ones and observed cells of each slice of mode 0, (2, N_0)."""
        return np.array(self.counts(0, Factors.full(self.shape)))[:, :, 0]

    @cached_property
    def _ones_before(self) -> Counts:
        """For each slice of mode 0 the number of ones in the slices before it."""
        return np.cumsum(self._slice_counts[0]) - self._slice_counts[0]

    def _cover(self, factors: Factors, counts: Counts) -> list[tuple[int, int]]:
        """Count the ones and the observed cells that components cover, by slices of mode 0 and in shares."""
        view, rows = self._views[0], every(self.shape[0])
        given, count = read_by(view, factors), kernel.count_covered
        return self._share(factors, rows, lambda _, some: count(counts, factors[0], some, given))

    def _share(self, factors: Factors, rows: Rows, work: Callable[[slice, Rows], Any]) -> list[Any]:
        """Split the rows among threads; call ``work`` with the slice and the rows of each part."""
        large = math.prod(self.shape) * factors.n_components >= WORTH_THREADS
        n_threads = self._n_threads if large else 1
        return share_rows(lambda i, j: work(slice(i, j), rows[i:j]), len(rows), n_threads)


def read_by(view: View, factors: Factors) -> tuple[Any, ...]:
    """Return what a kernel reads, and the components of rows and columns (kernels/rows.py)."""
    row_masks = combine([factors[k] for k in view.rows], factors.n_components)
    column_masks = combine([factors[k] for k in view.packed], factors.n_components)
    return view.source, (row_masks, column_masks, factors.n_components, view.span)
