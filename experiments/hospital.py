"""Section 5.1: who met whom in which hour of the day on a hospital ward.

    python -m experiments.hospital            # needs TENSORM_DATA or the network
    python -m experiments.hospital --windows 7-20

A fifth of the pairs of people per hour is held out, both directions together; nobody meets themselves. The
number of components is chosen on the rest. Scores are means over two such splits. The paper's statements
are checked in fits of all cells with one factor for both sides of a contact: with the paper's eight
components and with sixteen, with the default noise and with two rates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click
import numpy as np

from experiments import record
from experiments.contests import Contest, average_scores
from experiments.published import FROM_DATA, PLAIN, VARIANTS, fit
from experiments.record import Row, markdown, show, write_section
from experiments.study import (
    FIGURES,
    Fitted,
    Statement,
    fit_once,
    members,
    options,
    saving,
    tell_statements,
    write_numbers,
)
from tensorm import TensOrMachine, datasets, write_report

PAIR = ("person", "met")
NUMBERS = 8, 16  # components in which the paper's statements are looked for; the paper has 8
NOISES: dict[str, Row] = {"": {}, ", two rates": {"noise": "asymmetric"}}
SEED = 0
STAFF = ("doctor", "nurse", "administrator")
SIZES = (4, 6, 8, 12, 16)  # numbers of components that rivals choose from
RUSHED = ((4,), 1)  # one size and one start
SPLITS = 2
OTHERS: dict[str, Row] = {  # fits besides the default one, which has four chains
    "one chain": {"n_chains": 1},
    "twelve chains": {"n_chains": 12},
    "one factor for both sides": {"symmetric": PAIR},
    "two rates": {"n_components": "auto", "noise": "asymmetric"},
}
FULL = {"n_draws": 1000}  # predictions are means over draws, and people are in many small components
QUICK = {"n_components": 30, "n_chains": 2, "n_draws": 50, "burn_in": 60}


class Group(NamedTuple):
    """A component: its hours, and the numbers of its people."""

    hours: frozenset[str]
    people: frozenset[int]


def groups_of(model: TensOrMachine) -> list[Group]:
    """Return the components that have members, of a fit with one factor for both sides of a contact."""
    hour, person, _ = (members(factor) for factor in model.factors_)
    labels = [str(label) for label in model.labels_[0]]
    groups = (Group(frozenset(labels[n] for n in h), frozenset(p)) for h, p in zip(hour, person, strict=True))
    return [group for group in groups if group.hours and group.people]


def span(first: int, last: int) -> set[str]:
    """Return the names of the hours from one to another."""
    return {f"{hour:02d}-{hour + 1:02d}" for hour in range(first, last)}


class Ward:
    """The statements of section 5.1 on some components, with the role of each person and all windows."""

    def __init__(self, groups: Sequence[Group], roles: Sequence[str], windows: Sequence[str]) -> None:
        self.groups, self.roles, self.windows = groups, roles, windows

    def count(self, group: Group) -> Counter[str]:
        """Return how many people of each role a component has."""
        return Counter(self.roles[n] for n in sorted(group.people))

    def tell(self, groups: Sequence[Group]) -> str:
        """Return a description of components: their people and their hours."""
        if not groups:
            return "no such component"
        texts = []
        for group in groups[:3]:
            counts = self.count(group).most_common()
            people = ", ".join(f"{count} {role}{'s' * (count > 1)}" for role, count in counts)
            texts.append(f"{people} at {' '.join(sorted(group.hours))}")
        more = f"; and {len(groups) - 3} more" if len(groups) > 3 else ""
        return "; ".join(texts) + more

    def find(self, fits: Callable[[Group, Counter[str]], bool]) -> list[Group]:
        """Return the components that a statement is about, the one with most people first."""
        found = [group for group in self.groups if fits(group, self.count(group))]
        return sorted(found, key=lambda group: -len(group.people))

    def brief(self, group: Group) -> bool:
        """Whether a component has at most half of the windows, so that its hours are informative."""
        return 2 * len(group.hours) <= len(self.windows)

    def statements(self) -> list[Statement]:
        """Return what the paper says, what is found here, and whether it holds."""
        said = [self._clinic("10am-12pm", span(10, 12)), self._clinic("3pm-5pm", span(15, 17))]
        day, doctors = span(9, 19), self.roles.count("doctor")
        found = self.find(
            lambda group, n: (
                2 * n["doctor"] >= doctors
                and 2 * n["doctor"] > len(group.people)
                and len(day & group.hours) >= 8
            )
        )
        text = "doctors meet each other in working hours (half of them, 8 of the hours 9am-7pm, fewer others)"
        said.append(self._say(text, found, day))
        strict = [g for g in found if not self.count(g)["nurse"] and not self.count(g)["patient"]]
        said.append(self._say("that network has no nurse and no patient", strict, day))
        found = self.find(
            lambda group, n: (
                span(14, 15) <= group.hours
                and self.brief(group)
                and n["nurse"] >= 3
                and n["administrator"] >= 2
                and not n["doctor"]
            )
        )
        text = "2pm-3pm: nurses and administrative staff interact without doctors (at least three and two)"
        said.append(self._say(text, found, span(14, 15)))
        return [*said, self._always(), self._night()]

    def _clinic(self, words: str, hours: set[str]) -> Statement:
        found = self.find(
            lambda group, n: (
                hours <= group.hours and self.brief(group) and all(n[role] >= 2 for role in STAFF)
            )
        )
        text = f"{words}: administrative, medical and nursing staff interact (at least two of each)"
        return self._say(text, found, hours)

    def _always(self) -> Statement:
        """Whether nurses are present in every window, not only in those of some component."""
        with_nurses = self.find(lambda group, n: n["nurse"] >= 3)
        hours = {hour for group in with_nurses for hour in group.hours}
        text = f"components with three nurses or more are in {len(hours)} of {len(self.windows)} windows"
        return "nurses are active throughout the day", text, hours == set(self.windows)

    def _night(self) -> Statement:
        """Whether the share of nurses is larger at night than among all staff."""
        paper = "nurses are the main staff at night"
        if "night" not in self.windows:
            return paper, "the night has no window", None
        people = {n for group in self.groups if "night" in group.hours for n in group.people}
        here, all_staff = (
            [self.roles[n] for n in these if self.roles[n] in STAFF]
            for these in (people, range(len(self.roles)))
        )
        if not here:
            return paper, "no such component", False
        share, usual = (staff.count("nurse") / len(staff) for staff in (here, all_staff))
        text = f"{share:.0%} of the {len(here)} staff at night are nurses, {usual:.0%} of all staff"
        return paper, text, share > max(usual, 0.5)

    def _say(self, paper: str, found: Sequence[Group], hours: set[str]) -> Statement:
        if not hours <= set(self.windows):
            return paper, "some of these hours have no separate window", None
        return paper, self.tell(found), bool(found)


def parse_windows(text: str) -> range:
    """Return the hours of a text such as 8-20."""
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and int(first) < int(last) <= 24):
        raise click.BadParameter(f"{text!r}; give the first and the last hour, as in 8-20.")
    return range(int(first), int(last))


def draw(model: TensOrMachine, roles: Sequence[str]) -> None:
    """Draw the hours and the people of a fit with one factor for both sides of a contact."""
    with saving("hospital") as save:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 2, figsize=(7.5, 5), layout="constrained")
        model.plot("factor", mode="hour", ax=axes[0], colorbar=False)
        model.plot("factor", mode="person", ax=axes[1], groups=np.array(roles))
        save(figure)


def settings(quick: bool) -> Row:
    """Return the parameters of a fit."""
    return {"n_components": "auto", **(QUICK if quick else FULL), "random_state": SEED}


def compare(statements: Sequence[tuple[str, list[Statement]]]) -> str:
    """Return a table of the paper's statements and in which fits they are seen."""
    words = {True: "true", False: "**false**", None: "cannot be tested"}
    lines = ["| the paper | " + " | ".join(title for title, _ in statements) + " |"]
    lines += ["|---" * (1 + len(statements)) + "|"]
    for same in zip(*(said for _, said in statements), strict=True):
        lines.append(f"| {same[0][0]} | " + " | ".join(words[holds] for *_, holds in same) + " |")
    return "\n".join(lines)


