"""What a posterior says about cells: probabilities by the weights of the draws (eq. 7), whole or in part."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Floats, Indices
from tensorm.data.checks import (
    check_choice,
    check_count,
    check_index,
    check_indices,
    check_mode,
    check_number,
    check_parts,
)
from tensorm.data.inputs import Named
from tensorm.data.memory import check_fits
from tensorm.errors import InputError
from tensorm.posterior.predict import CellSummary, average_box, summarise_cells, unite_box, unite_cells
from tensorm.sampler.noise_model import Parameters
from tensorm.sampler.state import Trace
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair

R = TypeVar("R")
FEW_CELLS = 2**17  # of which all probabilities are kept
PREDICTED_CELLS = 2**20  # whose probabilities are in memory at a time, beside an answer for all cells
PREDICTION_METHODS = ("predictive", "mean", "map", "best")


class CellPredictions(Named):
    """Predictions of cells, by what the posterior says about draws and weights."""

    shape: tuple[int, ...]

    @property
    @abstractmethod
    def parameters(self) -> type[Parameters]:
        """The noise model's parameters."""

    @property
    @abstractmethod
    def compared(self) -> Pair | None:
        """The two modes whose indices the cells compare, or None."""

    @property
    @abstractmethod
    def counted(self) -> tuple[tuple[Trace, float], ...]:
        """The chains that count, with their weights."""

    @property
    @abstractmethod
    def explained_by(self) -> list[tuple[float, list[Floats]]]:
        """For each explanation its weight and the means of its factors."""

    @abstractmethod
    def take(self, indices: Sequence[Indices]) -> Self:
        """Return the posterior of the cells with these indices along each mode."""

    @abstractmethod
    def _weighted(self, method: str) -> Iterator[tuple[Factors, Parameters, float]]: ...

    @cached_property
    def _findings(self) -> dict[Callable[[Any], Any], Any]:
        return {}

    def _recall(self, find: Callable[[Self], R]) -> R:
        """Return what a function finds in the draws; several outputs ask, and it is called once."""
        if find not in self._findings:
            self._findings[find] = find(self)
        found: R = self._findings[find]
        return found

    @property
    def _few_cells(self) -> Floats | None:
        """P(x = 1) of all cells, if they are so few that one pass over the draws answers every question."""
        return self._recall(_predict_every) if math.prod(self.shape) <= FEW_CELLS else None

    def _predict_box(self, where: Sequence[slice], method: str) -> Floats:
        if check_choice("method", method, PREDICTION_METHODS) == "mean":
            return self._unite(lambda means: unite_box(means, where))
        if method == "predictive" and self._few_cells is not None:
            return self._few_cells[tuple(where)].copy()
        return average_box(self._weighted(method), where, self.shape)

    def predict_block(self, first: int, stop: int, method: str = "predictive") -> Floats:
        """Return P(x = 1) of the cells with first <= n < stop in mode 0, (stop - first, N_1, ..., N_K-1)."""
        if not check_count("first", first, 0) <= check_count("stop", stop, 0) <= self.shape[0]:
            wanted = f"give 0 <= first <= stop <= {self.shape[0]}"
            raise InputError(f"first is {first} and stop is {stop}; {wanted}.")
        return self._predict_box([slice(first, stop), *[slice(None)] * (len(self.shape) - 1)], method)

    def predict_slice(self, mode: str | int, index: Any, method: str = "predictive") -> Floats:
        """Return P(x = 1) of all cells with one index in one mode, without computing any others.

        Parameters
        ----------
        mode : str or int
            Name or number of the mode.
        index : int or label
            The index, by number or label.
        method : "predictive", "mean", "map" or "best"
            As for ``TensOrMachine.predict``.

        Returns
        -------
        ndarray with the other K - 1 modes
        """
        k = check_mode(mode, self.modes)
        n = check_index(index, self.modes[k], self.shape[k], self.labels[k])
        where = [slice(n, n + 1) if other == k else slice(None) for other in range(len(self.shape))]
        return self._predict_box(where, method).squeeze(axis=k)

    def predict_cells(self, indices: Sequence[Indices], method: str = "predictive") -> Floats:
        """Return P(x = 1) of some cells, given as K index arrays of one length."""
        indices = check_parts(indices, self.shape)
        if len({len(index) for index in indices}) > 1:
            raise InputError(f"indices have lengths {[*map(len, indices)]}; make them equally long.")
        if check_choice("method", method, PREDICTION_METHODS) == "mean":
            return self._unite(lambda means: unite_cells(means, indices))
        if method == "predictive" and self._few_cells is not None:
            return self._few_cells[tuple(indices)]
        total = np.zeros(len(indices[0]))
        for factors, noise, weight in self._weighted(method):
            total += weight * noise.predict(factors, indices)
        return np.minimum(total, 1.0, out=total)  # weights add up to 1 but for rounding

    def _unite(self, unite: Callable[[Sequence[Floats]], Floats]) -> Floats:
        return np.sum([w * self.parameters.rebuild(means, unite) for w, means in self.explained_by], axis=0)

    def predict_part(self, indices: Sequence[Indices]) -> Floats:
        """Return P(x = 1) of all cells with these indices along each mode."""
        if self._few_cells is not None:
            return self._few_cells[np.ix_(*check_parts(indices, self.shape))]
        if self.compared is None:
            return self.take(indices).predict_all()
        some, inner = list(indices), [np.arange(len(index)) for index in indices]
        both = np.union1d(*(some[k] for k in self.compared))
        for k in self.compared:
            some[k], inner[k] = both, np.searchsorted(both, indices[k])
        return self.take(some).predict_all()[np.ix_(*inner)]

    def predict_all(self, method: str = "predictive") -> Floats:
        """Return P(x = 1) of every cell at once."""
        cells = self._room_for_all(np.float64)
        for where, block in self.blocks(method, PREDICTED_CELLS):
            cells[where] = block
        return cells

    def decide_all(self, method: str = "predictive") -> npt.NDArray[np.int8]:
        """Return the more probable value of every cell, a byte each."""
        cells = self._room_for_all(np.int8)
        for where, block in self.blocks(method, PREDICTED_CELLS):
            np.greater(block, 0.5, out=cells[where].view(np.bool_))
        return cells

    def _room_for_all(self, dtype: type[Any]) -> Any:
        N, size = math.prod(self.shape), np.dtype(dtype).itemsize
        check_fits(f"All {N:,} cells take", size * N, "give indices, or iterate over posterior_.blocks()")
        return np.empty(self.shape, dtype)

    def blocks(self, method: str = "predictive", max_cells: int = 2**22) -> Iterator[tuple[slice, Floats]]:
        """Yield (indices along mode 0, P(x = 1)) block by block; all cells are never in memory at once."""
        step = max(1, check_count("max_cells", max_cells, 1) // math.prod(self.shape[1:]))
        for first in range(0, self.shape[0], step):
            stop = min(first + step, self.shape[0])
            yield slice(first, stop), self.predict_block(first, stop, method)

    def cell_summary(self, indices: npt.ArrayLike, threshold: float = 0.5) -> CellSummary:
        """Return mean and spread of P(x = 1 | draw) over the draws, for some cells.

        Parameters
        ----------
        indices : array of int (n, K)
            Cells, one row each.
        threshold : float
            The probability that ``CellSummary.above`` refers to.

        Returns
        -------
        CellSummary
            Arrays (n,).
        """
        cells = check_indices(indices, self.shape, self.modes)
        return summarise_cells(self.counted, cells, check_number("threshold", threshold))


def _predict_every(posterior: CellPredictions) -> Floats:
    """Return P(x = 1) of all cells."""
    where = [slice(None)] * len(posterior.shape)
    return average_box(posterior._weighted("predictive"), where, posterior.shape)
