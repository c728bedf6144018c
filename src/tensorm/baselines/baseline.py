"""What the baselines share: reading X, predictions and a score."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tensorm.data.arrays import Bits
from tensorm.data.checks import check_indices
from tensorm.errors import InputError
from tensorm.estimator.plan import check_observed
from tensorm.model import boolean_product
from tensorm.tensors import Tensor, read
from tensorm.tensors.factors import Factors


class Baseline(BaseEstimator):
    """An estimator with one binary factor (N_k, L) per mode; it predicts their Boolean product."""

    factors_: list[Bits]

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
            return boolean_product(self.factors_).astype(np.int8)
        index = check_indices(indices, self._shape)
        rows = [factor[n] for factor, n in zip(self.factors_, index, strict=True)]
        return np.asarray(np.logical_and.reduce(rows).any(axis=1)).astype(np.int8)

    def score(self, X: Any, y: None = None) -> float:
        """Return the accuracy of ``predict`` on the observed cells of X, a tensor of the fitted shape."""
        check_is_fitted(self)
        tensor = read_tensor(X)
        if tensor.shape != self._shape:
            raise InputError(f"X has shape {tensor.shape}; give {self._shape}, as in fit.")
        return tensor.confusion(Factors.from_bits(self.factors_)).correct / tensor.n_observed

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(factor) for factor in self.factors_)


def read_tensor(X: Any) -> Tensor:
    """Return X as a tensor, or raise if none of its cells is observed."""
    tensor = read(X)
    check_observed(tensor)
    return tensor
