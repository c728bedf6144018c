"""Build docs/reproduction.md and docs/gallery from the texts in this folder and the results.

    python -m experiments.page            # docs, from full results only
    python -m experiments.page --quick    # the same pages with samples, in experiments/out/quick/pages

A line ``<!-- experiment: figure2a -->`` of the template is replaced by the section in experiments/out, and
figures are copied beside the pages. A section without a result keeps the text that the page in docs has.
``<!-- differences -->`` is replaced by a list of the rows of all pages that say *differs*, with the
reasons in reasons.toml.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

import click

from experiments import record
from experiments.record import SAMPLES

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
TEMPLATES = (HERE / "reproduction.md", HERE / "noisy-or.md", *sorted(HERE.glob("gallery/*.md")))
PLACE = re.compile(r"^<!-- experiment: (\w+) -->$", re.MULTILINE)
LIST = "<!-- differences -->"
REASONS = HERE / "reasons.toml"
HEADING = re.compile(r"^(#{1,2}) (.+)$")
DIFFERS = re.compile(r"^\| (.+) \| \*\*differs\*\* \|$")


def fill(template: str, old: str, out: Path) -> str:
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


def list_differences(pages: Mapping[Path, str]) -> str:
    """Return a table of the rows of all pages that differ, with the page and the section they are in."""
    rows = ["| section | the paper | fit | here | the reason that was tested |", "|---|---|---|---|---|"]
    for name, page in pages.items():
        title = heading = ""
        for line in page.splitlines():
            if found := HEADING.match(line):
                title, heading = (found[2], "") if len(found[1]) == 1 else (title, f": {found[2]}")
            elif found := DIFFERS.match(line):
                rows.append(
                    f"| [{title}]({name.as_posix()}){heading} | {found[1]} | {find_reason(found[1])} |"
                )
    return "\n".join(rows)


def find_reason(row: str) -> str:
    """Return why a row differs: the first reason in reasons.toml all of whose words are in it."""
    for reason in tomllib.loads(REASONS.read_text(encoding="utf-8"))["reason"]:
        if all(words in row for words in reason["words"]):
            return str(reason["text"])
    return "none was tested"


@click.command()
@click.option("--quick/--full", default=False, help="Pages with samples, apart from those in docs.")
def main(quick: bool) -> None:
    """Write the pages about experiments and studies with the results in experiments/out."""
    out = record.OUT / SAMPLES if quick else record.OUT
    folder = out / "pages" if quick else DOCS
    figures = folder / "figures"
    if quick:
        shutil.copytree(DOCS / "figures", figures, dirs_exist_ok=True)
    pages: dict[Path, str] = {}
    for template in TEMPLATES:
        name = template.relative_to(HERE)
        text, old = template.read_text(encoding="utf-8"), DOCS / name
        pages[name] = fill(text, old.read_text(encoding="utf-8") if old.exists() else "", out)
        for section in PLACE.findall(text):
            if (out / f"{section}.png").exists():
                shutil.copy(out / f"{section}.png", figures / f"{section}.png")
    differences = list_differences(pages)
    for name, text in pages.items():
        page = folder / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text.replace(LIST, differences), encoding="utf-8")
        click.echo(f"Written: {page}")


if __name__ == "__main__":
    main()
