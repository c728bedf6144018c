"""Section 5.1 as the paper did it: its algorithm, its rule for the number of components, its rival, Fig. 4a.

    python -m experiments.hospital_paper      # needs TENSORM_DATA or the network

The statements of section 5.1 are looked for in several fits, each from several starts; a statement that is
true in some starts only is not a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.hospital import PAIR, Ward, groups_of, span
from experiments.published import (
    FROM_DATA,
    PLAIN,
    VARIANTS,
    descend,
    fit,
    fit_ours,
    judge_number,
    judge_rival,
    keep,
    list_fits,
    tabulate,
    tabulate_kept,
    validate,
)
from experiments.record import Floats, Row, markdown, run, show, write_section
from experiments.study import FIGURES, draw_factors, options, share_true, turn, write_numbers
from experiments.verdicts import claims
from tensorm import datasets

PAPER, PERCENT = 8, 91  # components, and held-out accuracy
STARTS, SIZES = 10, (1, 2, 4, 8, 16)
CANDIDATES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 30)
SPLITS = 5
NOISES = {"one rate": "symmetric", "two rates": "asymmetric", "strengths": "strengths"}


def rates(X: Any, roles: Sequence[str]) -> list[Row]:
    """Return the rates of contact between roles in each hour."""
    role, cells = np.array(roles), X.values
    pairs = (
        ("doctor", "doctor"),
        ("doctor", "nurse"),
        ("doctor", "administrator"),
        ("nurse", "administrator"),
        ("nurse", "nurse"),
    )
    return [
        {"rate of contacts": f"{a} - {b}"}
        | {
            str(hour): f"{np.nanmean(cells[n][np.ix_(role == a, role == b)]):.2f}"
            for n, hour in enumerate(X.coords["hour"].values)
        }
        for a, b in pairs
    ]


def explain_doctors(X: Any, roles: Sequence[str], seed: int = 0) -> str:
    """Return who else meets the doctors often in the day, and how often a member must meet the others."""
    role, hours = np.array(roles), [str(hour) for hour in X.coords["hour"].values]
    day = X.values[[n for n, hour in enumerate(hours) if hour in span(9, 19)]]
    with_doctors: Floats = np.nanmean(day[:, role == "doctor"], axis=(0, 1))
    median = float(np.median(with_doctors[role == "doctor"]))
    others = ", ".join(
        f"one {name} {with_doctors[role == name].max():.2f}" for name in ("nurse", "administrator", "patient")
    )
    noise = fit_ours(X, PAPER, seed, symmetric=PAIR, noise="asymmetric").noise_
    return (
        f"From 9am to 7pm a doctor meets the other doctors at a median rate of {median:.2f}; of the others, "
        f"those who meet doctors most do so at these rates: {others}. With one rate, a person belongs to a "
        "group if they meet its members in more than half of the cells that no other component explains; "
        f"with two rates ({noise['hit']:.2f} and {noise['false_alarm']:.2f}), in more than "
        f"{break_even(noise['hit'], noise['false_alarm']):.2f}."
    )


def break_even(hit: float, false_alarm: float) -> float:
    """Return the rate of ones above which two rates prefer to cover cells."""
    up, down = np.log(hit / false_alarm), np.log((1 - false_alarm) / (1 - hit))
    return float(down / (up + down))


def judge(fitted: str, components: int, seed: int) -> Row:
    """Return which statements of the paper are true in a fit from one start."""
    X = datasets.hospital()
    if fitted in VARIANTS:
        model = fit(X, components, seed, symmetric=PAIR, **VARIANTS[fitted])
    else:
        model = fit_ours(X, components, seed, symmetric=PAIR, noise=NOISES[fitted])
    hours = [str(hour) for hour in X.coords["hour"].values]
    roles = [str(role) for role in X.coords["role"].values]
    return {"said": Ward(groups_of(model), roles, hours).statements()}


def count(fitted: str, components: int, seed: int) -> Row:
    """Return how many components a fit keeps."""
    return keep(datasets.hospital(), fitted, components, seed)


def hold_out(name: str, components: int, split: int) -> Row:
    """Return scores on held-out pairs."""
    return validate(datasets.hospital(), name, components, split, PAIR)


def count_statements(starts: int, sizes: Sequence[int], fresh: bool) -> list[Row]:
    """Return in how many starts each statement of the paper is true, for some fits."""
    pairs = [(name, PAPER) for name in (PLAIN, FROM_DATA)] + [(name, L) for name in NOISES for L in sizes]
    jobs = [{"fitted": name, "components": L, "seed": n} for name, L in pairs for n in range(starts)]
    found = run("hospital_paper-statements", judge, jobs, 1, fresh)
    return turn(
        [
            share_true(
                f"{'tensorm, ' * (name in NOISES)}{name}, {L}",
                [row["said"] for row in found if (row["fitted"], row["components"]) == (name, L)],
            )
            for name, L in pairs
        ]
    )


@options
def main(quick: bool, fresh: bool) -> None:
    """The paper's algorithm on contacts of a hospital ward."""
    X = datasets.hospital()
    roles = [str(role) for role in X.coords["role"].values]
    starts, splits = (2, 1) if quick else (STARTS, SPLITS)
    fits = list_fits((PAPER,) if quick else SIZES, starts)
    kept = tabulate_kept(run("hospital_paper-kept", count, fits, 1, fresh))
    show("hospital_paper-kept", kept)
    jobs = [
        {"name": name, "components": L, "split": split}
        for name in (PLAIN, FROM_DATA)
        for L in ((2, PAPER) if quick else CANDIDATES)
        for split in range(splits)
    ]
    found = run("hospital_paper-validation", hold_out, jobs, 1, fresh)
    trials = {name: [row for row in found if row["name"] == name] for name in (PLAIN, FROM_DATA)}
    scores = tabulate(trials)
    show("hospital_paper-validation", scores)
    table = count_statements(starts, (PAPER,) if quick else (PAPER, 16), fresh)
    show("hospital_paper-statements", table)

    order = np.argsort(roles, kind="stable")
    drawn = {
        PLAIN: fit(X, PAPER, 0, symmetric=PAIR).factors_,
        FROM_DATA: fit(X, PAPER, 0, symmetric=PAIR, **VARIANTS[FROM_DATA]).factors_,
        "tensorm, two rates": fit_ours(X, PAPER, 0, symmetric=PAIR, noise="asymmetric").factors_,
        "Boolean ALS, DBTF start": descend(X, PAPER, 0),
    }
    draw_factors(
        "hospital_paper",
        {name: (factors[0], factors[1][order]) for name, factors in drawn.items()},
        {"hour": [str(hour) for hour in X.coords["hour"].values], "person": [roles[n] for n in order]},
    )
    said = [
        claim
        for name, rows in trials.items()
        for claim in judge_number(rows, name, PAPER, PERCENT, "accuracy")
    ]
    said += judge_rival(kept, PAPER, 2, 3)
    write_numbers("hospital_paper", {"kept": kept, "scores": scores, "statements": table, "claims": said})
    write_section(
        "hospital_paper",
        f"Components with members in all modes that are left; the range over {starts} starts:",
        markdown(kept),
        f"Scores on a fifth of the pairs by number of components, means of {splits} splits:",
        markdown(scores),
        claims(said),
        f"In how many of {starts} starts each statement is true, by fit and number of components:",
        markdown(table),
        explain_doctors(X, roles),
        markdown(rates(X, roles)),
        f"![hours and people of {PAPER} components, by four fits]({FIGURES}/hospital_paper.png)",
    )


if __name__ == "__main__":
    main()
