"""Verdicts on the paper's statements: each is made true by one case, and false by one that is nearly so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from experiments import (
    cancer_paper,
    figure2a,
    figure2b,
    figure2c,
    figure3,
    page,
    published,
    record,
    students_paper,
    study,
    timing,
)
from experiments.verdicts import AHEAD, BEHIND, LEVEL, Claim, Lead, claims, lead, rise

Row = dict[str, Any]


def verdicts(said: Sequence[Claim], fit: str | None = None) -> dict[str, bool | None]:
    return {row.paper: row.holds for row in said if fit in (None, row.fit)}


@pytest.mark.parametrize(
    ("mean", "error", "word"),
    [
        (0.0, 0.0, LEVEL),  # +0.0000
        (0.0019, 0.0, LEVEL),  # within the margin
        (0.003, 0.0, AHEAD),
        (0.003, 0.002, LEVEL),  # within two errors
        (-0.003, 0.0, BEHIND),
        (-0.003, 0.002, LEVEL),
        (float("nan"), 0.0, LEVEL),
    ],
)
def test_a_lead_counts_beyond_a_margin_and_two_errors(mean: float, error: float, word: str) -> None:
    assert Lead(mean, error).judge() == word


def test_leads_are_differences_within_rows() -> None:
    rows = [{"a": 1.0, "b": 0.0}, {"a": 5.0, "b": 2.0}]
    assert lead(rows, "a", "b") == pytest.approx((2.0, 1.0))
    assert rise(Lead(1.0, 3.0), Lead(1.5, 4.0)) == pytest.approx((0.5, 5.0))
    assert str(Lead(0.0123, 0.0004)) == "+0.0123 ± 0.0004"


def test_verdicts_as_text() -> None:
    said = [Claim("p", "f", "h", holds) for holds in (True, False, None)]
    words = [line.split(" | ")[-1] for line in claims(said).splitlines()[2:]]
    assert words == ["agrees |", "**differs** |", "cannot be tested |"]


def tensors(**changes: Any) -> list[Row]:
    """A grid on which all that the paper says of Fig. 2a is true, with other values of some columns."""
    rows = []
    for rank in (3, 5, 10):
        for density in (0.1, 0.3, 0.5, 0.7):
            for noise in (0.0, 0.2, 0.4):
                for number in range(3):
                    row: Row = {"rank": rank, "density": density, "noise": noise, "number": number}
                    dbtf = 0.95 - 0.01 * (noise >= 0.4) - 0.01 * (rank >= 10) - 0.01 * (density in (0.1, 0.7))
                    row |= {"published test": 0.97, "ours test": 0.97, "dbtf test": dbtf, "als test": 0.9}
                    row |= {"published map test": 0.97, "ours map test": 0.97, "constant test": 0.7}
                    row |= {
                        "published train": 0.6,
                        "ours train": 0.6,
                        "truth train": 0.6,
                        "zeros train": 0.55,
                    }
                    row["dbtf train"] = 0.6 + 0.01 * rank * (noise >= 0.4)
                    rows.append(row | {name: change(row) for name, change in changes.items()})
    return rows


ALL = "higher accuracy than dbtf in all conditions"
MAP = "MAP factors, too, are more accurate (abstract)"
TRIVIAL = "(not in the paper) better than a constant"
NOISY, HIGH, ENDS = (
    f"the margin is bigger {words}"
    for words in ("for very noisy data", "for higher ranks", "for particularly dense and sparse data")
)
TRAIN, FITS_NOISE = (
    "dbtf's training accuracy is similar or higher",
    "dbtf over-fits, most at high noise and rank",
)


def test_all_statements_on_figure_2a_can_hold() -> None:
    said = verdicts(figure2a.compare(tensors()))
    assert set(said) == {ALL, MAP, TRIVIAL, NOISY, HIGH, ENDS, TRAIN, FITS_NOISE}
    assert all(said.values())


@pytest.mark.parametrize(
    ("paper", "column", "change"),
    [
        (
            ALL,
            "published test",
            lambda row: row["dbtf test"] if row["noise"] == 0 else 0.97,
        ),  # level is not higher
        (ALL, "published test", lambda row: 0.9),
        (MAP, "published map test", lambda row: row["dbtf test"] + 0.001),
        (TRIVIAL, "constant test", lambda row: 0.97 if row["density"] == 0.1 else 0.7),
        (NOISY, "published test", lambda row: row["dbtf test"] + 0.02),
        (HIGH, "published test", lambda row: row["dbtf test"] + 0.02),
        (
            ENDS,
            "published test",
            lambda row: row["dbtf test"] + 0.02 + 0.01 * (row["density"] == 0.1),
        ),  # one end
        (TRAIN, "dbtf train", lambda row: 0.6 - 0.02 * (row["rank"] == 3)),
        (FITS_NOISE, "dbtf train", lambda row: 0.6),
        (FITS_NOISE, "dbtf train", lambda row: 0.65),  # as much at every rank
    ],
)
def test_statements_on_figure_2a_can_fail(paper: str, column: str, change: Any) -> None:
    said = [row for row in figure2a.compare(tensors(**{column: change})) if row.paper == paper]
    assert not all(row.holds for row in said)
    if column.startswith("published"):
        assert all(row.holds for row in said if row.fit == "tensorm")  # which did not change


def reconstructions(**changes: Any) -> list[Row]:
    rows = []
    for noise in (0.0, 0.2, 0.3, 0.4):
        for number in range(3):
            row: Row = {"noise": noise, "number": number, "dbtf test": 0.8, "constant test": 0.7}
            row |= {"ours map test": 0.9, "ours test": 0.9 + 0.05 * (noise == 0.4)}
            row |= {"ours mean test": row["ours test"], "ours joint test": 0.9}
            rows.append(row | {name: change(row) for name, change in changes.items()})
    return rows


def test_all_statements_on_figure_2b_can_hold() -> None:
    said = verdicts(figure2b.compare(reconstructions(), "ours"))
    assert len(said) == 5
    assert all(said.values())


@pytest.mark.parametrize(
    ("number", "column", "change"),
    [
        (0, "ours test", lambda row: 0.92),
        (0, "ours test", lambda row: 0.88),  # an impact, too
        (1, "ours test", lambda row: 0.9),
        (2, "dbtf test", lambda row: 0.899),
        (2, "ours test", lambda row: 1.01),
        (3, "ours mean test", lambda row: row["ours test"] - 0.01 * (row["noise"] == 0.4)),
        (4, "ours joint test", lambda row: 0.9 + 0.05 * (row["noise"] == 0.4)),
        (4, "ours joint test", lambda row: 0.9 - 0.05 * (row["noise"] == 0.4)),
    ],
)
def test_statements_on_figure_2b_can_fail(number: int, column: str, change: Any) -> None:
    assert not figure2b.compare(reconstructions(**{column: change}), "ours")[number].holds


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        ({}, [True, True, True]),
        ({"ours 0.0": 0.605, "ours 0.1": 0.595}, [False, True, True]),  # not exactly what is expected
        ({"ours 0.0": 0.57, "ours 0.1": 0.57}, [False, True, False]),  # an empty prediction is stable
        ({"zeros train": 0.5995}, [False, True, False]),  # no better than all zeros
        ({"dbtf 0.0": 0.6}, [True, False, True]),
        ({"dbtf loss": 0.01}, [True, True, False]),
    ],
)
def test_statements_on_figure_2c_can_hold_and_fail(changes: Row, held: list[bool]) -> None:
    row: Row = {"rank": 5, "truth train": 0.6, "zeros train": 0.57, "ours 0.0": 0.6, "ours 0.1": 0.59}
    row |= {"ours loss": 0.01, "dbtf 0.0": 0.62, "dbtf loss": 0.05}
    said = figure2c.compare([{**row, **changes} for _ in range(3)], 5, "ours")
    assert [claim.holds for claim in said] == held


def errors(**changes: Any) -> list[Row]:
    usual = {"occam": 0.05, "cv": 0.02, "mdl of ALS": 0.3, "identifiable": 0.0, figure3.GUESS: 0.5}
    return [
        {"noise": noise, **usual, **({"occam": 0.0} if noise == 0 else {}), **changes}
        for noise in (0.0, 0.1, 0.2)
        for _ in range(3)
    ]


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        ({}, [True, True, True, True]),
        ({"mdl of ALS": 0.045}, [False, True, True, True]),
        ({figure3.GUESS: 0.02}, [False, False, True, True]),  # a constant guess is as good
        ({"occam": 0.02}, [True, True, False, False]),
        ({"cv": 0.05}, [True, True, True, False]),  # level is not superior
    ],
)
def test_statements_on_figure_3_can_hold_and_fail(changes: Row, held: list[bool]) -> None:
    assert [claim.holds for claim in figure3.compare(errors(**changes), "tensorm")] == held


def test_relative_errors_and_the_best_guess() -> None:
    rows = [{"rank": 2, "noise": 0.0, "occam": 3}, {"rank": 4, "noise": 0.0, "occam": 4, "cv": 2}]
    found = figure3.errors_of(rows)
    assert [row["occam"] for row in found] == [0.5, 0.0]
    assert [row.get("cv") for row in found] == [None, 0.5]
    assert [row[figure3.GUESS] for row in found] == [0.0, 0.5]  # 2: the error is relative


@pytest.mark.parametrize(
    ("seconds", "rate", "held"),
    [
        (0.1, 200.0, [True, True]),
        (6.0, 200.0, [False, True]),
        (-0.1, 200.0, [False, True]),  # no negative time passes
        (0.1, 5000.0, [True, False]),
        (0.1, float("nan"), [True, None]),
    ],
)
def test_times_can_fail_and_nothing_is_said_of_what_was_not_measured(
    seconds: float, rate: float, held: list[bool | None]
) -> None:
    small = [{"tensorm, seconds": seconds, "as published, seconds": seconds}]
    sweeps = [{"shape": "s", "ps per cell": rate}] * 2
    versus = [{"ratio": 1.0, "ours, accuracy": 1.0, "nnCP, accuracy": 1.0}] * 2
    said = timing.compare(small, sweeps, versus)
    assert [claim.holds for claim in said if claim.fit == "as published"] == held
    assert said[-1].holds
    versus = [{"ratio": 4.0, "ours, accuracy": 1.0, "nnCP, accuracy": 1.0}] * 2
    assert not timing.compare(small, sweeps, versus)[-1].holds


def test_a_sweep_that_took_no_time_was_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    took = iter([2.0, 1.0, 1.0, 2.0])
    monkeypatch.setattr(timing, "best_of", lambda *_: (None, next(took)))
    assert np.isnan(timing.time_sweep(None, 2, "random", 1, 3, "asymmetric"))
    assert timing.time_sweep(None, 2, "random", 1, 3, "asymmetric") == 0.5


def scores(**accuracy: float) -> list[Row]:
    return [
        {"components": int(L[1:]), "split": split, "accuracy": value, "log-loss": 1 - value, "constant": 0.9}
        for L, value in accuracy.items()
        for split in range(3)
    ]


def test_the_best_score_wins_and_the_smallest_of_equals() -> None:
    rows = scores(L2=0.9, L4=0.92, L8=0.92)
    assert published.choose(rows, "accuracy") == 4
    assert published.choose(rows, "log-loss") == 4
    assert published.choose(scores(L2=0.9, L4=0.92, L8=0.93), "accuracy") == 8


@pytest.mark.parametrize(
    ("accuracy", "held"),
    [
        ({"L4": 0.91, "L8": 0.92}, [True, True]),
        ({"L4": 0.93, "L8": 0.92}, [False, True]),
        ({"L4": 0.9, "L8": 0.9}, [False, False]),  # a constant has as much
        ({"L4": 0.9, "L8": 0.903}, [True, False]),
    ],
)
def test_the_papers_number_must_win_and_beat_a_constant(accuracy: Row, held: list[bool]) -> None:
    said = published.judge_number(scores(**accuracy), "fit", 8, 91, "accuracy")
    assert [claim.holds for claim in said] == held


@pytest.mark.parametrize(
    ("kept", "holds"), [("2-3", True), ("2", True), ("1-3", False), ("2-4", False), ("8", False)]
)
def test_a_rival_keeps_as_few_components_as_in_the_paper_or_not(kept: str, holds: bool) -> None:
    rows = [
        {"components kept of": "as published", "8": "0"},
        {"components kept of": "Boolean ALS, any", "8": kept},
    ]
    (said,) = published.judge_rival(rows, 8, 2, 3)
    assert said.holds is holds


def test_kept_components_have_members_everywhere_and_equal_ones_count_once() -> None:
    first = np.array([[1, 1, 0, 1], [0, 0, 0, 1]])
    second = np.array([[1, 1, 1, 1], [0, 0, 0, 0]])
    assert study.count_kept([first, second]) == 2


def test_statements_are_counted_over_starts() -> None:
    one = [("a", "", True), ("b", "", None)]
    two = [("a", "", False), ("b", "", None)]
    columns = [study.share_true("x", [one, two]), study.share_true("y", [one])]
    assert study.turn(columns) == [
        {"the paper": "a", "x": "1 of 2", "y": "1 of 1"},
        {"the paper": "b", "x": "cannot be tested", "y": "cannot be tested"},
    ]


def test_every_cut_of_the_room_has_six_regions_and_all_seats() -> None:
    for regions in students_paper.cuts().values():
        assert sorted(regions) == list(range(1, 85))
        assert list(dict.fromkeys(regions.values())) == [f"region {n}" for n in range(1, 7)]


def test_rivals_are_alike_as_far_as_starts_are() -> None:
    one = [np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]])]
    other = [np.array([[0.0], [1.0]]), np.array([[1.0], [1.0]])]
    assert students_paper.likeness(one, one) == 1
    assert students_paper.likeness(one, other) == 0
    assert students_paper.compare_rival([one, one], [one, one]).holds
    assert not students_paper.compare_rival([one, one], [other, one]).holds
    assert not students_paper.compare_rival([one, other], [other, one]).holds  # nothing is like anything


def features(**accuracy: float) -> dict[str, list[Row]]:
    names = {"plain": cancer_paper.PLAIN, "pca": cancer_paper.PCA, "als": cancer_paper.ALS}
    return {
        names[name]: [{"start": n, "accuracy": value, "balanced": value, "legend": value} for n in range(3)]
        for name, value in accuracy.items()
    }


@pytest.mark.parametrize(
    ("accuracy", "held", "word"),
    [
        ({"plain": 0.91, "pca": 0.86, "als": 0.81}, [True, True, True, True], " reproduced:"),
        ({"plain": 0.865, "pca": 0.86, "als": 0.81}, [False, True, True, True], "not reproduced:"),  # level
        ({"plain": 0.81, "pca": 0.86, "als": 0.91}, [False, False, True, False], "reversed:"),
        ({"plain": 0.105, "pca": 0.86, "als": 0.81}, [False, False, False, True], "not reproduced:"),
    ],
)
def test_the_papers_order_of_features_can_hold_and_fail(accuracy: Row, held: list[bool], word: str) -> None:
    found = features(**accuracy)
    assert [claim.holds for claim in cancer_paper.compare(found, 0.1)] == held
    assert word in cancer_paper.tell_order(found)
    twice = {name: rows[:2] for name, rows in found.items()}
    assert cancer_paper.contest(twice, "p", cancer_paper.PCA, cancer_paper.ALS).holds is None


def test_specific_components_are_in_few_types() -> None:
    types = np.repeat([*"ABCDEFGH"], 10)
    factor = np.column_stack([types == "A", np.isin(types, [*"ABC"]), types < "I", types == "?"]).astype(
        float
    )
    assert cancer_paper.count_specific(factor, types) == (1, 3)


def test_rows_that_differ_are_listed_with_their_section_and_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = tmp_path / "reasons.toml"
    reasons.write_text(
        '[[reason]]\nwords = ["p", "no"]\ntext = "no"\n[[reason]]\nwords = ["p | f"]\ntext = "because"\n'
    )
    monkeypatch.setattr(page, "REASONS", reasons)
    assert page.find_reason("q | f | h") == "none was tested"
    said = [Claim("p", "f", "h", False), Claim("q", "f", "h", True)]
    text = f"# Page\n\n## One, two\n\n{claims(said)}\n"
    other = f"# Other\n\n{claims(said)}\n\n### Three\n\n{claims(said)}\n"
    rows = page.list_differences({Path("a.md"): text, Path("b/c.md"): other}).splitlines()
    assert [row for row in rows if row.startswith("**")] == [
        "**[One, two](a.md#one-two)**",
        "**[Other](b/c.md)**",
        "**[Other: Three](b/c.md#three)**",
    ]
    assert rows.count("| p | f | h | because |") == 3
    assert not any("q" in row for row in rows)


def test_samples_never_replace_full_tables(
    out: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @record.options
    def experiment(quick: bool, fresh: bool, jobs: int) -> None:
        record.write_section("one", "sample" if quick else "full")

    docs = tmp_path / "docs"
    (docs / "figures").mkdir(parents=True)
    template = tmp_path / "reproduction.md"
    template.write_text("<!-- experiment: one -->\n")
    for name, value in {"DOCS": docs, "HERE": tmp_path, "TEMPLATES": (template,)}.items():
        monkeypatch.setattr(page, name, value)
    run = CliRunner()
    for arguments in (["--full"], ["--quick"]):
        assert run.invoke(experiment, arguments, catch_exceptions=False).exit_code == 0
        assert run.invoke(page.main, arguments, catch_exceptions=False).exit_code == 0
    assert "full" in (docs / "reproduction.md").read_text()
    assert "sample" in (out / "quick/pages/reproduction.md").read_text()
    assert out == record.OUT
