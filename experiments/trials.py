"""What was tried to bring features of patients ahead of PCA, on samples of the cancer study.

    python -m experiments.trials              # needs TENSORM_DATA; half an hour

Components, normalisation, noise model, more patients, more attributes, and all of either (0). Random
forests in the same folds.
"""

from __future__ import annotations

import click
import numpy as np

from experiments.cancer import CHAIN, forest_accuracy, sample
from experiments.record import Row, markdown, run, show, write_section
from experiments.study import MEMBER, begin
from tensorm import RelationalTensor, TensOrMachine

USUAL: Row = {
    "patients": 1000,
    "attributes": 200,
    "components": 25,
    "normalise": "zscore",
    "noise": "asymmetric",
}
CHANGES: tuple[Row, ...] = (
    {},
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


def measure(patients: int, attributes: int, components: int, normalise: str, noise: str) -> Row:
    """Return the accuracy of forests on the features of one fit, and on PCA of the same matrix."""
    from sklearn.decomposition import PCA

    M = sample("mirna", patients, attributes)
    types, values = M.coords["cancer"].values, M.values.astype(np.float64)
    scaled = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-9)
    tensor = RelationalTensor(M, normalise=normalise)
    model = TensOrMachine(components, noise=noise, progress=False, **CHAIN).fit(tensor)
    strengths = model.transform(tensor, kind="strength")
    return {
        "membership": forest_accuracy(model.factors_[0] > MEMBER, types),
        "strength": forest_accuracy(strengths, types),
        "both": forest_accuracy(np.hstack([model.factors_[0], strengths]), types),
        "PCA": forest_accuracy(PCA(components, random_state=0).fit_transform(scaled), types),
    }


@click.command()
@click.option("--quick", is_flag=True, help="The first trial only.")
@click.option("--fresh", is_flag=True, help="Forget trials made earlier.")
def main(quick: bool, fresh: bool) -> None:
    """Try settings of the cancer study."""
    begin(quick)
    jobs = [{**USUAL, **change} for change in (CHANGES[:1] if quick else CHANGES)]
    rows = run("trials", measure, jobs, 1, fresh)
    show("trials", rows)
    write_section("trials", markdown(rows))


if __name__ == "__main__":
    main()
