"""Options that several commands share: which cells a file holds, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tensorm.data.options import Options
from tensorm.data.read import read_columns
from tensorm.errors import InputError
from tensorm.report.metadata import LABEL, check_metadata
from tensorm.tensors import Tensor
from tensorm.tensors.read import read_with_metadata

F = TypeVar("F", bound=Callable[..., Any])


class Names(click.ParamType):
    """Names with commas in between."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a tuple of names."""
        if not isinstance(value, str):
            return value
        names = tuple(name.strip() for name in value.split(","))
        if not all(names) or len(set(names)) != len(names):
            self.fail(f"{value!r} is no list of different names; write them as a,b,c", param, ctx)
        return names


class Assigned(click.ParamType):
    """MODE=SOMETHING."""

    def __init__(self, name: str, example: str) -> None:
        self.name, self.example = name, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a pair of texts."""
        if not isinstance(value, str):
            return value
        mode, _, what = value.partition("=")
        if not (mode and what):
            self.fail(f"{value!r} is not of the form {self.name}; write {self.example}", param, ctx)
        return mode, what


class Components(click.ParamType):
    """A number, or auto."""

    name = "auto|number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return an integer or "auto"."""
        if value == "auto" or isinstance(value, int):
            return value
        if not str(value).isdigit() or int(value) < 1:
            self.fail(f"{value!r} is neither auto nor a number of at least 1", param, ctx)
        return int(value)


def about_cells(command: F) -> F:
    """Add the options that describe a file of cells: those of ``tensorm.read``, with the same names."""
    options = [
        click.option("--modes", type=Names(), help="Columns that are modes, or names for an array's modes."),
        click.option("--value", help="Column with 0 and 1; without it every row is a 1."),
        click.option(
            "--unlisted",
            type=click.Choice(["zero", "missing"]),
            default="zero",
            show_default=True,
            help="What cells are that no row names.",
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
        click.option("--pair", type=Names(), help="Two modes that stand for the same things, as I,J."),
        click.option("--undirected", is_flag=True, help="A row says the same of both orders of the pair."),
        click.option(
            "--wide", is_flag=True, help="A row for each index of one mode, a column for each of the other."
        ),
        click.option(
            "--relational",
            is_flag=True,
            help="Such a table, or a matrix, of numbers: which of two columns is higher in each row.",
        ),
        click.option("--missing", type=Names(), help="Values that stand for missing cells, as -1,unknown."),
        click.option("--threshold", type=float, help="Numbers of at least this are 1, all others 0."),
        click.option(
            "--order",
            type=Assigned("mode=labels", "day=Mon,Tue,Wed"),
            multiple=True,
            help="All labels of a mode in their order, as day=Mon,Tue,Wed.",
        ),
        click.option("--indices", is_flag=True, help="Columns hold indices counted from 0, not labels."),
        click.option("--header/--no-header", default=None, help="Whether the first line has names."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def read_named(file: Path, options: dict[str, Any], client: Any = None) -> tuple[Tensor, dict[str, Any]]:
    """Read a file as the options of ``about_cells`` say: its cells, and what it knows of their labels."""
    if options["undirected"] and options["pair"] is None:
        raise InputError("--undirected needs --pair I,J.")
    for name in ("bins", "origin"):
        if options[name] is not None and options["time"] is None:
            raise InputError(f"--{name} needs --time COLUMN.")
    said = {name: options[name] for name in Options._fields}
    order = {mode: [label.strip() for label in labels.split(",")] for mode, labels in said["order"]}
    said |= {"order": order, "missing": said["missing"] or ()}
    tensor, metadata = read_with_metadata(file, Options(**said), client)
    if said["unlisted"] == "missing" and said["value"] is None and tensor.n_ones == tensor.n_observed:
        raise InputError("--unlisted missing leaves only ones; name the column of 0 and 1 with --value.")
    return tensor, metadata


def read_tables(assigned: tuple[tuple[str, str], ...], tensor: Tensor) -> dict[str, Any]:
    """Read the tables of metadata, or raise unless they can be joined to the modes of the cells."""
    tables = {}
    for mode, path in assigned:
        if mode in tables:
            raise InputError(f"--metadata is given twice for {mode}; put both tables into one.")
        tables[mode], table = read_columns(path, (mode, LABEL))
        check_metadata(tensor, mode, tables[mode], table.place)
    return tables
