"""Labels, names and files from strangers: nothing in them steers a terminal, spreadsheet, plot or page."""

from __future__ import annotations

import csv
import io
import json
import logging
import math
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import tensorm
from tensorm import InputError, TensOrMachine
from tensorm.cli import main
from tensorm.cli.results import unlike_formula
from tensorm.errors import ClusterError, FileError, printable
from tensorm.report.page.write import _recipe
from tensorm.report.plots import PLOTS
from tensorm.report.selection import Candidate, Selection, Trial

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
NASTY = [
    "\x1b]0;owned\x07",
    "\x1b[2Jred\nline",
    "\u202eevil",
    "$x^$",
    "$\\frac{1}$",
    "=1+1",
    "<script>document.title='owned'</script>",
    "'\"><img src=x onerror=document.title='owned'>",
    "{{7*7}}",
]
SELECTION = Selection(
    "cv", 2, "Best.", (Trial(2, 0, 0.5, {"kept": 1.0}),), (Candidate(2, 0.5, 0.1),), "score"
)
OPTIONS: dict[str, dict[str, Any]] = {
    "factor": {"mode": 0},
    "component": {"component": 0},
    "members": {"component": 0, "mode": 0},
    "slice": {"at": {1: 0}},
}


@pytest.fixture(scope="module")
def cells() -> xr.DataArray:
    """Two blocks of people whose names are nasty."""
    n = len(NASTY)
    block = np.arange(n) < n // 2
    X = np.stack([np.outer(block, block), np.outer(~block, ~block), np.outer(block, block)], 1).astype(float)
    mode = "\x1b[31m$p^$<b>"
    return xr.DataArray(X, {mode: NASTY, "day": [1, 2, 3], "met": NASTY}, (mode, "day", "met"))


@pytest.fixture(scope="module")
def model(cells: xr.DataArray) -> TensOrMachine:
    return TensOrMachine(2, n_chains=2, n_draws=20, random_state=0, noise="asymmetric", progress=False).fit(
        cells
    )


