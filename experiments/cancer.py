"""Section 5.3: networks of relative expression in cancer.

    python -m experiments.cancer                                   # 200 miRNAs, and all; pathways
    python -m experiments.cancer --patients 1000 --attributes 200  # a sample: some minutes
    python -m experiments.cancer --part pathways                   # gene sets of another fit, against KEGG

A cell says whether one miRNA is higher than another in a patient, both in standard deviations from their
means. Random forests predict the type of cancer from what each method says of a patient, in the same five
folds. The fit is kept in experiments/out/fits; a run that was interrupted goes on from its last checkpoint.
Names of genes are known to KEGG, those of miRNAs are not: gene sets come from a second fit, of messenger RNA.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from experiments import record
from experiments.record import Row, markdown, show, write_section
from experiments.study import (
    FIGURES,
    MEMBER,
    Bits,
    Fitted,
    Floats,
    fit_once,
    members,
    options,
    saving,
    write_numbers,
)
from tensorm import RelationalTensor, baselines, datasets, write_report

SEED, FOLDS, TREES = 0, 5, 200
CHAIN = {"n_chains": 1, "n_draws": 50, "random_state": SEED}
MOST_VARYING = 200  # miRNAs of the smaller of the two fits
GENES = 2500  # of messenger RNA; a matrix that was downloaded has more, and cells by their square
SMALLEST = 5  # patients of a type, and genes of a pathway, that can be tested
SURE = 0.05
TABLE_1 = (  # pathways of the paper's components, as KEGG calls them
    "Tight junction",
    "Hippo signaling pathway",
    "Wnt signaling pathway",
    "AGE-RAGE signaling pathway in diabetic complications",
    "Rap1 signaling pathway",
    "Regulation of actin cytoskeleton",
    "Focal adhesion",
    "PI3K-Akt signaling pathway",
    "Platelet activation",
    "Ras signaling pathway",
)
PAPER = {"membership": 0.91, "PCA": 0.86, "Boolean ALS": 0.81}


class Enriched(NamedTuple):
    """A component's higher (+) or lower (-) genes, and a pathway that they hold more of than chance would."""

    component: int
    sign: str
    pathway: str
    both: int
    expected: float
    q: float


def sample(kind: str, patients: int, attributes: int) -> Any:
    """Return the expression of random patients, and of the attributes that vary most; 0 stands for all."""
    M = datasets.cancer(kind)
    rows = np.random.default_rng(SEED).permutation(M.shape[0])[: patients or None]
    M = most_varying(M, attributes)[np.sort(rows)]
    types, counts = np.unique(M.coords["cancer"], return_counts=True)
    return M[np.isin(M.coords["cancer"], types[counts >= SMALLEST])]


def most_varying(M: Any, attributes: int) -> Any:
    """Return the attributes that vary most; 0 stands for all."""
    return M[:, np.sort(np.argsort(-M.values.std(axis=0), kind="stable")[: attributes or None])]


def symbols_of(M: Any) -> list[str]:
    """Return the symbols of the genes of a matrix."""
    return [str(name).split("_")[0] for name in M.coords["gene"].values]


def fit(M: Any, kind: str, components: int, normalise: str, fresh: bool) -> tuple[RelationalTensor, Fitted]:
    """Return the relational tensor of a matrix, and its fit."""
    tensor = RelationalTensor(M, normalise=normalise)
    about = {"kind": kind, "patients": M.shape[0], "attributes": M.shape[1], "normalise": normalise}
    return tensor, fit_once("cancer", tensor, about, {"n_components": components, **CHAIN}, fresh)


