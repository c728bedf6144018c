"""Section 5.2 as the paper did it: its algorithm, its rule for the number of components, its rival, Fig. 4b.

    python -m experiments.students_paper      # needs TENSORM_DATA or the network; a minute

The paper's map from seats to six parts of the room is not public. Six equal ranges of seat numbers stand in
for it, and other cuts show what depends on them; nothing here refers to front or back, left or right. 42 of
the 47 students came in at least two weeks, which may be why the paper has 42.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.prepare import ensure
from experiments.published import (
    FROM_DATA,
    PLAIN,
    VARIANTS,
    descend,
    fit,
    fit_ours,
    judge_number,
    keep,
    list_fits,
    tabulate,
    tabulate_kept,
    validate,
)
from experiments.record import Row, markdown, run, show, write_section
from experiments.students import PAPER, check_statements, groups_of
from experiments.study import FIGURES, draw_factors, options, share_true, turn, write_numbers
from experiments.verdicts import Claim, claims
from tensorm import datasets
from tensorm.model import boolean_product
from tensorm.posterior.modes import MEMBER

PERCENT = 92  # held-out accuracy
STARTS = 10  # in quick runs, too, so that statements are the same
SIZES, CANDIDATES, SPLITS = (1, 2, 4, 7, 12), range(1, 13), 5
SEATS, RANGES = 84, 6
EQUAL, ALS = "six equal ranges", "ALS, DBTF start"
NOISES = {"one rate": "symmetric", "two rates": "asymmetric", "strengths": "strengths"}
OFTEN = 2  # weeks of those who are kept in the smaller tensor
SIMILAR = 0.1  # how much less alike than two starts of ours two fits may be


def name_regions(numbers: Sequence[int]) -> dict[int, str]:
    """Return a region for each seat from the region's number, in increasing order."""
    return {seat + 1: f"region {n + 1}" for seat, n in sorted(enumerate(numbers), key=lambda pair: pair[1])}


