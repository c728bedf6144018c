"""Add to mkdocs: pages from the root of the repository, links out of the docs, and formulas."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
FROM_ROOT = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
TO_ROOT = {f"({old}": f"({new}" for new, old in FROM_ROOT.items()}
OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:(?:\.\./)+(?:src|tests|benchmarks)/|LICENSE)[^)]*\)")
FORMULA = re.compile(
    r"(^```.*?^```$|`[^`\n]+`)|(?<![\w$])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\w)", re.MULTILINE | re.DOTALL
)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from the root of the repository, with their links adjusted."""
    for page, source in FROM_ROOT.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("(docs/", "(")
        for old, new in TO_ROOT.items():
            text = text.replace(old, new)
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Drop links that lead out of the site, and convert formulas to MathML."""
    text = OUTSIDE.sub(r"\1", markdown)
    return FORMULA.sub(lambda found: found[1] or f"<span>{convert(found[2])}</span>", text)
