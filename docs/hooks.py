"""Add to mkdocs: pages from the root of the repository, links out of the docs, and formulas."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
FROM_ROOT = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
}
TO_ROOT = {f"({old}": f"({new}" for new, old in FROM_ROOT.items()}
BADGE = re.compile(r"^\[!\[.*\n", re.MULTILINE)  # its picture would be loaded from elsewhere
OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:(?:\.\./)+(?:src|tests|benchmarks)/|LICENSE)[^)]*\)")
FORMULA = re.compile(
    r"(^```.*?^```$|`[^`\n]+`)|(?<![\w$])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\w)", re.MULTILINE | re.DOTALL
)


def show_notebook(path: Path) -> str:
    """Return a notebook as a page: its text, its code, and the output that is stored in it."""
    about = f"[Download this notebook]({path.name}), which is run whenever tensorm is tested."
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_show_output(output) for output in cell.get("outputs", [])]
    first, *rest = parts
    return "\n\n".join([first, about, *rest])


def _show_output(output: dict[str, Any]) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "image/png" in data:
        return f'<img alt="picture" src="data:image/png;base64,{"".join(data["image/png"]).strip()}">'
    if "text/html" in data:
        html = re.sub(r"<style.*?</style>|\n\s*", "", "".join(data["text/html"]), flags=re.DOTALL)
        return f'<div class="notebook-output">{html}</div>'
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from the root of the repository, with their links adjusted, and the notebooks."""
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        page = f"notebooks/{path.stem}.md"
        files.append(File.generated(config, page, content=show_notebook(path)))
    for page, source in FROM_ROOT.items():
        text = BADGE.sub("", (ROOT / source).read_text(encoding="utf-8")).replace("(docs/", "(")
        for old, new in TO_ROOT.items():
            text = text.replace(old, new)
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Drop links that lead out of the site, and convert formulas to MathML."""
    text = OUTSIDE.sub(r"\1", markdown)
    return FORMULA.sub(lambda found: found[1] or f"<span>{convert(found[2])}</span>", text)
