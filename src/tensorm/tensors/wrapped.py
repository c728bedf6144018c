"""Tensors around another one, which answers for them wherever they have nothing to add."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tensorm.tensors.bits import Bits
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Counts, Keys, Rows, Tensor


class Wrapped(Tensor):
    """The verbs that are the same for a tensor and for what is around it.

    Parameters
    ----------
    tensor : Tensor
    """

    n_observed: int
    n_ones: int

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.shape, self.modes, self.labels = tensor.shape, tensor.modes, tensor.labels
        self.n_observed, self.n_ones = tensor.n_observed, tensor.n_ones
        self.storage, self.lists_observed, self.pair = tensor.storage, tensor.lists_observed, tensor.pair

    @property
    def nbytes(self) -> int:
        return self.tensor.nbytes

    def with_threads(self, n_threads: int) -> Self:
        twin = copy.copy(self)
        twin.tensor = self.tensor.with_threads(n_threads)
        return twin

    def _count(self, mode: int, factors: Factors, components: Rows, rows: Rows) -> Counts:
        return self.tensor._count(mode, factors, components, rows)

    def times_counted(self, mode: int) -> int:
        return self.tensor.times_counted(mode)

    def sample_ones(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.intp]:
        return self.tensor.sample_ones(rng, count)

    def ones_at(self, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        return self.tensor.ones_at(ranks)

    def take(self, indices: Sequence[npt.NDArray[np.intp]]) -> Tensor:
        return self.tensor.take(indices)

    def blocks(self, max_cells: int = 2**22) -> Iterator[tuple[slice, Bits, Bits]]:
        return self.tensor.blocks(max_cells)

    def listed_keys(self, unlisted: str = "missing") -> tuple[Keys, Keys]:
        return self.tensor.listed_keys(unlisted)

    def known_keys(self, mode: int, n: int) -> Keys:
        return self.tensor.known_keys(mode, n)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return self.tensor.arrays()
