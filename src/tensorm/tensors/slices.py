"""The verbs of a tensor whose slices can be read as rows of words, wherever the words come from."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.model import Confusion
from tensorm.tensors import cached
from tensorm.tensors.bits import Words, combine
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Counts, Pair, Rows, Rule, Stream, Tensor, every
from tensorm.tensors.threads import share_rows

WORTH_THREADS = 2**26  # cells times components below which a second thread costs more than it saves


class View(NamedTuple):
    """How the slices of one mode are read."""

    kernels: Any  # the module that reads such a source
    source: tuple[Any, ...]  # what a kernel reads them from; plain tuples, whose types numba tells sooner
    rows: tuple[int, ...]  # modes that index the rows of a slice
    packed: tuple[int, ...]  # modes along which a row runs
    span: tuple[int, ...]  # zeros, one for every LANES words that a kernel reads at once (kernels/vectors.py)


class SlicedTensor(Tensor):
    """Verbs that need no more than a view of each mode's slices; a subclass offers what is abstract here."""

    if TYPE_CHECKING:

        @property
        def _views(self) -> list[View]:
            """How the slices of each mode are read."""

    @abstractmethod
    def _ones_of_slices(self) -> npt.NDArray[np.int64]:
        """Return the number of ones in each slice of mode 0."""

    @abstractmethod
    def _find_ones(self, n: int, ranks: npt.NDArray[np.int64]) -> list[npt.NDArray[np.intp]]:
        """Return the indices along the other modes of some of the ones in slice n of mode 0, by number."""

    def cached(self, n_components: int) -> Tensor:
        large = math.prod(self.shape) * n_components >= cached.WORTH_KEEPING
        return cached.CachedCounts(self) if large else self

    def _update(self, mode: int, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        view, factor = self._views[mode], factors[mode].copy()
        given = view.source, _masks(view, factors), tuple(rule), tuple(stream)
        self._share(factors, rows, lambda _, some: view.kernels.update_rows(factor, some, *given))
        return factor

    def update_tied(self, pair: Pair, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        (mode, other), view = pair, self._views[pair[0]]
        factor, in_rows = factors[mode].copy(), other in view.rows
        side = view.rows if in_rows else view.packed
        inner = math.prod(self.shape[k] for k in side[side.index(other) + 1 :])
        tie = in_rows, inner, combine([factors[k] for k in side if k != other], factors.n_components)
        given = view.source, _masks(view, factors), tie, tuple(rule), tuple(stream)
        view.kernels.update_tied(factor, rows, *given)
        return factor

    def _count(self, mode: int, factors: Factors, components: Rows, rows: Rows) -> Counts:
        view, factor = self._views[mode], factors[mode]
        counts = np.empty((2, len(rows), len(components)), np.int64)
        given = view.source, _masks(view, factors), components
        self._share(
            factors,
            rows,
            lambda at, some: view.kernels.count_entries((counts[0, at], counts[1, at]), factor, some, *given),
        )
        return counts

    def confusion(self, factors: Factors) -> Confusion:
        tp, covered = self._covered(factors, np.empty((2, self.shape[0]), np.int64))
        fp, fn = covered - tp, self.n_ones - tp
        return Confusion(tp, fp, fn, self.n_observed - self.n_ones - fp)

    def ones_at(self, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        slices = np.searchsorted(self._ones_before, ranks, side="right") - 1
        cells = np.empty((len(ranks), len(self.shape)), np.intp)
        for n in np.unique(slices):
            here = slices == n
            found = self._find_ones(int(n), ranks[here] - self._ones_before[n])
            cells[here] = np.stack([np.full(len(found[0]), n), *found], axis=1)
        return cells

    @cached_property
    def _ones_before(self) -> npt.NDArray[np.int64]:
        """For each slice of mode 0 the number of ones in the slices before it."""
        return np.concatenate([[0], np.cumsum(self._ones_of_slices())[:-1]])

    def _covered(self, factors: Factors, counts: Counts) -> tuple[int, int]:
        """Count the ones and the observed cells that components cover, by slices of mode 0 and in all."""
        view, rows = self._views[0], every(self.shape[0])
        given = view.source, _masks(view, factors)
        shares = self._share(
            factors, rows, lambda _, some: view.kernels.count_covered(counts, factors[0], some, *given)
        )
        ones, observed = (sum(share) for share in zip(*shares, strict=True))
        return ones, observed

    def _share(self, factors: Factors, rows: Rows, work: Callable[[slice, Rows], Any]) -> list[Any]:
        """Call ``work`` on shares of the rows: where they stand among these, and the rows."""
        large = math.prod(self.shape) * factors.n_components >= WORTH_THREADS
        n_threads = self._n_threads if large else 1
        return share_rows(lambda i, j: work(slice(i, j), rows[i:j]), len(rows), n_threads)


def _masks(view: View, factors: Factors) -> tuple[Any, ...]:
    """Return the components of rows and columns, and the width of vectors (kernels/rows.py)."""
    row_masks = combine([factors[k] for k in view.rows], factors.n_components)
    column_masks = combine([factors[k] for k in view.packed], factors.n_components)
    return row_masks, column_masks, factors.n_components, view.span