def forest_accuracy(features: npt.NDArray[Any], types: npt.NDArray[Any]) -> float:
    """Return how often a random forest tells the type of cancer of a patient it has not seen."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    forest = RandomForestClassifier(TREES, random_state=SEED, n_jobs=2)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    known = np.nan_to_num(features, nan=0.5)  # components without relations say nothing
    return float((cross_val_predict(forest, known, types, cv=folds) == types).mean())


def scale(features: npt.NDArray[Any]) -> Floats:
    """Return features with mean 0 and variance 1 each; components without relations say nothing."""
    known = np.nan_to_num(np.asarray(features, np.float64), nan=0.5)
    return (known - known.mean(axis=0)) / np.maximum(known.std(axis=0), 1e-9)


def principal_axes(features: npt.NDArray[Any], number: int | None = None) -> Floats:
    """Return features, scaled, along so many of their principal axes; along all by default."""
    from sklearn.decomposition import PCA

    return PCA(number, random_state=SEED).fit_transform(scale(features))


def directions(features: npt.NDArray[Any], share: float = 0.95) -> int:
    """Return how many directions hold this share of the variance of features, each scaled to the same."""
    variance = np.linalg.svd(scale(features), compute_uv=False) ** 2
    return int(np.searchsorted(np.cumsum(variance) / variance.sum(), share)) + 1


def compare(M: Any, tensor: RelationalTensor, fitted: Fitted, attributes: int) -> list[Row]:
    """Return the accuracy of random forests on the features of each method."""
    from scipy.stats import rankdata
    from sklearn.decomposition import PCA

    types, L = M.coords["cancer"].values, fitted.model.n_components_
    means = fitted.model.factors_[0]
    strengths = fitted.model.transform(tensor, kind="strength")
    part = RelationalTensor(most_varying(M, attributes))
    als = baselines.BooleanALS(L, n_init=1, random_state=SEED, progress=False).fit(part)
    few, axes = directions(strengths), principal_axes(M.values, L)
    ranks = rankdata(scale(M.values), axis=1)  # all that comparisons within a patient keep
    rows: list[Row] = []

    def enter(name: str, form: str, features: npt.NDArray[Any], paper: float | str = "") -> None:
        rows.append(
            {
                "features": name,
                "each is": form,
                "number": features.shape[1],
                "directions": directions(features),
                "accuracy": forest_accuracy(features, types),
                "the paper": paper,
            }
        )

    enter("tensorm, membership", "0 or 1", means > MEMBER, PAPER["membership"])
    enter("tensorm, membership", "probability", means)
    enter("tensorm, strength", "share of relations shown", strengths)
    enter("tensorm, strength along its principal axes", "number", principal_axes(strengths))
    enter("PCA of expression", "number", PCA(L, random_state=SEED).fit_transform(M.values))
    enter("PCA of z-scores", "number", axes, PAPER["PCA"])
    enter("PCA of z-scores, above the mean or not", "0 or 1", axes > 0)
    enter("PCA of z-scores, as many directions as strengths", "number", axes[:, :few])
    enter("PCA of ranks within patients", "number", PCA(L, random_state=SEED).fit_transform(ranks))
    enter(f"Boolean ALS, {part.shape[1]} attributes", "0 or 1", als.factors_[0], PAPER["Boolean ALS"])
    enter("expression itself", "number", M.values)
    return rows


def types_of(factor: Floats, types: npt.NDArray[Any], share: float = 0.5) -> list[dict[str, float]]:
    """Return for each component the types of which more than this share of the patients are members."""
    names = np.unique(types)
    shares = np.array([(factor[types == name] > MEMBER).mean(axis=0) for name in names])
    return [
        {str(names[n]): float(column[n]) for n in np.argsort(-column) if column[n] > share}
        for column in shares.T
    ]


def spread(places: Floats, gap: float) -> Floats:
    """Return increasing places moved apart so that neighbours have this gap, each as little as need be."""
    from sklearn.isotonic import isotonic_regression

    even = gap * np.arange(len(places))
    return isotonic_regression(places - even) + even


def draw(name: str, factor: Floats, types: npt.NDArray[Any]) -> None:
    """Draw which patients are in which components, patients ordered by type as in Fig. 4c."""
    from tensorm.plots.style import shades

    names, counts = np.unique(types, return_counts=True)
    shares = np.array([factor[types == name].mean(axis=0) for name in names])
    rows = np.lexsort((-shares.max(axis=0), shares.argmax(axis=0)))
    patients = np.argsort(types, kind="stable")
    with saving(name) as save:
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots(figsize=(10, 4), layout="constrained")
        ax.imshow(factor[patients][:, rows].T, cmap=shades(), aspect="auto", vmin=0, vmax=1)
        ends = np.cumsum(counts)
        for end in ends[:-1]:
            ax.axvline(end - 0.5, color="0.6", lw=0.5)
        ax.set_xticks([])
        middles = ends - counts / 2
        for label, middle, place in zip(names, middles, spread(middles, 0.0135 * len(types)), strict=True):
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
        save(figure)


def enrich(
    sides: Mapping[str, Sequence[Sequence[int]]], genes: Sequence[str], pathways: Mapping[str, Sequence[str]]
) -> list[Enriched]:
    """Return pathways that components hold more of than chance would, the surest first.

    Parameters
    ----------
    sides : mapping
        For "+" and "-", the numbers of the members of each component.
    genes : sequence of str
        Symbols of all genes of the fit: what members are drawn from by chance.
    pathways : mapping
        Symbols of the genes of each pathway.
    """
    from scipy.stats import false_discovery_control, hypergeom

    inside: dict[str, Bits] = {name: np.isin(genes, list(symbols)) for name, symbols in pathways.items()}
    tests = [
        (l, sign, name, chosen)
        for sign, components in sides.items()
        for l, chosen in enumerate(components)
        for name in inside
        if chosen and inside[name].sum() >= SMALLEST
    ]
    found, p = [], []
    for l, sign, name, chosen in tests:
        size, both = int(inside[name].sum()), int(inside[name][chosen].sum())
        p.append(float(hypergeom.sf(both - 1, len(genes), size, len(chosen))))
        found.append(Enriched(l, sign, name, both, len(chosen) * size / len(genes), 1.0))
    q = false_discovery_control(np.clip(p, 0, 1)) if p else []
    corrected = [row._replace(q=float(value)) for row, value in zip(found, q, strict=True)]
    return sorted(corrected, key=lambda row: row.q)


def gene_sets(components: int, genes: int, fresh: bool) -> None:
    """Test the genes of components of messenger RNA against the pathways of KEGG."""
    M, pathways = sample("mrna", 0, 0), datasets.kegg()
    known = np.isin(symbols_of(M), [gene for pathway in pathways.values() for gene in pathway])
    M = most_varying(M[:, known], genes)
    _, fitted = fit(M, "mrna", components, "zscore", fresh)
    higher, lower = (members(factor) for factor in fitted.model.factors_[1:])
    tests = enrich({"+": higher, "-": lower}, symbols_of(M), pathways)
    sure = [row for row in tests if row.q <= SURE]
    types = types_of(fitted.model.factors_[0], M.coords["cancer"].values)
    rows: list[Row] = []
    for l, sign in sorted({(row.component, row.sign) for row in sure}):
        best = [row for row in sure if (row.component, row.sign) == (l, sign)]
        names = ", ".join(f"{row.pathway} ({row.q:.0e})" for row in best[:3])
        rows.append(
            {
                "component": f"{l} ({sign})",
                "genes": len((higher if sign == "+" else lower)[l]),
                "cancer types": ", ".join(types[l]) or "none by half",
                "pathways (q)": names + (f", {len(best) - 3} more" if len(best) > 3 else ""),
            }
        )
    show("pathways", rows)
    numbers = {
        "shape": fitted.model.posterior_.shape,
        "tests": len(tests),
        "sure": [row._asdict() for row in sure],
    }
    write_numbers("pathways", {**numbers, "facts": fitted.facts})
    write_study_report("pathways", fitted, M, "Cancer: messenger RNA of genes in pathways")
    which = (
        "all genes that KEGG knows"
        if known.sum() == M.shape[1]
        else "those that vary most of what KEGG knows"
    )
    text = f"{M.shape[0]:,} patients, {M.shape[1]:,} genes ({which}), {components} components. "
    text += f"{fitted.cost} "
    text += (
        f"{len(sure)} of {len(tests):,} pairs of a component's side and a pathway have q of at most {SURE}."
    )
    again = [name for name in TABLE_1 if any(row.pathway == name for row in sure)]
    text += f" Of the {len(TABLE_1)} pathways in the paper's Table 1 {len(again)} are among them"
    text += f": {', '.join(again)}." if again else "."
    write_section("pathways", text, markdown(rows) if rows else "No pathway stands out.")


def write_study_report(name: str, fitted: Fitted, M: Any, title: str) -> None:
    """Write the report of a fit, which knows the patients' types of cancer."""
    metadata = {"patient": {name: M.coords[name].values for name in ("patient", "cancer")}}
    write_report(fitted.model, record.OUT / f"{name}.html", metadata=metadata, title=title)


