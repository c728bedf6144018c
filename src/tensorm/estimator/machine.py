"""TensOrMachine: the estimator, its settings, and the steps of a fit."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from sklearn.exceptions import ConvergenceWarning

from tensorm.estimator.fitted import FittedModel
from tensorm.estimator.plan import AUTO, make_plan, make_tensor
from tensorm.estimator.progress import announce, announcing_compilation, forecast_run, watching
from tensorm.posterior.draws import Posterior, check_draws_fit
from tensorm.report.selection import Selection
from tensorm.sampler.chains import ChainPool, Chains, TrialStore, run_chains, warm_up
from tensorm.sampler.sample import Plan
from tensorm.sampler.state import FAILED
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import PAPERS_LAMBDA
from tensorm.selection.choose import DEFAULT, choose_number, find_method
from tensorm.selection.noise import TRIAL_NUMBERS, choose_noise, choose_untried, two_rates
from tensorm.storage.checkpoints import Checkpoints
from tensorm.storage.files import name_stop, owning
from tensorm.storage.fit import Fit, write_fit
from tensorm.storage.run import CHOICE, FIT, Run, check_folder, digest_run, find_file, start_run
from tensorm.storage.trials import Store
from tensorm.tensors import Tensor, pick_storage
from tensorm.tensors.pick import note_storage
from tensorm.tensors.threads import count_threads

PUBLISHED: dict[str, Any] = {
    "n_chains": 1,
    "n_draws": 50,
    "init": "coins",
    "effort": 0.0,
    "noise": "symmetric",
    "noise_update": "map",
    "lambda_start": PAPERS_LAMBDA,
    "factor_prior": 0.5,
    "flips": "gibbs",
    "order": "fixed",
}  # the settings of the paper


@dataclass(eq=False, repr=False)
class TensOrMachine(FittedModel):
    """Bayesian Boolean tensor decomposition: the posterior of binary factors, given yes/no cells.

    A cell is likely 1 if at least one component contains all of its indices, and likely 0 otherwise. Tensors
    may have any number of modes K >= 2, and missing cells.

    Parameters
    ----------
    n_components : int or "auto", default 5
        Number of components L. "auto" chooses the most probable number, like ``select_components``; with
        strengths, the smallest number that predicts hidden cells about as well as any.
    n_chains : int, default 4
        Number of independent chains; their components are matched afterwards.
    n_draws : int, default 250
        Draws kept from each chain.
    burn_in : "auto" or int, default "auto"
        Sweeps before the first draw. "auto" continues until the log-likelihood stops rising (the mean of the
        last 25 sweeps, 100 with strengths, exceeds that of as many before by at most half their standard
        deviation) and chains that start from the data are no longer repaired or heated, for at most 2,000
        sweeps, not counting those of heating.
    init : "data", "random", "coins" or list of arrays (N_k, L), default "data"
        Where chains start: from components found in the data, from random factors, or from given factors.
        For "coins", entries are 1 with probability one half; so they are for "random", unless fewer than 1%
        of the cells are 1: then with the density at which the product has as many ones as X. Chains that
        start from the data are also repaired every five sweeps: components that do not improve the fit, and
        one or two others, are searched for again. This breaks detailed balance, so it ends with burn-in; the
        draws come from the exact sampler. Chains from other starts are not repaired.
    effort : float, default 1.0
        How hard burn-in searches for better explanations. Chains that start from the data are heated and
        cooled again, in rounds; their number is multiplied by ``effort``, and 0 turns heating off. On real
        data heating takes half of a default fit or more, on data that leave no doubt next to nothing: "How
        hard chains search" on the page about diagnostics has rounds, times and what they gain. A fixed
        ``burn_in`` makes only those rounds that fit into it.
    noise : "auto", "asymmetric", "symmetric", "strengths" or "comparisons", default "auto"
        "asymmetric": two rates of ones, inside and outside the components; "symmetric": the paper's single
        error rate; "strengths": a strength for each component, the probability that it makes a cell 1, where
        the strongest component that contains a cell decides. Chains first look for components with two rates,
        and are heated with strengths. "comparisons" is for a ``RelationalTensor``: each pair of attributes
        counts once, and has probability one half where no component says which one is higher, or components
        contradict each other. "auto" means "comparisons" for a ``RelationalTensor``; otherwise it chooses
        strengths if they predict hidden cells clearly better than two rates (with fewer than 5,000 cells:
        unless clearly worse or, with an open number of components, if better at all), and ``noise_choice_``
        says why. It means "asymmetric" with ``noise_update="map"`` or ``lambda_start``, which do not work
        with strengths.
    background : "activity" or "constant", default "activity"
        For ``noise="strengths"``: the rate of ones outside the components is a product of activities, one for
        each index (such as how many contacts a person has overall), or one constant probability.
    noise_update : "sample" or "map", default "sample"
        Draw the rates from their conditional, or plug in its mean as the paper does (faster to settle, but
        then the draws are not from the posterior).
    lambda_start : float or None, default None
        The paper's lambda at the start, the log-odds that a cell equals the product. None means 0.5 if
        factors start at random, and otherwise the rates that fit the factors.
    lambda_fixed : int, default 0
        Number of sweeps at the start of burn-in in which the rates do not change.
    factor_prior : "learned", "short", float or list of arrays (N_k, L), default "learned"
        Probability that an entry is 1: a density learned for each mode, one number, or one for each entry,
        where 0 and 1 fix the entry. "short" is for comparisons: attributes are on a side of a component only
        if they gain enough, so that sides are shorter and easier to read.
    noise_prior : (float, float), default (1.0, 1.0)
        The two parameters of the Beta prior of each rate; with strengths, of a constant background, and of
        both rates while components are searched for.
    strength_prior : mapping or None, default None
        For ``noise="strengths"``, pairs of numbers for any of these: "typical", the two parameters of the
        Beta prior of the typical strength, by default (1, 1); "spread", the least and the largest spread of
        strengths, (0.0001, 1), where 1 means that they have nothing in common and 0.0001 that they are
        equal. With activities also "rate", the least and the largest rate of ones outside components, by
        default (exp(-20), exp(3)); and "evenness", the least and the largest shape of the Gamma priors of
        activities, (0.25, 512), where activities differ the less, the larger it is. Between least and largest
        the logarithm is uniform; two equal numbers fix a parameter.
    flips : "metropolis" or "gibbs", default "metropolis"
        How an entry is drawn. Both are exact; Metropolised flips move more.
    order : "random" or "fixed", default "random"
        The order in which a sweep updates the components.
    symmetric : pair of modes or None, default None
        Two modes with the same indices, such as people who meet people, by name or number. They then share
        one factor, and a cell and its mirror image count as one observation. X must be symmetric in the two
        modes, with a missing diagonal.
    n_jobs : int or None, default None
        Number of threads; None for one per available processor core. The draws do not depend on it.
    random_state : int, RandomState or None, default None
        Random seed. The same seed gives the same draws.
    progress : bool, default True
        Whether to show a progress bar per chain if the output is a terminal.

    Attributes
    ----------
    factors_ : list of K ndarrays (N_k, L)
        Posterior means, strongest component first.
    noise_ : dict
        Posterior means: "hit", the rate of ones where the product is 1; "false_alarm", where it is 0;
        "explained", the share of the ones that components contain. With strengths, instead of the
        rates: "strength", its "typical" value and "spread", and "background", or "rate", "activity" and its
        "evenness" in each mode (docs/model.md). With comparisons: "agreement", the share of predicted
        comparisons that are correct, and "explained", the share of all that are; comparisons without a
        prediction count half.
    strengths_, activity_ : pandas.DataFrame
        With ``noise="strengths"``: posterior means and 90% intervals of the strength of each component, with
        a mark for empty ones, and of the activity of each index.
    posterior_ : Posterior
        The draws, with means and predictions derived from them.
    contributions_ : tuple of Contribution
        What each component explains, explains alone and gets wrong, and what its removal would cost.
    diagnostics_ : Diagnostics
        How the chains compare, R-hat, effective sample sizes, and a conclusion.
    modes_, labels_ : tuple
        Names of the modes, and of their indices if the input had any.
    n_components_ : int
        Number of components L.
    selection_ : Selection
        With ``n_components="auto"``: how their number was chosen. Not saved to a file.
    noise_choice_ : str or None
        With ``noise="auto"``: which noise model was chosen, and why. None if nothing was chosen.
    storage_ : str
        "dense" or "sparse": how the cells were stored while sampling, whichever is faster. The draws are the
        same. Not saved to a file. Of a ``DaskTensor`` it is the storage of its parts, which stays as it is.
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

    n_components: int | Literal["auto"] = 5
    _: KW_ONLY
    n_chains: int = 4
    n_draws: int = 250
    burn_in: int | Literal["auto"] = "auto"
    init: Any = "data"
    effort: float = 1.0
    noise: str = "auto"
    background: str = "activity"
    noise_update: str = "sample"
    lambda_start: float | None = None
    lambda_fixed: int = 0
    factor_prior: Any = "learned"
    noise_prior: tuple[float, float] = (1.0, 1.0)
    strength_prior: Mapping[str, tuple[float, float]] | None = None
    flips: str = "metropolis"
    order: str = "random"
    symmetric: tuple[str | int, str | int] | None = None
    n_jobs: int | None = None
    random_state: Any = None
    progress: bool = True

    @classmethod
    def as_published(cls, n_components: int | Literal["auto"] = 5, **changes: Any) -> Self:
        """Return an estimator that runs the paper's own algorithm, for comparison.

        One chain starts from fair coins with lambda 0.5, entries are drawn by plain Gibbs steps under a prior
        of one half, the single error rate is set to its estimate after every sweep (eq. 6), and 50 draws
        follow once the log-likelihood has stopped rising. There is no search for components in the data.

        Parameters
        ----------
        n_components : int or "auto", default 5
            Number of components. "auto" is not the paper's way; see
            ``select_components(method="occam-published")``.
        **changes
            Parameters of ``TensOrMachine`` that replace the paper's.
        """
        return cls(n_components, **(PUBLISHED | changes))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(
        self, X: Any, y: None = None, *, run_dir: str | os.PathLike[str] | None = None, **options: Any
    ) -> Self:
        """Sample the posterior of the factors given X.

        Parameters
        ----------
        X : array-like, table, path or tensor
            Whatever ``tensorm.read`` takes: cells that are 0, 1 or missing (NaN, masked) with K >= 2 modes,
            an ``xarray.DataArray``, a sparse matrix of any size, a table, or a file.
        y : None
            Ignored; part of the scikit-learn interface.
        run_dir : path, optional
            A folder for checkpoints, written every few seconds. ``tensorm.resume`` continues from them after
            Ctrl-C or a power cut, also while the noise model or the number of components is being chosen, and
            ends with the same draws as a run that was never stopped. At the end the fit is saved there, too,
            as fit.tensorm; if chains failed, without them, and ``tensorm.resume`` tries them again.
        **options
            Options of ``tensorm.read`` that X needs: ``fit(table, modes=["hour", "person", "met"])``.

        Returns
        -------
        self
        """
        given = make_tensor(X, self.symmetric, options)
        reading = type(X), {name: option for name, option in options.items() if name != "client"}
        plan = make_plan(self, given)
        auto = self.n_components == AUTO
        target = plan.target
        number = TRIAL_NUMBERS[0] if auto else target.n_components
        noise = target.noise.stand_in if self.noise == AUTO else target.noise
        tensor = noise.hold(pick_storage(given, number))
        if note := note_storage(given, tensor):
            announce(note, self.progress)
        self.__dict__.pop("selection_", None)
        if run_dir is None:
            self._run(tensor, plan)
        else:
            with owning(check_folder(run_dir)) as folder:
                start_run(folder, Run(self.get_params(deep=False), int(plan.target.seed), tensor))
                self._run(tensor, plan, folder)
        self._reading = reading
        return self

    def _run(self, tensor: Tensor, plan: Plan, folder: Path | None = None) -> Self:
        """Choose the number of components if asked to, run the chains, and keep what they found.

        Whatever the folder already holds is not done again.
        """
        reason = None
        if self.noise == AUTO and plan.target.noise.has_stand_in:
            tensor, plan, reason = self._choose_noise(tensor, plan, _store(folder))
        if self.n_components == AUTO:
            known = None if folder is None else Selection.read(folder)
            self.selection_ = known or self._choose_number(tensor, plan, folder)
            check_draws_fit(tensor.shape, self.selection_.best, self.n_chains, self.n_draws)
            plan = replace(plan, target=replace(plan.target, n_components=self.selection_.best))
        threads = count_threads(self.n_jobs)
        run = "" if folder is None else digest_run(folder)
        checkpoints = None if folder is None else Checkpoints(folder, run, tensor, plan)
        with announcing_compilation(self.progress):
            warm_up(tensor, plan.target)
        forecast = partial(forecast_run, tensor, plan, self.n_chains, threads)
        with watching(self.n_chains, self.progress, forecast) as watch:
            chains = run_chains(tensor, plan, self.n_chains, threads, watch, checkpoints)
        if chains.interrupted and folder is not None and find_file(folder, FIT) is not None:
            raise KeyboardInterrupt  # while a failed chain was tried again: the fit of the others stays
        posterior = Posterior.from_traces(
            chains.traces, tensor.with_threads(threads), reason, chains.outcomes
        )
        target = replace(plan.target, prior=plan.target.prior.reorder(posterior.order))
        self._keep(posterior, target)
        self.storage_ = tensor.storage
        if folder is not None and not chains.interrupted:
            fit = Fit(self.get_params(deep=False), target, posterior)
            write_fit(folder / FIT, fit, run)
        _warn(chains)
        return self

    def _choose_noise(self, tensor: Tensor, plan: Plan, store: TrialStore | None) -> tuple[Tensor, Plan, str]:
        """Let the cells choose between strengths and two rates; a store keeps what they chose, and why."""
        target, numbers = plan.target, TRIAL_NUMBERS if self.n_components == AUTO else ()
        trial = replace(target, n_components=numbers[0]) if numbers else target
        choice = choose_untried(tensor, trial)
        if choice is None:
            with announcing_compilation(self.progress):
                warm_up(tensor, trial)
            with watching(1, self.progress) as watch:
                pool = ChainPool(1, count_threads(self.n_jobs), watch, store)
                choice = choose_noise(tensor, trial, pool, numbers)
        if choice.strong:
            return tensor, plan, choice.reason
        return pick_storage(tensor), replace(plan, target=two_rates(target)), choice.reason

    def _choose_number(self, tensor: Tensor, plan: Plan, folder: Path | None) -> Selection:
        """Choose the number of components; a folder keeps what chains have found."""
        with announcing_compilation(self.progress):
            warm_up(tensor, plan.target)
        method = find_method(DEFAULT, plan.target)
        with watching(method.n_repeats, self.progress) as watch:
            pool = ChainPool(method.n_repeats, count_threads(self.n_jobs), watch, _store(folder))
            selection = choose_number(method, tensor, plan, pool)
        if folder is None:
            warn_if_stopped(selection, stacklevel=5)
        elif not selection.complete:  # what is done is in the folder
            raise KeyboardInterrupt
        else:
            selection.write(folder, digest_run(folder))
        return selection

    def _keep(self, posterior: Posterior, target: Target) -> None:
        """Set the fitted attributes."""
        self.factors_, self.noise_, self.posterior_ = posterior.factors, posterior.noise, posterior
        self.modes_, self.labels_ = posterior.modes, posterior.labels
        self.n_components_ = posterior.n_components
        self.n_features_in_ = posterior.shape[1]
        self._target = target


