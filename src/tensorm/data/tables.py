"""Tables turned into cells: long ones with a row for each cell, wide ones with a row for each index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Array
from tensorm.data.checks import check_labels, unknown_mode
from tensorm.data.columns import (
    CodedColumn,
    as_written,
    factorise,
    is_cell,
    is_number,
    label,
    read_indices,
    read_numbers,
    read_values,
)
from tensorm.data.coordinates import MAX_MODES, ListedCells
from tensorm.data.inputs import Matrix, Observations, is_a, name_wide
from tensorm.data.memory import check_room
from tensorm.data.options import Options
from tensorm.data.text import TextTable, log
from tensorm.data.times import cut_times
from tensorm.errors import InputError

LARGEST_MODE = 10**7  # indices of a mode, of which few need occur in a table
MAX_GUESSED = 6  # columns that are modes without being named
INDICES_PER_ROW = 100  # up to which a mode may be larger than LARGEST_MODE


class FrameTable:
    """A pandas, polars or pyarrow table, or any other that narwhals knows; used like a ``TextTable``."""

    coordinates = False

    def __init__(self, frame: Any, title: str = "The table") -> None:
        import narwhals as nw  # here and below, since files of text do without it

        self.title = title
        try:
            self._frame = nw.from_native(frame, eager_only=True)
            self._natives = {str(name): name for name in self._frame.columns}
        except nw.exceptions.DuplicateError as error:
            raise InputError(f"{title} has several columns with the same name; give each its own.") from error
        self.names = list(self._natives)
        if not len(self._frame):
            raise InputError(f"{title} contains no data; give a table with rows.")

    def column(self, name: str, exact: bool = True) -> CodedColumn:
        """Return a column; its values have the types that they have in the table."""
        series = self._frame.get_column(self._natives[name])
        categories = _ordered_categories(series)
        if getattr(series.dtype, "time_zone", None) is not None:
            series = series.dt.replace_time_zone(None)  # as the clock showed
        try:
            rows = series.to_numpy()
        except Exception as error:  # whatever a library says of a type that NumPy does not have
            raise self._refuse(name, series) from error
        if rows.ndim != 1:  # records
            raise self._refuse(name, series)
        return factorise(name, rows, self.place, categories=categories)

    def _refuse(self, name: str, series: Any) -> InputError:
        problem = f"{self.title} has a column {name!r} of type {str(series.dtype)[:40]}"
        return InputError(f"{problem}, which cannot be read; give numbers, texts or times.")

    def place(self, row: int) -> str:
        """Say which row it is, counted from 0."""
        return f"row {row}" if self.title == "The table" else f"row {row} of {self.title}"

    def is_numeric(self) -> bool:
        """Whether all columns are numbers or Booleans."""
        import narwhals as nw

        return all(dtype.is_numeric() or dtype == nw.Boolean for dtype in self._frame.schema.values())


def _ordered_categories(series: Any) -> list[Any] | None:
    """Return the categories of an ordered categorical column, or None."""
    import narwhals as nw

    if isinstance(series.dtype, nw.Enum):
        return list(series.dtype.categories)
    native = series.to_native()
    if is_a(native, "pyarrow", "ChunkedArray") and getattr(native.type, "ordered", False):
        chunks = native.unify_dictionaries().chunks
        return list(chunks[0].dictionary.to_pylist())
    return None


Table = TextTable | FrameTable


def has_labels(frame: Any) -> bool:
    """Whether a table is one of pandas whose index has a name, or is more than row numbers."""
    return is_a(frame, "pandas", "DataFrame") and (
        not is_a(frame.index, "pandas", "RangeIndex") or frame.index.name is not None
    )


def with_index(frame: Any, wide: bool) -> Any:
    """Return a table with its index as columns; in a long table, an index without a name has row numbers."""
    if not has_labels(frame):
        return frame
    if wide:
        unnamed = [""] if frame.index.name is None else None  # pandas would say "index"
        return frame.reset_index(names=unnamed, allow_duplicates=True)
    levels = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return frame.reset_index(level=levels) if levels else frame


def read_table(table: Table, options: Options) -> ListedCells | Observations:
    """Return the cells of a table: of a wide one, or of one with a row for each cell."""
    if options.wide or options.relational:
        options.refuse(table.title, "a wide table", "value", "unlisted", "time", "pair", "order", "indices")
        return read_wide(table, options)
    if not (options.names_columns or table.coordinates):
        if (names := _find_cells(table, options)) is not None:
            options.refuse(table.title, "a table of cells", "unlisted")
            return read_wide(table, options, names)
        _check_guess(table)
    modes, value = choose_columns(table, options)
    _tell_unused(table, [*modes, value, options.time])
    options.refuse_only_ones(value)
    options.refuse_without_values(value)
    columns, labels = _read_modes(table, modes, options)
    pairs = zip(columns, labels, strict=True)
    sizes = [int(column.max()) + 1 if known is None else len(known) for column, known in pairs]
    for name, size in zip(modes, sizes, strict=True):
        if size > max(LARGEST_MODE, INDICES_PER_ROW * len(columns[0])):
            problem = f"the index {size - 1:,} in {name!r}, but only {len(columns[0]):,} rows"
            raise InputError(
                f"{table.title} has {problem}; number the indices that occur from 0, or use labels."
            )
    values = None
    if value is not None and table.coordinates and options.threshold is None:
        numbers = read_numbers(table.column(value, exact=False), options)
        values = np.where(np.isnan(numbers), np.nan, numbers != 0)
    elif value is not None:
        values = read_values(table.column(value, exact=False), options)
    listing = ListedCells(
        tuple(columns), tuple(sizes), values, options.unlisted, tuple(modes), tuple(labels),
        place=table.place, repeatable=value is None,
    )  # fmt: skip
    if not options.undirected:
        return listing
    i, j = map(modes.index, options.pair or ())
    if listing.unlisted == "zero":  # every cell of an index with itself is listed
        check_room(table.title, 32 * len(sizes) * math.prod(sizes) // sizes[j])
    return _undirected(listing, i, j)


def _find_cells(table: Table, options: Options) -> list[str] | None:
    """Return the columns that hold 0, 1 or missing, if these are all, or all but a first one with labels.

    With a threshold they may hold any numbers.
    """
    cells: list[str] = []
    for name in reversed(table.names):
        column = table.column(name, exact=False)
        if not (is_number(column) if options.threshold is not None else is_cell(column)):
            labelled = name == table.names[0] and len(column.values) == len(column.codes)
            return cells[::-1] if labelled and len(cells) > 1 else None
        cells.append(name)
    return cells[::-1]


def _check_guess(table: Table) -> None:
    """Raise if it is not plain that each column of a table is a mode."""
    names, what = table.names, ""
    if len(names) <= MAX_GUESSED:
        columns = (table.column(name, exact=False) for name in names)
        odd = next((column.name for column in columns if _has_fractions(column)), None)
        if odd is None:
            _check_cells(table)
            return
        what = f", and numbers with fractions in {odd!r}"
    shown = ", ".join(map(repr, names[:MAX_GUESSED])) + ", ..." * (len(names) > MAX_GUESSED)
    modes = ", ".join(map(repr, names[:2])) + ", ..." * (len(names) > 2)
    raise InputError(
        f"{table.title} has the columns {shown}{what}; name the modes, as in "
        f"tensorm.read(X, modes=[{modes}]), or set wide=True if its first column has labels, or "
        "threshold=NUMBER to turn the numbers in every column into 0 and 1."
    )


def _has_fractions(column: CodedColumn) -> bool:
    """Whether a column has numbers that are not whole; 0.0 and 1.0 beside gaps are cells."""
    return column.values.dtype.kind == "f" and not is_cell(column)


def _check_cells(table: Table) -> None:
    """Raise if a column may say which cells are 1: as a mode, its zeros would count as ones."""
    found = [name for name in table.names if name and is_cell(table.column(name, exact=False))]
    if len(table.names) > 2 and found:  # two modes besides
        name = found[-1]
        modes = ", ".join(repr(other) for other in table.names if other != name)
        raise InputError(
            f"{table.title} has only 0 and 1, or yes and no, in {name!r}; give value={name!r} if it "
            f"says which cells are 1, or modes=[{modes}, {name!r}] if it is a mode."
        )


def _tell_unused(table: Table, used: Sequence[str | None]) -> None:
    """Log which columns are left out; the command line shows it."""
    unused = [name for name in table.names if name and name not in used]
    if unused:
        told = ", ".join(name[:40] for name in unused[:10])
        log.info("Columns that are not used: %s.", told + ", ..." * (len(unused) > 10))


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


def _read_modes(table: Table, modes: Sequence[str], options: Options) -> tuple[list[Any], list[Any]]:
    """Return for each mode the index of each row, and the labels; None if the table has indices."""
    columns: dict[str, Any] = {}
    labels: dict[str, Any] = dict.fromkeys(modes)
    order = options.order or {}
    if isinstance(table, TextTable) and not (options.indices or table.coordinates):
        table.keep_texts([name for name in modes if name != options.time])
    for name in modes:
        if name in columns:
            continue
        if options.indices or table.coordinates:
            columns[name] = read_indices(table.column(name, exact=False), int(table.coordinates))
        elif name == options.time:
            column = table.column(name, exact=False)
            column.refuse_empty("give a time, or leave that row out")
            bins, labels[name] = cut_times(column.values, str(options.bins), options.origin, column.where)
            columns[name] = bins[column.codes]
        else:
            shared = options.pair if options.pair and name in options.pair else [name]
            listed = next((order[other] for other in shared if other in order), None)
            found, known = label([table.column(other) for other in shared], listed)
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


def read_wide(table: Table, options: Options, columns: Sequence[str] | None = None) -> Observations:
    """Return the cells, or with ``relational`` the numbers, of a table with a column for each index.

    These are by default all but the first, which has the labels of the rows; all if the first repeats 0, 1,
    yes or no, since labels are not repeated.
    """
    title, first = table.title, table.names[0]
    names = list(columns or table.names[0 if _repeats_cells(table, first) else 1 :])
    if not names:
        raise InputError(f"{title} has one column; give a column of labels and one for each index.")
    labels = None if first in names else _read_row_labels(table, first)
    check_labels(f"the first line of {title}", names)
    first = "" if labels is None else first
    modes = name_wide(first, None, options.relational) if options.modes is None else tuple(options.modes)
    if len(modes) != 2:
        given = ", ".join(modes)
        raise InputError(f"modes is {given}, but a wide table has two; name the rows and the columns.")
    read = read_numbers if options.relational else read_values
    cells = np.column_stack([read(table.column(name, exact=False), options) for name in names])
    kind = Matrix if options.relational else Observations
    return kind(cells, None, modes, (labels, as_written(names)))


def _repeats_cells(table: Table, name: str) -> bool:
    """Whether a column holds 0, 1, yes or no, and one of them more than once."""
    column = table.column(name, exact=False)
    return is_cell(column) and len(column.values) < len(column.codes)


def _read_row_labels(table: Table, name: str) -> Array:
    column = table.column(name)
    column.refuse_empty("give a label")
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