@pytest.fixture(scope="module")
def about(cells: xr.DataArray) -> dict[str, Any]:
    """Metadata that is no better."""
    roles = np.where(np.arange(len(NASTY)) < len(NASTY) // 2, "\x1b[31m$r^$", "</script><b>\udc80")
    return {0: {"label": NASTY, "ro\x1b$le^$": roles.tolist()}}


@pytest.mark.parametrize("error", [InputError, FileError, ClusterError])
def test_an_error_steers_no_terminal(error: type[Exception]) -> None:
    told = error("no such file: \x1b[31m\u202e\udc80\n.")
    assert str(told) == r"no such file: \x1b[31m\u202e\udc80\n."
    assert str(pickle.loads(pickle.dumps(told))) == str(told)


def test_ordinary_text_is_printed_as_it_is() -> None:
    for text in ("Müller", "12\u00a0000", "日本", "a\u200db", "e\u0301", "👩\u200d🔬"):
        assert printable(text) == text


def test_descriptions_and_lists_steer_no_terminal(model: TensOrMachine, about: dict[str, Any]) -> None:
    groups = {0: about[0]["ro\x1b$le^$"]}
    texts = [*model.describe(), *model.describe(groups), str(model.top_cells(0, 0))]
    assert r"\x1b]0;owned\x07" in " ".join(texts)
    assert r"\u202eevil" in " ".join(texts)
    assert not any(STEERING.search(text) for text in texts)


@pytest.mark.filterwarnings("ignore:constrained_layout")  # the names are long
@pytest.mark.parametrize("kind", list(PLOTS))
def test_labels_are_drawn_as_they_are(
    kind: str, model: TensOrMachine, cells: xr.DataArray, about: dict[str, Any]
) -> None:
    if kind in ("strengths", "activity"):
        settings = {"noise": "strengths", "n_chains": 1, "n_draws": 5, "random_state": 0, "progress": False}
        model = TensOrMachine(2, burn_in=10, **settings).fit(cells)
    given = {"reconstruction": {"X": cells, "at": {1: 0}}, "calibration": {"X": cells}}
    options = OPTIONS.get(kind, {}) | given.get(kind, {})
    drawn = model.plot(kind, **options, **({"metadata": about} if kind == "associations" else {}))
    figure = getattr(drawn, "figure", drawn)
    figure.savefig(io.BytesIO())
    plt.close("all")


@pytest.mark.filterwarnings("ignore:constrained_layout")
def test_groups_are_drawn_as_they_are(model: TensOrMachine, about: dict[str, Any]) -> None:
    model.plot(groups={0: about[0]["ro\x1b$le^$"]}).savefig(io.BytesIO())
    plt.close("all")


@pytest.fixture(scope="module")
def page(
    model: TensOrMachine, cells: xr.DataArray, about: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    model.report(
        path, cells, metadata=about, title="<script>document.title='owned'</script>\udc80", command="\x1b"
    )
    return path


def test_a_page_holds_no_markup_of_strangers(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<script") == 2  # the data and the page's own
    assert "<img src=x" not in text
    assert "&lt;script&gt;" in text


def test_code_that_repeats_a_fit_holds_no_code_of_strangers() -> None:
    cells = xr.DataArray(np.eye(3), dims=("x\nimport os\ros.abort()\u2028", "y"))
    model = TensOrMachine(1, n_chains=1, n_draws=2, burn_in=1, noise="asymmetric", progress=False).fit(cells)
    code = _recipe(model.posterior_, {"n_components": "1"}, {})
    assert [line[:8] for line in code.splitlines() if line] == [
        "import t",
        "X = ... ",
        "model = ",
        "model.re",
    ]


FORMS = [
    ("candidates", {"score": math.inf}),
    ("candidates", {"score": None}),
    ("candidates", {"error": math.inf}),
    ("candidates", {"error": -1.0}),
    ("table", {"score": -math.inf}),
    ("table", {"measures": {"kept": 10**400}}),
]


@pytest.mark.parametrize(("part", "changes"), FORMS)
def test_a_selection_has_numbers_that_can_be_drawn(part: str, changes: dict[str, Any]) -> None:
    form = json.loads(SELECTION.to_json())
    form[part][0] |= changes
    with pytest.raises(InputError, match="not a selection"):
        Selection.from_json(json.dumps(form))
    with pytest.raises(InputError, match="not a selection"):
        Selection.from_json(json.dumps(form | {"table": []}))


def test_a_selection_steers_no_terminal_and_is_drawn_as_it_is() -> None:
    form = json.loads(SELECTION.to_json()) | {"reason": "\x1b[31m\udc80\u202e", "score_name": "\x1b$x^$"}
    selection = Selection.from_json(json.dumps(form))
    assert not STEERING.search(str(selection))
    selection.plot().figure.savefig(io.BytesIO())
    plt.close("all")


@pytest.mark.parametrize(
    ("label", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("-5", "-5"),
        ("+1.5e-3", "+1.5e-3"),
        ("-.5", "-.5"),
        ("-", "'-"),
        ("ann", "ann"),
        ("", ""),
    ],
)
def test_spreadsheets_compute_no_label(label: str, written: str) -> None:
    assert unlike_formula(label) == written


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nasty")
    people = ["=1+1", "\x1b[31mred", "-5", "ann"]
    rows = [["who", "met"], *([a, b] for a in people[:2] for b in people[:2]), ["-5", "ann"], ["ann", "-5"]]
    with open(folder / "cells.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    line = ["fit", str(folder / "cells.csv"), "--components", "1", "--chains", "1", "--draws", "20"]
    found = CliRunner().invoke(main, [*line, "--out", str(folder / "run")])
    assert found.exit_code == 0
    assert not STEERING.search(found.output)
    return folder / "run"


def test_predictions_are_written_without_formulas(run: Path, tmp_path: Path) -> None:
    line = ["predict", str(run), "--cells", str(run.parent / "cells.csv"), "--out", str(tmp_path / "p.csv")]
    assert CliRunner().invoke(main, line).exit_code == 0
    with open(tmp_path / "p.csv", encoding="utf-8", newline="") as file:
        written = list(csv.reader(file))
    assert written[2][:2] == ["'=1+1", "\x1b[31mred"]
    assert written[5][:2] == ["-5", "ann"]


def test_predictions_steer_no_terminal(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    line = ["predict", str(run), "--cells", str(run.parent / "cells.csv")]
    main(line, standalone_mode=False)
    assert r"\x1b[31mred" in terminal.getvalue()
    assert "\x1b" not in terminal.getvalue()


@pytest.mark.parametrize(
    "line",
    [
        ["fit", "\x1b[31mnix.csv", "--out", "x"],
        ["report", "\x1b[31mnix"],
        ["fit", "cells.csv", "--modes", "\x1b[31m", "--out", "x"],
    ],
)
def test_commands_refuse_without_steering_the_terminal(
    line: list[str], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    found = CliRunner().invoke(main, line)
    assert found.exit_code == 2
    assert not STEERING.search(found.output)


def test_notes_steer_no_terminal(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*_: Any, **__: Any) -> None:
        logging.getLogger("tensorm").info("\x1b[31m")
        raise tensorm.InputError("stop")

    monkeypatch.setattr("tensorm.cli.results.load", warn)
    assert "\x1b" not in CliRunner().invoke(main, ["report", str(run)]).output


def test_an_array_is_no_metadata(model: TensOrMachine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"metadata is .*give a dict of modes and tables\.$"):
        model.report(tmp_path / "report.html", metadata=np.zeros((3, 1, 2)))
