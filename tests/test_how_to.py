"""The code of every how-to page runs and prints what is shown."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from test_tutorial import DOCS, STEP

PAGES = sorted((DOCS / "how-to").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_step_prints_what_is_shown(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    steps = STEP.findall(text)
    assert len(steps) == text.count("```python") > 0
    namespace: dict[str, object] = {}
    for code, shown in steps:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), namespace)
        assert printed.getvalue() == shown, code
