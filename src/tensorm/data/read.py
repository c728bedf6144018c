"""Input data of every kind, turned into cells with labels by one function, ``read_cells``.

To add a file format, add a reader and an entry to ``files.py``; to add an option, add it to ``options.py``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.arrays import Array
from tensorm.data.checks import check_label_array, check_labels
from tensorm.data.columns import as_written, cut_numbers, numbers_in
from tensorm.data.contents import Cells, Contents
from tensorm.data.coordinates import ListedCells
from tensorm.data.files import find_format
from tensorm.data.frames import FrameTable, Table, has_labels, with_index
from tensorm.data.inputs import (
    OTHER_VALUE,
    Observations,
    as_coo,
    check_names,
    is_a,
    is_sparse,
    observe,
    read_matrix,
)  # fmt: skip
from tensorm.data.opening import pick_variable
from tensorm.data.options import Options
from tensorm.data.tables import read_table
from tensorm.data.text import COORDINATES, TextTable, ending_of
from tensorm.data.wide import read_wide
from tensorm.errors import InputError

FOR_TABLES = ("value", "time", "order", "wide", "columns", "indices", "skip_bad_rows", "merge_labels")


def read_cells(source: Any, options: Options) -> Contents:
    """Return the cells of a file, a table, an array or an AnnData; see ``tensorm.read``."""
    if isinstance(source, (str, os.PathLike)):
        file = Path(source)
        how = find_format(file)
        if how.read is None:
            return read_table(_open_text(file, options, lenient=True), options)
        if how.table:
            return _read_frame(how.load(file), options, str(file))
        cells = how.load(file, options.value)
        return _read_array(cells, options._replace(value=None) if how.named else options, str(file))
    import narwhals as nw  # not needed for files of text

    if nw.dependencies.is_polars_lazyframe(source):
        raise InputError("X is a polars LazyFrame; collect it first.")
    if nw.dependencies.is_into_dataframe(source):
        return _read_frame(source, options)
    if is_a(source, "xarray", "Dataset"):
        cells = pick_variable("X", source, options.value)
        return _read_array(cells, options._replace(value=None), "X")
    return _read_array(source, options, "X")


def open_table(path: str | os.PathLike[str]) -> Table:
    """Return the table in a file, with a header, as spreadsheets write it."""
    file = Path(path)
    how = find_format(file, table=True)
    if how.read is None:
        return TextTable(file, True)
    return FrameTable(with_index(how.load(file), False), str(file))


def _open_text(file: Path, options: Options, lenient: bool = False) -> Table:
    """Return the table in a text file, of which some columns are read as the options say."""
    wide, coordinates = options.wide or options.relational, ending_of(file) in COORDINATES
    header = True if wide and options.header is None else options.header
    named = list(options.modes or ())
    last = "value" if coordinates else options.value
    numeric = None if wide or options.indices or coordinates else (options.value, options.time)
    wanted = [*named, last] if named and last is not None else named
    return TextTable(file, header, wanted, numeric, lenient)


def read_columns(path: str | os.PathLike[str], keys: Sequence[str]) -> tuple[dict[str, list[Any]], Table]:
    """Return the columns of a table of metadata; the first of ``keys`` that it has holds the labels."""
    table = open_table(path)
    key = next((name for name in keys if name in table.names), table.names[0])
    columns = {}
    for name in table.names:
        column = table.column(name, exact=False)
        if name == key or column.values.dtype.kind != "f":
            column = table.column(name)
        values = column.values
        if name != key and all(isinstance(value, str) for value in values):
            values = as_written(values.tolist())
        known = [*values.tolist(), None]
        columns[name] = [known[code] for code in column.codes]
    return columns, table


def _read_frame(frame: Any, options: Options, file: str | None = None) -> Contents:
    """Return the cells of a pandas, polars or similar table, which may come from a file."""
    if has_labels(frame) and not options.names_columns and _is_numeric(frame):
        return _read_array(frame, options, file or "X")
    if options.relational and not (options.wide or has_labels(frame)) and _is_numeric(frame):
        table = FrameTable(frame, file or "The table")
        return read_wide(table, options, options.pick(table.title, table.names) or table.names)
    options.refuse(file or "X", "a table with names", "header")
    table = FrameTable(with_index(frame, options.wide or options.relational), file or "The table")
    return read_table(table, options)


def _is_numeric(frame: Any) -> bool:
    """Whether a table has rows, and numbers or Booleans in all columns."""
    if is_a(frame, "pandas", "DataFrame"):
        return len(frame) > 0 and all(dtype.kind in "biuf" for dtype in frame.dtypes)
    return FrameTable(frame).is_numeric()


def _read_array(X: Any, options: Options, title: str) -> Contents:
    """Return the cells of an array, a sparse matrix or an AnnData, with the names it has or is given."""
    listed = is_sparse(X.X if is_a(X, "anndata", "AnnData") else X) and not options.relational
    options.refuse(title, "an array", *FOR_TABLES, "header", *(() if listed else ("unlisted",)))
    columns, modes, labels = _known_of(X), options.modes, None
    if is_a(X, "anndata", "AnnData"):
        labels = tuple(_texts(index) for index in (X.obs_names, X.var_names))
        X, modes = X.X, modes or ["observation", "variable"]
    cells: Cells
    if listed:
        cells = _list_sparse(X, options)
    else:
        cells = _cut(read_matrix(X) if options.relational else observe(X), options)
    cells = cells if labels is None else cells._replace(labels=labels)
    if modes is not None:
        cells = cells._replace(modes=check_names(cells.shape, modes).modes)
    return Contents(cells, columns)


def _texts(index: Any) -> Array:
    texts = [str(name) for name in index]
    check_labels("The AnnData", texts)
    return np.array(texts)


def _known_of(X: Any) -> list[dict[str, list[Any]]]:
    """Return for each mode what an AnnData or an xarray array knows of its indices besides their labels."""
    if is_a(X, "anndata", "AnnData"):
        tables = (table.astype(object).where(table.notna(), None) for table in (X.obs, X.var))
        return [{str(name): column.tolist() for name, column in table.items()} for table in tables]
    if not is_a(X, "xarray", "DataArray"):
        return []
    known: list[dict[str, list[Any]]] = [{} for _ in X.dims]
    for name, coordinate in X.coords.items():
        check_label_array(str(name), coordinate.values)
        if len(coordinate.dims) == 1 and name not in coordinate.dims:
            known[X.dims.index(coordinate.dims[0])][str(name)] = coordinate.values.tolist()
    return known


def _cut(given: Observations, options: Options) -> Observations:
    """Return an array in which some numbers are missing, and with a threshold the others are 0 or 1."""
    values = given.values
    mask: Any = np.False_ if given.mask is None else given.mask
    if hidden := numbers_in(options.missing):
        mask = mask | np.isin(values, hidden)
    if options.threshold is not None:
        mask = mask | np.isnan(values)
        values = values >= options.threshold
    return given._replace(values=values, mask=mask if np.ndim(mask) else None)


def _list_sparse(X: Any, options: Options) -> ListedCells:
    """List the stored cells of a sparse matrix or array; all others have its fill value."""
    fill, threshold = getattr(X, "fill_value", 0), options.threshold
    hidden = numbers_in(options.missing)
    unlisted = options.unlisted if fill == 0 and 0 not in hidden else "missing"
    if fill != 0 and not np.isnan(fill):
        raise InputError(f"X has fill value {fill}; give 0, or NaN if unlisted cells are missing.")
    matrix = as_coo("X", X)
    columns = tuple(matrix.coords)
    values = np.asarray(matrix.data, np.float64)
    values = np.where(np.isin(values, hidden), np.nan, values)
    if threshold is not None and unlisted == "zero" and threshold <= 0:
        raise InputError(f"threshold is {threshold}, so all unlisted cells would be 1; give one above 0.")
    values, odd = cut_numbers(values, threshold)
    if odd:
        n = odd[0]
        cell = tuple(int(column[n]) for column in columns)
        raise InputError(f"X contains {values[n]} at {cell}; {OTHER_VALUE}.")
    return ListedCells(columns, tuple(X.shape), values, unlisted)
