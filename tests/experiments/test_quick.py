"""The quick path of a figure of the paper, with tiny settings: what it writes, and what it finds."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments import figure2a, grid, page, record


def test_figure_2a_on_a_few_tensors(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "DENSITIES", (0.3,))
    monkeypatch.setattr(grid, "NOISES", (0.0, 0.4))
    monkeypatch.setattr(grid, "RANKS", (5,))
    for _ in range(2):  # the second time nothing is measured anew
        done = CliRunner().invoke(figure2a.main, ["--quick", "--jobs", "1"], catch_exceptions=False)
        assert done.exit_code == 0
        monkeypatch.setattr(grid, "measure", None)
    quick = out / "quick"
    rows, training = (
        list(csv.DictReader((quick / f"{name}.csv").read_text().splitlines()))
        for name in ("figure2a", "figure2a-training")
    )
    trained = {(row["over"], float(row["value"])): row for row in training}
    found = {(row["over"], float(row["value"])): row for row in rows}
    assert set(found) == {("noise", 0.0), ("noise", 0.4), ("density", 0.3), ("rank", 5.0)}
    clean, noisy = found["noise", 0.0], found["noise", 0.4]
    assert float(clean["tensorm"]) == float(trained["noise", 0.0]["tensorm"]) == 1
    for rival in ("ALS, our start", "ALS, DBTF start"):
        assert float(noisy["tensorm"]) > float(noisy[rival]) + 0.03  # less noise is fitted
    assert float(noisy["as published"]) > float(noisy["constant"])
    assert float(trained["noise", 0.4]["ALS, our start"]) > 0.6  # more than the planted tensor reaches
    assert (quick / "figure2a.png").stat().st_size > 10_000
    section = (quick / "figure2a.md").read_text()
    assert "| the paper | fit | here | |" in section
    assert page.fill("a\n<!-- experiment: figure2a -->\nb", "", quick).count(section.strip()) == 1


def test_a_page_keeps_what_was_not_run_again(out: Path) -> None:
    template = "# Page\n\n<!-- experiment: one -->\n\nwords\n"
    assert "Not run yet." in page.fill(template, "", out)
    (out / "one.md").write_text("| 1 | 2 |\n")
    first = page.fill(template, "", out)
    assert "| 1 | 2 |" in first
    (out / "one.md").unlink()
    assert page.fill(template.replace("words", "other words"), first, out) == first.replace(
        "words", "other words"
    )


def test_means_as_text() -> None:
    rows = [{"a": 1, "x": 0.5}, {"a": 1, "x": 1.0}, {"a": 0, "x": 2.0}]
    assert record.average(rows, ["a"], ["x"]) == [{"a": 0, "x": 2.0}, {"a": 1, "x": 0.75}]
    assert record.spread(rows[:2], "x") == pytest.approx(0.25)
    assert "| 1 | 0.7500 |" in record.markdown([{"a": 1, "x": 0.75}])