def predict(X: Any, windows: str, split: int, quick: bool, fresh: bool) -> tuple[Contest, Fitted]:
    """Hold out cells, and let all methods predict them."""
    contest = Contest(X, 0.2, split, PAIR)
    about = {"windows": windows, "held out": 0.2, "split": split}
    chosen = fit_once("hospital", contest.rest, about, settings(quick), fresh)
    L = chosen.model.n_components_
    contest.enter("tensorm", L, chosen.model.predict_proba())
    for name, other in {} if quick else OTHERS.items():
        more = fit_once(
            "hospital", contest.rest, about, {**settings(quick), "n_components": L, **other}, fresh
        )
        contest.enter(f"tensorm, {name}", more.model.n_components_, more.model.predict_proba())
    for name in (PLAIN, FROM_DATA):
        contest.enter(
            name, NUMBERS[0], fit(contest.rest, NUMBERS[0], split, **VARIANTS[name]).predict_proba()
        )
    contest.enter_rivals("pair frequency x hour", *(RUSHED if quick else (SIZES,)))
    return contest, chosen


@options
@click.option("--windows", default="8-20", help="First and last hour with a separate window.")
def main(quick: bool, fresh: bool, windows: str) -> None:
    """Contacts on a hospital ward."""
    X = datasets.hospital(parse_windows(windows))
    roles = [str(role) for role in X.coords["role"].values]
    splits = [predict(X, windows, split, quick, fresh) for split in range(1 if quick else SPLITS)]
    contest, chosen = splits[0]
    rows = average_scores([contest for contest, _ in splits])
    show("hospital", rows)

    about = {"windows": windows, "held out": 0}
    fits = {
        f"{number} components{name}": fit_once(
            "hospital",
            X,
            about,
            {**settings(quick), "n_components": number, "symmetric": PAIR, **noise},
            fresh,
        )
        for name, noise in NOISES.items()
        for number in NUMBERS
    }
    hours = [str(hour) for hour in X.coords["hour"].values]
    statements = [
        (title, Ward(groups_of(fit.model), roles, hours).statements()) for title, fit in fits.items()
    ]
    few = next(iter(fits.values()))
    draw(few.model, roles)
    metadata = {mode: {mode: X.coords[mode].values, "role": roles} for mode in PAIR}
    for name, fitted, cells, title in (
        ("hospital", chosen, contest.rest, "Hospital"),
        ("hospital-8", few, X, f"Hospital, {NUMBERS[0]} components"),
    ):
        write_report(
            fitted.model,
            record.OUT / f"{name}.html",
            X=cells,
            metadata=metadata,
            selection=fitted.selection,
            title=title,
        )
    single = [contest.rows for contest, _ in splits]
    numbers = {**contest.facts, "components": chosen.model.n_components_, "facts": chosen.facts}
    write_numbers("hospital", {**numbers, "scores": rows, "splits": single, "statements": statements})
    losses = " / ".join(f"{scores[0]['log-loss']:.3f}" for scores in single)
    text = f"{contest} {chosen.model.n_components_} components were {'set' if quick else 'chosen'}. "
    text += f"{chosen.cost} The table shows means over {len(splits)} splits; our log-loss in each: {losses}."
    write_section(
        "hospital",
        text,
        markdown(rows),
        f"![hours and people of {NUMBERS[0]} components]({FIGURES}/hospital.png)",
        compare(statements),
        *(part for title, said in statements for part in (f"With {title}:", tell_statements(said))),
    )


if __name__ == "__main__":
    main()
