"""Tensors around another one, which answers for them wherever they have nothing to add."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tensorm.tensors.bits import Bits, Words
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Counts, Rows, Rule, Stream, Tensor

Inner = TypeVar("Inner", bound=Tensor)


class Wrapped(Generic[Inner]):
    """The verbs that are the same for a tensor and for what is around it.

    Parameters
    ----------
    tensor : Tensor
    """

    def __init__(self, tensor: Inner) -> None:
        self.tensor = tensor
        self.shape, self.modes, self.labels = tensor.shape, tensor.modes, tensor.labels
        self.n_observed, self.n_ones = tensor.n_observed, tensor.n_ones

    @property
    def nbytes(self) -> int:
        """Memory held by the cells, in bytes."""
        return self.tensor.nbytes

    def update_tied(
        self, pair: tuple[int, int], factors: Factors, rule: Rule, stream: Stream, rows: Rows | None = None
    ) -> Words:
        """Return a new factor for two modes that share one."""
        return self.tensor.update_tied(pair, factors, rule, stream, rows)

    def counts(
        self,
        mode: int,
        factors: Factors,
        components: Sequence[int] | None = None,
        rows: Rows | None = None,
    ) -> tuple[Counts, Counts]:
        """Return (pos, tot) of a mode's entries (eq. 5)."""
        return self.tensor.counts(mode, factors, components, rows)

    def times_counted(self, mode: int) -> int:
        """Return how often a cell counts when the counts of all rows of a mode are added up."""
        return self.tensor.times_counted(mode)

    def sample_ones(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.intp]:
        """Return the indices (count, K) of random cells that are 1, drawn with replacement."""
        return self.tensor.sample_ones(rng, count)

    def take(self, indices: Sequence[npt.NDArray[np.intp]]) -> Tensor:
        """Return a small tensor of the cells with these indices along each mode, with nothing around it."""
        return self.tensor.take(indices)

    def blocks(self, max_cells: int = 2**22) -> Iterator[tuple[slice, Bits, Bits]]:
        """Yield (indices along mode 0, ones, observed) in blocks of whole slices."""
        return self.tensor.blocks(max_cells)
