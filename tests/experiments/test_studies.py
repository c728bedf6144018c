"""Studies on real data: what their parts say of made-up cases, and small runs."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import xarray
from click.testing import CliRunner

from experiments import (
    contests,
    grid,
    hospital,
    hospital_paper,
    nations,
    published,
    students,
    students_paper,
    study,
)

HOURS = [f"{hour:02d}-{hour + 1:02d}" for hour in range(8, 20)]
WINDOWS = [*HOURS, "night"]
ROLES = ["doctor"] * 4 + ["nurse"] * 7 + ["administrator"] * 2 + ["patient"] * 6
CLINIC, DOCTORS, STRICT, BREAK, ALWAYS, NIGHT = 0, 2, 3, 4, 5, 6


def group(hours: list[str], **roles: int) -> hospital.Group:
    people = {ROLES.index(role) + n for role, count in roles.items() for n in range(count)}
    return hospital.Group(frozenset(hours), frozenset(people))


def check_all(*groups: hospital.Group, windows: list[str] = WINDOWS) -> list[bool | None]:
    return [holds for *_, holds in hospital.Ward(groups, ROLES, windows).statements()]


def test_statements_on_the_ward_are_true_of_a_ward_like_the_papers() -> None:
    clinic = group(["10-11", "11-12", "15-16", "16-17"], doctor=2, nurse=2, administrator=2)
    doctors = group(HOURS[1:9], doctor=2)
    break_ = group(["14-15"], nurse=3, administrator=2)
    night = group(WINDOWS, nurse=5, patient=3)
    assert check_all(clinic, doctors, break_, night) == [True] * 7
    assert check_all() == [False] * 7


@pytest.mark.parametrize(
    ("number", "near"),
    [
        (CLINIC, group(["10-11", "12-13"], doctor=2, nurse=2, administrator=2)),
        (CLINIC, group(["10-11", "11-12"], doctor=2, nurse=2, administrator=1)),
        (CLINIC, group(WINDOWS, doctor=4, nurse=6, administrator=2)),  # at all hours: not the main ones
        (CLINIC + 1, group(["15-16"], doctor=2, nurse=2, administrator=2)),
        (DOCTORS, group(HOURS[1:9], doctor=1)),
        (DOCTORS, group(HOURS[1:8], doctor=2)),
        (DOCTORS, group(HOURS[1:9], doctor=2, administrator=2)),
        (STRICT, group(HOURS[1:9], doctor=3, patient=1)),
        (STRICT, group(HOURS[1:9], doctor=3, nurse=1)),
        (BREAK, group(["14-15"], nurse=3, administrator=1)),
        (BREAK, group(["14-15"], nurse=3, administrator=2, doctor=1)),
        (BREAK, group(["13-14"], nurse=3, administrator=2)),
        (BREAK, group(HOURS, nurse=3, administrator=2)),
        (ALWAYS, group(HOURS, nurse=3)),  # not at night
        (ALWAYS, group(WINDOWS, nurse=2)),
        (NIGHT, group(WINDOWS, doctor=4, nurse=7, administrator=2)),  # as many as ever
        (NIGHT, group(HOURS, nurse=6)),
    ],
)
def test_a_statement_is_false_of_what_is_nearly_so(number: int, near: hospital.Group) -> None:
    assert check_all(near)[number] is False


def test_nobody_counts_twice_at_night() -> None:
    twice = [group(["night"], nurse=1)] * 5 + [group(["night"], doctor=2)]
    assert check_all(*twice)[NIGHT] is False


def test_a_table_says_in_which_fits_statements_are_seen() -> None:
    clinic = group(["10-11", "11-12"], doctor=2, nurse=2, administrator=2)
    wards = [hospital.Ward(groups, ROLES, HOURS).statements() for groups in ([clinic], [])]
    head, _, first, *_, night = hospital.compare(list(zip(("few", "many"), wards, strict=True))).split("\n")
    assert head == "| the paper | few | many |"
    assert first.endswith("| true | **false** |")
    assert night.endswith("| cannot be tested | cannot be tested |")


def test_a_statement_on_hours_without_a_window_cannot_be_tested() -> None:
    found = check_all(group(["10-11", "11-12"], doctor=2, nurse=2, administrator=2), windows=HOURS[:5])
    assert found == [True, None, None, None, None, False, None]
    text = study.tell_statements([("x", "y", None)])
    assert text.endswith("| x | y | cannot be tested |")


def test_a_habit_is_that_of_the_pair_times_that_of_the_hour() -> None:
    cells = np.zeros((2, 3, 3))
    cells[0, 0, 1] = cells[0, 1, 0] = cells[1, 0, 1] = 1
    cells[1, 1, 0] = np.nan

    def odds(p: float) -> float:
        return p / (1 - p)

    rate = 3 / 17
    for weight in (1, 4):
        p = contests.habit(cells, weight)
        for hour, busy, pair in (
            (1, 1 / 8, (1 + weight * rate) / (1 + weight)),
            (0, 2 / 9, (1 + weight * rate) / (1 + weight)),
        ):
            assert odds(p[hour, 1, 0]) == pytest.approx(odds(busy) / odds(rate) * odds(pair))


class Rival:
    """Says the share of ones that it saw, the better the larger it is; remembers what it was shown."""

    def __init__(self, best: int) -> None:
        self.best, self.shown = best, []

    def __call__(self, cells: np.ndarray, L: int, seed: int) -> np.ndarray:
        self.shown.append((cells, L, seed))
        return np.full(cells.shape, np.nanmean(cells) if self.best == L else 0.9) + 0.01 * seed


def test_rivals_see_what_a_fit_sees_and_choose_on_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    cells = np.triu(rng.random((4, 20, 20)) < 0.2, 1).astype(float)
    cells += cells.transpose(0, 2, 1)
    cells[:, range(20), range(20)] = np.nan
    X = xarray.DataArray(cells, dims=("hour", "person", "met"))
    contest = contests.Contest(X, 0.2, 0, ("person", "met"))
    rival = Rival(best=4)
    monkeypatch.setattr(contests, "RIVALS", {"rival": rival})
    contest.enter_rivals("habit", (2, 4, 6), starts=2)
    assert [row["components"] for row in contest.rows] == ["", 4, 4, ""]
    for shown, *_ in rival.shown:
        assert np.isnan(shown[contest.mask]).all()
        np.testing.assert_array_equal(np.isnan(shown), np.isnan(shown.transpose(0, 2, 1)))
    hidden = [np.isnan(shown).sum() for shown, *_ in rival.shown]
    assert hidden[0] > hidden[-1] == np.isnan(contest.cells).sum()
    rate = contest.cells[~np.isnan(contest.cells)].mean()
    truth = contest.truth[contest.mask]
    loss = {row[""]: row["log-loss"] for row in contest.rows}
    for name, p in (("constant", rate), ("rival", rate), ("rival, mean of 2 starts", rate + 0.005)):
        assert loss[name] == pytest.approx(-np.mean(np.log(np.where(truth == 1, p, 1 - p))))
    assert contests.average_scores([contest, contest])[1] == contest.rows[1]


def test_students_leave_with_their_last_component() -> None:
    groups = [students.Group([0, 1], [0], [0, 1, 2]), students.Group([1, 2], [1], [2, 3])]
    assert students.leaving(groups, 4) == [3, 4, 2, 0]


def test_statements_on_students_are_true_of_a_course_like_the_papers() -> None:
    X = np.zeros((9, 7, 10))
    for week, count in enumerate((10, 9, 8, 7, 6, 5, 4, 2, 2)):
        X[week, np.arange(count) % 7, np.arange(count)] = 1
    wide = students.Group([0], [0, 1, 2, 3], list(range(10)))
    steady = students.Group([0, 1, 2, 3, 4, 5, 6], [4], [0, 1, 2, 3])
    others = [students.Group(list(range(1, last)), [5], list(range(last))) for last in (7, 6, 6)]
    leaving = students.Group([1, 2, 3], [6], [4, 5, 6, 7])

    def check_all(*groups: students.Group) -> list[bool]:
        return [holds for *_, holds in students.check_statements(groups, X)]

    assert check_all(wide, steady, *others, leaving) == [True] * 7
    assert not check_all(wide._replace(regions=[0]), steady)[0]  # not scattered
    assert not check_all(wide, steady)[1]  # half of them have one region
    assert not check_all(steady, steady)[2]
    assert not check_all(wide, steady)[3]
    assert not check_all(wide, steady)[4]
    assert not check_all(students.Group([0, 1, 2, 3, 4, 5, 6], [0], list(range(10))))[6]  # nobody leaves
    rises = [students.Group(list(range(first, 7)), [0], [first]) for first in range(7)]
    assert not check_all(*rises)[6]
    X[8] = 0
    assert not check_all(steady)[5]


def test_auc_counts_ties_as_half() -> None:
    p = np.array([0.9, 0.5, 0.5, 0.1])
    ones = np.array([True, True, False, False])
    assert nations.auc(p, ones, ~ones) == pytest.approx(3.5 / 4)


def test_rates_of_boolean_als_come_from_either_side() -> None:
    cells = np.zeros((6, 6, 6))
    cells[:3, :3, :3] = 1
    cells[0, 0, 0] = np.nan
    p = contests.boolean_als(cells, 1)
    assert p[0, 0, 0] == pytest.approx(27 / 28)
    assert p[5, 5, 5] == pytest.approx(1 / (216 - 27 + 2))


def test_a_fit_is_made_once(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).random((6, 5, 4)) < 0.3
    settings = {"n_components": 2, "n_chains": 1, "n_draws": 5, "burn_in": 5, "random_state": 0}
    first = study.fit_once("tiny", X, {"seed": 0}, settings)
    fits = Counter()
    fit = study.TensOrMachine.fit

    def count(*arguments: Any, **named: Any) -> Any:
        fits["made"] += 1
        return fit(*arguments, **named)

    monkeypatch.setattr(study.TensOrMachine, "fit", count)
    again = study.fit_once("tiny", X, {"seed": 0}, settings)
    np.testing.assert_array_equal(first.model.predict_proba(), again.model.predict_proba())
    assert first.facts == again.facts
    assert fits["made"] == 0
    study.fit_once("tiny", X, {"seed": 0}, settings, fresh=True)
    study.fit_once("tiny", X, {"seed": 1}, settings)
    study.fit_once("tiny", X, {"seed": 0}, {**settings, "random_state": 1})
    study.fit_once("tiny", ~X, {"seed": 0}, settings)  # other cells
    assert fits["made"] == 4


def test_a_fit_that_was_stopped_goes_on_and_its_choice_is_kept(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.random.default_rng(0).random((6, 5, 4)) < 0.3
    settings = {
        "n_components": "auto",
        "n_chains": 1,
        "n_draws": 5,
        "burn_in": 5,
        "effort": 0,
        "random_state": 0,
    }
    whole = study.fit_once("tiny", X, {}, settings)
    kept = study.fit_once("tiny", X, {}, settings)
    assert whole.selection is not None
    assert kept.selection is not None
    assert kept.selection.best == whole.selection.best == kept.model.n_components_
    (facts,) = out.glob("fits/tiny-*/facts.json")
    facts.unlink()  # as if it had been stopped before its end
    monkeypatch.setattr(study.TensOrMachine, "fit", None)
    resumed = study.fit_once("tiny", X, {}, settings)
    np.testing.assert_array_equal(resumed.model.predict_proba(), whole.model.predict_proba())
    assert resumed.facts["resumed"]
    assert "its last part" in resumed.cost


def make_small(study_of: click.Command, out: Path, *names: str) -> dict[str, Any]:
    """Run a study with small fits; return its numbers, having seen that it wrote all that it should."""
    done = CliRunner().invoke(study_of, ["--quick"], catch_exceptions=False)
    assert done.exit_code == 0
    for name in names:
        for kind in ("json", "html", "md"):
            assert (out / "quick" / f"{name}.{kind}").stat().st_size > 200
    return json.loads((out / "quick" / f"{names[0]}.json").read_text())


needs_data = pytest.mark.skipif(
    not os.environ.get("TENSORM_DATA"), reason="TENSORM_DATA does not name a folder of data"
)


@pytest.mark.slow  # that of nations goes the same way
@needs_data
def test_a_small_run_of_the_hospital_study(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hospital, "RUSHED", ((2,), 1))
    found = make_small(hospital.main, out, "hospital")
    assert found["shape"] == [13, 75, 75]
    assert found["held out"] == 14430
    scores = {row[""]: row for row in found["scores"]}
    ours = scores["tensorm"]
    assert ours["auc"] > 0.85
    assert ours["log-loss"] < min(
        scores[name]["log-loss"] for name in ("constant", "pair frequency x hour", "Boolean ALS")
    )
    assert scores["pair frequency x hour"]["auc"] == pytest.approx(0.837, abs=0.002)
    assert scores["constant"]["log-loss"] == pytest.approx(0.3196, abs=0.0001)
    titles = ["8 components", "16 components", "8 components, two rates", "16 components, two rates"]
    assert [title for title, _ in found["statements"]] == titles
    said = {text: holds for text, _, holds in found["statements"][0][1]}
    assert said["nurses are the main staff at night"]
    assert said["nurses are active throughout the day"]
    assert (out / "quick" / "hospital.png").stat().st_size > 1000


@pytest.mark.slow
@needs_data
def test_a_small_run_of_the_students_study(out: Path) -> None:
    found = make_small(students.main, out, "students")
    assert found["shape"] == [9, 7, 47]
    scores = {row[""]: row for row in found["scores"]}
    assert scores["tensorm"]["auc"] > 0.75
    assert scores["tensorm"]["log-loss"] < scores["constant"]["log-loss"]
    said = {text: ours for text, ours, _ in found["statements"]}
    assert (
        "in the data: 41 41 38 32 25 22 19 2 2" in said["students leave over the weeks, and factors show it"]
    )


@needs_data
def test_a_small_run_of_the_nations_study(out: Path) -> None:
    found = make_small(nations.main, out, "nations")
    scores = {row[""]: row["AUC, test"] for row in found["scores"]}
    assert scores["marginal frequencies"] == pytest.approx(0.846, abs=0.001)
    assert scores["tensorm"] > 0.85


@needs_data
def test_fits_of_nations_do_not_see_what_they_are_tested_on(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, np.ndarray] = {}
    fit_once = study.fit_once

    def watch(name: str, X: Any, about: Any, settings: Any, fresh: bool) -> study.Fitted:
        seen[about["cells"]] = np.asarray(X)
        return fit_once(name, X, about, {**settings, "n_draws": 5, "burn_in": 5}, fresh)

    monkeypatch.setattr(nations, "fit_once", watch)
    monkeypatch.setattr(nations, "SIZES", (2, 2))
    make_small(nations.main, out, "nations")
    train, valid, test = (nations.datasets.nations(part).values == 1 for part in nations.PARTS)
    np.testing.assert_array_equal(seen["zeros"] == 1, train)
    hidden = np.isnan(seen["hidden"])
    assert hidden[valid | test].all()
    assert not hidden[train].any()
    assert hidden.sum() == (1 + nations.HIDDEN) * (valid | test).sum()


@pytest.mark.slow
@needs_data
def test_a_small_run_of_the_papers_way_with_students(out: Path) -> None:
    done = CliRunner().invoke(students_paper.main, ["--quick"], catch_exceptions=False)
    assert done.exit_code == 0
    found = json.loads((out / "quick/students_paper.json").read_text())
    said = {row["the paper"]: row for row in found["statements"]}
    assert said["two students attend in weeks 8 and 9"]["as published"] == "10 of 10"
    kept = {row["components kept of"]: row["7"] for row in found["kept"]}
    assert int(kept["as published"].split("-")[-1]) < int(kept["as published, start from data"].split("-")[0])
    assert (out / "quick/students_paper.png").stat().st_size > 10_000


@needs_data
def test_the_paper_has_the_students_who_came_twice() -> None:
    assert students_paper.read_room(students_paper.EQUAL, 1).shape == (9, 7, 47)
    assert students_paper.read_room(students_paper.EQUAL, students_paper.OFTEN).shape == (9, 7, 42)


@needs_data
def test_the_papers_algorithm_loses_all_components_on_the_ward_unless_they_are_found_before() -> None:
    X = hospital_paper.datasets.hospital()
    assert study.count_kept(published.fit(X, 8, 0).factors_) == 0
    assert study.count_kept(published.fit(X, 8, 0, **grid.SEEDED).factors_) == 8
    found = hospital_paper.judge(published.FROM_DATA, 8, 0)["said"]
    assert len(found) == 7


def test_a_study_without_data_ends_in_a_sentence(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORM_DATA", str(tmp_path / "nowhere"))
    done = CliRunner().invoke(nations.main, ["--quick"])
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert "set TENSORM_DATA to that folder" in done.stderr
    assert "Traceback" not in done.stderr
