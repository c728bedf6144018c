"""Section 5.3 as the paper did it: features of patients by several methods and starts, and Fig. 4c.

    python -m experiments.cancer_paper --kind mrna     # 800 patients, 200 genes, 17 types; needs TENSORM_DATA
    python -m experiments.cancer_paper --kind mirna    # 1,500 patients, 100 miRNAs, 28 types
    python -m experiments.cancer_paper --kind mrna --patients 0 --attributes 400    # all patients: hours

Random forests predict the type of cancer from memberships of patients in components. Every method has five
starts, each with other folds of patients. Balanced accuracy is the mean over types, whatever their size.
*As published* is the paper's algorithm, with its start or with components found in the data; *Boolean ALS* is
run as the paper ran its rival: from fibres, missing cells as zeros, at most 350 attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from experiments.cancer import draw_patients
from experiments.forests import forest_scores, principal_axes, scale, strengths_of
from experiments.record import Row, markdown, mean, run, show, spread, write_section
from experiments.study import FIGURES, options, saving, write_numbers
from experiments.tumours import COMPONENTS, COUNT, LEGEND, most_varying, sample
from experiments.verdicts import AHEAD, BEHIND, Claim, Lead, claims, lead
from tensorm import RelationalTensor, TensOrMachine, baselines, select_components
from tensorm.posterior.modes import MEMBER

SETTINGS = {"mrna": ("mrna17", 800, 200), "mirna": ("mirna", 1500, 100)}  # data set, patients, attributes
BOTH = "both"
RIVALS = 350  # attributes of Boolean ALS in the paper
STARTS, FEWEST = 5, 3  # starts of each method, and those that a verdict needs
DRAWN = 0  # the start whose memberships are kept for the figure
MARGIN = 0.01  # of accuracy
SPECIFIC = 0.8  # share of the patients of a type in a component that is specific to it
ELSEWHERE = 0.2  # share of the patients of another type from which it is not
OURS, PCA, ALS = "tensorm, membership", "PCA of z-scores", "Boolean ALS, membership"
PLAIN, FROM_DATA, TWO = (
    "as published, membership",
    "as published, start from data, membership",
    "tensorm, two rates, membership",
)
AXES, EVIDENCE = "tensorm, principal axes of strengths", "tensorm, number by evidence, membership"
PAPER = {PLAIN: 0.91, PCA: 0.86, ALS: 0.81}
FEATURES: dict[str, tuple[str, ...]] = {
    "published": (PLAIN,),
    "from data": (FROM_DATA,),
    "two rates": (TWO,),
    "ours": (OURS, AXES),
    "evidence": (EVIDENCE,),
    "als": (ALS,),
    "pca": (PCA, "PCA of z-scores, above the mean or not"),
}
QUICK, SLOW = ("pca", "als", "published", "from data"), ("two rates", "ours")  # in the order of their jobs


def fit_model(method: str, tensor: RelationalTensor, components: int, start: int) -> TensOrMachine:
    """Fit one chain, ours or the paper's."""
    common = {"random_state": start, "progress": False, "n_chains": 1, "n_draws": 50, "n_jobs": 1}
    made: dict[str, Callable[[], TensOrMachine]] = {
        "published": lambda: TensOrMachine.as_published(components, **common),
        "from data": lambda: TensOrMachine.as_published(components, init="data", lambda_start=None, **common),
        "two rates": lambda: TensOrMachine(components, noise="asymmetric", **common),
        "ours": lambda: TensOrMachine(components, **common),
    }
    return made[method]().fit(tensor)


def descend(M: Any, components: int, start: int) -> npt.NDArray[Any]:
    """Return the patients' factor of Boolean ALS, run as the paper ran its rival."""
    tensor = RelationalTensor(most_varying(M, min(RIVALS, M.shape[1])))
    settings = {"init": "fibres", "n_init": 1, "missing": "zero", "random_state": start, "progress": False}
    return baselines.BooleanALS(components, n_jobs=1, **settings).fit(tensor).factors_[0]


def find_features(method: str, M: Any, components: int, start: int) -> list[npt.NDArray[Any]]:
    """Return what a method says about patients, as many arrays as it has names in ``FEATURES``."""
    if method == "als":
        return [descend(M, components, start)]
    if method == "pca":
        axes = principal_axes(scale(M.values), components)
        return [axes, axes > 0]
    tensor = RelationalTensor(M)
    if method == "evidence":
        chosen = select_components(tensor, n_jobs=1, random_state=start, progress=False).best
        return [fit_model("ours", tensor, chosen, start).factors_[0] > MEMBER]
    model = fit_model(method, tensor, components, start)
    found = [model.factors_[0] > MEMBER]
    return [*found, principal_axes(scale(strengths_of(model, tensor)))] if method == "ours" else found


