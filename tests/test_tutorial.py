"""The tutorial's text quotes the output of its code."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
STEP = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_figures_in_the_text_are_those_of_the_output() -> None:
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    shown = "\n".join(output for _, output in STEP.findall(text))
    prose = STEP.sub("", text)
    for figure in ("0.608", "1,760", "0.601", "0.019"):
        assert figure in prose
        assert figure in shown
    for percent, share in (("91.6%", "0.916"), ("94.1%", "0.941")):
        assert percent in prose
        assert share in shown
