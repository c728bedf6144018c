"""What the studies on real data share: fits that are made once and kept, rivals, scores, numbers, pages."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

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

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]

MEMBER = 0.5
SCORES = ("accuracy", "auc", "average precision", "log-loss")
FIGURES = "../figures"  # as seen from docs/gallery


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
    """Make a command with the options that all studies share."""
    command = click.option("--fresh", is_flag=True, help="Forget fits made earlier.")(command)
    command = click.option("--quick", is_flag=True, help="A small fit, to see that it works.")(command)
    return click.command()(command)


def fit_once(name: str, X: Any, about: Row, settings: Mapping[str, Any], fresh: bool = False) -> Fitted:
    """Fit a model unless it was done before; a fit that was interrupted goes on.

    Parameters
    ----------
    name : str
        Of the study.
    X : array-like or tensor
    about : mapping
        What the cells depend on, such as the seed of a split.
    settings : mapping
        Parameters of the estimator. ``n_components="auto"`` chooses their number.
    fresh : bool
        Whether to fit in any case.
    """
    key = hashlib.sha256(identify({**about, **settings}).encode()).hexdigest()[:12]
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


def best_rivals(
    cells: Floats, sizes: Sequence[int], starts: int = 3, symmetric: tuple[int, int] | None = None
) -> Iterator[tuple[str, int, Floats]]:
    """Yield name, number of components and P(x = 1) of each rival: of its first start, and the mean of all.

    A rival has the number with the least log-loss on a tenth of the cells that are left for the fit, on
    average over starts.
    """
    inner = train_test_mask(cells, 0.1, 1, symmetric=symmetric)
    fewer, rate = hide(cells, inner), float(np.nanmean(cells))
    for name, predict in RIVALS.items():
        losses = {
            L: sum(score(cells, inner, predict(fewer, L, n), rate)["log-loss"] for n in range(starts))
            for L in sizes
        }
        L = min(losses, key=losses.__getitem__)
        found = [predict(cells, L, n) for n in range(starts)]
        yield name, L, found[0]
        if starts > 1:
            yield f"{name}, mean of {starts} starts", L, np.mean(found, axis=0)


def sentences(pairs: Sequence[tuple[str, str, bool]]) -> str:
    """Return statements of the paper with what was found, and whether it is so here."""
    lines = ["| the paper | here | |", "|---|---|---|"]
    lines += [f"| {paper} | {ours} | {'true' if holds else '**false**'} |" for paper, ours, holds in pairs]
    return "\n".join(lines)


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


def begin(quick: bool) -> None:
    """Say where data come from if nobody has; keep what small fits find apart from the real figures."""
    if quick:
        record.OUT = record.OUT / "quick"
    record.OUT.mkdir(parents=True, exist_ok=True)
    if not os.environ.get("TENSORM_DATA"):
        click.echo("TENSORM_DATA is not set: data are downloaded, where they can be.", err=True)
