"""``select_components``: checks its arguments and calls one of the methods."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tensorm.data.checks import (
    MAX_REPEATS,
    check_choice,
    check_count,
    check_number,
    is_list,
    short,
)
from tensorm.errors import InputError
from tensorm.estimator.machine import TensOrMachine, warn_if_stopped
from tensorm.estimator.plan import AUTO, make_plan, make_tensor
from tensorm.estimator.progress import watching
from tensorm.report.selection import Selection
from tensorm.sampler.chains import ChainPool
from tensorm.sampler.sample import Plan
from tensorm.selection.choose import DEFAULT, SELECTION_METHODS, choose_number, find_method
from tensorm.selection.noise import two_rates
from tensorm.selection.trials import SCORE_NAMES
from tensorm.selection.validation import Holdout
from tensorm.storage.files import make_folder, owning
from tensorm.storage.trials import Store, read_seed
from tensorm.tensors import Tensor, pick_storage
from tensorm.tensors.holdout import check_symmetric
from tensorm.tensors.threads import count_threads

MOST_REPEATS = 1000
FOLLOW_FIT = (DEFAULT, "cv")  # methods that choose the noise model as a fit does; the others use two rates


def select_components(
    X: Any,
    method: str = DEFAULT,
    candidates: Sequence[int] | None = None,
    *,
    estimator: TensOrMachine | None = None,
    n_repeats: int | None = None,
    scoring: str = "log_likelihood",
    test_size: float = 0.2,
    symmetric: tuple[str | int, str | int] | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    progress: bool = True,
    **options: Any,
) -> Selection:
    """Choose the number of components.

    Parameters
    ----------
    X : array-like or tensor
        Cells of 0, 1 and missing, as for ``TensOrMachine.fit``.
    method : "auto", "posterior", "occam", "cv", "mdl", "occam-published" or "cv-published", default "auto"
        - "auto": as ``TensOrMachine(n_components="auto")`` chooses: "posterior", or with strengths, whose
          evidence has no closed form, "cv" with candidates 1, 2, 3, 4, 6, 8, 12 and so on.
        - "posterior": components are added and removed while the posterior is sampled; take the most probable
          number.
        - "occam": the paper's Bayesian Occam's razor. Start with many components, remove those that do not
          contribute, and search for better ones, until each contributes.
        - "cv": cross-validation. Hide some cells, fit the rest, and take the fewest components whose
          predictions of the hidden cells are within one standard error of the best.
        - "mdl": the number that gives the shortest description of factors and errors (Erdos and Miettinen).
        - "occam-published": as in the paper. Start with many components from fair coins, remove those that
          end empty or equal to another one, and start burn-in again, until none is removed.
        - "cv-published": as in the paper. Take the number with the highest accuracy on hidden cells.
    candidates : increasing sequence of int, optional
        Numbers to choose from. "posterior" and "occam" start with the largest and choose the smallest that is
        enough for what they find. By default these two find the number to start with themselves,
        "occam-published" starts with 30, and the others try up to twelve numbers around the one that Occam's
        razor finds.
    estimator : TensOrMachine, optional
        Sets the noise model, priors, flips and symmetric modes; by default those of ``TensOrMachine()``, or
        of ``TensOrMachine.as_published()`` for the paper's methods, which also use its start, burn-in and
        draws. No method uses its number of components. "auto" and "cv" choose the noise model as a fit does
        if it is "auto", and fit strengths; the other methods use two rates instead.
    n_repeats : int, optional
        Splits of the cells for "cv" and "cv-published", 5 by default, 3 for "auto" with strengths; chains for
        all others, 2 by default.
    scoring : "log_likelihood" or "accuracy", default "log_likelihood"
        How "cv" scores predictions.
    test_size : float, default 0.2
        Share of the observed cells that "cv" hides. Every index of every mode keeps an observed cell.
    symmetric : pair of modes, optional
        For "cv": two modes that stand for the same things; mirrored cells are then hidden together.
    run_dir : path, optional
        A folder in which trials are saved, finished or not. The same call continues from them after Ctrl-C or
        a power cut; a call with other cells or settings is refused. Without a folder, Ctrl-C ends with a
        choice that is based on what had been found by then, and a warning.
    n_jobs : int or None, default None
        Threads; None for one per available processor core. The choice does not depend on it.
    random_state : int, RandomState or None, default 0
        Seed.
    progress : bool, default True
        Show bars if the output is a terminal.
    **options
        Options of ``tensorm.read`` that X needs, such as ``modes`` of a table.

    Returns
    -------
    Selection
        With ``best``, ``reason``, ``table``, ``plot()``.

    Raises
    ------
    InputError
        When an argument is wrong, or too few cells are observed to hide any.
    FileError
        When ``run_dir`` belongs to another selection.

    Examples
    --------
    >>> from tensorm import datasets, select_components
    >>> sim = datasets.simulate(shape=(20, 20, 20), rank=3, density=0.2, noise=0.1, random_state=0)
    >>> select_components(sim.observed, candidates=range(1, 11), progress=False).best
    3
    """
    check_choice("method", method, tuple(SELECTION_METHODS))
    check_choice("scoring", scoring, tuple(SCORE_NAMES))
    settings = _check_estimator(estimator, method)
    tensor = make_tensor(X, settings.symmetric, options)
    numbers = check_candidates(candidates, tensor)
    if n_repeats is not None:
        check_count("n_repeats", n_repeats, 1, most=MOST_REPEATS)
    given = settings.symmetric if symmetric is None else symmetric
    mirrored = check_symmetric(given, tensor.modes, tensor.shape)
    holdout = Holdout(check_number("test_size", test_size), mirrored, scoring)
    request = Request(method, numbers, holdout, n_repeats)
    settings.set_params(n_components=AUTO, n_jobs=n_jobs, random_state=random_state, progress=progress)
    plan, store = make_plan(settings, tensor), None
    with nullcontext() if run_dir is None else owning(make_folder(run_dir)):
        if run_dir is not None:
            seed = read_seed(run_dir) if random_state is None else None
            if seed is not None:
                plan = replace(plan, target=replace(plan.target, seed=np.uint64(seed)))
            store = Store(run_dir, request.list_causes(tensor, plan, settings.noise))
        selection = _select(settings, tensor, plan, request, store)
    if run_dir is not None and not selection.complete:  # what is done is in the folder
        raise KeyboardInterrupt
    warn_if_stopped(selection, stacklevel=3)
    return selection


class Request(NamedTuple):
    """How to choose."""

    method: str
    candidates: list[int] | None
    holdout: Holdout
    n_repeats: int | None

    def list_causes(self, tensor: Tensor, plan: Plan, noise: str) -> dict[str, Any]:
        """Return all that trials depend on; a folder with trials of another choice is refused."""
        target, method = plan.target, SELECTION_METHODS[self.method]
        shared = self.method in (DEFAULT, "posterior")  # chains learn from each other
        model = type(target.noise).__name__, target.noise, target.prior, target.flips, target.shuffle
        return {
            "X": tensor.digest(),
            "method": self.method,
            "candidates": self.candidates,
            "seed": int(target.seed),
            "model": repr((*model, target.tied)),
            "noise": AUTO if noise == AUTO and self.method in FOLLOW_FIT else None,
            "test_size": self.holdout.test_size if method.hides else None,
            "symmetric": repr(self.holdout.symmetric) if method.hides else None,
            "chains": repr((plan.n_draws, plan.burn_in, *plan.start)) if method.published else None,
            "n_repeats": (self.n_repeats or find_method(self.method, target).n_repeats) if shared else None,
        }


def _select(
    settings: TensOrMachine, tensor: Tensor, plan: Plan, request: Request, store: Store | None
) -> Selection:
    """Choose the noise model where it is open and matters, and then the number."""
    tensor, why = pick_storage(tensor), ""
    if settings.noise == AUTO and plan.target.noise.has_stand_in:
        if request.method in FOLLOW_FIT:
            tensor, plan, why = settings._choose_noise(tensor, plan, store)
        else:
            plan = replace(plan, target=two_rates(plan.target))
    method = find_method(request.method, plan.target)
    tensor = method.count_with(tensor, plan).target.noise.hold(tensor)
    repeats = request.n_repeats or method.n_repeats
    with watching(repeats, settings.progress) as watch:
        pool = ChainPool(repeats, count_threads(settings.n_jobs), watch, store)
        found = choose_number(method, tensor, plan, pool, request.candidates, request.holdout)
    return replace(found, reason=f"{found.reason} {why}") if why and found.complete else found


def _check_estimator(given: Any, method: str) -> TensOrMachine:
    """Return the settings of the chains, or raise if they are no estimator."""
    if not isinstance(given, TensOrMachine | None):
        raise InputError(f"estimator is {short(given)}; give a TensOrMachine, or leave it out.")
    if SELECTION_METHODS[method].published:
        return TensOrMachine.as_published() if given is None else clone(given)
    return (TensOrMachine() if given is None else clone(given)).set_params(init="data")


def check_candidates(candidates: Any, tensor: Tensor) -> list[int] | None:
    """Return the candidates as a list of integers, or raise unless they increase from at least 1."""
    if candidates is None:
        return None
    example = "give increasing numbers, such as 1, 2, 4"
    if not is_list(candidates):
        raise InputError(f"candidates is {short(candidates)}; {example}.")
    if not 0 < len(candidates) <= MAX_REPEATS:
        raise InputError(f"candidates has {len(candidates):,} numbers; {example}.")
    numbers = [check_count(f"candidates[{i}]", number, 1) for i, number in enumerate(candidates)]
    for i in range(1, len(numbers)):
        if numbers[i] <= numbers[i - 1]:
            raise InputError(f"candidates has {numbers[i]} after {numbers[i - 1]}; {example}.")
    most = max(tensor.n_ones, 1)
    if numbers[-1] > most:
        raise InputError(
            f"candidates goes up to {numbers[-1]:,}, but X has only {tensor.n_ones:,} "
            f"{'cell that is' if tensor.n_ones == 1 else 'cells that are'} 1, and every component explains "
            f"at least one; give numbers up to {most:,}."
        )
    return numbers
