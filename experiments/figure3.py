"""Fig. 3: how often each method chooses the right number of components.

    python -m experiments.figure3 --quick | --full

benchmarks/selection.py does the work, explains the columns, and keeps the trials. The slow methods are run on
a part of the tensors.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from benchmarks import selection
from benchmarks.accuracy import Cell
from experiments import record
from experiments.record import Row, markdown, mean, options, show, write_section
from experiments.verdicts import AHEAD, OURS, PUBLISHED, Claim, claims, lead

RANKS, MORE, DENSITIES = (4,), (2, 5, 8), (0.1, 0.3)  # of samples; of the slow methods
FAST = ("occam-published", "cv-published", "mdl of ALS", "occam")
SLOW = ("posterior", "mdl", "cv", "fit")
MARGIN = 0.02  # of the relative error, which must be smaller by as much
PERFECT = 0.01
MDL = "mdl of ALS"
RULES = {PUBLISHED: ("occam-published", "cv-published"), OURS: ("occam", "cv")}
GUESS = "always the same number"


def errors_of(found: Sequence[Row]) -> list[Row]:
    """Return for each tensor the relative errors of its methods and of the best constant guess."""

    def off(row: Row, chosen: int) -> float:
        return abs(chosen - row["rank"]) / row["rank"]

    guess = min(selection.CANDIDATES, key=lambda n: sum(off(row, n) for row in found))
    return [
        {"noise": row["noise"], GUESS: off(row, guess)}
        | {name: off(row, row[name]) for name in selection.SHOWN if name in row}
        for row in found
    ]


def compare(errors: Sequence[Row], fit: str) -> list[Claim]:
    """Return the paper's statements about the figure and our measurements."""
    razor, validation = RULES[fit]
    errors = [row for row in errors if all(name in row for name in (razor, validation, MDL))]
    said = []
    for name, rule in (("Occam's razor", razor), ("cross-validation", validation)):
        ahead, trivial = lead(errors, MDL, rule), lead(errors, GUESS, rule)
        text = (
            f"relative error {mean(errors, rule):.3f}, {MDL} {mean(errors, MDL):.3f} (difference {ahead}), "
        )
        text += f"{GUESS} {mean(errors, GUESS):.3f}"
        holds = ahead.judge(MARGIN) == AHEAD and trivial.judge(MARGIN) == AHEAD
        said.append(Claim(f"{name} clearly outperforms MDL", fit, text, holds))
    clean = [row for row in errors if row["noise"] == 0]
    best = mean(clean, "identifiable")
    text = f"relative error {mean(clean, razor):.3f}; {best:.3f} if only identifiable components are counted"
    said.append(
        Claim("Occam's razor: virtually perfect without noise", fit, text, mean(clean, razor) <= PERFECT)
    )
    noisy = [row for row in errors if row["noise"] > 0]
    ahead = lead(noisy, razor, validation)
    by_noise = ", ".join(
        f"{noise:.0%}: {mean(rows, validation):.3f} and {mean(rows, razor):.3f}"
        for noise in sorted({row["noise"] for row in noisy})
        if (rows := [row for row in noisy if row["noise"] == noise])
    )
    text = f"cross-validation and Occam's razor at {by_noise}; difference {ahead}"
    paper = "cross-validation is superior at moderate noise"
    return [*said, Claim(paper, fit, text, ahead.judge(MARGIN) == AHEAD)]


def list_cells(ranks: Iterable[int], densities: Iterable[float]) -> list[Cell]:
    """Return the configurations with some ranks and densities and every noise."""
    return [Cell((20,) * 3, *x) for x in itertools.product(ranks, densities, selection.NOISES)]


@options
def main(quick: bool, fresh: bool, jobs: int) -> None:
    """Relative error of the number of components."""
    if fresh:
        selection.TRIALS.unlink(missing_ok=True)
    every = list_cells(RANKS, DENSITIES) if quick else list_cells(selection.RANKS, selection.DENSITIES)
    part = list_cells(RANKS if quick else MORE, DENSITIES)
    found = selection.gather(selection.run(every, 1, FAST, jobs) + selection.run(part, 1, SLOW, jobs))
    table = selection.summarise(found, "rank")
    show("figure3", table)
    selection.draw(found, record.OUT / "figure3.png")
    errors = errors_of(found)
    write_section(
        "figure3",
        f"{len(found)} tensors, {sum(SLOW[0] in row for row in found)} of them for posterior, mdl and cv; "
        "relative error against the planted number, and its standard error.",
        "![relative error over noise, density and rank](figures/figure3.png)",
        markdown(table),
        "Against the number of planted components that can be identified from the noisy cells:",
        markdown(selection.summarise(found, "identifiable")),
        "Share of tensors with exactly the planted number, where every planted component is identifiable:",
        markdown(selection.count_right(found)),
        "Processor seconds, and their ratio to one fit of the largest candidate, 15:",
        markdown(selection.time_methods(found)),
        claims([claim for fit in RULES for claim in compare(errors, fit)]),
    )


if __name__ == "__main__":
    main()
