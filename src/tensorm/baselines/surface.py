"""What all rivals share: cells in, predictions and a score out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tensorm.data.checks import check_indices
from tensorm.errors import InputError
from tensorm.estimator.plan import check_observed
from tensorm.model import Bits, boolean_product
from tensorm.tensors import Tensor, as_tensor


class Rival(BaseEstimator, ABC):
    """An estimator with one array (N_k, L) per mode in ``factors_``."""

    factors_: list[npt.NDArray[Any]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        return tags

    def predict(self, indices: npt.ArrayLike | None = None) -> npt.NDArray[np.int8]:
        """Return the value of each cell in the reconstruction.

        Parameters
        ----------
        indices : array of int (n, K), optional
            Cells to predict, one row each; all cells by default.

        Returns
        -------
        ndarray of int8 (n,), or of the tensor's shape
        """
        check_is_fitted(self)
        if indices is None:
            return self._box(slice(None)).astype(np.int8)
        index = check_indices(indices, self._shape)
        rows = [factor[n] for factor, n in zip(self.factors_, index, strict=True)]
        return self._cells(rows).astype(np.int8)

    def score(self, X: Any, y: None = None) -> float:
        """Return the accuracy of ``predict`` on the observed cells of X, a tensor of the fitted shape."""
        check_is_fitted(self)
        tensor = as_tensor(X)
        if tensor.shape != self._shape:
            raise InputError(f"X has shape {tensor.shape}; give {self._shape}, as in fit.")
        check_observed(tensor)
        right = 0
        for where, ones, observed in tensor.blocks():
            right += int(np.count_nonzero((self._box(where) == ones) & observed))
        return right / tensor.n_observed

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(factor) for factor in self.factors_)

    @abstractmethod
    def _box(self, where: slice) -> Bits:
        """Return the reconstruction of some slices of mode 0."""

    @abstractmethod
    def _cells(self, rows: Sequence[npt.NDArray[Any]]) -> Bits:
        """Return the reconstruction of n cells from K arrays (n, L): the rows of the factors that meet."""


class BooleanRival(Rival):
    """A rival whose factors are binary, and whose reconstruction is their Boolean product."""

    def _box(self, where: slice) -> Bits:
        return boolean_product([self.factors_[0][where], *self.factors_[1:]])

    def _cells(self, rows: Sequence[npt.NDArray[Any]]) -> Bits:
        return np.asarray(np.logical_and.reduce(rows).any(axis=1))


def take_in(X: Any) -> Tensor:
    """Return a tensor with an observed cell, or raise."""
    tensor = as_tensor(X)
    check_observed(tensor)
    return tensor


def read_ones(tensor: Tensor) -> Bits:
    """Return the cells as one array, missing ones as 0."""
    return np.concatenate([ones for _, ones, _ in tensor.blocks()])
