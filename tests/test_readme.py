"""The README's Python runs and prints what it shows, its links lead somewhere, and it stays short."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tensorm.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return text


def test_the_code_prints_what_is_shown() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block("python"), "README.md", "exec"), {})
    assert printed.getvalue() == block("text")


def test_the_commands_run_on_what_the_demo_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quick = {"fit": ["--components", "2", "--chains", "1", "--draws", "5", "--effort", "0"]}
    for line in ["tensorm demo", *block("console").splitlines()]:
        _, command, *words = shlex.split(line)
        done = CliRunner().invoke(main, [command, *words, *quick.get(command, [])])
        assert done.exit_code == 0, done.output
    assert (tmp_path / "runs/ward/report.html").stat().st_size > 10_000


def test_it_is_short() -> None:
    assert README.count("\n") < 120
    assert len([line for line in block("python").splitlines() if line]) <= 10
    assert (ROOT / "docs/figures/ward.png").stat().st_size < 150_000


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        *(f"docs/{p}" for p in ("architecture.md", "notation.md", "tutorial.md", "diagnostics.md")),
    ],
)
def test_links_lead_somewhere(page) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), f"{page} links to {link}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in headings}, link
