"""Fits loaded from files and folders, and stopped runs resumed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.checks import check_flag
from tensorm.errors import FileError
from tensorm.estimator.machine import TensOrMachine
from tensorm.estimator.plan import AUTO, make_plan, make_tensor
from tensorm.estimator.progress import announce
from tensorm.report.selection import Selection
from tensorm.sampler.sample import Plan
from tensorm.sampler.state import FAILED
from tensorm.storage.files import as_path, check_links, owning, quote
from tensorm.storage.fit import read_fit
from tensorm.storage.run import FIT, RUN, digest_run, find_file, find_run, open_run
from tensorm.tensors import Tensor, read
from tensorm.tensors.threads import MOST_JOBS


def load(path: str | os.PathLike[str]) -> TensOrMachine:
    """Load a fit; it makes the same predictions as before, bit for bit.

    Nothing in the file is run as code, and no other file is touched.

    Parameters
    ----------
    path : path
        A file written by ``TensOrMachine.save``, or the folder of a finished run.

    Returns
    -------
    TensOrMachine
        Fitted.

    Raises
    ------
    FileError
        When there is no such file, the file is damaged or needs a newer version of the package, or the run
        in the folder is not finished.
    """
    place = as_path(path)
    check_links(place)
    file = find_file(place, FIT) if place.is_dir() else place
    if file is None:
        unfinished = find_file(place, RUN) is not None
        advice = "finish it with tensorm.resume" if unfinished else "give the folder of a fit"
        raise FileError(f"{path} contains no finished fit; {advice}.")
    run = digest_run(place) if place.is_dir() and (place / RUN).exists() else None
    fit = read_fit(file, TensOrMachine._get_param_names(), run)
    model = TensOrMachine(**fit.settings)
    _check_counts(model, file)
    model._keep(fit.posterior, fit.target)
    return model


def resume(run_dir: str | os.PathLike[str], X: Any = None, *, progress: bool = True) -> TensOrMachine:
    """Continue a run that was stopped, from the checkpoints that ``fit(..., run_dir=...)`` wrote.

    Chains that failed are tried again.

    Parameters
    ----------
    run_dir : path
        The folder given to ``fit``.
    X : tensor, optional
        The cells of the run, if the folder does not contain them because they are on a Dask cluster.
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
        When X differs from the cells that the run began with.
    """
    folder, progress = as_path(run_dir, "run_dir"), check_flag("progress", progress)
    whole = _load_whole(folder)
    if whole is None:
        find_run(folder)
        with owning(folder):
            whole = _load_whole(folder)
            if whole is None:  # else its owner has just ended
                model, tensor, plan = _reopen(folder, None if X is None else read(X))
                return model.set_params(progress=progress)._run(tensor, plan, folder)
    if X is not None:
        open_run(folder, TensOrMachine._get_param_names(), read(X))
    announce(f"The run in {run_dir} was already finished; nothing was left to do.", progress)
    selection = Selection.read(folder)
    if selection is not None:
        whole.selection_ = selection
    return whole


def _load_whole(folder: Path) -> TensOrMachine | None:
    """Return the fit in a folder, unless there is none or chains of it failed."""
    model = None if find_file(folder, FIT) is None else load(folder)
    return None if model is None or FAILED in model.posterior_.outcomes else model


def _reopen(folder: Path, given: Tensor | None) -> tuple[TensOrMachine, Tensor, Plan]:
    """Return what the run in a folder samples; only its seed need not follow from its settings."""
    run = open_run(folder, TensOrMachine._get_param_names(), given)
    model = TensOrMachine(**run.settings)
    _check_counts(model, folder / RUN)
    tensor = make_tensor(run.tensor, model.symmetric)
    plan = make_plan(model, tensor)
    noise = plan.target.noise
    tensor = (noise.stand_in if model.noise == AUTO else noise).hold(tensor)  # the choice is yet to be read
    return model, tensor, replace(plan, target=replace(plan.target, seed=np.uint64(run.seed)))


def _check_counts(model: TensOrMachine, path: Path) -> None:
    """Raise if a file asks for more threads or chains than anybody uses; memory is checked later."""
    for name in ("n_jobs", "n_chains"):
        count = getattr(model, name)
        if isinstance(count, int) and count > MOST_JOBS:
            raise FileError(f"{path} cannot be read: {name} is {quote(count)}, more than {MOST_JOBS}.")
