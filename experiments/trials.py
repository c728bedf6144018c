"""Attempts to find features of patients that beat PCA, on samples of the cancer study.

    python -m experiments.trials              # needs TENSORM_DATA or the network; half an hour

Other starts, numbers of components, normalisations, noise models, patients and attributes (0 for all).
Random forests use the same folds. *Pairs* are memberships of a patient in the components minus those in their
opposites, in which all comparisons are reversed: 1, 0 or -1. *Axes* are strengths along their principal axes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.cancer import MOST_VARYING
from experiments.forests import forest_accuracy, principal_axes, scale, strengths_of, tell_error
from experiments.record import Row, identify, markdown, run, show, write_section
from experiments.study import options, write_numbers
from experiments.tumours import CHAIN, COMPONENTS, sample
from tensorm import RelationalTensor, TensOrMachine
from tensorm.posterior.modes import MEMBER

USUAL: Row = {
    "patients": 1000,
    "attributes": MOST_VARYING,
    "components": COMPONENTS,
    "normalise": "zscore",
    "noise": "asymmetric",
    "start": 0,
}
CHANGES: tuple[Row, ...] = (
    {},
    {"start": 1},
    {"start": 2},
    {"normalise": "rank"},
    {"noise": "symmetric"},
    {"components": 40},
    {"components": 60},
    {"components": 100},
    {"patients": 3000},
    {"attributes": 500},
    {"attributes": 0},
    {"attributes": 0, "normalise": "rank"},
    {"patients": 0, "components": 100},
)
TOLD: dict[str, Row] = {
    "ranks instead of z-scores": {"normalise": "rank"},
    "one noise rate instead of two": {"noise": "symmetric"},
    "100 components": {"components": 100},
    "all miRNAs": {"attributes": 0},
}
FEATURES = ("membership", "pairs", "strength", "both", "axes", "PCA")


def measure(patients: int, attributes: int, components: int, normalise: str, noise: str, start: int) -> Row:
    """Return the accuracy of forests on the features of one fit, and on PCA of the same matrix."""
    M = sample("mirna", patients, attributes)
    types = M.coords["cancer"].values
    tensor = RelationalTensor(M, normalise=normalise)
    chain = {**CHAIN, "random_state": start}
    model = TensOrMachine(components, noise=noise, progress=False, **chain).fit(tensor)
    means, strengths = model.factors_[0], strengths_of(model, tensor)
    opposite = model.transform(RelationalTensor(-M, normalise=normalise))
    return {
        "membership": forest_accuracy(means > MEMBER, types),
        "pairs": forest_accuracy((means > MEMBER) - 1.0 * (opposite > MEMBER), types),
        "strength": forest_accuracy(strengths, types),
        "both": forest_accuracy(np.hstack([means, strengths]), types),
        "axes": forest_accuracy(principal_axes(scale(strengths)), types),
        "PCA": forest_accuracy(principal_axes(scale(M.values), components), types),
    }


def compare_changes(rows: Sequence[Row]) -> list[Row]:
    """Return the effect of some settings, and the largest difference between starts."""
    found = {identify({name: row[name] for name in USUAL}): row for row in rows}
    starts = [found[identify({**USUAL, "start": n})] for n in range(3)]
    table: list[Row] = [
        {
            "change": f"{len(starts)} starts, largest difference",
            **{name: f"{np.ptp([row[name] for row in starts]):.3f}" for name in FEATURES},
        }
    ]
    for title, change in TOLD.items():
        row = found[identify({**USUAL, **change})]
        table.append({"change": title, **{name: f"{row[name] - starts[0][name]:+.3f}" for name in FEATURES}})
    return table


@options
def main(quick: bool, fresh: bool) -> None:
    """Try settings of the cancer study."""
    jobs = [{**USUAL, **change} for change in (CHANGES[:1] if quick else CHANGES)]
    rows = run("trials", measure, jobs, 1, fresh)
    show("trials", rows)
    write_numbers("trials", {"trials": rows})
    told = tell_error([row[name] for row in rows for name in FEATURES], USUAL["patients"])
    if not quick:
        told += " Changes from the first row:\n\n" + markdown(compare_changes(rows))
    write_section("trials", markdown(rows), told)


if __name__ == "__main__":
    main()
