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
from click.testing import CliRunner

from experiments import hospital, nations, record, students, study

HOURS = [f"{hour:02d}-{hour + 1:02d}" for hour in range(8, 20)]
SIZES = Counter(doctor=4, nurse=6, administrator=2, patient=6)


def group(hours: list[str], **roles: int) -> hospital.Group:
    return hospital.Group(frozenset(hours), Counter(roles))


def verdicts(groups: list[hospital.Group]) -> list[bool]:
    return [holds for *_, holds in hospital.check_statements(groups, SIZES)]


def test_statements_on_the_ward_are_true_or_false_by_the_components() -> None:
    clinic = group(["10-11", "11-12", "15-16", "16-17"], doctor=2, nurse=2, administrator=2)
    doctors = group(HOURS[1:11], doctor=3)
    break_ = group(["14-15"], nurse=3, administrator=2)
    night = group([*HOURS, "night"], nurse=5, patient=3)
    assert verdicts([clinic, doctors, break_, night]) == [True] * 7
    assert verdicts([]) == [False] * 7
    other = group(["14-15", "night"], nurse=2, administrator=2, doctor=3)
    mixed = group(HOURS[1:11], doctor=3, nurse=1)
    assert verdicts([other, mixed]) == [False, False, True, False, False, False, False]


def test_a_frequency_is_that_of_the_pair_times_the_hour() -> None:
    cells = np.zeros((2, 3, 3))
    cells[0, 0, 1] = cells[0, 1, 0] = cells[1, 0, 1] = 1
    cells[1, 1, 0] = np.nan
    p = study.habit(cells)
    rate = 3 / 17
    assert p[1, 1, 0] == pytest.approx((1 / 8) / rate * (1 + rate) / 2)
    assert p[0, 0, 1] == pytest.approx((2 / 9) / rate * (2 + rate) / 3)


def test_students_leave_with_their_last_component() -> None:
    groups = [students.Group([0, 1], [0], [0, 1, 2]), students.Group([1, 2], [1], [2, 3])]
    assert students.leaving(groups, 4) == [3, 4, 2, 0]


def test_auc_counts_ties_as_half() -> None:
    p = np.array([0.9, 0.5, 0.5, 0.1])
    ones = np.array([True, True, False, False])
    assert nations.auc(p, ones, ~ones) == pytest.approx(3.5 / 4)


def test_rates_of_boolean_als_come_from_either_side() -> None:
    cells = np.zeros((6, 6, 6))
    cells[:3, :3, :3] = 1
    cells[0, 0, 0] = np.nan
    p = study.boolean_als(cells, 1)
    assert p[0, 0, 0] == pytest.approx(27 / 28)
    assert p[5, 5, 5] == pytest.approx(1 / (216 - 27 + 2))


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(record, "OUT", tmp_path)
    return tmp_path


def test_a_fit_is_made_once(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).random((6, 5, 4)) < 0.3
    settings = {"n_components": 2, "n_chains": 1, "n_draws": 5, "burn_in": 5, "random_state": 0}
    first = study.fit_once("tiny", X, {"seed": 0}, settings)
    monkeypatch.setattr(study.TensOrMachine, "fit", None)
    again = study.fit_once("tiny", X, {"seed": 0}, settings)
    np.testing.assert_array_equal(first.model.predict_proba(), again.model.predict_proba())
    assert first.facts == again.facts
    with pytest.raises(TypeError):
        study.fit_once("tiny", X, {"seed": 1}, settings)


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
    said = {text: holds for text, _, holds in found["statements"]["8"]}
    assert said["nurses are the main staff at night"]
    assert (out / "quick" / "hospital.png").stat().st_size > 1000


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


def test_a_study_without_data_ends_in_a_sentence(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORM_DATA", str(tmp_path / "nowhere"))
    done = CliRunner().invoke(nations.main, ["--quick"])
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert "set TENSORM_DATA to that folder" in done.stderr
    assert "Traceback" not in done.stderr
