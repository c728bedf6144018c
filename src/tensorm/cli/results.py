"""``tensorm report``, ``predict`` and ``members``: a fit as a web page, probabilities of cells, a table."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tensorm.cli import folders, options
from tensorm.cli.groups import main, printable_lines, quietly, say
from tensorm.data.checks import check_mode
from tensorm.data.read import open_table
from tensorm.errors import printable
from tensorm.estimator.load import load
from tensorm.posterior.lookup import find_labels, look_up
from tensorm.report.metadata import share_metadata
from tensorm.report.selection import Selection
from tensorm.storage.files import delete_parts, owning, replace_file

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a cell of a spreadsheet begins to compute
NUMERIC_TEXT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@main.command("report")
@options.fit
@click.option(
    "--out",
    type=options.FILE_PATH,
    help="File to write; by default report.html in the folder, or for ward.tensorm ward.html beside it.",
)
@options.metadata
@click.option("--title", help="Heading of the page; by default the name of the data file.")
@click.option("--open", is_flag=True, help="Open the page in the default browser.")
@quietly("Print nothing but errors.")
def report_command(
    fit: Path,
    out: Path | None,
    metadata: tuple[tuple[str, str], ...],
    title: str | None,
    open: bool,
    quiet: bool,
) -> None:
    """Write a fit as a single web page.

    FIT is the folder of a run, or a saved file; the page of a file shows no cells.

    \b
    Examples:
      tensorm report runs/ward
      tensorm report ward.tensorm --out ward.html
      tensorm report runs/ward --open
      tensorm report runs/ward --metadata person=roles.csv --title "Who met whom"
    """
    model, run = load(fit), fit.is_dir()
    beside = fit / "report.html" if run else fit.with_name(f"{fit.name.removesuffix('.tensorm')}.html")
    page = beside if out is None else out
    ours = run and out is None
    with owning(fit) if ours else nullcontext():
        if ours:
            delete_parts(fit, page.name)
        cells = folders.read_cells_of_run(fit) if run else None
        about = model.posterior_ if cells is None else cells
        model.report(
            page,
            cells,
            metadata=folders.load_metadata(fit)
            | share_metadata(about, options.read_metadata_files(metadata, about)),
            selection=Selection.read(fit),
            title=title or folders.read_title(fit),
            command=folders.read_command(fit),
            notes=folders.read_notes(fit),
            open=open,
        )
    if not quiet:
        how = "" if open else " Open it in a browser."
        say(f"Wrote {page} ({page.stat().st_size / 1000:,.0f} kB).{how}")
        if not run:
            lacking = "A saved file has no data, so the page shows predictions only"
            say(f"{lacking}; to see both:  model.report(path, X)")


@main.command("predict")
@options.fit
@click.option("--cells", type=click.Path(path_type=Path), help="Table with a column of labels for each mode.")
@click.option(
    "--of",
    nargs=2,
    metavar="MODE LABEL",
    help="List the most probable cells of this index, without known ones if FIT is a folder.",
)
@click.option("--top", type=options.COUNT, default=10, help="Number of cells with --of.")
@click.option("--out", type=options.FILE_PATH, help="CSV file to write; by default the table is printed.")
def predict_command(
    fit: Path, cells: Path | None, of: tuple[str, str] | None, top: int, out: Path | None
) -> None:
    """Print the probability that cells are 1, as CSV.

    FIT is the folder of a run, or a saved file. Labels that a spreadsheet would take for formulas get an
    apostrophe in front, such as '=1+1.

    \b
    Examples:
      tensorm predict runs/ward --cells pairs.csv --out probabilities.csv
      tensorm predict runs/ward --of person "doctor 01" --top 5
    """
    if (cells is None) == (of is None):
        raise click.UsageError("Give either --cells FILE or --of MODE LABEL.")
    model = load(fit)
    if of is not None:
        named = of[0] in model.modes_ or not of[0].isdecimal()
        mode = check_mode(of[0] if named else int(of[0]), model.modes_)
        (index,) = find_labels(model.posterior_, mode, of[1:])
        _, p, names, _ = model.top_cells(
            mode, index, top, folders.read_cells_of_run(fit) if fit.is_dir() else None
        )
    elif cells is not None:
        indices, texts = look_up(model.posterior_, open_table(cells))
        p, names = model.posterior_.predict_cells(indices), tuple(zip(*texts, strict=True))
    rows = [[*cell, f"{chance:.4f}"] for cell, chance in zip(names, p, strict=True)]
    _write_table([*model.modes_, "probability"], rows, out)


@main.command("members")
@options.fit
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.5,
    help="List members with a probability above this.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV on a terminal, too.")
@click.option("--out", type=options.FILE_PATH, help="CSV file to write; by default the table is printed.")
def members_command(fit: Path, threshold: float, as_csv: bool, out: Path | None) -> None:
    """Print who is in which component of a fit: a table on a terminal, CSV elsewhere.

    FIT is the folder of a run, or a saved file.

    \b
    Examples:
      tensorm members runs/ward
      tensorm members runs/ward --csv
      tensorm members runs/ward --threshold 0.9 --out members.csv
    """
    table = load(fit).members(threshold)
    rows = [[row.component, row.mode, str(row.label), f"{row.probability:.4f}"] for row in table.itertuples()]
    names = ["component", "mode", "label", "probability"]
    if out is None and not as_csv and sys.stdout.isatty():
        _print_table(names, rows)
    else:
        _write_table(names, rows, out)


def _print_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table for reading."""
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(name, justify="right" if name in ("component", "probability") else "left")
    for row in rows:
        table.add_row(*(Text(printable(str(field))) for field in row))
    Console(highlight=False).print(table)


def _write_table(names: Sequence[str], rows: Sequence[Sequence[Any]], out: Path | None) -> None:
    """Write a table as CSV to a file, or print it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(unlike_formula, names))
    writer.writerows([unlike_formula(str(field)) for field in row] for row in rows)
    table = text.getvalue().encode(errors="backslashreplace")
    if out is not None:
        replace_file(out, table)
    else:
        click.echo(printable_lines(table.decode()) if sys.stdout.isatty() else table, nl=False)


def unlike_formula(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: with an apostrophe before =, + and the like.

    Numbers stay as they are, negative ones too.
    """
    return f"'{text}" if text.startswith(FORMULA) and not NUMERIC_TEXT.fullmatch(text) else text