def patients(name: str, M: Any, components: int, normalise: str, als: int, fresh: bool) -> None:
    """Compare features of patients, and draw those of the fit."""
    tensor, fitted = fit(M, "mirna", components, normalise, fresh)
    types = M.coords["cancer"].values
    rows = compare(M, tensor, fitted, als)
    show(name, rows)
    factor = fitted.model.factors_[0]
    draw(name, factor, types)
    where = types_of(factor, types)
    table = [
        {
            "component": l,
            "patients": int((factor[:, l] > MEMBER).sum()),
            "more than half of": ", ".join(found),
        }
        for l, found in enumerate(where)
        if found
    ]
    cells = float(np.prod([float(n) for n in tensor.shape]))
    numbers = {"shape": tensor.shape, "cells": cells, "accuracy": rows, "types": where, "facts": fitted.facts}
    write_numbers(name, numbers)
    write_study_report(name, fitted, M, "Cancer: micro-RNA")
    text = f"{M.shape[0]:,} patients, {M.shape[1]:,} miRNAs, {cells:,.0f} cells, "
    text += (
        f"{len(set(types.tolist()))} types of cancer, {components} components; {(M.values == 0).mean():.0%} "
    )
    text += f"of the values are 0. {fitted.cost} "
    text += f"A component has {(factor > MEMBER).mean():.0%} of the patients on average; "
    text += f"{len(table)} have more than half of the patients of some type."
    write_section(
        name,
        text,
        markdown(rows),
        f"![patients by type of cancer, and their components]({FIGURES}/{name}.png)",
        markdown(table),
    )


