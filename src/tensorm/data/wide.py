"""Wide tables: a row for each index of one mode, a column for each index of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorm.data.arrays import Array
from tensorm.data.bad_rows import BadRows
from tensorm.data.checks import check_labels
from tensorm.data.columns import as_written, is_cell, read_numbers, read_values
from tensorm.data.contents import Contents
from tensorm.data.frames import Table
from tensorm.data.guess import tell_alike
from tensorm.data.inputs import Matrix, Observations, name_wide
from tensorm.data.options import Options
from tensorm.errors import InputError


def read_wide(table: Table, options: Options, columns: Sequence[str] | None = None) -> Contents:
    """Return the cells, or with ``relational`` the numbers, of a table with a column for each index.

    These are by default all columns but the first, which has the labels of the rows; all if the first repeats
    0, 1, yes or no, since labels are not repeated. What other columns say about the rows is kept.
    """
    title, first = table.title, table.names[0]
    names = list(columns or table.names[0 if _repeats_cells(table, first) else 1 :])
    if not names:
        raise InputError(f"{title} has one column; give a column of labels and one for each index.")
    bad_rows = BadRows(table, options.skip_bad_rows)
    labelled = first not in names and (options.columns is None or _has_distinct(table, first))
    if labelled:
        column = table.column(first)
        with bad_rows.noting(column):
            column.refuse_empty("give a label")
    read, parts = read_numbers if options.relational else read_values, []
    for name in names:
        column = table.column(name, exact=False)
        with bad_rows.noting(column):
            parts.append(read(column, options))
    bad_rows.settle()
    labels = _read_row_labels(table, first) if labelled else None
    check_labels(f"the first line of {title}", names)
    tell_alike(first, labels, merging=False)
    modes = options.modes or name_wide(first if labelled else "", None, options.relational)
    if len(modes) != 2:
        given = ", ".join(modes)
        raise InputError(f"modes is {given}, but a wide table has two; name the rows and the columns.")
    kind = Matrix if options.relational else Observations
    cells = kind(np.column_stack(parts), None, tuple(modes), (labels, as_written(names)))
    others = [name for name in table.names if name and name not in {*names, first if labelled else ""}]
    return Contents(cells, [{name: _list_values(table, name) for name in others}, {}])


def _list_values(table: Table, name: str) -> list[Any]:
    """Return what a column says of each row; None where it says nothing."""
    column = table.column(name, exact=False)
    known = [*column.values.tolist(), None]
    return [known[code] for code in column.codes.tolist()]


def _has_distinct(table: Table, name: str) -> bool:
    """Whether a column has a label of its own for each row."""
    column = table.column(name)
    return len(column.values) == len(column.codes)


def _repeats_cells(table: Table, name: str) -> bool:
    """Whether a column holds 0, 1, yes or no, and one of them more than once."""
    column = table.column(name, exact=False)
    return is_cell(column) and len(column.values) < len(column.codes)


def _read_row_labels(table: Table, name: str) -> Array:
    column = table.column(name)
    values = column.values
    if values.dtype.kind == "i" and len(values) == len(column.codes):
        return values.astype(np.int64)[column.codes]  # as a number is written; texts would take long
    # As an array of text, each would take the room of the longest.
    texts = [str(value) for value in values] if values.dtype == object else values.astype(str).tolist()
    check_labels(f"column {name!r}", texts)
    labels = [texts[code] for code in column.codes.tolist()]
    if len({*labels}) < len(labels):
        places = {text: row for row, text in reversed([*enumerate(labels)])}  # where each is first
        row = next(row for row, text in enumerate(labels) if places[text] < row)
        raise InputError(f"{table.place(row)} repeats the label {labels[row]!r}; give each label once.")
    return as_written(labels)
