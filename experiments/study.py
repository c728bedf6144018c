"""What the studies on real data share: fits that are made once and kept, rivals, scores, numbers, pages."""

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
import numpy.typing as npt
from click.core import ParameterSource

import tensorm
from experiments import record
from experiments.record import Row, identify
from tensorm import (
    TensOrMachine,
    baselines,
    hide,
    load,
    resume,
    score_cells,
    select_components,
    train_test_mask,
)
from tensorm.choice.result import Selection
from tensorm.errors import InputError

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]

MEMBER = 0.5
SCORES = ("accuracy", "auc", "average precision", "log-loss")
FIGURES = "../figures"  # as seen from docs/gallery
WEIGHTS = (0.3, 1, 3, 10)  # of the rate of ones, in cells
NEUTRAL = ("quick", "fresh")  # options that do not change what is found


class Fitted(NamedTuple):
    """A model, how its number of components was chosen, and what it took on the machine that made it."""

    model: TensOrMachine
    selection: Selection | None
    facts: Row

    @property
    def cost(self) -> str:
        """The time it took, as a sentence."""
        wall, cpu = (self.facts[name] for name in ("seconds", "processor seconds"))
        what = "Selection and fit" if self.selection else "The fit"
        if self.facts["resumed"]:
            what = "The fit was interrupted; its last part"
        return f"{what} took {wall:.0f} s by the clock, {cpu:.0f} s of processor time."


def options(command: Callable[..., None]) -> click.Command:
    """Make a command of a study: options that all share, and one sentence for what a user can mend."""

    @wraps(command)
    def run(quick: bool, **given: Any) -> None:
        begin(quick)
        try:
            command(quick=quick, **given)
        except InputError as error:
            raise click.ClickException(str(error)) from error

    run = click.option("--fresh", is_flag=True, help="Forget fits made earlier.")(run)
    run = click.option("--quick", is_flag=True, help="A small fit, to see that it works.")(run)
    return click.command()(run)


