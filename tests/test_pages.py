"""The code on pages of the docs runs and prints what is shown."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [DOCS / "tutorial.md", *sorted(DOCS.glob("how-to/*.md"))]
STEP = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_step_prints_what_is_shown(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    steps = STEP.findall(text)
    assert len(steps) == text.count("```python") >= 1, "every block of code is followed by what it prints"
    namespace: dict[str, object] = {}
    for code, shown in steps:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), namespace)
        assert printed.getvalue() == shown, code
