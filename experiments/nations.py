"""Which nation has which relation to which: triples that a fit has not seen, against unknown cells.

    python -m experiments.nations             # needs TENSORM_DATA, or the network

Fits see the triples of the part *train*; all other cells are zeros, those of *test* and *valid* among them.
The AUC is the probability that a triple of *test* is ranked above a random unknown cell, one that is in none
of the three parts: all of those are taken, not a sample. They are not corruptions of the same triple, which
would give another number. A second way to treat unknown cells hides the triples of *test* and *valid*, and
four times as many unknown cells: only these are compared then.
"""

from __future__ import annotations

import numpy as np

from experiments import record
from experiments.record import Row, markdown, show, write_section
from experiments.study import (
    FIGURES,
    RIVALS,
    Bits,
    Fitted,
    Floats,
    begin,
    fit_once,
    options,
    saving,
    write_numbers,
)
from tensorm import datasets, write_report

PARTS = ("train", "valid", "test")
SEEDS = range(3)
SIZES = (5, 10, 20, 40)
HIDDEN = 4  # unknown cells that are hidden for each triple that is


def auc(p: Floats, ones: Bits, zeros: Bits) -> float:
    """Return the probability that one of the ones is ranked above one of the zeros."""
    from sklearn.metrics import roc_auc_score

    values = np.r_[np.ones(ones.sum()), np.zeros(zeros.sum())]
    return float(roc_auc_score(values, np.r_[p[ones], p[zeros]]))


def marginal(X: Floats) -> Floats:
    """Return the product of how often the one nation, the relation and the other nation occur."""
    head, relation, tail = X.mean(axis=(1, 2)), X.mean(axis=(0, 2)), X.mean(axis=(0, 1))
    return head[:, None, None] * relation[:, None] * tail


def fit(name: str, X: object, fresh: bool, quick: bool, L: int | str = "auto") -> list[Fitted]:
    """Return fits with some seeds; the first chooses the number of components for all."""
    shorter = {"n_chains": 1, "n_draws": 50, "burn_in": 50} if quick else {}
    fits: list[Fitted] = []
    for seed in SEEDS[:1] if quick else SEEDS:
        settings = {"n_components": L, **shorter, "random_state": seed}
        fits.append(fit_once("nations", X, {"cells": name}, settings, fresh))
        L = fits[0].model.n_components_
    return fits


def mean_prediction(fits: list[Fitted]) -> Floats:
    """Return P(x = 1), averaged over fits."""
    return np.mean([fit.model.predict_proba() for fit in fits], axis=0)


@options
def main(quick: bool, fresh: bool) -> None:
    """Relations of nations."""
    begin(quick)
    X = datasets.nations()
    train, valid, test = (datasets.nations(part).values == 1 for part in PARTS)
    unknown = ~(train | valid | test)
    cells = X.values.astype(float)
    rng = np.random.default_rng(0)
    count = HIDDEN * int((valid | test).sum())
    drawn = np.zeros(X.shape, bool)
    drawn[tuple(rng.permutation(np.argwhere(unknown))[:count].T)] = True

    def row(name: str, L: int | str, p: Floats, zeros: Bits = unknown) -> Row:
        return {
            "": name,
            "components": L,
            "AUC, test": auc(p, test, zeros),
            "AUC, valid": auc(p, valid, zeros),
        }

    fits = fit("zeros", X, fresh, quick, 20 if quick else "auto")
    L = fits[0].model.n_components_
    rows = [row("tensorm, unknown cells are zeros", L, mean_prediction(fits))]
    single = [auc(each.model.predict_proba(), test, unknown) for each in fits]
    hidden = fit("hidden", X.where(~(valid | test | drawn)), fresh, quick, L)
    rows.append(row("tensorm, tested cells are missing", L, mean_prediction(hidden), drawn))
    for size in () if quick else (10, 20):
        rows.append(
            row("tensorm, fewer components", size, mean_prediction(fit("zeros", X, fresh, quick, size)))
        )
    rows.append(row("marginal frequencies", "", marginal(cells)))
    for name, predict in RIVALS.items():
        found = {size: predict(cells, size) for size in (SIZES[1:2] if quick else SIZES)}
        size = max(found, key=lambda n: auc(found[n], valid, unknown))
        rows.append(row(name, size, found[size]))
    show("nations", rows)

    from tensorm.plots import plot_factors

    with saving("nations") as save:
        save(plot_factors(fits[0].model))
    report = record.OUT / "nations.html"
    write_report(fits[0].model, report, X=X, selection=fits[0].selection, title="Nations")
    facts = fits[0].facts
    write_numbers("nations", {"components": L, "scores": rows, "AUC of single fits": single, "facts": facts})
    text = f"{train.sum():,} triples to fit, {test.sum()} to test, {unknown.sum():,} unknown cells. "
    text += f"{L} components were {'set' if quick else 'chosen'}. {fits[0].cost} "
    text += f"AUC of single fits: {', '.join(f'{value:.3f}' for value in single)}."
    write_section("nations", text, markdown(rows), f"![factors of all modes]({FIGURES}/nations.png)")


if __name__ == "__main__":
    main()
