"""TensOrMachine: the estimator. Its settings, and the story of a fit."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from tensorm.estimator.answers import Answers
from tensorm.estimator.outputs import Outputs
from tensorm.estimator.plan import is_auto, make_plan, make_tensor
from tensorm.estimator.progress import Forecast, announcing_compilation, say, watching
from tensorm.posterior.draws import Posterior, check_room
from tensorm.sampler.chains import run_chains, warm_up
from tensorm.sampler.pool import ChainPool
from tensorm.sampler.sample import Plan
from tensorm.sampler.state import Trace
from tensorm.sampler.sweep import Target
from tensorm.selection import Selection, choose_by_posterior
from tensorm.selection.by_sampling import N_CHAINS
from tensorm.storage import FIT, Run, start_run
from tensorm.storage.checkpoints import Checkpoints
from tensorm.storage.trials import Store
from tensorm.tensors import SparseTensor, Tensor, pick_storage
from tensorm.tensors.threads import count_threads

CHOICE = "choice"  # folder inside that of a run: what chains found while the number was chosen


class TensOrMachine(Answers, Outputs, BaseEstimator):
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
        repairs of chains that start from the data find nothing better. It gives up after 2,000 sweeps.
    init : "data", "random" or list of arrays (N_k, L), default "data"
        Where chains start: from components found in the data, from coins, or from given factors. Coins are
        fair unless fewer than one cell in a hundred is 1: then they have the density with which the product
        has as many ones as X. Chains that start from the data are also repaired every five sweeps: components
        that do not pay, and one or two others, are searched for again. That does not keep detailed balance,
        so it ends with burn-in, and the draws are exact. Chains from other starts are not repaired.
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
            A folder for checkpoints, written every few seconds. ``tensorm.resume`` continues from them after
            Ctrl-C or a power cut, also while the number of components is being chosen, and ends with the same
            draws as a run that was never stopped. In the end the fit is saved there, too, as fit.nc.

        Returns
        -------
        self
        """
        tensor = make_tensor(X, self.symmetric)
        plan = make_plan(self, tensor)
        tensor = self._pick(tensor)
        self.__dict__.pop("selection_", None)
        run = Run(self.get_params(deep=False), plan.target, tensor)
        return self._run(tensor, plan, None if run_dir is None else start_run(run_dir, run))

    def _pick(self, given: Tensor) -> Tensor:
        """Return the cells in the storage in which sweeps are faster; say which unless it goes without."""
        tensor = pick_storage(given) if is_auto(self) else pick_storage(given, int(self.n_components))
        if isinstance(given, SparseTensor) or isinstance(tensor, SparseTensor):
            ones = f"{tensor.n_ones:,} ones among {tensor.n_observed:,} observed cells"
            say(f"Cells are held {_storage(tensor)}: {ones}.", self.progress)
        return tensor

    def _run(self, tensor: Tensor, plan: Plan, folder: Path | None = None) -> Self:
        """Choose the number of components where that is asked for, and sample; go on with what was done."""
        if not is_auto(self):
            return self._sample(tensor, plan, folder)
        known = None if folder is None else Selection.read(folder)
        self.selection_ = known or self._choose(tensor, plan.target, folder)
        check_room(tensor.shape, self.selection_.best, self.n_chains, self.n_draws)
        target = replace(plan.target, n_components=self.selection_.best)
        return self._sample(tensor, replace(plan, target=target), folder)

    def _choose(self, tensor: Tensor, target: Target, folder: Path | None) -> Selection:
        """Take the most probable number of components; a folder keeps what chains have found."""
        with announcing_compilation(self.progress):
            warm_up(tensor, target)
        with watching(N_CHAINS, self.progress) as watch:
            pool = ChainPool(N_CHAINS, count_threads(self.n_jobs), watch)
            if folder is not None:
                pool = pool._replace(memo=Store(folder / CHOICE, {"seed": int(target.seed)}))
            selection = choose_by_posterior(tensor, target, pool)
        if folder is None:
            warn_if_stopped(selection, stacklevel=5)
        elif not selection.complete:  # what is done is in the folder
            raise KeyboardInterrupt
        else:
            selection.write(folder)
        return selection

    def _sample(self, tensor: Tensor, plan: Plan, folder: Path | None = None) -> Self:
        """Run the chains, from their last checkpoints if there are any, and keep what they found."""
        threads = count_threads(self.n_jobs)
        checkpoints = None if folder is None else Checkpoints(folder, plan.target.seed)
        with announcing_compilation(self.progress):
            warm_up(tensor, plan.target)
        forecast = Forecast.of(tensor, plan, self.n_chains, threads)
        with watching(self.n_chains, self.progress, forecast) as watch:
            traces, interrupted = run_chains(tensor, plan, self.n_chains, threads, watch, checkpoints)
        posterior = Posterior.from_traces(traces, tensor.with_threads(threads))
        self._keep(posterior, plan.target)
        self.storage_ = _storage(tensor)
        if folder is not None and not interrupted:
            self.save(folder / FIT)
        _warn(traces, self.n_chains, interrupted)
        return self

    def _keep(self, posterior: Posterior, model: Target) -> None:
        """Set the fitted attributes."""
        self.factors_, self.noise_, self.posterior_ = posterior.factors, posterior.noise, posterior
        self.modes_, self.labels_ = posterior.modes, posterior.labels
        self.n_components_ = posterior.n_components
        self.n_features_in_ = posterior.shape[1]
        self._target = model


def _storage(tensor: Tensor) -> str:
    return "sparse" if isinstance(tensor, SparseTensor) else "dense"


def warn_if_stopped(selection: Selection, stacklevel: int) -> None:
    """Warn if Ctrl-C cut a choice short."""
    if not selection.complete:
        number = f"{selection.best} component{'s' * (selection.best != 1)}"
        told = f"Stopped by Ctrl-C: the choice of {number} rests on what was found by then."
        warnings.warn(told, RuntimeWarning, stacklevel=stacklevel)


def _warn(traces: Sequence[Trace], n_chains: int, interrupted: bool) -> None:
    """Warn if the fit rests on less than was asked for."""
    unsettled = [trace for trace in traces if not trace.settled]
    if interrupted:
        made = f"{sum(map(len, traces))} draws from {len(traces)} of {n_chains} chains"
        unsure = ", made before burn-in was over" if unsettled else ""
        told = f"Stopped by Ctrl-C: this fit rests on {made}{unsure}."
        warnings.warn(told, RuntimeWarning, stacklevel=5)
    elif unsettled:
        told = (
            f"The log-likelihood of {len(unsettled)} of {n_chains} chains was still rising after "
            f"{unsettled[0].burn_in} sweeps of burn-in; give burn_in a larger number."
        )
        warnings.warn(told, ConvergenceWarning, stacklevel=5)
