"""What a fitted estimator says of cells and slices: predictions, scores, the likeliest links, memberships."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tensorm.data.checks import check_choice, check_indices
from tensorm.errors import InputError
from tensorm.estimator.plan import check_observed, make_tensor
from tensorm.posterior.contributions import Contribution
from tensorm.posterior.diagnostics import Diagnostics, diagnose
from tensorm.posterior.draws import METHODS, Posterior
from tensorm.posterior.scores import ScoredCells, predict_observed, score_tensor
from tensorm.posterior.top_cells import TopCells, top_cells
from tensorm.posterior.transform import share_shown, transform_slices
from tensorm.sampler.sweep import Target
from tensorm.tensors import Tensor, as_tensor
from tensorm.tensors.holdout import check_symmetric
from tensorm.tensors.threads import count_threads

Floats = npt.NDArray[np.float64]


class Answers(TransformerMixin):
    """Methods of an estimator with ``posterior_``, ``_target`` and parameters.

    scikit-learn lets ``transform`` return tables only where it is defined in a transformer.
    """

    symmetric: tuple[str | int, str | int] | None
    n_jobs: int | None
    posterior_: Posterior
    _target: Target

    def predict_proba(self, indices: npt.ArrayLike | None = None) -> Floats:
        """Return the posterior predictive P(x = 1) (eq. 7).

        Parameters
        ----------
        indices : array of int (n, K), optional
            Cells to predict, one row each; all cells by default. ``posterior_.blocks()`` yields all cells of
            a large tensor in pieces, ``posterior_.predict_slice`` one slice.

        Returns
        -------
        ndarray (n,), or of the tensor's shape
        """
        return self._predict(indices, "predictive")

    def predict(
        self, indices: npt.ArrayLike | None = None, *, method: str = "predictive"
    ) -> npt.NDArray[np.int8]:
        """Return the more probable value of each cell.

        Parameters
        ----------
        indices : array of int (n, K), optional
            Cells to predict, one row each; all cells by default.
        method : "predictive", "mean", "map" or "best"
            From the posterior predictive, from the factors' posterior means taken as independent, from the
            Boolean product of each factor entry's more probable value, or from the most probable draw's.

        Returns
        -------
        ndarray of int8 (n,), or of the tensor's shape
        """
        check_is_fitted(self)
        check_choice("method", method, METHODS)
        return (self._predict(indices, method) > 0.5).astype(np.int8)

    def score(self, X: Any, y: None = None) -> float:
        """Return the accuracy of ``predict`` on the observed cells of X, a tensor of the fitted shape."""
        check_is_fitted(self)
        tensor = as_tensor(X)
        self._check_shape(tensor, first=0)
        check_observed(tensor)
        pairs = predict_observed(self.posterior_, tensor)
        return sum(int(np.count_nonzero((p > 0.5) == ones)) for ones, p in pairs) / tensor.n_observed

    def top_cells(
        self,
        mode: str | int,
        index: Any,
        n: int = 10,
        known: Any = None,
        symmetric: tuple[str | int, str | int] | None = None,
    ) -> TopCells:
        """Return the most probable cells of a slice, such as the likeliest new links of one thing.

        Only cells inside of components are looked at, so a slice may be of any size; in components with
        more than two million cells in the slice, their surest members.

        Parameters
        ----------
        mode : str or int
            Name or number of the mode.
        index : int or label
            Number of the index, or its label.
        n : int, default 10
            How many cells; fewer are returned if no more are inside of components.
        known : array-like or tensor, optional
            Cells whose ones are left out, such as the data of the fit; with ``unlisted="missing"`` also its
            listed zeros.
        symmetric : pair of modes, optional
            Two modes that stand for the same things, in pairs without direction: each pair is named once,
            and no thing with itself. By default those of the model.

        Returns
        -------
        TopCells
            Indices, probabilities and names; as text, a table.
        """
        check_is_fitted(self)
        posterior, given = self.posterior_, self.symmetric if symmetric is None else symmetric
        pair = check_symmetric(given, posterior.modes, posterior.shape)
        return top_cells(posterior, mode, index, n, known, pair)

    def transform(self, X: Any, kind: str = "membership") -> Floats:
        """Return how each slice of X along mode 0 stands to each component.

        The factors of the other modes and the noise are those of the posterior, so new slices can be placed
        without fitting again.

        Parameters
        ----------
        X : array-like or tensor
            Any size along mode 0; the fitted sizes along all others.
        kind : "membership" or "strength", default "membership"
            The probability that the slice is in the component, or the share of the component's relations that
            it shows: of the observed cells between the component's members along the other modes, those that
            are 1. Other components play no part in that share; it is NaN where no such cell is observed.

        Returns
        -------
        ndarray (N, L)
        """
        check_is_fitted(self)
        check_choice("kind", kind, ("membership", "strength"))
        if self._target.tied and self._target.tied[0] == 0:
            raise InputError("Mode 0 shares its factor with another, so new slices cannot be placed alone.")
        tensor = make_tensor(X, self.symmetric)
        self._check_shape(tensor, first=1)
        threaded = tensor.with_threads(count_threads(self.n_jobs))
        if kind == "strength":
            return share_shown(threaded, self.posterior_)
        return transform_slices(threaded, self.posterior_, self._target)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return names for the columns of ``transform``: "component0", "component1" and so on.

        With them ``set_output(transform="pandas")`` makes ``transform`` return a table, alone or in a
        pipeline of scikit-learn's.

        Parameters
        ----------
        input_features : None
            Ignored; part of the scikit-learn interface.
        """
        check_is_fitted(self)
        return np.array([f"component{l}" for l in range(self.posterior_.n_components)], dtype=object)

    def scores(self, X: Any, mask: npt.ArrayLike | None = None) -> ScoredCells:
        """Return how well ``predict_proba`` does on observed cells of X, next to the constant predictor.

        Parameters
        ----------
        X : array-like or tensor
            Cells of the fitted shape, with the values that were hidden from ``fit``.
        mask : array of bool of the same shape, optional
            Which cells to score, as from ``train_test_mask``; all observed ones by default.

        Returns
        -------
        ScoredCells
            Accuracy, balanced accuracy, AUC, average precision, log-loss, Brier score and calibration. The
            constant predictor knows the share of ones among the cells of the fit. Of a ``RelationalTensor``
            with more than eight million observed cells, a random sample of objects is scored, with about
            four million.
        """
        check_is_fitted(self)
        tensor = as_tensor(X)
        self._check_shape(tensor, first=0)
        return score_tensor(self.posterior_, tensor, mask)

    @property
    def contributions_(self) -> tuple[Contribution, ...]:
        """What each component adds in the most probable draw, strongest first, no cell counted twice."""
        check_is_fitted(self)
        return self.posterior_.contributions

    @property
    def diagnostics_(self) -> Diagnostics:
        """How the chains compare and how well they have mixed, with a verdict; worked out when asked for."""
        check_is_fitted(self)
        return diagnose(self.posterior_)

    def summary(self) -> None:
        """Print how the chains compare, how well they have mixed, and what to make of it."""
        print(self.diagnostics_)

    def _predict(self, indices: npt.ArrayLike | None, method: str) -> Floats:
        check_is_fitted(self)
        if indices is not None:
            return self.posterior_.predict_cells(check_indices(indices, self.posterior_.shape), method)
        return self.posterior_.predict_all(method)

    def _check_shape(self, tensor: Tensor, first: int) -> None:
        """Raise unless the modes from ``first`` on have the fitted sizes."""
        shape = self.posterior_.shape
        if len(tensor.shape) != len(shape) or tensor.shape[first:] != shape[first:]:
            wanted = str(shape) if first == 0 else f"(any, {', '.join(map(str, shape[1:]))})"
            raise InputError(f"X has shape {tensor.shape}; give {wanted}, as in fit.")
