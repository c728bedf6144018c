"""TensOrMachine: the estimator. Validates, delegates, and sets the fitted attributes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tensorm.checks import check_choice, check_indices
from tensorm.choice import Selection, Team, choose_by_posterior
from tensorm.choice.chains import N_CHAINS
from tensorm.contributions import Contribution
from tensorm.errors import FileError, InputError
from tensorm.files import FIT, Run, check_folder, open_run, read_fit, start_run
from tensorm.holdout import check_symmetric
from tensorm.links import TopCells, top_cells
from tensorm.netcdf import quote
from tensorm.outputs import Outputs
from tensorm.placing import place_slices, share_shown
from tensorm.planning import check_observed, is_auto, make_plan
from tensorm.posterior import METHODS, Posterior, check_room
from tensorm.progress import Forecast, announcing_compilation, say, watching
from tensorm.sampler.burnin import WINDOW
from tensorm.sampler.chains import Plan, run_chains, warm_up
from tensorm.sampler.checkpoint import Checkpoints
from tensorm.sampler.state import Trace
from tensorm.sampler.sweep import Model
from tensorm.scores import ScoredCells, predict_observed, score_tensor
from tensorm.tensors import (
    MirroredTensor,
    SparseTensor,
    Tensor,
    as_tensor,
    pick_storage,
)
from tensorm.tensors.kept import memory_to_keep
from tensorm.tensors.sharded import ShardedTensor
from tensorm.tensors.threads import count_threads
from tensorm.verdict import Diagnostics, diagnose

Floats = npt.NDArray[np.float64]
MOST_JOBS = 4096  # in a file


class TensOrMachine(Outputs, TransformerMixin, BaseEstimator):
    """Bayesian Boolean tensor decomposition: the posterior of binary factors, given yes/no cells.

    A cell is likely 1 if some component holds its index in every mode, and likely 0 otherwise. Works on
    tensors of any number of modes K >= 2, with missing cells.

    Parameters
    ----------
    n_components : int or "auto", default 5
        Number of components L. "auto" takes the most probable one, as ``select_components`` does by default.
    n_chains : int, default 4
        Independent chains; their components are matched afterwards.
    n_draws : int, default 250
        Draws kept from each chain.
    burn_in : "auto" or int, default "auto"
        Sweeps before the first draw. "auto" goes on until the log-likelihood stops rising: the mean of the
        last 25 sweeps exceeds that of the 25 before by no more than half their standard deviation; and until
        chains that start from the data are mended no more. It gives up after 2,000 sweeps.
    init : "data", "random" or list of arrays (N_k, L), default "data"
        Where chains start: from components found in the data, from coins, or from given factors. Coins are
        fair unless fewer than one cell in a hundred is 1: then they have the density with which the product
        has as many ones as X. Chains that start from the data are also mended every five sweeps: components
        that do not pay, and one or two others, are looked for again. That keeps no detailed balance, so it
        ends with burn-in; the draws are of the exact sampler. Chains from other starts are not mended.
    noise : "asymmetric" or "symmetric", default "asymmetric"
        Two rates of ones, inside and outside the components, or the paper's one rate of errors.
    noise_update : "sample" or "map", default "sample"
        Draw the rates from their conditional, or plug in its mean as the paper does (faster to settle, but
        the draws are then not from the posterior).
    factor_prior : "learned", float or list of arrays (N_k, L), default "learned"
        Probability that an entry is 1: a density learned for each mode, one number, or one for each entry,
        where 0 and 1 fix the entry.
    noise_prior : (float, float), default (1.0, 1.0)
        The two numbers of the Beta prior of each rate.
    flips : "metropolis" or "gibbs", default "metropolis"
        How an entry is drawn: both are exact, Metropolised flips move more.
    order : "random" or "fixed", default "random"
        The order in which components take their turn in a sweep.
    symmetric : pair of modes or None, default None
        Two modes that stand for the same things, such as people who meet people, by name or number. They
        then share one factor, and a cell and its mirror image count as one observation. X must be the same
        when the two are exchanged, with the cells on the diagonal missing.
    n_jobs : int or None, default None
        Threads; None for one per available processor core. The draws do not depend on it.
    random_state : int, RandomState or None, default None
        Seed. The same seed gives the same draws.
    progress : bool, default True
        Show a bar per chain if the output is a terminal.

    Attributes
    ----------
    factors_ : list of K ndarrays (N_k, L)
        Posterior means, strongest component first.
    noise_ : dict
        Posterior means: "hit", the rate of ones where the product is 1; "false_alarm", where it is 0;
        "explained", the share of the observed cells that equal the product.
    posterior_ : Posterior
        The draws and what follows from them.
    contributions_ : tuple of Contribution
        What each component explains, explains alone, gets wrong, and what its removal would cost.
    diagnostics_ : Diagnostics
        How the chains compare, R-hat, effective sample sizes, and a verdict.
    modes_, labels_ : tuple
        Names of the modes, and of their indices where the input had any.
    n_components_ : int
        Number of components L.
    selection_ : Selection
        With ``n_components="auto"``: how their number was chosen. Not kept in a file.
    storage_ : str
        "dense" or "sparse": how cells were held while sampling, whichever is faster. The draws are the same.
        Not kept in a file.
    n_features_in_ : int
        Size of mode 1.

    Examples
    --------
    >>> from tensorm import TensOrMachine, datasets
    >>> sim = datasets.simulate(shape=(20, 20, 20), rank=3, density=0.2, noise=0.1, random_state=0)
    >>> model = TensOrMachine(n_components=3, random_state=0, progress=False).fit(sim.observed)
    >>> bool((model.predict() == sim.noise_free).mean() > 0.99)
    True
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] = 5,
        *,
        n_chains: int = 4,
        n_draws: int = 250,
        burn_in: int | Literal["auto"] = "auto",
        init: Any = "data",
        noise: str = "asymmetric",
        noise_update: str = "sample",
        factor_prior: Any = "learned",
        noise_prior: tuple[float, float] = (1.0, 1.0),
        flips: str = "metropolis",
        order: str = "random",
        symmetric: tuple[str | int, str | int] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool = True,
    ) -> None:
        self.n_components = n_components
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.burn_in = burn_in
        self.init = init
        self.noise = noise
        self.noise_update = noise_update
        self.factor_prior = factor_prior
        self.noise_prior = noise_prior
        self.flips = flips
        self.order = order
        self.symmetric = symmetric
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: None = None, *, run_dir: str | os.PathLike[str] | None = None) -> Self:
        """Sample the posterior of the factors given X.

        Parameters
        ----------
        X : array-like or tensor
            Cells of 0, 1 and missing (NaN, masked) with K >= 2 modes; an ``xarray.DataArray`` keeps its
            names and labels. A scipy.sparse matrix, a ``sparse.COO`` or a ``SparseTensor`` may be as large as
            memory holds its listed cells.
        y : None
            Ignored; part of the scikit-learn interface.
        run_dir : path, optional
            A folder for checkpoints, written every few seconds. ``tensorm.resume`` goes on from them after
            Ctrl-C or a power cut, and ends with the same draws as a run that was never stopped. In the end
            the fit is saved there, too, as fit.nc.

        Returns
        -------
        self
        """
        tensor = self._tensor(X)
        plan = make_plan(self, tensor)
        tensor = self._pick(tensor)
        self.__dict__.pop("selection_", None)
        if run_dir is not None:
            check_folder(run_dir)
        if is_auto(self):
            plan = self._choose(tensor, plan)
        if run_dir is None:
            return self._sample(tensor, plan)
        folder = start_run(run_dir, Run(self.get_params(deep=False), plan.model, tensor))
        if is_auto(self):
            self.selection_.write(folder)
        return self._sample(tensor, plan, folder)

    def _pick(self, given: Tensor) -> Tensor:
        """Return the cells in the storage in which sweeps are faster; say which unless it goes without."""
        tensor = pick_storage(given) if is_auto(self) else pick_storage(given, int(self.n_components))
        if isinstance(given, SparseTensor) or isinstance(tensor, SparseTensor):
            ones = f"{tensor.n_ones:,} ones among {tensor.n_observed:,} observed cells"
            say(f"Cells are held {_storage(tensor)}: {ones}.", self.progress)
        return tensor

    def _choose(self, tensor: Tensor, plan: Plan) -> Plan:
        """Return the plan with the most probable number of components."""
        with announcing_compilation(self.progress):
            warm_up(tensor, plan.model)
        team = Team(N_CHAINS, self._threads(), self.progress)
        self.selection_ = choose_by_posterior(tensor, plan.model, team)
        check_room(tensor.shape, self.selection_.best, self.n_chains, self.n_draws)
        return replace(plan, model=replace(plan.model, n_components=self.selection_.best))

    def _sample(self, tensor: Tensor, plan: Plan, folder: Path | None = None) -> Self:
        """Run the chains, from their last checkpoints if there are any, and keep what they found."""
        threads = self._threads()
        checkpoints = None if folder is None else Checkpoints(folder, plan.model.seed)
        with announcing_compilation(self.progress):
            warm_up(tensor, plan.model)
        with watching(self.n_chains, self.progress, self._forecast(tensor, plan, threads)) as watch:
            traces, interrupted = run_chains(tensor, plan, self.n_chains, threads, watch, checkpoints)
        posterior = Posterior.from_traces(traces, tensor.with_threads(threads))
        self._keep(posterior, plan.model)
        self.storage_ = _storage(tensor)
        if folder is not None and not interrupted:
            self.save(folder / FIT)
        _warn(traces, self.n_chains, interrupted)
        return self

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
        if self._model.tied and self._model.tied[0] == 0:
            raise InputError("Mode 0 shares its factor with another, so new slices cannot be placed alone.")
        tensor = self._tensor(X)
        self._check_shape(tensor, first=1)
        threaded = tensor.with_threads(self._threads())
        if kind == "strength":
            return share_shown(threaded, self.posterior_)
        return place_slices(threaded, self.posterior_, self._model)

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
        return np.array([f"component{l}" for l in range(self.n_components_)], dtype=object)

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

    def _keep(self, posterior: Posterior, model: Model) -> None:
        """Set the fitted attributes."""
        self.factors_, self.noise_, self.posterior_ = posterior.factors, posterior.noise, posterior
        self.modes_, self.labels_ = posterior.modes, posterior.labels
        self.n_components_ = posterior.n_components
        self.n_features_in_ = posterior.shape[1]
        self._model = model

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

    def _forecast(self, tensor: Tensor, plan: Plan, threads: int) -> Forecast:
        """Return what can be known of a run beforehand."""
        sweeps = plan.n_draws + (2 * WINDOW if plan.burn_in is None else plan.burn_in)
        draws = self.n_chains * plan.n_draws * sum(tensor.shape) * plan.model.n_components / 8
        at_once = min(self.n_chains, threads)
        peak = tensor.nbytes + draws + at_once * memory_to_keep(tensor, plan.model.n_components)
        return Forecast(sweeps, at_once, self.n_chains, peak / 2**20)

    def _threads(self) -> int:
        return count_threads(self.n_jobs)

    def _tensor(self, X: Any) -> Tensor:
        """Return the cells as a tensor, mirrored if two modes share a factor."""
        tensor = as_tensor(X)
        pair = check_symmetric(self.symmetric, tensor.modes, tensor.shape)
        if pair is not None and isinstance(tensor, ShardedTensor):
            raise InputError(
                "symmetric is given, but modes on a cluster cannot share a factor; leave it out."
            )
        return tensor if pair is None else MirroredTensor(tensor, pair)


