"""Section 5.2: in which part of a lecture room students sat in each week of a course.

    python -m experiments.students            # needs TENSORM_DATA or the network

The map from seat numbers to parts of the room is not public as data. Six equal ranges of seat numbers stand
in for it. They are not places, so nothing here refers to front or back, left or right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments import record
from experiments.contests import Contest, average_scores
from experiments.prepare import ensure
from experiments.published import FROM_DATA, PLAIN, VARIANTS, fit
from experiments.record import Floats, Row, markdown, show, write_section
from experiments.study import (
    FIGURES,
    Fitted,
    fit_once,
    members,
    options,
    saving,
    tell_statements,
    write_numbers,
)
from tensorm import datasets, write_report

PAPER = 7  # components
SEED = 0
SPLITS = 3
SIZES = (1, 2, 4, 7, 12)
QUICK = {"n_chains": 2, "n_draws": 50, "burn_in": 50}
LATE = 2  # the last weeks, in which hardly anyone comes


class Group(NamedTuple):
    """A component: its weeks, regions and students, by number."""

    weeks: list[int]
    regions: list[int]
    students: list[int]


def groups_of(factors: Sequence[Any]) -> list[Group]:
    """Return the components that have members in every mode."""
    parts = zip(*(members(factor) for factor in factors), strict=True)
    return [Group(*part) for part in parts if all(part)]


def leaving(groups: Sequence[Group], n_weeks: int) -> list[int]:
    """Return for each week how many students are in a component of that week."""
    present: list[set[int]] = [set() for _ in range(n_weeks)]
    for group in groups:
        for week in group.weeks:
            present[week] |= set(group.students)
    return [len(students) for students in present]


def check_statements(groups: Sequence[Group], X: Floats) -> list[tuple[str, str, bool]]:
    """Return statements of section 5.2, what was found, and whether they hold."""
    came = X.any(axis=1).sum(axis=1).astype(int)
    present = leaving(groups, len(X))
    said = []
    text = (
        f"{came[0]} of {X.shape[2]} come in week 1, in {int(X[0].any(axis=1).sum())} of {X.shape[1]} regions"
    )
    first = [group for group in groups if 0 in group.weeks]
    regions = {region for group in first for region in group.regions}
    text += f"; components of week 1 contain {present[0]} students in {len(regions)} regions"
    scattered = len(regions) >= X.shape[1] / 2
    said.append(
        ("most students come in week 1 and sit scattered", text, bool(scattered and came[0] > X.shape[2] / 2))
    )
    single = [group for group in groups if len(group.regions) == 1]
    text = f"{len(single)} of {len(groups)} components have one region"
    said.append(("most groups have exactly one region", text, 2 * len(single) > len(groups)))
    weeks = sorted((len(group.weeks) for group in groups), reverse=True)
    text = f"weeks of components, of {len(X)}: {' '.join(map(str, weeks))}"
    said.append(("one group attends most consistently", text, weeks[:1] > weeks[1:2]))
    starts = sum(min(group.weeks) >= 1 for group in groups)
    said.append(("some groups start in week 2 or later", f"{starts} of {len(groups)} do", starts > 0))
    late = range(len(X) - LATE, len(X))
    last = sorted(max(group.weeks) + 1 for group in groups)
    ending = sum(week in (6, 7) for week in last)
    text = f"last weeks of components: {' '.join(map(str, last))}"
    said.append(("groups disappear after 6-7 weeks (more than half of them)", text, 2 * ending > len(groups)))
    came_late = " and ".join(str(count) for count in came[late])
    said.append(("two students attend in weeks 8 and 9", came_late, set(came[late]) == {2}))
    text = f"students in components, by week: {' '.join(map(str, present))}; "
    text += f"in the data: {' '.join(map(str, came))}"
    weeks_before = slice(len(X) - LATE)  # the last ones, in which all but two are gone, would decide alone
    before = np.array(present[weeks_before])
    follows = np.corrcoef(before, came[weeks_before])[0, 1] > 0.8 if np.ptp(before) else False
    said.append(("students leave over the weeks, and factors show it", text, bool(follows)))
    return said


def predict(X: Any, split: int, quick: bool, fresh: bool) -> tuple[Contest, Fitted]:
    """Hold out cells, and let all methods predict them."""
    contest, about = Contest(X, 0.2, split), {"held out": 0.2, "split": split}
    chosen, few = (
        fit_once("students", contest.rest, about, settings(number, quick), fresh)
        for number in (PAPER if quick else "auto", PAPER)
    )
    contest.enter("tensorm", chosen.model.n_components_, chosen.model.predict_proba())
    contest.enter("tensorm, the paper's number", PAPER, few.model.predict_proba())
    for name in (PLAIN, FROM_DATA):
        contest.enter(name, PAPER, fit(contest.rest, PAPER, split, **VARIANTS[name]).predict_proba())
    contest.enter_rivals("seat frequency x week", *((SIZES[:2], 1) if quick else (SIZES,)))
    return contest, chosen


def settings(n_components: int | str, quick: bool) -> Row:
    """Return the parameters of a fit."""
    return {
        "noise": "asymmetric",
        "n_components": n_components,
        **(QUICK if quick else {}),
        "random_state": SEED,
    }


@options
def main(quick: bool, fresh: bool) -> None:
    """Seats of students."""
    ensure("students")
    X = datasets.students()
    splits = [predict(X, split, quick, fresh) for split in range(1 if quick else SPLITS)]
    contest, chosen = splits[0]
    L = chosen.model.n_components_
    rows = average_scores([contest for contest, _ in splits])
    show("students", rows)

    whole = fit_once("students", X, {"held out": 0}, settings(PAPER, quick), fresh)
    said = check_statements(groups_of(whole.model.factors_), contest.truth)

    with saving("students") as save:
        save(whole.model.plot(order={"student": "component"}))
    report = record.OUT / "students.html"
    write_report(whole.model, report, X=X, title="Seats of students; regions are ranges of seat numbers")
    single = [contest.rows for contest, _ in splits]
    numbers = {**contest.facts, "components": L, "facts": chosen.facts, "statements": said}
    write_numbers("students", {**numbers, "scores": rows, "splits": single})
    text = f"{' x '.join(map(str, X.shape))} cells. {contest} "
    text += f"{L} components were {'set' if quick else 'chosen'}. {chosen.cost} "
    text += f"The table shows means over {len(splits)} splits."
    write_section(
        "students",
        text,
        markdown(rows),
        f"![weeks, regions and students of {PAPER} components]({FIGURES}/students.png)",
        f"With {PAPER} components, as in the paper, on all cells:",
        tell_statements(said),
    )


if __name__ == "__main__":
    main()
