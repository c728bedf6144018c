"""Fig. 3: how often each method chooses the right number of components.

    python -m experiments.figure3 --quick | --full

benchmarks/selection.py does the work, explains the columns, and keeps the trials.
"""

from __future__ import annotations

import itertools

from benchmarks import selection
from benchmarks.accuracy import Cell
from experiments.record import OUT, claims, markdown, options, show, write_section

RANKS, DENSITIES = (2, 5, 8), (0.1, 0.3)


@options
def main(quick: bool, fresh: bool, jobs: int) -> None:
    """Relative error of the number of components."""
    if fresh:
        selection.TRIALS.unlink(missing_ok=True)
    ranks, densities = (RANKS, DENSITIES) if quick else (selection.RANKS, selection.DENSITIES)
    cells = [Cell((20,) * 3, *x) for x in itertools.product(ranks, densities, selection.NOISES)]
    found = selection.gather(selection.run(cells, 1, selection.METHODS, jobs))
    table = selection.summarise(found, "rank")
    show("figure3", table)
    OUT.mkdir(exist_ok=True)
    selection.draw(found, OUT / "figure3.png")
    names = ("occam", "cv", "mdl", "mdl of ALS", selection.DEFAULT)
    errors = {name: selection.error(found, name)[0] for name in names}
    clean = selection.error([row for row in found if row["noise"] == 0], "occam")[0]
    text = ", ".join(f"{name} {error:.3f}" for name, error in errors.items())
    bayesian = max(errors["occam"], errors["cv"])
    write_section(
        "figure3",
        f"{len(found)} tensors; relative error against the planted number, and its standard error.",
        "![relative error over noise, density and rank](figures/figure3.png)",
        markdown(table),
        "Against the number of planted components that can be identified from the noisy cells:",
        markdown(selection.summarise(found, "identifiable")),
        "Share of tensors with exactly the planted number, where every planted component is identifiable:",
        markdown(selection.count_right(found)),
        "Processor seconds, and their ratio to one fit of the largest candidate, 15:",
        markdown(selection.time_methods(found)),
        claims(
            [
                (
                    "Occam's razor and cross-validation outperform MDL (of ALS)",
                    f"mean relative error: {text}",
                    bayesian < errors["mdl of ALS"],
                ),
                (
                    "they outperform MDL even with components that our chains found",
                    f"{bayesian:.3f} against {errors['mdl']:.3f}",
                    bayesian < errors["mdl"],
                ),
                (
                    "Occam's razor: virtually perfect without noise",
                    f"relative error {clean:.3f}",
                    clean < 0.01,
                ),
            ]
        ),
    )


if __name__ == "__main__":
    main()
