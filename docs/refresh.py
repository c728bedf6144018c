"""Run the code on all pages and write what it prints into them: after a change that alters draws.

    python docs/refresh.py

Figures quoted in the text are not touched; tests/test_tutorial.py says which of them no longer hold.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
STEP = re.compile(r"^```python\n(.*?)^```\n\n```text\n.*?^```$", re.MULTILINE | re.DOTALL)


def refresh(page: Path) -> dict[str, Any]:
    """Run every block of code, put its output into the block below, and return the names it made."""
    namespace: dict[str, Any] = {}

    def run(step: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(step[1], page.name, "exec"), namespace)
        return f"```python\n{step[1]}```\n\n```text\n{printed.getvalue()}```"

    page.write_text(STEP.sub(run, page.read_text(encoding="utf-8")), encoding="utf-8")
    return namespace


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    from tensorm.plots import plot_calibration

    for page in DOCS.glob("how-to/*.md"):
        refresh(page)
    made = refresh(DOCS / "tutorial.md")
    plot_calibration(made["few"]).figure.savefig(DOCS / "figures" / "calibration.png", dpi=110)
