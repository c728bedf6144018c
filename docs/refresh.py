"""Run the code on all pages and in notebooks, and update the output shown, after a change that alters draws.

    python -m docs.refresh

A block of Python is followed by a block of text, its output. A block of ``console`` contains commands after a
dollar sign, each followed by its output; they run in a temporary folder. Figures quoted in the prose do not
change; tests/test_tutorial.py fails for those that are no longer right.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
NOTEBOOKS = sorted(DOCS.glob("notebooks/*.ipynb"))
PAGES = [DOCS / "tutorial.md", *sorted(DOCS.glob("how-to/*.md"))]
STEP = re.compile(
    r"^```python\n(?P<code>.*?)^```\n\n```text\n(?P<shown>.*?)^```$|^```console\n(?P<session>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE)


def run_notebook(path: Path) -> Any:
    """Return a notebook with the output that its code has now, without what differs from run to run."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    inline = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}  # as in Jupyter
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute(env=os.environ | inline)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.language_info = {"name": "python"}
    notebook.metadata.shown_by = {name: version(name) for name in ("pandas", "anndata")}
    return notebook


class Page:
    """A page whose steps run in order, in one namespace and one folder."""

    def __init__(self, path: Path) -> None:
        self.path, self.text, self.names = path, path.read_text(encoding="utf-8"), dict[str, Any]()

    def run(self) -> str:
        """Return the page with the current output of its steps."""
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            return STEP.sub(self._step, self.text)

    def _step(self, step: re.Match[str]) -> str:
        if step["session"] is not None:
            return f"```console\n{COMMAND.sub(self._command, step['session'])}```"
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(step["code"], self.path.name, "exec"), self.names)
        return f"```python\n{step['code']}```\n\n```text\n{printed.getvalue()}```"

    def _command(self, line: re.Match[str]) -> str:
        return f"$ {line['command']}\n{_run(line['command'])}"


def _run(command: str) -> str:
    """Return the output of a tensorm or shell command."""
    from click.testing import CliRunner

    from tensorm.cli import main

    program, *arguments = shlex.split(command.replace("\\\n", ""))
    if program != "tensorm":
        return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout
    result = CliRunner().invoke(main, arguments, prog_name="tensorm")
    wrong = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    return result.stdout + "".join(f"{line}\n" for line in wrong)


def blocks(text: str) -> Iterator[str]:
    """Yield the language of every code block on a page."""
    fences = re.findall(r"^```(.*)$", text, re.MULTILINE)
    yield from fences[::2]


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    from tensorm import hide

    for path in [Path(name).resolve() for name in sys.argv[1:]] or [*PAGES, *NOTEBOOKS]:
        if path in NOTEBOOKS:
            import nbformat

            nbformat.write(run_notebook(path), path)
            continue
        page = Page(path)
        path.write_text(page.run(), encoding="utf-8")
        if path.name == "tutorial.md":
            X, most, sparse = (page.names[name] for name in ("X", "most", "sparse"))
            ax = sparse.plot("calibration", X=hide(X, ~most))
            ax.figure.savefig(DOCS / "figures" / "calibration.png", dpi=110)
