"""Build docs/reproduction.md and docs/gallery from the texts in this folder and the results.

    python -m experiments.page            # docs, from full results only
    python -m experiments.page --quick    # the same pages with samples, in experiments/out/quick/pages

A line ``<!-- experiment: figure2a -->`` of the template is replaced by the section in experiments/out, and
figures are copied beside the pages. A section without a result keeps the text that the page in docs has.
``<!-- differences -->`` is replaced by the rows of all pages that say *differs*, with the reasons in
reasons.toml.
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
HEADING = re.compile(r"^(#{1,3}) (.+)$")
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
    """Return the rows of all pages that differ, with reasons: a table for each section, under its link."""
    found: dict[str, list[str]] = {}
    for name, page in pages.items():
        title = heading = anchor = ""
        for line in page.splitlines():
            if match := HEADING.match(line):
                heading = match[2] if len(match[1]) > 1 else ""
                title = title or match[2]
                plain = re.sub(r"[^\w\s-]", "", heading).strip().lower()  # as the site names headings
                anchor = "#" + re.sub(r"[-\s]+", "-", plain) if heading else ""
            elif match := DIFFERS.match(line):
                text = f"{title}: {heading}" if name.parent != Path() and heading else heading or title
                link = f"**[{text}]({name.as_posix()}{anchor})**"
                found.setdefault(link, []).append(f"| {match[1]} | {find_reason(match[1])} |")
    head = ["| the paper | fit | here | why |", "|---|---|---|---|"]
    return "\n\n".join(f"{link}\n\n" + "\n".join([*head, *rows]) for link, rows in found.items())


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