def cuts() -> dict[str, dict[int, str]]:
    """Return ways to divide 84 seats into six regions: ranges, shifted ranges, and rows cut in three."""
    found = {EQUAL: name_regions([seat * RANGES // SEATS for seat in range(SEATS)])}
    for shift in (5, 9):
        ranges = [min((seat + shift) * RANGES // SEATS, RANGES - 1) for seat in range(SEATS)]
        found[f"ranges shifted by {shift}"] = name_regions(ranges)
    for length in (12, 14):  # front or back, and left, centre or right in a row of so many seats
        rows = [3 * (2 * seat // SEATS) + 3 * (seat % length) // length for seat in range(SEATS)]
        found[f"rows of {length} seats"] = name_regions(rows)
    return found


def read_room(cut: str, often: int) -> Any:
    """Return the tensor of one cut of the room, of students who came in at least so many weeks."""
    X = datasets.students(cuts()[cut])
    return X[:, :, X.values.any(axis=1).sum(axis=0) >= often]


def judge(fitted: str, cut: str, often: int, seed: int) -> Row:
    """Return which statements of section 5.2 are true in a fit from one start."""
    X = read_room(cut, often)
    if fitted == ALS:
        factors = descend(X, PAPER, seed)
    elif fitted in VARIANTS:
        factors = fit(X, PAPER, seed, **VARIANTS[fitted]).factors_
    else:
        factors = fit_ours(X, PAPER, seed, noise=NOISES[fitted]).factors_
    return {"said": check_statements(groups_of(factors), X.values)}


def count(fitted: str, components: int, seed: int) -> Row:
    """Return how many components a fit keeps."""
    return keep(read_room(EQUAL, 1), fitted, components, seed)


def hold_out(name: str, often: int, components: int, split: int) -> Row:
    """Return scores on held-out cells."""
    return validate(read_room(EQUAL, often), name, components, split)


def count_cases(cases: Mapping[str, Row], fresh: bool) -> list[Row]:
    """Return in how many starts each statement is true, a column for each case."""
    jobs = [{**case, "seed": seed} for case in cases.values() for seed in range(STARTS)]
    found = run("students_paper-statements", judge, jobs, 1, fresh)
    return turn(
        [
            share_true(title, [row["said"] for row in found if all(row[name] == case[name] for name in case)])
            for title, case in cases.items()
        ]
    )


def likeness(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Return how alike two reconstructions are: cells that are 1 in both, of those that are 1 in either."""
    a, b = (boolean_product([np.asarray(f) > MEMBER for f in factors]) == 1 for factors in (one, other))
    both, either = int((a & b).sum()), int((a | b).sum())
    return both / either if either else 0.0


def compare_rival(fits: Sequence[Any], rival: Sequence[Any]) -> Claim:
    """Return whether Boolean ALS finds solutions like ours, as far as our own starts are alike."""
    own, theirs = (
        float(np.mean([likeness(a, b) for a, b in itertools.pairwise(these)])) for these in (fits, rival)
    )
    cross = float(np.mean([likeness(a, b) for a, b in zip(fits, rival, strict=True)]))
    text = f"ones in both, of ones in either: {cross:.2f}; two starts of ours {own:.2f}, "
    text += f"of the rival {theirs:.2f}"
    return Claim("dbtf finds similar solutions", ALS, text, cross > own - SIMILAR and cross > 0.5)


@options
def main(quick: bool, fresh: bool) -> None:
    """The paper's algorithm on seats of students."""
    ensure("students")
    X = read_room(EQUAL, 1)
    starts, splits = (2, 1) if quick else (STARTS, SPLITS)
    fits = list_fits((PAPER,) if quick else SIZES, starts)
    kept = tabulate_kept(run("students_paper-kept", count, fits, 1, fresh))
    show("students_paper-kept", kept)
    jobs = [
        {"name": name, "often": often, "components": L, "split": split}
        for often in (1, OFTEN)
        for name in (PLAIN, FROM_DATA)
        for L in ((2, PAPER) if quick else CANDIDATES)
        for split in range(splits)
    ]
    found = run("students_paper-validation", hold_out, jobs, 1, fresh)
    sizes = {often: read_room(EQUAL, often).shape[2] for often in (1, OFTEN)}
    trials: dict[str, list[Row]] = {}
    for row in found:
        trials.setdefault(f"{row['name']}, {sizes[row['often']]} students", []).append(row)
    scores = tabulate(trials)
    show("students_paper-validation", scores)
    fewer = 1 if quick else None  # columns; those that are left do not change
    plain: Row = {"cut": EQUAL, "often": 1}
    table = count_cases(
        {
            **{name: {"fitted": name, **plain} for name in (PLAIN, FROM_DATA, ALS)},
            **{f"tensorm, {name}": {"fitted": name, **plain} for name in list(NOISES)[:fewer]},
        },
        fresh,
    )
    by_cut = count_cases(
        {
            f"{cut}, {sizes[often]}": {"fitted": FROM_DATA, "cut": cut, "often": often}
            for cut in list(cuts())[:fewer]
            for often in sizes
        },
        False,
    )
    show("students_paper-statements", table)
    show("students_paper-cuts", by_cut)
    ours = [fit_ours(X, PAPER, seed, noise="symmetric").factors_ for seed in range(STARTS)]
    rival = [descend(X, PAPER, seed) for seed in range(STARTS)]
    said = [
        claim
        for title, rows in trials.items()
        for claim in judge_number(rows, title, PAPER, PERCENT, "log-loss")
    ]
    said.append(compare_rival(ours, rival))
    by_week = np.argsort(-X.values.sum(axis=(0, 1)), kind="stable")
    drawn = {
        PLAIN: fit(X, PAPER, 0).factors_,
        FROM_DATA: fit(X, PAPER, 0, **VARIANTS[FROM_DATA]).factors_,
        "tensorm, two rates": fit_ours(X, PAPER, 0, noise="asymmetric").factors_,
        ALS: rival[0],
    }
    labels: dict[str, list[str]] = {
        name: [str(text) for text in X.coords[name].values] for name in ("week", "region")
    }
    labels["student, who came most first"] = ["" for _ in by_week]
    draw_factors("students_paper", {name: (f[0], f[1], f[2][by_week]) for name, f in drawn.items()}, labels)
    write_numbers(
        "students_paper",
        {"kept": kept, "scores": scores, "statements": table, "cuts": by_cut, "claims": said},
    )
    write_section(
        "students_paper",
        f"Components with members in all modes that are left; the range over {starts} starts:",
        markdown(kept),
        f"Scores on a fifth of the cells by number of components, means of {splits} splits:",
        markdown(scores),
        claims(said),
        f"In how many of {STARTS} starts each statement is true with {PAPER} components:",
        markdown(table),
        f"The same for other cuts of the room and for the {sizes[OFTEN]} students who came in "
        f"two weeks or more ({FROM_DATA}):",
        markdown(by_cut),
        f"![weeks, regions and students of {PAPER} components, by four fits]({FIGURES}/students_paper.png)",
    )


if __name__ == "__main__":
    main()