write_report = TensOrMachine.report
"""``TensOrMachine.report`` as a function: ``write_report(model, path, ...)``."""


def _store(folder: Path | None) -> Store | None:
    """Return where a run keeps what chains found that choose."""
    return None if folder is None else Store(folder / CHOICE, {"run": digest_run(folder)})


def warn_if_stopped(selection: Selection, stacklevel: int) -> None:
    """Warn if Ctrl-C cut a choice short."""
    if not selection.complete:
        number = f"{selection.best} component{'s' * (selection.best != 1)}"
        told = f"Stopped by {name_stop()}: the choice of {number} is based on what had been found by then."
        warnings.warn(told, RuntimeWarning, stacklevel=stacklevel)


def _warn(chains: Chains) -> None:
    """Warn if the fit is based on less than was asked for."""
    traces, n_chains, n_failed = chains.traces, len(chains.outcomes), chains.outcomes.count(FAILED)
    unsettled = [trace for trace in traces if not trace.settled]
    if n_failed:
        why = f"{type(chains.error).__name__}: {chains.error}"
        told = f"{n_failed} of {n_chains} chains failed ({why}); this fit is based on the others."
        warnings.warn(told, RuntimeWarning, stacklevel=4)
    if chains.interrupted:
        made = f"{sum(map(len, traces))} draws from {len(traces)} of {n_chains} chains"
        unsure = ", drawn before burn-in ended" if unsettled else ""
        told = f"Stopped by {name_stop()}: this fit is based on {made}{unsure}."
        warnings.warn(told, RuntimeWarning, stacklevel=4)
    elif unsettled:
        told = (
            f"The log-likelihood of {len(unsettled)} of {n_chains} chains was still rising after "
            f"{unsettled[0].burn_in} sweeps of burn-in; use a longer burn-in."
        )
        warnings.warn(told, ConvergenceWarning, stacklevel=4)
