"""Tables turned into cells: long ones with a row for each cell, wide ones with a row for each index."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Floats
from tensorm.data.bad_rows import BadRows, BadRowsError
from tensorm.data.checks import list_some, unknown_mode
from tensorm.data.columns import label, read_indices, read_numbers, read_values
from tensorm.data.contents import Contents
from tensorm.data.coordinates import MAX_MODES, ListedCells
from tensorm.data.frames import Table
from tensorm.data.guess import (
    check_guess,
    check_stamps,
    find_cell_columns,
    merge_alike,
    tell_alike,
    tell_missing,
)
from tensorm.data.memory import check_room
from tensorm.data.options import Options
from tensorm.data.text import TextTable, log
from tensorm.data.times import EACH, cut_times
from tensorm.data.wide import read_wide
from tensorm.errors import InputError, note

LARGEST_MODE = 10**7  # indices of a mode, of which few need occur in a table
INDICES_PER_ROW = 100  # up to which a mode may be larger than LARGEST_MODE


def read_table(table: Table, options: Options) -> Contents:
    """Return the cells of a table: of a wide one, or of one with a row for each cell."""
    try:
        if options.wide or options.relational:
            refused = ("value", "unlisted", "time", "pair", "order", "indices", "merge_labels")
            options.refuse(table.title, "a wide table", *refused)
            return read_wide(table, options, options.pick(table.title, table.names))
        if not (options.names_columns or table.coordinates):
            if (names := find_cell_columns(table, options)) is not None:
                options.refuse(table.title, "a table of cells", "unlisted")
                return read_wide(table, options, names)
            check_guess(table)
        elif options.names_time_only and options.time in table.names:
            check_guess(table, options.time)
        return Contents(_read_long(table, options))
    except BadRowsError as error:
        if not options.skip_bad_rows:
            raise
        note(f"{table.title}: left out {error.told}.")
        table.drop(error.rows)
        return read_table(table, options)


def _read_long(table: Table, options: Options) -> ListedCells:
    """Return the cells of a table with a row for each of them."""
    modes, value = choose_columns(table, options)
    options.refuse_only_ones(value)
    options.refuse_without_values(value)
    bad_rows = BadRows(table, options.skip_bad_rows)
    values = None if value is None else _read_value(table, value, options, bad_rows)
    columns, labels = _read_modes(table, modes, options, bad_rows, options.missing if value is None else ())
    _tell_unused(table, [*modes, value, options.time])
    pairs = zip(columns, labels, strict=True)
    sizes = [int(column.max()) + 1 if known is None else len(known) for column, known in pairs]
    for name, size in zip(modes, sizes, strict=True):
        if size > max(LARGEST_MODE, INDICES_PER_ROW * len(columns[0])):
            problem = f"the index {size - 1:,} in {name!r}, but only {len(columns[0]):,} rows"
            raise InputError(
                f"{table.title} has {problem}; number the indices that occur from 0, or use labels."
            )
    listing = ListedCells(
        tuple(columns), tuple(sizes), values, options.unlisted, tuple(modes), tuple(labels),
        place=table.place, repeatable=value is None or options.threshold is not None,
    )  # fmt: skip
    if not options.undirected:
        return listing
    i, j = map(modes.index, options.pair or ())
    if listing.unlisted == "zero":  # every cell of an index with itself is listed
        check_room(table.title, 32 * len(sizes) * math.prod(sizes) // sizes[j])
    return _undirected(listing, i, j)


def _tell_unused(table: Table, used: Sequence[str | None]) -> None:
    """Log which columns are left out; the command line shows it."""
    unused = [name for name in table.names if name and name not in used]
    if unused:
        log.info("Columns that are not used: %s.", list_some([name[:40] for name in unused], 10))


class Header(NamedTuple):
    """What a table is called and what its columns are called, if that is all that is known of it."""

    title: str
    names: list[str]
    coordinates: bool = False


def choose_columns(table: Table | Header, options: Options) -> tuple[list[str], str | None]:
    """Return the columns for the modes and for the values, or raise if the table does not have them."""
    title, names, value, time = table.title, table.names, options.value, options.time
    if len(names) == 1:
        wanted = "give two or more, separated by commas, semicolons, tabs or |"
        raise InputError(f"{title} has one column, {names[0]!r}; {wanted}.")
    if table.coordinates:
        value = names[-1]
    modes = [name for name in names if name not in (value, time)]
    modes = ([] if time is None else [time]) + modes if options.modes is None else list(options.modes)
    if len(modes) > MAX_MODES:
        wanted = "name those that are modes, or set wide=True"
        raise InputError(f"{title} has {len(modes):,} columns; {wanted}.")
    for name in modes if value is None else [*modes, value]:
        if name not in names:
            known = ", ".join(repr(other[:40]) for other in names[:10]) + ", ..." * (len(names) > 10)
            raise InputError(f"{title} has no column {str(name)[:40]!r}; choose from {known}.")
        if not name:
            wanted = "write one into the first line, or name the columns that are modes"
            raise InputError(f"{title} has no name for column {names.index(name) + 1}; {wanted}.")
    if value in modes:
        raise InputError(f"value is {value!r}, which is a mode; give another column, or none.")
    if len(modes) < 2:
        given = f"one column for modes, {modes[0]!r}" if modes else "no column for modes"
        raise InputError(f"{title} has {given}; give two or more.")
    for what, named in (("pair", options.pair), ("order", options.order)):
        for name in named or ():
            if name not in modes:
                raise unknown_mode(name, modes, what)
    return modes, value


def _read_value(table: Table, name: str, options: Options, bad_rows: BadRows) -> Floats | None:
    """Return 0, 1 or NaN for each row."""
    column, values = table.column(name, exact=False), None
    with bad_rows.noting(column):
        if table.coordinates and options.threshold is None:
            numbers = read_numbers(column, options)
            values = np.where(np.isnan(numbers), np.nan, numbers != 0)
        else:
            values = read_values(column, options)
    return values


def _read_modes(
    table: Table, modes: Sequence[str], options: Options, bad_rows: BadRows, missing: Collection[str]
) -> tuple[list[Any], list[Any]]:
    """Return for each mode the index of each row, and the labels; None if the table has indices.

    Labels that stand for `missing` ones make a row bad.
    """
    columns: dict[str, Any] = {}
    labels: dict[str, Any] = dict.fromkeys(modes)
    cut = None if options.bins == EACH else options.time
    order = options.order or {}
    if isinstance(table, TextTable) and not (options.indices or table.coordinates):
        table.keep_texts([name for name in modes if name != cut])
    for name in modes:
        if options.indices or table.coordinates:
            column = table.column(name, exact=False)
            with bad_rows.noting(column):
                columns[name] = read_indices(column, int(table.coordinates))
        elif name == cut:
            column = table.column(name, exact=False)
            with bad_rows.noting(column):
                column.refuse_empty("give a time, or leave that row out")
            with bad_rows.noting(column):
                bins, labels[name] = cut_times(column.values, str(options.bins), options.origin, column.where)
                columns[name] = bins[column.codes]
        else:
            column = table.column(name)
            with bad_rows.noting(column):
                column.refuse_empty("give a label", missing)
    bad_rows.settle()
    for name in modes:
        if name in columns:
            continue
        shared = options.pair if options.pair and name in options.pair else [name]
        listed = next((order[other] for other in shared if other in order), None)
        given = [table.column(other) for other in shared]
        if listed is None and options.time != name:
            check_stamps(given[0])
        found, known = label(merge_alike(given) if options.merge_labels else given, listed)
        if listed is None:
            tell_alike(name, known)
            tell_missing(name, known)
        columns |= dict(zip(shared, found, strict=True))
        labels |= dict.fromkeys(shared, known)
    return [columns[name] for name in modes], [labels[name] for name in modes]


def _undirected(listing: ListedCells, i: int, j: int) -> ListedCells:
    """Let every row say the same of both orders of a pair; cells of an index with itself are missing."""
    rows = np.flatnonzero(listing.coords[i] != listing.coords[j])
    kept = [column[rows] for column in listing.coords]
    swapped = list(kept)
    swapped[i], swapped[j] = kept[j], kept[i]
    missing = None
    if listing.unlisted == "zero":
        sizes = [*listing.shape[:j], 1, *listing.shape[j + 1 :]]
        missing = list(np.indices(sizes).reshape(len(sizes), -1))
        missing[j] = missing[i]
    place = listing.place
    return listing._replace(
        coords=tuple(np.concatenate(both) for both in zip(kept, swapped, strict=True)),
        values=None if listing.values is None else np.tile(listing.values[rows], 2),
        missing=None if missing is None else tuple(missing),
        place=lambda row: place(int(rows[row % len(rows)])),
        undirected=(min(i, j), max(i, j)),
    )
