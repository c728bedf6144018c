"""Section 5.3: relative expression in cancer, and how well it predicts the type.

    python -m experiments.cancer                                   # 200 miRNAs, and all
    python -m experiments.cancer --patients 1000 --attributes 200  # a sample: some minutes

A cell says whether one miRNA is higher than another in a patient, both in standard deviations from their
means. Random forests predict the type of cancer from the features that each method finds, in the same five
folds. The fit is kept in experiments/out/fits; an interrupted run resumes from its last checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from experiments.forests import (
    SEED,
    directions,
    forest_accuracy,
    principal_axes,
    scale,
    strengths_of,
    tell_error,
)
from experiments.record import Floats, Row, markdown, show, write_section
from experiments.study import FIGURES, Fitted, options, saving, write_numbers
from experiments.tumours import COMPONENTS, COUNT, fit, most_varying, sample, types_of, write_study_report
from tensorm import RelationalTensor, baselines
from tensorm.errors import InputError
from tensorm.posterior.modes import MEMBER

MOST_VARYING = 200  # miRNAs of the smaller of the two fits
CROWDED = 0.8  # share of all patients above which a component says little about them
STEPS = (  # what each changes, and between which features
    ("PCA instead of memberships", "tensorm, membership", "PCA of z-scores"),
    ("ranks within patients instead of values, PCA", "PCA of z-scores", "PCA of ranks within patients"),
    ("yes or no instead of numbers, PCA", "PCA of z-scores", "PCA of z-scores, above the mean or not"),
    ("yes or no instead of numbers, tensorm", "tensorm, strength", "tensorm, membership"),
    ("principal axes of strengths", "tensorm, strength", "tensorm, strength along its principal axes"),
    ("PCA instead of strengths", "tensorm, strength", "PCA of z-scores"),
    (
        "PCA in as many directions, instead of strengths",
        "tensorm, strength",
        "PCA of z-scores, as many directions as strengths",
    ),
    (
        "PCA instead of tensorm, both yes or no",
        "tensorm, membership",
        "PCA of z-scores, above the mean or not",
    ),
    ("Boolean ALS instead of tensorm, both yes or no", "tensorm, membership", "Boolean ALS"),
)


class Features(NamedTuple):
    """What a method says about each patient, and the accuracy of forests on it in the paper."""

    name: str
    form: str
    values: npt.NDArray[Any]
    paper: float | str = ""


def features_of(M: Any, fitted: Fitted, tensor: RelationalTensor, part: RelationalTensor) -> list[Features]:
    """Return what each method says about patients; Boolean ALS is fitted to ``part`` of the tensor."""
    from scipy.stats import rankdata

    L, means = fitted.model.n_components_, fitted.model.factors_[0]
    strengths, z = strengths_of(fitted.model, tensor), scale(M.values)
    axes, ranks = (
        principal_axes(z, L),
        rankdata(z, axis=1),
    )  # what comparisons in a patient keep
    few = directions(strengths)
    als = baselines.BooleanALS(L, n_init=1, random_state=SEED, progress=False).fit(part)
    return [
        Features("tensorm, membership", "0 or 1", means > MEMBER, 0.91),
        Features("tensorm, probability of membership", "number", means),
        Features("tensorm, strength", "share of relations shown", strengths),
        Features("tensorm, strength along its principal axes", "number", principal_axes(scale(strengths))),
        Features("PCA of expression", "number", principal_axes(M.values, L)),
        Features("PCA of z-scores", "number", axes, 0.86),
        Features("PCA of z-scores, above the mean or not", "0 or 1", axes > 0),
        Features("PCA of z-scores, as many directions as strengths", "number", axes[:, :few]),
        Features("PCA of ranks within patients", "number", principal_axes(ranks, L)),
        Features("Boolean ALS", "0 or 1", als.factors_[0], 0.81),
        Features("expression itself", "number", M.values),
    ]


def compare(methods: Sequence[Features], types: npt.NDArray[Any]) -> list[Row]:
    """Return the accuracy of random forests on the features of each method."""
    return [
        {
            "features": name,
            "each is": form,
            "number": values.shape[1],
            "directions": directions(values),
            "accuracy": forest_accuracy(values, types),
            "the paper": paper,
        }
        for name, form, values, paper in methods
    ]


def take_steps(rows: Sequence[Row]) -> list[Row]:
    """Return how accuracies change from one kind of features to another, here and in the paper."""
    by_name = {row["features"]: row for row in rows}
    found = []
    for step, first, second in STEPS:
        a, b = by_name[first], by_name[second]
        paper = f"{b['the paper'] - a['the paper']:+.2f}" if a["the paper"] and b["the paper"] else ""
        change = f"{b['accuracy'] - a['accuracy']:+.3f}"
        found.append({"step": step, "accuracy": change, "the paper": paper})
    return found


def move_apart(places: Floats, gap: float) -> Floats:
    """Return increasing places moved apart, as little as possible, so that neighbours have this gap."""
    from sklearn.isotonic import isotonic_regression

    even = gap * np.arange(len(places))
    return isotonic_regression(places - even) + even


def draw_patients(ax: Any, factor: Floats, types: npt.NDArray[Any]) -> None:
    """Draw which patients are in which components, patients ordered by type as in Fig. 4c."""
    from tensorm.report.plots.style import shades

    names, counts = np.unique(types, return_counts=True)
    shares = np.array([factor[types == name].mean(axis=0) for name in names])
    rows = np.lexsort((-shares.max(axis=0), shares.argmax(axis=0)))
    patients = np.argsort(types, kind="stable")
    ax.imshow(factor[patients][:, rows].T, cmap=shades(), aspect="auto", vmin=0, vmax=1)
    ends = np.cumsum(counts)
    for end in ends[:-1]:
        ax.axvline(end - 0.5, color="0.6", lw=0.5)
    ax.set_xticks([])
    middles = ends - counts / 2
    places = move_apart(middles, 0.0135 * len(types))
    for label, middle, place in zip(names, middles, places, strict=True):
        ax.annotate(
            label,
            (middle, 0),
            (place, -0.06),
            xycoords=ax.get_xaxis_transform(),
            rotation=90,
            ha="center",
            va="top",
            fontsize=7,
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": "0.6", "shrinkA": 1, "shrinkB": 0},
        )
    ax.set_yticks(range(len(rows)), [str(row) for row in rows], fontsize=6)
    ax.set_ylabel("component")


def draw(name: str, factor: Floats, types: npt.NDArray[Any]) -> None:
    """Draw the patients of a fit by type."""
    with saving(name) as save:
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots(figsize=(10, 4), layout="constrained")
        draw_patients(ax, factor, types)
        save(figure)


def patients(name: str, M: Any, components: int, normalise: str, als: int, fresh: bool) -> None:
    """Compare features of patients, and draw those of the fit."""
    if components > min(M.shape):
        raise InputError(
            f"PCA cannot find {components} components in {M.shape[0]} patients x {M.shape[1]} miRNAs; "
            "use fewer components, or more of both."
        )
    tensor, fitted = fit(M, "mirna", components, normalise, fresh)
    part = RelationalTensor(most_varying(M, als), normalise=normalise)
    types, factor = M.coords["cancer"].values, fitted.model.factors_[0]
    rows = compare(features_of(M, fitted, tensor, part), types)
    show(name, rows)
    draw(name, factor, types)
    where, sizes = types_of(factor, types), (factor > MEMBER).sum(axis=0)
    table = [
        {"component": l, "patients": int(sizes[l]), "more than half of": ", ".join(found)}
        for l, found in enumerate(where)
        if found
    ]
    cells = float(np.prod([float(n) for n in tensor.shape]))
    numbers = {"shape": tensor.shape, "cells": cells, "accuracy": rows, "types": where, "facts": fitted.facts}
    write_numbers(name, numbers)
    write_study_report(name, fitted, M, "Cancer: micro-RNA")
    counts = np.unique(types, return_counts=True)[1]
    text = (
        f"{M.shape[0]:,} patients, {M.shape[1]:,} miRNAs, {cells:,.0f} cells, {len(counts)} types of cancer "
        f"(the most common has {counts.max() / len(M):.0%} of the patients), {components} components; "
        f"{(M.values == 0).mean():.0%} of the values are 0. A component contains "
        f"{sizes.mean() / len(M):.0%} of the patients on average; {len(table)} contain more than half of the "
        f"patients of some type, {(sizes > CROWDED * len(M)).sum()} more than {CROWDED:.0%} of all patients. "
        f"{tell_error([row['accuracy'] for row in rows], len(M))}"
    )
    if als:
        text += f" Boolean ALS uses the {part.shape[1]} miRNAs that vary most."
    write_section(
        name,
        text,
        markdown(rows),
        "How accuracy changes from one kind of feature to another:",
        markdown(take_steps(rows)),
        f"![patients by type of cancer, and their components]({FIGURES}/{name}.png)",
        markdown(table),
    )


@options
@click.option(
    "--components",
    default=COMPONENTS,
    type=click.IntRange(min=1),
    help="Components of our fit, PCA and Boolean ALS.",
)
@click.option("--patients", "n_patients", default=0, type=COUNT, help="Size of a random sample; 0 for all.")
@click.option("--attributes", default=0, type=COUNT, help="Number of most varying miRNAs; 0 for all.")
@click.option(
    "--als-attributes",
    default=0,
    type=COUNT,
    help="The same for Boolean ALS; 0 for all.",
)
@click.option("--normalise", default="zscore", type=click.Choice(["zscore", "rank"]))
def main(
    quick: bool,
    fresh: bool,
    components: int,
    n_patients: int,
    attributes: int,
    als_attributes: int,
    normalise: str,
) -> None:
    """Relative expression in cancer."""
    if quick:
        components, n_patients, attributes, als_attributes = 10, 300, 60, 30
    M = sample("mirna", n_patients, attributes or MOST_VARYING)
    patients("cancer_sample", M, components, normalise, als_attributes, fresh)
    if not n_patients and not attributes:
        patients("cancer", sample("mirna", 0, 0), components, normalise, als_attributes, fresh)


if __name__ == "__main__":
    main()
