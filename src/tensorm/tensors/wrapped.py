"""Tensors around another one, which answers for them wherever they have nothing to add."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tensorm.tensors.bits import Bits, Words
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Counts, Pair, Rows, Rule, Stream, Tensor


class Wrapped(Tensor):
    """The verbs that are the same for a tensor and for what is around it.

    Parameters
    ----------
    tensor : Tensor
    """

    nbytes: int

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.shape, self.modes, self.labels = tensor.shape, tensor.modes, tensor.labels
        self.n_observed, self.n_ones, self.nbytes = tensor.n_observed, tensor.n_ones, tensor.nbytes
        self.storage = tensor.storage

    def with_threads(self, n_threads: int) -> Self:
        twin = copy.copy(self)
        twin.tensor = self.tensor.with_threads(n_threads)
        return twin

    def update_tied(self, pair: Pair, factors: Factors, rule: Rule, stream: Stream, rows: Rows) -> Words:
        return self.tensor.update_tied(pair, factors, rule, stream, rows)

    def _count(self, mode: int, factors: Factors, components: Rows, rows: Rows) -> Counts:
        return self.tensor._count(mode, factors, components, rows)

    def sample_ones(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.intp]:
        return self.tensor.sample_ones(rng, count)

    def ones_at(self, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        return self.tensor.ones_at(ranks)

    def take(self, indices: Sequence[npt.NDArray[np.intp]]) -> Tensor:
        return self.tensor.take(indices)

    def _read_slices(self, start: int, stop: int) -> tuple[Bits, Bits]:
        return self.tensor._read_slices(start, stop)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return self.tensor.arrays()
