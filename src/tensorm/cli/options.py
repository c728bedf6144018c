"""Options that several commands share: which cells a file holds, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tensorm.data.checks import short
from tensorm.data.options import ONLY_ONES, Options
from tensorm.data.read import read_columns
from tensorm.errors import InputError
from tensorm.report.metadata import LABEL, check_metadata
from tensorm.tensors import Tensor
from tensorm.tensors.read import read_with_metadata

F = TypeVar("F", bound=Callable[..., Any])


COUNT = click.IntRange(min=1)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


def names(value: str) -> tuple[str, ...]:
    """Read names with commas in between."""
    found = tuple(name.strip() for name in value.split(","))
    if not all(found) or len(set(found)) != len(found):
        raise click.BadParameter(
            f"{short(value)} must be a comma-separated list without repeats; write a,b,c."
        )
    return found


def assigned(form: str, example: str) -> Callable[[str], tuple[str, str]]:
    """Return a reader of MODE=SOMETHING."""

    def read(value: str) -> tuple[str, str]:
        mode, _, what = value.partition("=")
        if not (mode and what):
            raise click.BadParameter(f"{short(value)} is not of the form {form}; write {example}.")
        return mode, what

    return read


seed = click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed.")
jobs = click.option("--jobs", type=COUNT, help="Number of threads; one per processor core by default.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
metadata = click.option(
    "--metadata",
    type=assigned("mode=file", "person=roles.csv"),
    metavar="MODE=FILE",
    multiple=True,
    help="Table about a mode's labels, such as person=roles.csv.",
)


def about_cells(command: F) -> F:
    """Add the options that describe a file of cells: those of ``tensorm.read``, with the same names."""
    options = [
        click.option("--modes", type=names, help="Columns that are modes, or names for an array's modes."),
        click.option("--value", help="Column with 0 and 1; without it every row is a 1."),
        click.option(
            "--unlisted",
            type=click.Choice(["zero", "missing"]),
            default="zero",
            help="Value of the cells that no row mentions.",
        ),
        click.option(
            "--time", "--time-column", "time", help="Column with times, cut into bins; becomes a mode."
        ),
        click.option(
            "--bins",
            help="Bins of times: clock (hours of the day, the default), a length (1h, 30min, 1d), or a "
            "number of equal bins.",
        ),
        click.option("--origin", help='Start of times in seconds, such as "2010-12-06 13:00".'),
        click.option("--pair", type=names, help="Two modes that stand for the same things, as in i,j."),
        click.option(
            "--undirected", is_flag=True, help="Pairs have no direction: a row counts for both orders."
        ),
        click.option(
            "--wide", is_flag=True, help="The table has one mode in its rows and the other in its columns."
        ),
        click.option(
            "--relational",
            is_flag=True,
            help="Compare the numbers of a wide table or matrix: which of two columns is higher in each row.",
        ),
        click.option(
            "--normalise",
            type=click.Choice(["zscore", "rank", "none"]),
            default="zscore",
            help="With --relational: compare z-scores, places among all rows, or the numbers themselves.",
        ),
        click.option(
            "--floor",
            type=float,
            help="With --relational: numbers up to this are not compared, such as 0 for counts.",
        ),
        click.option("--missing", type=names, help="Values that mean missing, such as -1,unknown."),
        click.option("--threshold", type=float, help="Numbers of at least this are 1, all others 0."),
        click.option(
            "--order",
            type=assigned("mode=labels", "day=Mon,Tue,Wed"),
            metavar="MODE=LABELS",
            multiple=True,
            help="All labels of a mode in order, such as day=Mon,Tue,Wed.",
        ),
        click.option("--indices", is_flag=True, help="Columns hold indices counted from 0, not labels."),
        click.option("--header/--no-header", default=None, help="Whether the first line has names."),
        click.option("--shared", is_flag=True, help="The two modes of an undirected pair share one factor."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def read_named(file: Path, given: dict[str, Any], client: Any = None) -> tuple[Tensor, dict[str, Any]]:
    """Read a file as the options of ``about_cells`` say: its cells, and what it knows of their labels."""
    if given["undirected"] and given["pair"] is None:
        raise InputError("--undirected needs --pair I,J.")
    if given["shared"] and not given["undirected"]:
        raise InputError("--shared needs an undirected pair; add --pair I,J --undirected.")
    for name in ("bins", "origin"):
        if given[name] is not None and given["time"] is None:
            raise InputError(f"--{name} needs --time COLUMN.")
    order = {mode: [label.strip() for label in labels.split(",")] for mode, labels in given["order"]}
    options = {name: given[name] for name in Options._fields}
    options |= {"order": order, "missing": given["missing"] or ()}
    try:
        return read_with_metadata(file, Options(**options), client)
    except InputError as error:
        if str(error) != ONLY_ONES.format('unlisted="missing"', "value"):
            raise
        raise InputError(ONLY_ONES.format("--unlisted missing", "--value")) from None


def read_tables(assigned: tuple[tuple[str, str], ...], tensor: Tensor) -> dict[str, Any]:
    """Read the tables of metadata, or raise unless they can be joined to the modes of the cells."""
    tables = {}
    for mode, path in assigned:
        if mode in tables:
            raise InputError(f"--metadata is given twice for {mode}; put both tables into one.")
        tables[mode], table = read_columns(path, (mode, LABEL))
        check_metadata(tensor, mode, tables[mode], table.place)
    return tables
