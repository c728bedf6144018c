"""What the studies on real data share: options, fits that run once and are kept, numbers, figures."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple

import click
import numpy as np
from click.core import ParameterSource

import tensorm
from experiments import record
from experiments.record import SAMPLES, Floats, Row, identify, results_in
from tensorm import TensOrMachine, load, resume, select_components
from tensorm.errors import InputError
from tensorm.posterior.modes import MEMBER
from tensorm.report.selection import Selection
from tensorm.storage.run import RUN, find_file

FIGURES = "../figures"  # as seen from docs/gallery
NEUTRAL = (
    "quick",
    "fresh",
    "kind",
    "starts",
    "slow_starts",
    "evidence",
)  # options that do not change what is found
Statement = tuple[str, str, bool | None]  # of the paper, what is found, whether it holds


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
        with results_in(place(quick)):
            if not os.environ.get("TENSORM_DATA"):
                click.echo("TENSORM_DATA is not set: data not in the cache are downloaded.", err=True)
            try:
                command(quick=quick, **given)
            except InputError as error:
                raise click.ClickException(str(error)) from error

    run = click.option("--fresh", is_flag=True, help="Delete earlier fits.")(run)
    run = click.option("--quick", is_flag=True, help="Run a small fit to check that everything works.")(run)
    return click.command()(run)


def place(quick: bool) -> str:
    """Return the folder of results: the gallery shows the default settings, all others are kept apart."""
    given = click.get_current_context()
    changed = [
        name
        for name in given.params
        if name not in NEUTRAL and given.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    return SAMPLES if quick else "other" if changed else ""


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
        path = record.OUT / f"{name}.png"
        figure.savefig(path, dpi=100)
        Image.open(path).convert("RGB").quantize(32).save(path, optimize=True)
        plt.close(figure)

    yield save


def members(factor: Floats) -> list[list[int]]:
    """Return the indices in each component, those with a probability above one half."""
    return [np.flatnonzero(column > MEMBER).tolist() for column in factor.T]


def count_kept(factors: Sequence[Any]) -> int:
    """Return the number of components with members in every mode, equal ones counted once."""
    modes = [members(factor) for factor in factors]
    kept = {tuple(map(tuple, part)) for part in zip(*modes, strict=True) if all(part)}
    return len(kept)


def tell_statements(said: Sequence[Statement]) -> str:
    """Return a table of the paper's statements, what is found in a fit, and whether they are true."""
    words = {True: "true", False: "**false**", None: "cannot be tested"}
    lines = ["| the paper | here | |", "|---|---|---|"]
    return "\n".join(lines + [f"| {paper} | {here} | {words[holds]} |" for paper, here, holds in said])


def share_true(title: str, fits: Sequence[Sequence[Statement]]) -> dict[str, str]:
    """Return in how many of some fits each statement is true, as a column of a table."""
    found = {}
    for same in zip(*fits, strict=True):
        known = [holds for *_, holds in same if holds is not None]
        found[same[0][0]] = f"{sum(known)} of {len(known)}" if known else "cannot be tested"
    return {"": title, **found}


def turn(columns: Sequence[Mapping[str, str]]) -> list[Row]:
    """Return a table with a row for each key of some columns, whose titles are under the key ''."""
    return [
        {"the paper": key, **{column[""]: column[key] for column in columns}} for key in columns[0] if key
    ]


def draw_factors(name: str, fits: Mapping[str, Sequence[Any]], labels: Mapping[str, Sequence[str]]) -> None:
    """Draw the factors of some fits, a row of panels for each and a panel for each mode.

    Parameters
    ----------
    name : str
        Name of the figure.
    fits : mapping
        Factors (N_k, L) of the modes in ``labels``, by the title of the fit.
    labels : mapping
        For each mode, a label for each index, in the order of the figure; equal neighbours are one group.
    """
    from tensorm.report.plots.style import shades

    with saving(name) as save:
        import matplotlib.pyplot as plt

        size = (11, 1 + 1.7 * len(fits))
        widths = [3 + len(texts) ** 0.5 for texts in labels.values()]
        figure, axes = plt.subplots(
            len(fits), len(labels), figsize=size, width_ratios=widths, layout="constrained", squeeze=False
        )
        for row, (title, factors) in zip(axes, fits.items(), strict=True):
            for ax, factor, (mode, texts) in zip(row, factors, labels.items(), strict=True):
                ax.imshow(
                    np.asarray(factor, float).T,
                    cmap=shades(),
                    aspect="auto",
                    vmin=0,
                    vmax=1,
                    interpolation="nearest",
                )
                starts = [n for n, text in enumerate(texts) if n == 0 or text != texts[n - 1]]
                ends = [*starts[1:], len(texts)]
                for start in starts[1:]:
                    ax.axvline(start - 0.5, color="0.6", lw=0.5)
                middles = [(a + b - 1) / 2 for a, b in zip(starts, ends, strict=True)]
                turned = {"rotation": 90} if len(starts) > 4 else {}
                ax.set_xticks(middles, [texts[n] for n in starts], fontsize=7, **turned)
                ax.set_yticks(range(factor.shape[1]), range(factor.shape[1]), fontsize=6)
                ax.set_title(f"{title}: {mode}", fontsize=8)
        save(figure)
