"""The verbs of a tensor whose slices can be read as rows of words, wherever the words come from."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tensorm.data.inputs import Labels
from tensorm.model import Confusion
from tensorm.tensors.bits import Bits, Words, combine
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Counts, Rows, Rule, Stream, draw_ones
from tensorm.tensors.threads import share_rows

WORTH_THREADS = 2**26  # cells times components below which a second thread costs more than it saves


class View(NamedTuple):
    """How the slices of one mode are read."""

    kernels: Any  # the module that reads such a source
    source: tuple[Any, ...]  # what a kernel reads them from; plain tuples, whose types numba tells sooner
    rows: tuple[int, ...]  # modes that index the rows of a slice
    packed: tuple[int, ...]  # modes along which a row runs
    span: tuple[int, ...]  # zeros, one for every LANES words that a kernel reads at once (kernels/vectors.py)


class SlicedTensor(ABC):
    """Verbs that need no more than a view of each mode's slices.

    A subclass sets ``shape``, ``modes``, ``labels``, ``n_observed`` and ``n_ones``, and offers what is
    abstract here.
    """

    shape: tuple[int, ...]
    modes: tuple[str, ...]
    labels: Labels
    _n_threads = 1

    if TYPE_CHECKING:

        @property
        def nbytes(self) -> int:
            """Memory held, in bytes."""

        @property
        def n_observed(self) -> int:
            """Cells that are not missing."""

        @property
        def n_ones(self) -> int:
            """Those of them that are 1."""

    @abstractmethod
    def take(self, indices: Sequence[npt.NDArray[np.intp]]) -> SlicedTensor:
        """Return a tensor of the cells with these indices along each mode."""

    @abstractmethod
    def blocks(self, max_cells: int = 2**22) -> Iterator[tuple[slice, Bits, Bits]]:
        """Yield (indices along mode 0, ones, observed) in blocks of whole slices."""

    @abstractmethod
    def _view(self, mode: int) -> View:
        """Return how the slices of a mode are read."""

    @abstractmethod
    def _ones_of_slices(self) -> npt.NDArray[np.int64]:
        """Return the number of ones in each slice of mode 0."""

    @abstractmethod
    def _find_ones(self, n: int, ranks: npt.NDArray[np.int64]) -> list[npt.NDArray[np.intp]]:
        """Return the indices along the other modes of some of the ones in slice n of mode 0, by number."""

    def with_threads(self, n_threads: int) -> Self:
        """Return the same tensor (its cells are shared, not copied), using so many threads."""
        twin = copy.copy(self)
        twin._n_threads = n_threads
        return twin

    def compact(self) -> SlicedTensor:
        """Return the same cells in the form that is quickest to count again and again."""
        return self

    def update_factor(
        self,
        mode: int,
        factors: Factors,
        rule: Rule,
        stream: Stream,
        rows: Rows | None = None,
    ) -> Words:
        """Return a new factor for ``mode``, entries decided in turn given all others (eq. 4).

        Those of some rows only if ``rows`` are given; the others stay as they are.
        """
        view, factor = self._view(mode), factors[mode].copy()
        chosen = _every(len(factor)) if rows is None else rows
        given = view.source, _masks(view, factors), tuple(rule), tuple(stream)

        def update(start: int, stop: int) -> None:
            view.kernels.update_rows(factor, chosen[start:stop], *given)

        share_rows(update, len(chosen), self._threads(factors.n_components))
        return factor

    def update_tied(
        self, pair: tuple[int, int], factors: Factors, rule: Rule, stream: Stream, rows: Rows | None = None
    ) -> Words:
        """Return a new factor for two modes that share one, entries decided in turn given all others.

        No cell with the same index along both modes may be observed.
        """
        (mode, other), view = pair, self._view(pair[0])
        factor, in_rows = factors[mode].copy(), other in view.rows
        side = view.rows if in_rows else view.packed
        inner = math.prod(self.shape[k] for k in side[side.index(other) + 1 :])
        tie = in_rows, inner, combine([factors[k] for k in side if k != other], factors.n_components)
        chosen, plain = _every(len(factor)) if rows is None else rows, (tuple(rule), tuple(stream))
        view.kernels.update_tied(factor, chosen, view.source, _masks(view, factors), tie, *plain)
        return factor

    def counts(
        self,
        mode: int,
        factors: Factors,
        components: Sequence[int] | None = None,
        rows: Rows | None = None,
    ) -> tuple[Counts, Counts]:
        """Return (pos, tot) of a mode's entries, two arrays (rows, len(components)) (eq. 5)."""
        view, factor = self._view(mode), factors[mode]
        chosen = np.arange(factors.n_components) if components is None else np.array(components)
        where = _every(len(factor)) if rows is None else rows
        pos, tot = np.empty((2, len(where), len(chosen)), np.int64)
        given = view.source, _masks(view, factors), chosen

        def count(start: int, stop: int) -> None:
            counts = pos[start:stop], tot[start:stop]
            view.kernels.count_entries(counts, factor, where[start:stop], *given)

        share_rows(count, len(where), self._threads(factors.n_components))
        return pos, tot

    def times_counted(self, mode: int) -> int:
        """Return 1: a cell lies in one row of a mode."""
        return 1

    def confusion(self, factors: Factors) -> Confusion:
        """Count the observed cells by the value of the Boolean product and their own."""
        tp, covered = self._covered(factors, np.empty((2, self.shape[0]), np.int64))
        fp, fn = covered - tp, self.n_ones - tp
        return Confusion(tp, fp, fn, self.n_observed - self.n_ones - fp)

    def sample_ones(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.intp]:
        """Return the indices (count, K) of random cells that are 1, drawn with replacement."""
        return draw_ones(self, rng, count)

    def ones_at(self, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """Return the indices (n, K) of ones by their sorted ranks among all ones, in the order of indices."""
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
        view, every = self._view(0), _every(self.shape[0])
        given = view.source, _masks(view, factors)

        def count(start: int, stop: int) -> tuple[int, int]:
            covered: tuple[int, int] = view.kernels.count_covered(
                counts, factors[0], every[start:stop], *given
            )
            return covered

        shares = share_rows(count, self.shape[0], self._threads(factors.n_components))
        ones, observed = (sum(share) for share in zip(*shares, strict=True))
        return ones, observed

    def _threads(self, n_components: int) -> int:
        return self._n_threads if math.prod(self.shape) * n_components >= WORTH_THREADS else 1


def _masks(view: View, factors: Factors) -> tuple[Any, ...]:
    """Return the components of rows and columns, and the width of vectors (kernels/rows.py)."""
    row_masks = combine([factors[k] for k in view.rows], factors.n_components)
    column_masks = combine([factors[k] for k in view.packed], factors.n_components)
    return row_masks, column_masks, factors.n_components, view.span


@cache
def _every(n_rows: int) -> npt.NDArray[np.intp]:
    return np.arange(n_rows)
