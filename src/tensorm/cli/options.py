"""Options that several commands share: which cells a file holds, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tensorm.data.coordinates.files import kind_of
from tensorm.errors import InputError
from tensorm.reading import TABLES, Wanted, read_any_table, read_cells
from tensorm.report.metadata import check_metadata
from tensorm.tensors import RelationalTensor, Tensor, as_tensor
from tensorm.tensors.distributed import DaskTensor

F = TypeVar("F", bound=Callable[..., Any])
CELLS = ("modes", "value", "unlisted", "time", "bins", "origin", "pair", "undirected", "wide", "relational")


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
    """MODE=FILE."""

    name = "mode=file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a pair of texts."""
        if not isinstance(value, str):
            return value
        mode, mark, path = value.partition("=")
        if not (mode and mark and path):
            self.fail(f"{value!r} names no mode and file; write person=roles.csv", param, ctx)
        return mode, path


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
    """Add the options that say what a file of cells holds."""
    options = [
        click.option("--modes", type=Names(), help="Columns with the modes, or names for those of an array."),
        click.option("--value", help="Column with 0 and 1; without it every row is a 1."),
        click.option(
            "--unlisted",
            type=click.Choice(["zero", "missing"]),
            default="zero",
            show_default=True,
            help="What cells are that no row names.",
        ),
        click.option("--time-column", "time", help="Column with times, cut into bins; becomes a mode."),
        click.option(
            "--bins",
            help="Of times: clock (hours of the day, the default), a length (1h, 30min, 1d), or a number of "
            "equal bins.",
        ),
        click.option("--origin", help='When times in seconds start to count, such as "2010-12-06 13:00".'),
        click.option("--pair", type=Names(), help="Two modes that stand for the same things, as i,j."),
        click.option("--undirected", is_flag=True, help="A row says the same of both orders of the pair."),
        click.option(
            "--wide", is_flag=True, help="A row for each index of one mode, a column for the other."
        ),
        click.option(
            "--relational",
            is_flag=True,
            help="Such a table, or a matrix, of numbers: which of two columns is higher in each row.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def read_named(file: Path, options: dict[str, Any]) -> Any:
    """Read the cells of a file, given the options of ``about_cells``."""
    said = {name: options[name] for name in CELLS}
    pair = said["pair"]
    if pair is not None and len(pair) != 2:
        raise InputError(f"--pair is {','.join(pair)}; give two modes.")
    if said["undirected"] and pair is None:
        raise InputError("--undirected says nothing without a pair; give the two modes by --pair i,j.")
    for name in ("bins", "origin"):
        if said[name] is not None and said["time"] is None:
            raise InputError(f"--{name} says nothing without times; name their column by --time-column.")
    if said["unlisted"] == "missing" and said["value"] is None and kind_of(file) in TABLES:
        raise InputError("--unlisted missing leaves ones only; name the column of 0 and 1 by --value.")
    return read_cells(file, Wanted(**said | {"bins": said["bins"] or "clock"}))


def to_tensor(cells: Any, options: dict[str, Any]) -> Tensor:
    """Return cells that were read as a tensor."""
    return RelationalTensor(cells) if options["relational"] else as_tensor(cells)


def spread_named(file: Path, options: dict[str, Any], client: Any) -> Any:
    """Let the workers of a cluster read the cells of a file, each its own part."""
    said = {name: options[name] for name in CELLS}
    kind = kind_of(file)
    if kind not in (".zarr", ".parquet") or any(
        said[name] for name in ("time", "pair", "wide", "relational")
    ):
        raise InputError(
            f"{file} cannot be read in parts; on a cluster give a zarr array, or Parquet with a column of "
            "indices for each mode."
        )
    if kind == ".zarr":
        return DaskTensor.from_zarr(file, client, modes=said["modes"])
    modes, value, unlisted = said["modes"], said["value"], said["unlisted"]
    return DaskTensor.from_table(file, modes, value, unlisted=unlisted, client=client)


def read_tables(assigned: tuple[tuple[str, str], ...], tensor: Tensor) -> dict[str, Any]:
    """Read the tables of metadata, or raise unless they can be joined to the modes of the cells."""
    tables = {}
    for mode, path in assigned:
        if mode in tables:
            raise InputError(f"--metadata is given twice for {mode}; put both tables into one.")
        tables[mode], place = read_any_table(path)
        check_metadata(tensor, mode, tables[mode], place)
    return tables