@options
@click.option("--components", default=25, help="Of our fit, of PCA and of Boolean ALS.")
@click.option("--patients", "n_patients", default=0, help="A random sample of so many; 0 for all.")
@click.option("--attributes", default=0, help="So many miRNAs that vary most; 0 for all.")
@click.option("--genes", default=GENES, help="Of the genes in pathways so many at most that vary most.")
@click.option("--als-attributes", default=0, help="So many miRNAs that vary most for Boolean ALS; 0 for all.")
@click.option("--normalise", default="zscore", type=click.Choice(["zscore", "rank"]))
@click.option("--part", default="all", type=click.Choice(["all", "patients", "pathways"]))
def main(
    quick: bool,
    fresh: bool,
    components: int,
    n_patients: int,
    attributes: int,
    genes: int,
    als_attributes: int,
    normalise: str,
    part: str,
) -> None:
    """Relative expression in cancer."""
    if quick:
        components, n_patients, attributes, genes, als_attributes = 10, 300, 60, 100, 30
    if part != "pathways":
        M = sample("mirna", n_patients, attributes or MOST_VARYING)
        patients("cancer_sample", M, components, normalise, als_attributes, fresh)
        if not n_patients and not attributes:
            patients("cancer", sample("mirna", 0, 0), components, normalise, als_attributes, fresh)
    if part != "patients":
        gene_sets(components, genes, fresh)


if __name__ == "__main__":
    main()
