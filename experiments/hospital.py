"""Section 5.1: who met whom in which hour of the day on a hospital ward.

    python -m experiments.hospital            # needs TENSORM_DATA, or the network
    python -m experiments.hospital --windows 7-20

A fifth of the pairs of people per hour is held out, both directions together; nobody meets themselves. The
number of components is chosen on the rest. Statements of the paper are looked for in two fits: that one, and
one of all cells with the paper's eight components and one factor for both sides of a contact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import click
import numpy as np

from experiments import record
from experiments.record import Row, markdown, show, write_section
from experiments.study import (
    FIGURES,
    Contest,
    fit_once,
    habit,
    members,
    options,
    saving,
    sentences,
    write_numbers,
)
from tensorm import TensOrMachine, datasets, write_report

PAIR = ("person", "met")
PAPER = 8  # components
SEED = 0
STAFF = ("doctor", "nurse", "administrator")
SIZES = (4, 6, 8, 12, 16)  # components that rivals choose from
RUSHED = ((4,), 1)  # one size and one start
FULL = {"n_draws": 1000}  # predictions are means over draws, and people are in many small components
QUICK = {"n_components": 30, "n_chains": 2, "n_draws": 50, "burn_in": 60}


class Group(NamedTuple):
    """A component: its hours, and how many of its people have each role."""

    hours: frozenset[str]
    roles: Counter[str]


def groups_of(model: TensOrMachine, roles: Sequence[str]) -> list[Group]:
    """Return the components that have members; people of either side of a contact count once."""
    hour, person, met = (members(factor) for factor in model.factors_)
    labels = [str(label) for label in model.labels_[0]]
    groups = (
        Group(frozenset(labels[n] for n in h), Counter(roles[n] for n in {*p, *q}))
        for h, p, q in zip(hour, person, met, strict=True)
    )
    return [group for group in groups if group.hours and group.roles]


def span(first: int, last: int) -> set[str]:
    """Return the names of the hours from one to another."""
    return {f"{hour:02d}-{hour + 1:02d}" for hour in range(first, last)}


def tell(groups: Sequence[Group]) -> str:
    """Return components in words: their people and their hours."""
    if not groups:
        return "no such component"
    texts = []
    for hours, roles in groups[:3]:
        people = ", ".join(f"{count} {role}{'s' * (count > 1)}" for role, count in roles.most_common())
        texts.append(f"{people} at {' '.join(sorted(hours))}")
    more = f"; and {len(groups) - 3} more" if len(groups) > 3 else ""
    return "; ".join(texts) + more


def find(groups: Sequence[Group], fits: Callable[[Group], bool]) -> list[Group]:
    """Return the groups that a statement is about, the one with most people first."""
    return sorted(filter(fits, groups), key=lambda group: -group.roles.total())


def check_statements(groups: Sequence[Group], sizes: Counter[str]) -> list[tuple[str, str, bool]]:
    """Return statements of section 5.1, what was found, and whether they hold."""

    def clinic(hours: set[str]) -> list[Group]:
        return find(groups, lambda g: hours <= g.hours and all(g.roles[role] >= 2 for role in STAFF))

    said = []
    for words, hours in (("10am-12pm", span(10, 12)), ("3pm-5pm", span(15, 17))):
        found = clinic(hours)
        text = f"{words}: administrative, medical and nursing staff interact (two of each at least)"
        said.append((text, tell(found), bool(found)))
    day = span(9, 19)
    found = find(
        groups,
        lambda g: (
            g.roles["doctor"] >= sizes["doctor"] / 2
            and g.roles["doctor"] > g.roles["nurse"] + g.roles["patient"]
            and len(day & g.hours) >= 8
        ),
    )
    text = "doctors are among themselves in work hours (half of them, most of 9am-7pm, fewer others)"
    said.append((text, tell(found), bool(found)))
    strict = [g for g in found if not g.roles["nurse"] and not g.roles["patient"]]
    said.append(("that network has no nurse and no patient", tell(strict), bool(strict)))
    found = find(
        groups,
        lambda g: (
            span(14, 15) <= g.hours
            and g.roles["nurse"] >= 3
            and g.roles["administrator"] >= 2
            and not g.roles["doctor"]
        ),
    )
    text = "2pm-3pm: nurses and administrative staff interact without doctors"
    said.append((text, tell(found), bool(found)))
    windows = {hour for group in groups for hour in group.hours if group.roles["nurse"] >= 3}
    every = {hour for group in groups for hour in group.hours}
    text = f"components with three nurses or more are in {len(windows)} of {len(every)} windows"
    said.append(("nurses are active throughout the day", text, bool(every) and windows == every))
    staff: Counter[str] = Counter()
    for group in groups:
        if "night" in group.hours:
            staff.update({role: group.roles[role] for role in STAFF})
    share = staff["nurse"] / max(staff.total(), 1)
    text = f"{share:.0%} of the staff in components of the night are nurses" if staff else "no such component"
    said.append(("nurses are the main staff at night", text, share > 0.5))
    return said


def others(L: int) -> list[Row]:
    """Return the settings of further fits with as many components."""
    return [{"n_components": L, "random_state": SEED + n} for n in (1, 2)]


def parse_windows(text: str) -> range:
    """Return the hours of a text such as 8-20."""
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and int(first) < int(last) <= 24):
        raise click.BadParameter(f"{text!r}; give the first and the last hour, as in 8-20.")
    return range(int(first), int(last))


def draw(model: TensOrMachine, roles: Sequence[str]) -> None:
    """Draw the hours and the people of a fit with one factor for both sides of a contact."""
    from tensorm.plots import plot_factor

    with saving("hospital") as save:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 2, figsize=(7.5, 5), layout="constrained")
        plot_factor(model, "hour", axes[0], colorbar=False)
        plot_factor(model, "person", axes[1], groups=np.array(roles))
        save(figure)


@options
@click.option("--windows", default="8-20", help="First and last hour with a window of its own.")
def main(quick: bool, fresh: bool, windows: str) -> None:
    """Contacts on a hospital ward."""
    X = datasets.hospital(parse_windows(windows))
    roles = [str(role) for role in X.coords["role"].values]
    contest = Contest(X, 0.2, SEED, PAIR)
    settings = {"n_components": "auto", **(QUICK if quick else FULL), "random_state": SEED}
    about = {"windows": windows, "held out": 0.2, "split": SEED}
    chosen = fit_once("hospital", contest.rest, about, settings, fresh)
    L = chosen.model.n_components_
    contest.enter("tensorm", L, chosen.model.predict_proba())
    if not quick:  # chains that settle elsewhere see other contacts
        more = [
            fit_once("hospital", contest.rest, about, {**settings, **other}, fresh) for other in others(L)
        ]
        mean = np.mean([fitted.model.predict_proba() for fitted in (chosen, *more)], axis=0)
        contest.enter(f"tensorm, mean of {1 + len(more)} fits", L, mean)
    contest.enter("pair frequency x hour", "", habit(contest.cells))
    contest.enter_rivals(*(RUSHED if quick else (SIZES,)))
    show("hospital", contest.rows)

    wanted = {**settings, "n_components": PAPER, "symmetric": PAIR}
    few = fit_once("hospital", X, {"windows": windows, "held out": 0}, wanted, fresh)
    sizes = Counter(roles)
    statements = {
        n: check_statements(groups_of(model, roles), sizes)
        for n, model in ((PAPER, few.model), (L, chosen.model))
    }
    draw(few.model, roles)
    metadata = {mode: {mode: X.coords[mode].values, "role": roles} for mode in PAIR}
    report = record.OUT / "hospital.html"
    write_report(
        chosen.model, report, X=contest.rest, metadata=metadata, selection=chosen.selection, title="Hospital"
    )
    write_report(
        few.model, record.OUT / "hospital-8.html", X=X, metadata=metadata, title="Hospital, 8 components"
    )
    numbers = {**contest.facts, "components": L, "facts": chosen.facts, "statements": statements}
    write_numbers("hospital", numbers)
    text = f"{contest} {L} components were {'set' if quick else 'chosen'}. {chosen.cost}"
    write_section(
        "hospital",
        text,
        markdown(contest.rows),
        f"![hours and people of {PAPER} components]({FIGURES}/hospital.png)",
        f"With the paper's {PAPER} components:",
        sentences(statements[PAPER]),
        f"With {L} components, fitted to the cells that are not held out:",
        sentences(statements[L]),
    )


if __name__ == "__main__":
    main()
