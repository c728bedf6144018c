"""Build docs/reproduction.md and docs/gallery from the texts in this folder and the results.

    python -m experiments.page

A line ``<!-- experiment: figure2a -->`` of the template is replaced by the section in experiments/out, and
figures are copied to docs/figures. A section without a result keeps the text that the page has.
docs/noisy-or.md and the pages of docs/gallery are built in the same way.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import click

from experiments.record import OUT

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
TEMPLATES = (HERE / "reproduction.md", HERE / "noisy-or.md", *sorted(HERE.glob("gallery/*.md")))
PAGES = {DOCS / template.relative_to(HERE): template for template in TEMPLATES}
PLACE = re.compile(r"^<!-- experiment: (\w+) -->$", re.MULTILINE)


def fill(template: str, old: str, out: Path = OUT) -> str:
    """Return the template with every section filled in, from new results or from the old page."""

    def section(place: re.Match[str]) -> str:
        name, end = place[1], f"<!-- end of {place[1]} -->"
        made = out / f"{name}.md"
        if made.exists():
            text = made.read_text(encoding="utf-8").strip()
        else:
            _, found, rest = old.partition(place[0])
            text = rest.partition(end)[0].strip() if found else "Not run yet."
        return f"{place[0]}\n\n{text}\n\n{end}"

    return PLACE.sub(section, template)


@click.command()
def main() -> None:
    """Write the pages about experiments and studies with the results in experiments/out."""
    figures = DOCS / "figures"
    for page, template in PAGES.items():
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        page.parent.mkdir(exist_ok=True)
        page.write_text(fill(template.read_text(encoding="utf-8"), old), encoding="utf-8")
        for name in PLACE.findall(template.read_text(encoding="utf-8")):
            if (OUT / f"{name}.png").exists():
                shutil.copy(OUT / f"{name}.png", figures / f"{name}.png")
        click.echo(f"Written: {page.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
