"""What the studies on real data share: options, fits that run once and are kept, numbers, figures."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple

import click
import numpy as np
from click.core import ParameterSource

import tensorm
from experiments import record
from experiments.record import Floats, Row, identify
from tensorm import TensOrMachine, load, resume, select_components
from tensorm.errors import InputError
from tensorm.posterior.modes import MEMBER
from tensorm.report.selection import Selection
from tensorm.storage.run import RUN, find_file

FIGURES = "../figures"  # as seen from docs/gallery
NEUTRAL = ("quick", "fresh")  # options that do not change what is found


class Fitted(NamedTuple):
    """A model, how its number of components was chosen, and what it cost."""

    model: TensOrMachine
    selection: Selection | None
    facts: Row

    @property
    def cost(self) -> str:
        """A sentence about the time it took."""
        wall, cpu = (self.facts[name] for name in ("seconds", "processor seconds"))
        what = "Selection and fit" if self.selection else "The fit"
        if self.facts["resumed"]:
            what = "The fit was interrupted and resumed; its last part"
        return f"{what} took {wall:.0f} s ({cpu:.0f} s of processor time)."


def options(command: Callable[..., None]) -> click.Command:
    """Make a study a command with the shared options, whose errors are one sentence."""

    @wraps(command)
    def run(quick: bool, **given: Any) -> None:
        begin(quick)
        try:
            command(quick=quick, **given)
        except InputError as error:
            raise click.ClickException(str(error)) from error

    run = click.option("--fresh", is_flag=True, help="Delete earlier fits.")(run)
    run = click.option("--quick", is_flag=True, help="Run a small fit to check that everything works.")(run)
    return click.command()(run)


def begin(quick: bool) -> None:
    """Choose where results go: the gallery shows the default settings, all others go to separate folders."""
    given = click.get_current_context()
    changed = [
        name
        for name in given.params
        if name not in NEUTRAL and given.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if quick or changed:
        record.OUT = record.OUT / ("quick" if quick else "other")
        click.echo(f"Results go to {record.OUT}, not to the gallery.", err=True)
    record.OUT.mkdir(parents=True, exist_ok=True)
    if not os.environ.get("TENSORM_DATA"):
        click.echo("TENSORM_DATA is not set: data are downloaded unless they are in the cache.", err=True)


def fit_once(name: str, X: Any, about: Row, settings: Mapping[str, Any], fresh: bool = False) -> Fitted:
    """Fit a model, or load the fit if it exists; an interrupted fit is resumed.

    Parameters
    ----------
    name : str
        Name of the study.
    X : array-like or tensor
    about : mapping
        Facts about the cells, such as the seed of a split; stored with the fit.
    settings : mapping
        Parameters of the estimator.
    fresh : bool
        Whether to fit again.
    """
    all_that_counts = {**about, **settings, "cells": digest(X), "version": tensorm.__version__}
    key = hashlib.sha256(identify(all_that_counts).encode()).hexdigest()[:12]
    folder = record.OUT / "fits" / f"{name}-{key}"
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    choice, facts = folder / "chosen.json", folder / "facts.json"

    def chosen() -> Selection | None:
        return Selection.from_json(choice.read_text()) if choice.exists() else None

    if facts.exists():
        return Fitted(load(folder), chosen(), json.loads(facts.read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    wall, cpu = time.perf_counter(), time.process_time()
    resumed = find_file(folder, RUN) is not None
    if resumed:
        model = resume(folder)
    else:
        model = TensOrMachine(**settings)
        if model.n_components == "auto":
            selection = select_components(X, estimator=model, progress=True)
            model.set_params(n_components=selection.best)
            choice.write_text(selection.to_json())
        model.fit(X, run_dir=folder)
    took = {"seconds": time.perf_counter() - wall, "processor seconds": time.process_time() - cpu}
    known = {**about, **took, "resumed": resumed}
    facts.write_text(json.dumps(known))
    return Fitted(model, chosen(), known)


def digest(X: Any) -> str:
    """Return a checksum of the cells of an array or a tensor."""
    arrays = X.arrays().values() if hasattr(X, "arrays") else [np.asarray(X)]
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def write_numbers(name: str, numbers: Mapping[str, Any]) -> None:
    """Write the numbers of a study as JSON."""
    record.OUT.mkdir(exist_ok=True)
    text = json.dumps(numbers, indent=1, default=lambda value: np.asarray(value).tolist())
    (record.OUT / f"{name}.json").write_text(text + "\n", encoding="utf-8")


@contextmanager
def saving(name: str) -> Iterator[Callable[[Any], None]]:
    """Yield a function that saves a figure for the page in few colours; no screen is needed."""
    import matplotlib
    from PIL import Image

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def save(figure: Any) -> None:
        record.OUT.mkdir(exist_ok=True)
        path = record.OUT / f"{name}.png"
        figure.savefig(path, dpi=100)
        Image.open(path).convert("RGB").quantize(32).save(path, optimize=True)
        plt.close(figure)

    yield save


def members(factor: Floats) -> list[list[int]]:
    """Return the indices in each component, those with a probability above one half."""
    return [np.flatnonzero(column > MEMBER).tolist() for column in factor.T]
