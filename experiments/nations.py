"""Which nation has which relation to which: ranking unseen triples against unknown cells.

    python -m experiments.nations             # needs TENSORM_DATA or the network

Fits see the triples of the part *train*; all other cells are zeros, including those of *test* and *valid*.
The AUC is the probability that a triple of *test* is ranked above a random unknown cell, one that is in none
of the three parts; all of those count, not a sample. They are not corruptions of the same triple, which would
give a different number. A second variant hides the triples of *test* and *valid* and four times as many
unknown cells, and compares only these. All methods have three starts.
"""

from __future__ import annotations

import numpy as np

from experiments import record
from experiments.contests import RIVALS
from experiments.record import Bits, Floats, Row, markdown, show, write_section
from experiments.study import FIGURES, Fitted, fit_once, options, saving, write_numbers
from tensorm import datasets, write_report

PARTS = ("train", "valid", "test")
STARTS = 3
SIZES = (5, 10, 20, 40)
HIDDEN = 4  # hidden unknown cells per hidden triple


def auc(p: Floats, ones: Bits, zeros: Bits) -> float:
    """Return the probability that one of the ones is ranked above one of the zeros."""
    from sklearn.metrics import roc_auc_score

    values = np.r_[np.ones(ones.sum()), np.zeros(zeros.sum())]
    return float(roc_auc_score(values, np.r_[p[ones], p[zeros]]))


def marginal(X: Floats) -> Floats:
    """Return the product of the frequencies of head, relation and tail."""
    head, relation, tail = X.mean(axis=(1, 2)), X.mean(axis=(0, 2)), X.mean(axis=(0, 1))
    return head[:, None, None] * relation[:, None] * tail


def fit(name: str, X: object, fresh: bool, quick: bool, L: int | str = "auto") -> list[Fitted]:
    """Return fits from some starts; the first chooses the number of components for all."""
    shorter = {"n_chains": 1, "n_draws": 50, "burn_in": 50} if quick else {}
    fits: list[Fitted] = []
    for seed in range(1 if quick else STARTS):
        settings = {"noise": "asymmetric", "n_components": L, **shorter, "random_state": seed}
        fits.append(fit_once("nations", X, {"cells": name}, settings, fresh))
        L = fits[0].model.n_components_
    return fits


def predictions(fits: list[Fitted]) -> list[Floats]:
    """Return P(x = 1) of each fit."""
    return [fit.model.predict_proba() for fit in fits]


@options
def main(quick: bool, fresh: bool) -> None:
    """Relations of nations."""
    X = datasets.nations()
    train, valid, test = (datasets.nations(part).values == 1 for part in PARTS)
    unknown = ~(train | valid | test)
    cells = X.values.astype(float)
    rng = np.random.default_rng(0)
    count = HIDDEN * int((valid | test).sum())
    drawn = np.zeros(X.shape, bool)
    drawn[tuple(rng.permutation(np.argwhere(unknown))[:count].T)] = True

    rows: list[Row] = []

    def enter(name: str, L: int | str, found: list[Floats], zeros: Bits = unknown) -> None:
        labelled = {name: found[0]}
        if len(found) > 1:
            labelled[f"{name}, mean of {len(found)}"] = np.mean(found, axis=0)
        for label, p in labelled.items():
            scores = {"AUC, test": auc(p, test, zeros), "AUC, valid": auc(p, valid, zeros)}
            rows.append({"": label, "components": L, **scores})

    fits = fit("zeros", X, fresh, quick, 20 if quick else "auto")
    L = fits[0].model.n_components_
    enter("tensorm", L, predictions(fits))
    hidden = fit("hidden", X.where(~(valid | test | drawn)), fresh, quick, L)
    enter("tensorm, tested cells are missing", L, predictions(hidden), drawn)
    for size in () if quick else (10, 20):
        enter("tensorm, fewer components", size, predictions(fit("zeros", X, fresh, quick, size)))
    enter("marginal frequencies", "", [marginal(cells)])
    for name, predict in RIVALS.items():
        starts = range(1 if quick else STARTS)
        tried = {size: [predict(cells, size, n) for n in starts] for size in (SIZES[1:2] if quick else SIZES)}
        size = max(tried, key=lambda n: np.mean([auc(p, valid, unknown) for p in tried[n]]))
        enter(name, size, tried[size])
    show("nations", rows)

    with saving("nations") as save:
        save(fits[0].model.plot())
    report = record.OUT / "nations.html"
    write_report(fits[0].model, report, X=X, selection=fits[0].selection, title="Nations")
    single = [auc(p, test, unknown) for p in predictions(fits)]
    numbers = {"components": L, "scores": rows, "AUC of single fits": single, "facts": fits[0].facts}
    write_numbers("nations", numbers)
    text = f"{train.sum():,} triples to fit, {test.sum()} to test, {unknown.sum():,} unknown cells. "
    text += f"{L} components were {'set' if quick else 'chosen'}. {fits[0].cost} "
    text += f"AUC of single fits: {', '.join(f'{value:.3f}' for value in single)}. "
    text += f"*Tested cells are missing* hides {drawn.sum():,} unknown cells and the triples."
    write_section("nations", text, markdown(rows), f"![factors of all modes]({FIGURES}/nations.png)")


if __name__ == "__main__":
    main()
