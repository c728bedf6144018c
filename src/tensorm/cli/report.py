"""``tensorm report``: a fit as a web page."""

from __future__ import annotations

from pathlib import Path

import click

from tensorm.cli.folders import Folder
from tensorm.cli.groups import main, quietly, say
from tensorm.cli.options import Assigned, read_tables
from tensorm.report.metadata import share_metadata


@main.command("report")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; FOLDER/report.html by default.",
)
@click.option(
    "--metadata",
    type=Assigned("mode=file", "person=roles.csv"),
    multiple=True,
    help="Table about a mode's labels, such as person=roles.csv.",
)
@click.option("--title", help="Heading of the page.")
@quietly("Print nothing but errors.")
def report_command(
    folder: Path, out: Path | None, metadata: tuple[tuple[str, str], ...], title: str | None, quiet: bool
) -> None:
    """Write the fit in FOLDER as a single web page.

    \b
    Examples:
      tensorm report runs/ward
      tensorm report runs/ward --metadata person=roles.csv --title "Who met whom"
    """
    fitted = Folder(folder)
    page = folder / "report.html" if out is None else out
    model, cells = fitted.model(), fitted.cells()
    model.report(
        page,
        cells,
        metadata=fitted.metadata() | share_metadata(cells, read_tables(metadata, cells)),
        selection=fitted.selection(),
        title=title,
        command=fitted.command(),
    )
    if not quiet:
        say(f"Wrote {page} ({page.stat().st_size / 1000:,.0f} kB). Open it in a browser.")
