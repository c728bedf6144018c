"""The code and the commands on pages of the docs run and print what is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.refresh import PAGES, Page, blocks


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_step_prints_what_is_shown(path: Path) -> None:
    page = Page(path)
    shown, printed = (re.sub(r"[\d,.]+ kB", "... kB", text) for text in (page.text, page.run()))
    assert printed.splitlines() == shown.splitlines()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_errors_are_shown_only_where_they_are_meant(path: Path) -> None:
    before, _, _ = path.read_text(encoding="utf-8").partition("## When something is wrong")
    assert "\nError: " not in before


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_block_of_code_is_run(path: Path) -> None:
    languages = list(blocks(path.read_text(encoding="utf-8")))
    assert {"python", "console"} & set(languages)
    assert set(languages) <= {"python", "text", "console"}
    for language, after in zip(languages, [*languages[1:], ""], strict=True):
        assert language != "python" or after == "text", "a block of Python is followed by what it prints"