def measure(kind: str, attributes: int, patients: int, components: int, method: str, start: int) -> Row:
    """Return the scores of forests on the features of one method from one start."""
    M = sample(SETTINGS[kind][0], patients, attributes)
    types = M.coords["cancer"].values
    legend = np.isin(types, list(LEGEND))
    found: Row = {}
    for name, values in zip(FEATURES[method], find_features(method, M, components, start), strict=True):
        accuracy, balanced = forest_scores(values, types, start)
        found[name] = {
            "number": values.shape[1],
            "used": int((values.std(axis=0) > 0).sum()),
            "accuracy": accuracy,
            "balanced": balanced,
            "legend": forest_scores(values[legend], types[legend], start)[0],
        }
        if start == DRAWN and values.dtype == bool:
            found[name]["members"] = values.astype(int).tolist()
    return found


def gather(trials: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the scores of each kind of features, a row for each start."""
    found: dict[str, list[Row]] = {}
    for row in trials:
        for name in FEATURES[row["method"]]:
            found.setdefault(name, []).append({"start": row["start"], **row[name]})
    return found


def tabulate(found: dict[str, list[Row]]) -> list[Row]:
    """Return the mean and the spread over starts of every score of all features."""
    table = []
    for name, rows in found.items():
        used = sorted({row["used"] for row in rows})
        line: Row = {
            "features": name,
            "used": f"{used[0]}-{used[-1]}" if len(used) > 1 else used[0],
            "of": rows[0]["number"],
        }
        for score in ("accuracy", "balanced", "legend"):
            deviation = f" ± {np.std([row[score] for row in rows], ddof=1):.3f}" if len(rows) > 1 else ""
            line[score] = f"{mean(rows, score):.3f}{deviation}"
        line["starts"] = len(rows)
        table.append(line | {"the paper": PAPER.get(name, "")})
    return table


def pair(found: dict[str, list[Row]], first: str, second: str, score: str = "accuracy") -> Lead:
    """Return the lead of one kind of features over another, from starts with the same folds."""
    others = {row["start"]: row[score] for row in found[second]}
    both = [{"a": row[score], "b": others[row["start"]]} for row in found[first] if row["start"] in others]
    return lead(both, "a", "b")


def contest(found: dict[str, list[Row]], paper: str, first: str, second: str) -> Claim:
    """Return whether one kind of features is clearly ahead of another; few starts cannot tell."""
    starts = {row["start"] for row in found[first]} & {row["start"] for row in found[second]}
    ahead = pair(found, first, second)
    if len(starts) < FEWEST:
        return Claim(paper, first, f"{ahead.mean:+.4f}, fewer than {FEWEST} starts", None)
    return Claim(paper, first, f"{ahead}", ahead.judge(MARGIN) == AHEAD)


def compare(found: dict[str, list[Row]], common: float) -> list[Claim]:
    """Return the paper's order of features, and what is found here."""
    said = []
    for name in (PLAIN, FROM_DATA, TWO, OURS, EVIDENCE):
        if name not in found:
            continue
        for other, paper in (
            (PCA, "memberships predict types better than PCA (91% and 86%)"),
            (ALS, "memberships predict types better than dbtf's (91% and 81%)"),
        ):
            said.append(contest(found, paper, name, other))
        trivial = Lead(mean(found[name], "accuracy") - common, spread(found[name], "accuracy"))
        text = f"{mean(found[name], 'accuracy'):.3f}; always the most common type {common:.3f}"
        holds = trivial.judge(MARGIN) == AHEAD
        said.append(Claim("(not in the paper) better than the most common type", name, text, holds))
    return [*said, contest(found, "PCA predicts types better than dbtf (86% and 81%)", PCA, ALS)]


def tell_order(found: dict[str, list[Row]]) -> str:
    """Return a sentence on the paper's order, of the best of the paper's fits, PCA and Boolean ALS."""
    best = max(
        (name for name in (PLAIN, FROM_DATA) if name in found), key=lambda name: mean(found[name], "accuracy")
    )
    leads = pair(found, best, PCA), pair(found, PCA, ALS)
    holds = all(one.judge(MARGIN) == AHEAD for one in leads)
    reverse = all(one.judge(MARGIN) == BEHIND for one in leads)
    words = "reproduced" if holds else "reversed" if reverse else "not reproduced"
    scores = ", ".join(f"{name} {mean(found[name], 'accuracy'):.3f}" for name in (best, PCA, ALS))
    return (
        f"The paper's order (memberships 91%, PCA 86%, dbtf 81%) is {words}: {scores}. "
        f"Memberships minus PCA {leads[0]}, PCA minus Boolean ALS {leads[1]}, "
        f"memberships minus Boolean ALS {pair(found, best, ALS)}."
    )


def count_specific(factor: npt.NDArray[Any], types: npt.NDArray[Any]) -> tuple[int, int]:
    """Return how many components are in nearly all patients of some types and in few of most others."""
    shares = np.array([(factor[types == name] > MEMBER).mean(axis=0) for name in np.unique(types)])
    specific = (shares > SPECIFIC).any(axis=0) & ((shares > ELSEWHERE).mean(axis=0) <= 0.25)
    return int(specific.sum()), int((shares > 0).any(axis=0).sum())


def draw(name: str, M: Any, components: int, found: dict[str, list[Row]]) -> str:
    """Draw patients by type for four methods; return a sentence on how specific components are."""
    types = M.coords["cancer"].values
    axes = scale(principal_axes(scale(M.values), components))
    panels = {
        title: np.array(row["members"], float)
        for title in (OURS, FROM_DATA, ALS)
        for row in found.get(title, [])
        if row["start"] == DRAWN
    }
    counts = {title: count_specific(values, types) for title, values in panels.items()}
    panels[PCA] = np.clip(axes / 4 + 0.5, 0, 1)
    with saving(name) as save:
        import matplotlib.pyplot as plt

        figure, subplots = plt.subplots(len(panels), 1, figsize=(10, 3 * len(panels)), layout="constrained")
        for ax, (title, values) in zip(subplots, panels.items(), strict=True):
            draw_patients(ax, values, types)
            ax.set_title(title, fontsize=8)
        save(figure)
    told = ", ".join(f"{title} {some} of {used}" for title, (some, used) in counts.items())
    return (
        f"Components with over {SPECIFIC:.0%} of the patients of some type and over {ELSEWHERE:.0%} "
        f"of at most a quarter of the types, of those that are used: {told}."
    )


def study(kind: str, shared: Row, starts: int, slow_starts: int, evidence: bool, fresh: bool) -> None:
    """Compare features of one matrix, and write its section."""
    name = f"cancer_{kind}"
    jobs = [
        {**shared, "method": method, "start": start}
        for methods, number in ((QUICK, starts), (SLOW, min(starts, slow_starts)))
        for start in range(number)
        for method in methods
    ]
    jobs += [{**shared, "method": "evidence", "start": 0}] * evidence  # choosing a number takes long
    found = gather(run(name, measure, jobs, 1, fresh))
    table = tabulate(found)
    show(name, table)
    M = sample(SETTINGS[kind][0], shared["patients"], shared["attributes"])
    most = sample(SETTINGS[kind][0], 0, 0).shape
    names, counts = np.unique(M.coords["cancer"].values, return_counts=True)
    said = compare(found, counts.max() / len(M))
    order = tell_order(found)
    specific = draw(name, M, shared["components"], found)
    lacking = [text for text in LEGEND if text not in names]
    scores = {
        title: [{key: row[key] for key in row if key != "members"} for row in rows]
        for title, rows in found.items()
    }
    write_numbers(name, {"shape": M.shape, "scores": scores, "claims": said, "order": order})
    write_section(
        name,
        f"{M.shape[0]:,} of {most[0]:,} patients, at random; the {M.shape[1]:,} of {most[1]:,} attributes "
        f"that vary most. {len(names)} types of cancer; the most common, {names[counts.argmax()]}, has "
        f"{counts.max() / len(M):.0%} of the patients. Of the {len(LEGEND)} types of the paper's legend "
        f"{len(LEGEND) - len(lacking)} are there (not {', '.join(lacking)}); *legend* is the accuracy on "
        "these alone. Means over starts and their standard deviations; "
        "*used* is the number of features that differ between patients:",
        markdown(table),
        order,
        claims(said),
        specific,
        f"![patients by type of cancer, and their features by four methods]({FIGURES}/{name}.png)",
    )


@options
@click.option("--kind", default=BOTH, type=click.Choice([*SETTINGS, BOTH]), help="Messenger or micro-RNA.")
@click.option("--attributes", type=COUNT, help="Number of most varying attributes; 0 for all.")
@click.option("--patients", type=COUNT, help="Size of a random sample; 0 for all.")
@click.option(
    "--components", default=COMPONENTS, type=click.IntRange(min=1), help="Components, but by evidence."
)
@click.option("--starts", default=STARTS, type=click.IntRange(min=1), help="Starts of each method.")
@click.option("--slow-starts", default=STARTS, type=COUNT, help="Starts of the methods that take longest.")
@click.option("--evidence/--no-evidence", default=True, help="Whether to choose a number of components.")
def main(
    quick: bool,
    fresh: bool,
    kind: str,
    attributes: int | None,
    patients: int | None,
    components: int,
    starts: int,
    slow_starts: int,
    evidence: bool,
) -> None:
    """Features of patients by several methods and starts."""
    if quick:
        attributes, patients, components = 40, 200, 8
    for each in SETTINGS if kind == BOTH else (kind,):
        _, most_patients, most_attributes = SETTINGS[each]
        shared: Row = {
            "kind": each,
            "attributes": most_attributes if attributes is None else attributes,
            "patients": most_patients if patients is None else patients,
            "components": components,
        }
        study(each, shared, 2 if quick else starts, slow_starts, evidence, fresh)


if __name__ == "__main__":
    main()