def begin(quick: bool) -> None:
    """Choose where results go: the gallery shows those of the usual settings, all others are kept apart."""
    given = click.get_current_context()
    changed = [
        name
        for name in given.params
        if name not in NEUTRAL and given.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if quick or changed:
        record.OUT = record.OUT / ("quick" if quick else "other")
        click.echo(f"Results go to {record.OUT}, and not to the gallery.", err=True)
    record.OUT.mkdir(parents=True, exist_ok=True)
    if not os.environ.get("TENSORM_DATA"):
        click.echo("TENSORM_DATA is not set: data that are not in the cache are downloaded.", err=True)


def fit_once(name: str, X: Any, about: Row, settings: Mapping[str, Any], fresh: bool = False) -> Fitted:
    """Fit a model unless it was done before; a fit that was interrupted goes on.

    Parameters
    ----------
    name : str
        Of the study.
    X : array-like or tensor
    about : mapping
        What the cells are, such as the seed of a split; kept beside the fit.
    settings : mapping
        Parameters of the estimator. ``n_components="auto"`` chooses their number.
    fresh : bool
        Whether to fit in any case.
    """
    all_that_counts = {**about, **settings, "cells": digest(X), "version": tensorm.__version__}
    key = hashlib.sha256(identify(all_that_counts).encode()).hexdigest()[:12]
    folder = record.OUT / "fits" / f"{name}-{key}"
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    chosen, facts = folder / "selection.json", folder / "facts.json"
    if facts.exists():
        selection = Selection.from_json(chosen.read_text()) if chosen.exists() else None
        return Fitted(load(folder / "fit.nc"), selection, json.loads(facts.read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    wall, cpu = time.perf_counter(), time.process_time()
    model, selection = TensOrMachine(**settings), None
    if model.n_components == "auto":
        selection = select_components(X, estimator=model, progress=True)
        model.set_params(n_components=selection.best)
        chosen.write_text(selection.to_json())
    resumed = (folder / "run.nc").exists()
    if resumed:
        model = resume(folder)
    else:
        model.fit(X, run_dir=folder)
    took = {"seconds": time.perf_counter() - wall, "processor seconds": time.process_time() - cpu}
    took["resumed"] = resumed
    facts.write_text(json.dumps({**about, **took}))
    return Fitted(model, selection, {**about, **took})


def digest(X: Any) -> str:
    """Return a checksum of cells: of an array, or of what a tensor holds."""
    arrays = X.arrays().values() if hasattr(X, "arrays") else [np.asarray(X)]
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def score(truth: Floats, mask: Bits, p: Floats, baseline: float) -> Row:
    """Return the scores of the cells of a mask."""
    chances = np.clip(p[mask], 1e-6, 1 - 1e-6)  # one sure mistake would cost all there is
    found = score_cells(truth[mask], chances, baseline).model
    values = (found.accuracy, found.auc, found.average_precision, found.log_loss)
    return dict(zip(SCORES, values, strict=True))


def boolean_als(cells: Floats, L: int, seed: int = 0) -> Floats:
    """Return P(x = 1) by Boolean ALS: the share of ones where its product is 1, and where it is 0."""
    model = baselines.BooleanALS(L, n_init=3, random_state=seed, progress=False).fit(cells)
    product, seen = model.predict() == 1, ~np.isnan(cells)
    inside, outside = (cells[seen & (product == side)] for side in (True, False))
    rates = [(part.sum() + 1) / (len(part) + 2) for part in (inside, outside)]
    return np.where(product, *rates)


def logistic_cp(cells: Floats, L: int, seed: int = 0) -> Floats:
    """Return P(x = 1) by a CP decomposition of the odds (pyttb's GCP)."""
    return baselines.BernoulliGCP(L, max_iter=300, random_state=seed).fit(cells).predict_proba()


RIVALS: dict[str, Callable[..., Floats]] = {"Boolean ALS": boolean_als, "logistic CP": logistic_cp}


def habit(cells: Floats, weight: float) -> Floats:
    """Return P(x = 1) by how often a cell is 1 along mode 0, and how busy its index along mode 0 is.

    The odds of the one are multiplied by those of the other, relative to all cells. The rate of ones counts
    like so many cells beside those that are seen.
    """
    seen, rate = ~np.isnan(cells), float(np.nanmean(cells))
    often = (np.nansum(cells, axis=0) + weight * rate) / (seen.sum(axis=0) + weight)
    busy = np.nanmean(cells, axis=(1, 2))
    relative = busy / (1 - busy) * (1 - rate) / rate
    odds = relative[:, None, None] * often / np.maximum(1 - often, 1e-9)
    return odds / (1 + odds)


class Contest:
    """Cells that are held out, and the scores of all who predict them.

    Attributes
    ----------
    X, rest : DataArray
        All cells, and those that a fit may see.
    truth, cells : ndarray
        Their values.
    mask : ndarray of bool
        The cells that are held out.
    rows : list
        Scores so far.
    """

    def __init__(self, X: Any, share: float, seed: int, symmetric: tuple[str, str] | None = None) -> None:
        self.X, self.mask = X, train_test_mask(X, share, seed, symmetric=symmetric)
        self.rest = hide(X, self.mask)
        self.truth, self.cells = X.values, self.rest.values.astype(float)
        self.rows: list[Row] = []
        self._rate = float(np.nanmean(self.cells))
        self._pair = (X.dims.index(symmetric[0]), X.dims.index(symmetric[1])) if symmetric else None

    def enter(self, name: str, components: int | str, p: Floats) -> None:
        """Add the scores of a prediction."""
        self.rows.append({"": name, "components": components, **self._score(self.mask, p)})

    def enter_rivals(self, habits: str, sizes: Sequence[int], starts: int = 3) -> None:
        """Add the scores of habits, of each rival's first start and of the mean of all, and of a constant."""
        weight = self._best(lambda cells, weight: [habit(cells, weight)], WEIGHTS)
        self.enter(habits, "", habit(self.cells, weight))
        for name, predict in RIVALS.items():

            def from_all_starts(cells: Floats, L: int, predict: Any = predict) -> list[Floats]:
                return [predict(cells, L, n) for n in range(starts)]

            L = self._best(from_all_starts, sizes)
            found = from_all_starts(self.cells, L)
            self.enter(name, L, found[0])
            if starts > 1:
                self.enter(f"{name}, mean of {starts} starts", L, np.mean(found, axis=0))
        self.enter("constant", "", np.full(self.truth.shape, self._rate))

    def _best(self, predict: Callable[[Floats, Any], list[Floats]], choices: Sequence[Any]) -> Any:
        """Return what has the least log-loss, on average, on a tenth of the cells left for the fit."""
        inner = train_test_mask(self.cells, 0.1, 1, symmetric=self._pair)
        fewer = hide(self.cells, inner)

        def loss(choice: Any) -> float:
            return sum(self._score(inner, p)["log-loss"] for p in predict(fewer, choice))

        return min(choices, key=loss)

    @property
    def facts(self) -> Row:
        """What is held out, for the numbers of the study."""
        return {"shape": self.truth.shape, "held out": int(self.mask.sum()), "scores": self.rows}

    def __str__(self) -> str:
        """What is held out, as a sentence."""
        known, ones = np.isfinite(self.truth).sum(), self.truth[self.mask].mean()
        return f"{self.mask.sum():,} of {known:,} cells are held out, {ones:.1%} of them ones."

    def _score(self, mask: Bits, p: Floats) -> Row:
        return score(self.truth, mask, p, self._rate)


def average_scores(contests: Sequence[Contest]) -> list[Row]:
    """Return the scores of all entries, averaged over contests; of their sizes the least and the most."""
    rows = []
    for same in zip(*(contest.rows for contest in contests), strict=True):
        sizes = sorted({row["components"] for row in same})
        text = sizes[0] if len(sizes) == 1 else f"{sizes[0]}-{sizes[-1]}"
        means = {name: float(np.mean([row[name] for row in same])) for name in SCORES}
        rows.append({"": same[0][""], "components": text, **means})
    return rows


def write_numbers(name: str, numbers: Mapping[str, Any]) -> None:
    """Write the figures of a study as JSON."""
    record.OUT.mkdir(exist_ok=True)
    text = json.dumps(numbers, indent=1, default=lambda value: np.asarray(value).tolist())
    (record.OUT / f"{name}.json").write_text(text + "\n", encoding="utf-8")


@contextmanager
def saving(name: str) -> Iterator[Callable[[Any], None]]:
    """Yield a function that writes a figure for the page, small; drawn without a screen."""
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
    """Return for each component the indices that are in it with more than even odds."""
    return [np.flatnonzero(column > MEMBER).tolist() for column in factor.T]