def load(path: str | os.PathLike[str]) -> TensOrMachine:
    """Read a fit written by ``TensOrMachine.save``; it predicts what it did before, to the bit.

    Nothing in the file is run, and nothing outside of it is touched.

    Parameters
    ----------
    path : path

    Returns
    -------
    TensOrMachine
        Fitted.

    Raises
    ------
    FileError
        When the file is damaged, newer than this version of the package, or no such file.
    """
    fit = read_fit(path, TensOrMachine._get_param_names())
    model = TensOrMachine(**fit.settings)
    if isinstance(model.n_jobs, int) and model.n_jobs > MOST_JOBS:  # the one setting that acts without a fit
        raise FileError(f"{path} cannot be read: n_jobs is {quote(model.n_jobs)}, more than {MOST_JOBS}.")
    model._keep(fit.posterior, fit.model)
    return model


def resume(run_dir: str | os.PathLike[str], X: Any = None, *, progress: bool = True) -> TensOrMachine:
    """Go on with a run that was stopped, from the checkpoints that ``fit(..., run_dir=...)`` wrote.

    Parameters
    ----------
    run_dir : path
        The folder given to ``fit``.
    X : tensor, optional
        The cells of the run, where the folder does not hold them because they are on a Dask cluster.
    progress : bool
        Show a bar per chain if the output is a terminal.

    Returns
    -------
    TensOrMachine
        Fitted, with the same draws as a run that was never stopped.

    Raises
    ------
    FileError
        When there is no run in the folder, or its files are damaged.
    InputError
        When X has other cells than the run began with.
    """
    folder = Path(run_dir)
    selection = Selection.read(folder)
    if (folder / FIT).exists():
        model = load(folder / FIT)
    else:
        run = open_run(folder, TensOrMachine._get_param_names(), None if X is None else as_tensor(X))
        model = TensOrMachine(**run.settings).set_params(progress=progress)
        tensor = model._tensor(run.tensor)
        model._sample(tensor, replace(make_plan(model, tensor), model=run.model), folder)
    if selection is not None:
        model.selection_ = selection
    return model


def _storage(tensor: Tensor) -> str:
    return "sparse" if isinstance(tensor, SparseTensor) else "dense"


def _warn(traces: Sequence[Trace], n_chains: int, interrupted: bool) -> None:
    """Say so if the fit rests on less than was asked for."""
    unsettled = [trace for trace in traces if not trace.settled]
    if interrupted:
        made = f"{sum(map(len, traces))} draws from {len(traces)} of {n_chains} chains"
        unsure = ", made before burn-in was over" if unsettled else ""
        warnings.warn(f"Stopped by Ctrl-C: this fit rests on {made}{unsure}.", RuntimeWarning, stacklevel=4)
    elif unsettled:
        warnings.warn(
            f"The log-likelihood of {len(unsettled)} of {n_chains} chains was still rising after "
            f"{unsettled[0].burn_in} sweeps of burn-in; give burn_in a larger number.",
            ConvergenceWarning,
            stacklevel=4,
        )
