"""What a fitted model says about cells and slices: predictions, scores, memberships of new slices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tensorm.data.arrays import Floats
from tensorm.data.checks import check_choice, find_order
from tensorm.errors import InputError
from tensorm.estimator.plan import check_observed, make_tensor
from tensorm.posterior.cells import PREDICTION_METHODS
from tensorm.posterior.draws import Posterior
from tensorm.posterior.lookup import find_cells
from tensorm.posterior.scores import ScoredCells, score_tensor
from tensorm.posterior.top_cells import TopCells, top_cells
from tensorm.posterior.transform import predict_slices, share_shown, transform_slices
from tensorm.sampler.sweep import Target
from tensorm.tensors import Tensor, read
from tensorm.tensors.holdout import check_symmetric
from tensorm.tensors.threads import count_threads

SHARE_TO_PREDICT = 0.5  # share of the cells of new slices that are predicted from the others


class Predictor(TransformerMixin, BaseEstimator):
    """What an estimator with ``posterior_`` and ``_target`` says about cells and slices.

    It is a transformer because scikit-learn wraps ``transform`` only in the class that defines it.
    """

    symmetric: tuple[str | int, str | int] | None
    n_jobs: int | None
    posterior_: Posterior
    _target: Target
    _reading: tuple[type, Mapping[str, Any]] = (type(None), {})  # what ``fit`` was given, and how it was read

    def predict_proba(self, indices: Any = None) -> Floats:
        """Return the posterior predictive P(x = 1) (eq. 7), over all chains by their weights.

        Parameters
        ----------
        indices : array (n, K) or table, optional
            Cells to predict, one per row: indices, labels as texts, or a pandas, polars or pyarrow table with
            a column of labels for each mode. All cells by default; ``posterior_.blocks()``
            yields those of a large tensor in pieces, and ``posterior_.predict_slice`` predicts one slice.

        Returns
        -------
        ndarray (n,), or of the tensor's shape
        """
        return self._predict(indices, "predictive")

    def predict(self, indices: Any = None, *, method: str = "predictive") -> npt.NDArray[np.int8]:
        """Return the more probable value of each cell.

        Parameters
        ----------
        indices : array (n, K) or table, optional
            Cells to predict, as for ``predict_proba``; all cells by default.
        method : "predictive", "mean", "map" or "best"
            Predict from the posterior predictive, from the factors' posterior means as if independent, from
            the Boolean product of each factor entry's more probable value, or from the most probable draw.
            All but the last average the explanations that chains found, by their weights.

        Returns
        -------
        ndarray of int8 (n,), or of the tensor's shape
        """
        check_choice("method", method, PREDICTION_METHODS)
        if indices is None:
            return self._fitted.decide_all(method)
        return (self._predict(indices, method) > 0.5).astype(np.int8)

    def score(self, X: Any, y: None = None) -> float:
        """Return the accuracy of ``predict`` on observed cells of X.

        Parameters
        ----------
        X : array-like or tensor
            Cells of the fitted shape; or new slices along mode 0, as ``transform`` takes them, so that
            ``GridSearchCV`` works. Half of the cells of new slices are hidden, and predicted by the
            memberships that the other half suggests. X is taken as new slices if it has another number of
            them, or other labels. Labels in another order than those of the fit are matched.
        y : None
            Ignored; part of the scikit-learn interface.
        """
        posterior, tensor = self._fitted, read(self._read(X))
        if self._has_new_slices(tensor):
            mask, ones = tensor.choose_mask(SHARE_TO_PREDICT, np.random.default_rng(0))
            shown, posterior = self._prepare_slices(tensor.hide(mask))
            p = predict_slices(shown, posterior, self._target, np.nonzero(mask))
            return float(np.mean((p > 0.5) == ones[mask]))
        check_observed(posterior.check_shape(tensor))
        pairs = tensor.predict_observed(posterior.match(tensor.labels))
        return sum(int(np.count_nonzero((p > 0.5) == ones)) for ones, p in pairs) / tensor.n_observed

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
            constant predictor predicts the share of ones among the cells of the fit. For a
            ``RelationalTensor`` with more than eight million observed cells, a random sample of objects is
            scored, with about four million cells.
        """
        tensor = self._fitted.check_shape(self._read(X))
        return score_tensor(self._fitted.match(tensor.labels), tensor, mask)

    def top_cells(
        self,
        mode: str | int | None = None,
        index: Any = None,
        n: int = 10,
        known: Any = None,
        symmetric: tuple[str | int, str | int] | None = None,
    ) -> TopCells:
        """Return the most probable cells of all, or of a slice: one person's most likely new contacts.

        Only cells inside components are considered, so a slice may have any size. If a component has more
        than two million cells in the slice, only its most certain members are considered.

        Parameters
        ----------
        mode : str or int
            Name or number of the mode; without it, cells anywhere.
        index : int or label
            The index, by number or label.
        n : int, default 10
            How many cells to return; fewer if the components contain no more.
        known : array-like or tensor, optional
            Cells whose ones are left out, such as the data of the fit; with ``unlisted="missing"`` its listed
            zeros, too.
        symmetric : pair of modes, optional
            Two modes with the same indices whose pairs have no direction: each pair is listed once, and no
            index is paired with itself. By default the pair given to the model, or to ``tensorm.read`` as
            undirected.

        Returns
        -------
        TopCells
            Indices, probabilities and names; as text, a table.
        """
        posterior, given = self._fitted, self.symmetric if symmetric is None else symmetric
        pair = check_symmetric(given, posterior.modes, posterior.shape) or posterior.names.undirected
        return top_cells(posterior, mode, index, n, self._read(known), pair)

    def transform(self, X: Any, kind: str = "membership") -> Floats:
        """Return the membership of each slice of X along mode 0 in each component.

        The factors of the other modes and the noise are those of the posterior, so new slices need no new
        fit. With ``background="activity"`` the activity of each new slice is drawn with its memberships.

        Parameters
        ----------
        X : array-like or tensor
            Any size along mode 0; the fitted sizes along all others, and their labels in any order.
        kind : "membership" or "share", default "membership"
            The probability that the slice is in the component, or the share of ones among the slice's
            observed cells between the component's members along the other modes. The share ignores other
            components, and is NaN if no such cell is observed.

        Returns
        -------
        ndarray (N, L)
        """
        check_choice("kind", kind, ("membership", "share"))
        tensor, posterior = self._prepare_slices(X, stored=kind == "membership")
        if kind == "share":
            return share_shown(tensor, posterior)
        return transform_slices(tensor, posterior, self._target)

    def _prepare_slices(self, X: Any, stored: bool = True) -> tuple[Tensor, Posterior]:
        """Return new slices along mode 0, and the posterior with its other labels in their order.

        If ``stored``, the slices are in the storage that the noise model needs.
        """
        posterior = self._fitted
        if self._target.tied and self._target.tied[0] == 0:
            raise InputError("Mode 0 shares its factor with another mode; transform needs one with its own.")
        tensor, shape = make_tensor(self._read(X), self.symmetric), posterior.shape
        if len(tensor.shape) != len(shape) or tensor.shape[1:] != shape[1:]:
            wanted = f"(any, {', '.join(map(str, shape[1:]))})"
            raise InputError(f"X has shape {tensor.shape}; give {wanted}, as in fit.")
        held = self._target.noise.hold(tensor) if stored else tensor
        return held.with_threads(count_threads(self.n_jobs)), posterior.match([None, *tensor.labels[1:]])

    def _has_new_slices(self, tensor: Tensor) -> bool:
        """Whether a tensor has other slices along mode 0 than the fit: another number, or other labels."""
        shape, mine, theirs = self._fitted.shape, self._fitted.labels[0], tensor.names.labels[0]
        if tensor.shape[1:] != shape[1:] or (self._target.tied and self._target.tied[0] == 0):
            return False
        if mine is not None and theirs is not None:
            return find_order(mine, theirs) is None
        return tensor.shape[0] != shape[0]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return names for the columns of ``transform``: "component0", "component1" and so on.

        They let ``set_output(transform="pandas")`` make ``transform`` return a table, alone or in a
        scikit-learn pipeline.

        Parameters
        ----------
        input_features : None
            Ignored; part of the scikit-learn interface.
        """
        return np.array([f"component{l}" for l in range(self._fitted.n_components)], dtype=object)

    def _read(self, X: Any) -> Any:
        """Return data of the kind that ``fit`` was given as a tensor, read with the options given there."""
        kind, options = self._reading
        return read(X, **options) if options and isinstance(X, kind) else X

    def _predict(self, indices: Any, method: str) -> Floats:
        posterior = self._fitted
        if indices is None:
            return posterior.predict_all(method)
        return posterior.predict_cells(find_cells(posterior, indices), method)

    @property
    def _fitted(self) -> Posterior:
        """The posterior; raises if there is none yet."""
        check_is_fitted(self)
        return self.posterior_
