"""What was tried to bring features of patients ahead of PCA, on samples of the cancer study.

    python -m experiments.trials              # needs TENSORM_DATA, or the network; half an hour

Other starts, components, normalisation, noise model, more patients, more attributes, and all of either (0).
Random forests in the same folds. *Pairs* are memberships of a patient in the components less those in their
opposites, in which all comparisons are the other way round: 1, 0 or -1. *Axes* are strengths along their
principal axes.
"""

from __future__ import annotations

import numpy as np

from experiments.cancer import CHAIN, forest_accuracy, principal_axes, sample
from experiments.record import Row, markdown, run, show, write_section
from experiments.study import MEMBER, options, write_numbers
from tensorm import RelationalTensor, TensOrMachine

USUAL: Row = {
    "patients": 1000,
    "attributes": 200,
    "components": 25,
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


def measure(patients: int, attributes: int, components: int, normalise: str, noise: str, start: int) -> Row:
    """Return the accuracy of forests on the features of one fit, and on PCA of the same matrix."""
    M = sample("mirna", patients, attributes)
    types = M.coords["cancer"].values
    tensor = RelationalTensor(M, normalise=normalise)
    chain = {**CHAIN, "random_state": start}
    model = TensOrMachine(components, noise=noise, progress=False, **chain).fit(tensor)
    means, strengths = model.factors_[0], model.transform(tensor, kind="strength")
    opposite = model.transform(RelationalTensor(-M, normalise=normalise))
    return {
        "membership": forest_accuracy(means > MEMBER, types),
        "pairs": forest_accuracy((means > MEMBER) - 1.0 * (opposite > MEMBER), types),
        "strength": forest_accuracy(strengths, types),
        "both": forest_accuracy(np.hstack([means, strengths]), types),
        "axes": forest_accuracy(principal_axes(strengths), types),
        "PCA": forest_accuracy(principal_axes(M.values, components), types),
    }


@options
def main(quick: bool, fresh: bool) -> None:
    """Try settings of the cancer study."""
    jobs = [{**USUAL, **change} for change in (CHANGES[:1] if quick else CHANGES)]
    rows = run("trials", measure, jobs, 1, fresh)
    show("trials", rows)
    write_numbers("trials", {"trials": rows})
    write_section("trials", markdown(rows))


if __name__ == "__main__":
    main()
