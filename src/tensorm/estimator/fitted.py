"""What a fitted model can do: predict and score cells, describe and draw the components, save and export."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tensorm.data.checks import check_choice, check_indices
from tensorm.errors import InputError
from tensorm.estimator.plan import check_observed, choose_storage, make_tensor
from tensorm.posterior.align import MEMBER
from tensorm.posterior.contributions import Contribution
from tensorm.posterior.datatree import to_datatree
from tensorm.posterior.diagnostics import Diagnostics, diagnose
from tensorm.posterior.draws import METHODS, Posterior
from tensorm.posterior.modes import Groups
from tensorm.posterior.scores import ScoredCells, predict_observed, score_tensor
from tensorm.posterior.top_cells import TopCells, top_cells
from tensorm.posterior.transform import share_shown, transform_slices
from tensorm.report.describe import Sentences, describe
from tensorm.report.export import list_activities, list_members, list_strengths, to_tensorly, write_gmt
from tensorm.report.page import write_report
from tensorm.report.plots import PLOTS
from tensorm.sampler.sweep import Target
from tensorm.storage.fit import Fit, write_fit
from tensorm.tensors.holdout import check_symmetric
from tensorm.tensors.threads import count_threads

if TYPE_CHECKING:
    import pandas as pd
    import xarray

Floats = npt.NDArray[np.float64]


class FittedModel(TransformerMixin, BaseEstimator):
    """Methods of an estimator with ``posterior_``, ``_target`` and parameters.

    It is a transformer because scikit-learn wraps ``transform`` only in the class that defines it.
    """

    symmetric: tuple[str | int, str | int] | None
    n_jobs: int | None
    posterior_: Posterior
    noise_choice_: str
    _target: Target

    def predict_proba(self, indices: npt.ArrayLike | None = None) -> Floats:
        """Return the posterior predictive P(x = 1) (eq. 7), over all chains by their weights.

        Parameters
        ----------
        indices : array of int (n, K), optional
            Cells to predict, one per row; all cells by default. For a large tensor, ``posterior_.blocks()``
            yields all cells in pieces and ``posterior_.predict_slice`` predicts one slice.

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
            Cells to predict, one per row; all cells by default.
        method : "predictive", "mean", "map" or "best"
            Predict from the posterior predictive, from the factors' posterior means as if independent, from
            the Boolean product of each factor entry's more probable value, or from the most probable draw.
            All but the last average the explanations that chains found, by their weights.

        Returns
        -------
        ndarray of int8 (n,), or of the tensor's shape
        """
        check_choice("method", method, METHODS)
        return (self._predict(indices, method) > 0.5).astype(np.int8)

    def score(self, X: Any, y: None = None) -> float:
        """Return the accuracy of ``predict`` on the observed cells of X, a tensor of the fitted shape."""
        tensor = self._fitted.check_tensor(X)
        check_observed(tensor)
        pairs = predict_observed(self._fitted, tensor)
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
        return score_tensor(self._fitted, self._fitted.check_tensor(X), mask)

    def top_cells(
        self,
        mode: str | int,
        index: Any,
        n: int = 10,
        known: Any = None,
        symmetric: tuple[str | int, str | int] | None = None,
    ) -> TopCells:
        """Return the most probable cells of a slice, such as one person's most likely new contacts.

        Only cells inside components are considered, so a slice may have any size. Of a component with more
        than two million cells in the slice, only the surest members are considered.

        Parameters
        ----------
        mode : str or int
            Name or number of the mode.
        index : int or label
            The index, by number or label.
        n : int, default 10
            How many cells to return; fewer if the components contain no more.
        known : array-like or tensor, optional
            Cells whose ones are left out, such as the data of the fit; with ``unlisted="missing"`` its listed
            zeros, too.
        symmetric : pair of modes, optional
            Two modes with the same indices, in pairs without direction: each pair is listed once, and no
            index with itself. By default the pair given to the model.

        Returns
        -------
        TopCells
            Indices, probabilities and names; as text, a table.
        """
        posterior, given = self._fitted, self.symmetric if symmetric is None else symmetric
        pair = check_symmetric(given, posterior.modes, posterior.shape)
        return top_cells(posterior, mode, index, n, known, pair)

    def transform(self, X: Any, kind: str = "membership") -> Floats:
        """Return the membership of each slice of X along mode 0 in each component.

        The factors of the other modes and the noise are those of the posterior, so new slices need no new
        fit. With ``background="activity"`` the activity of each new slice is drawn with its memberships.

        Parameters
        ----------
        X : array-like or tensor
            Any size along mode 0; the fitted sizes along all others.
        kind : "membership" or "strength", default "membership"
            The probability that the slice is in the component, or the share of ones among the slice's
            observed cells between the component's members along the other modes. The share ignores other
            components, and is NaN if no such cell is observed.

        Returns
        -------
        ndarray (N, L)
        """
        posterior = self._fitted
        check_choice("kind", kind, ("membership", "strength"))
        if self._target.tied and self._target.tied[0] == 0:
            raise InputError("Mode 0 shares its factor with another mode; transform needs one with its own.")
        tensor, shape = make_tensor(X, self.symmetric), posterior.shape
        if len(tensor.shape) != len(shape) or tensor.shape[1:] != shape[1:]:
            wanted = f"(any, {', '.join(map(str, shape[1:]))})"
            raise InputError(f"X has shape {tensor.shape}; give {wanted}, as in fit.")
        noise = self._target.noise
        if kind == "membership" and (noise.strong or noise.compares):
            tensor = choose_storage(tensor, noise)
        threaded = tensor.with_threads(count_threads(self.n_jobs))
        if kind == "strength":
            return share_shown(threaded, posterior)
        return transform_slices(threaded, posterior, self._target)

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

    @property
    def contributions_(self) -> tuple[Contribution, ...]:
        """What each component contributes to the most probable draw, strongest first."""
        return self._fitted.contributions

    @property
    def strengths_(self) -> pd.DataFrame:
        """How strong each component is: the probability that it makes a cell 1 (``noise="strengths"``)."""
        return list_strengths(self._fitted)

    @property
    def activity_(self) -> pd.DataFrame:
        """How active each index is without any component (``background="activity"``)."""
        return list_activities(self._fitted)

    @property
    def diagnostics_(self) -> Diagnostics:
        """How the chains compare and how well they have mixed, with a conclusion; computed on each access."""
        return diagnose(self._fitted)

    def summary(self) -> None:
        """Print how the chains compare, how well they have mixed, and what to conclude."""
        print("\n".join([str(self.diagnostics_), *self._noise_choice()]))

    def _noise_choice(self) -> list[str]:
        """Return the sentence on the noise model, if the cells chose it in this fit."""
        return [self.noise_choice_] if hasattr(self, "noise_choice_") else []

    def describe(self, groups: Groups | None = None, most: int | None = None) -> Sentences:
        """Describe what was found in sentences.

        Parameters
        ----------
        groups : mapping, optional
            For some modes, by name or number, an array with the group of each index (such as a person's
            role): members are then counted by group instead of named.
        most : int, optional
            Describe at most this many components: the strongest of those that more than half of the chains
            found.

        Returns
        -------
        list of str
            One text per component, strongest first, then one each about components not described, found by
            too few chains, and empty, those about what some chains see differently, and one about the noise;
            with ``noise="auto"`` also why it was chosen. Prints as one text.
        """
        return Sentences([*describe(self._fitted, groups, most), *self._noise_choice()])

    def members(self, threshold: float = MEMBER) -> pd.DataFrame:
        """Return a table with a row for each member of each component in each mode.

        Parameters
        ----------
        threshold : float, default 0.5
            Members are in the component with more than this probability.

        Returns
        -------
        pandas.DataFrame
            Columns mode, label (a number for modes without labels), component, probability, and sure: whether
            the probability is above 0.9. Sorted by component, mode and probability.
        """
        return list_members(self._fitted, threshold)

    def plot(self, kind: str = "factors", **options: Any) -> Any:
        """Draw the fit with matplotlib.

        Parameters
        ----------
        kind : str, default "factors"
            "factors": the memberships of all modes; "factor": of one mode; "component": the members of one
            component; "members": the same in one mode; "contributions": what each component explains;
            "slice": predicted or observed cells; "reconstruction": both; "associations": components and
            metadata; "strengths" and "activity": how strong components are, and how active each index is
            without any, with ``noise="strengths"``.
        **options
            Passed to the function of ``tensorm.report.plots`` with that name, such as ``groups``.

        Returns
        -------
        matplotlib Axes or Figure
        """
        return PLOTS[check_choice("kind", kind, tuple(PLOTS))](self._fitted, **options)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        metadata: Mapping[Any, Any] | None = None,
        selection: Any = None,
        title: str | None = None,
        command: str | None = None,
    ) -> None:
        """Write the fit as a single HTML page, to open in a browser, mail or print; it loads nothing else.

        The page describes what was found and shows the members of each component with their probabilities,
        the data next to the reconstruction, whether the chains agree, how the number of components was
        chosen, and how to repeat the fit.

        Parameters
        ----------
        path : path
            The file to write; an older one is replaced in a single step.
        X : array-like or tensor, optional
            The data of the fit, which the model does not keep; without them the page shows predictions only.
        metadata : mapping, optional
            For some modes, by name or number, a table with a row for each label, such as the role of a
            person, or an array with a value for each index. Rows of the page can be ordered and filtered by
            it, and components are tested for associations with it.
        selection : Selection, optional
            How the number of components was chosen; by default the model's ``selection_``, if any.
        title : str, optional
            The heading; by default the names of the modes.
        command : str, optional
            The shell commands that made the fit, shown next to the Python code.

        Raises
        ------
        InputError
            If X has another shape, or a table has unknown labels.
        FileError
            If the file cannot be written.
        """
        parameters = inspect.signature(type(self)).parameters
        write_report(
            self._fitted,
            path,
            X=X,
            metadata=metadata,
            selection=getattr(self, "selection_", None) if selection is None else selection,
            title=title,
            command=command,
            settings={name: getattr(self, name) for name in parameters},
            defaults={name: parameter.default for name, parameter in parameters.items()},
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit to a file, for ``tensorm.load``.

        The file contains the settings, labels, seed and all draws, but not the data. It replaces an older one
        in a single step: if anything goes wrong, one of the two is intact. A random generator given as
        ``random_state`` is not saved, only the seed drawn from it.

        Parameters
        ----------
        path : path
            By convention it ends in .tensorm; for netCDF see ``to_datatree``.

        Raises
        ------
        FileError
            If the file cannot be written, or its name ends in .nc, which would promise another format.
        """
        posterior = self._fitted  # first, so that a model without a fit says so
        write_fit(path, Fit(self.get_params(deep=False), self._target, posterior))

    def to_datatree(
        self, X: Any = None, *, log_likelihood: bool = False, all_chains: bool = True
    ) -> xarray.DataTree:
        """Return the draws as a tree of groups for ArviZ, for example for ``arviz_plots.plot_trace``.

        ``posterior`` has ``factor_<mode>`` for each mode (chain, draw, the mode, component), ``hit``,
        ``false_alarm`` and, if learned, ``density``; ``sample_stats`` has ``lp``, ``log_likelihood`` and
        ``accuracy``; ``constant_data`` has the settings and facts about the chains, such as the ``weight`` of
        each in predictions and the number of its ``explanation``. A mode whose name is
        taken, such as "draw" or "cell", gets its number appended. Chains are cut to the length of the
        shortest.

        Parameters
        ----------
        X : array-like or tensor, optional
            The data of the fit, which the model does not keep: they become ``observed_data``.
        log_likelihood : bool, default False
            Whether to add a group with the log-likelihood of each observed cell of X in each draw, as
            ``arviz_stats.loo`` needs it: 8 bytes per cell and draw.
        all_chains : bool, default True
            Whether to include chains that did not find the explanation with most weight.

        Returns
        -------
        xarray.DataTree
        """
        tensor = None if X is None else self._fitted.check_tensor(X)
        settings = self.get_params(deep=False)
        return to_datatree(self._fitted, settings, tensor, log_likelihood, all_chains)

    def to_tensorly(self, *, rounded: bool = False) -> Any:
        """Return the factors as a tensorly ``CPTensor`` with weights of 1.

        tensorly adds components up where a Boolean product takes their union, so a cell in two of them is 2
        in ``tensorly.cp_to_tensor``.

        Parameters
        ----------
        rounded : bool, default False
            Whether to round probabilities to 0 and 1.
        """
        return to_tensorly(self._fitted, rounded)

    def write_gmt(self, path: str | os.PathLike[str], mode: str | int, threshold: float = MEMBER) -> None:
        """Write the members of each component in one mode as gene sets, in a GMT file.

        Each line has a name, a description and the members, separated by tabs. Components without members
        are left out.

        Parameters
        ----------
        path : path
            An older file is replaced.
        mode : str or int
            Name or number of the mode.
        threshold : float, default 0.5
            Members are in the component with more than this probability.
        """
        write_gmt(self._fitted, path, mode, threshold)

    def _predict(self, indices: npt.ArrayLike | None, method: str) -> Floats:
        posterior = self._fitted
        if indices is None:
            return posterior.predict_all(method)
        return posterior.predict_cells(check_indices(indices, posterior.shape), method)

    @property
    def _fitted(self) -> Posterior:
        """The posterior; raises if there is none yet."""
        check_is_fitted(self)
        return self.posterior_
