"""Files of coordinates: one cell in each line, read by pandas; and in which line something is wrong."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tensorm.coordinates.listing import Listing, Place, read_table
from tensorm.errors import FileError, InputError

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tns": r"\s+", ".txt": None}  # None: whatever its first line has
ENDINGS = ".csv, .tsv, .txt or .tns, also with .gz, or .parquet"


def read_file(
    path: str | os.PathLike[str],
    modes: Sequence[str] | None = None,
    value: str | int | None = None,
    shape: Sequence[int] | None = None,
    first: int | None = None,
    header: bool | None = None,
    labelled: bool = False,
) -> Listing:
    """List the cells of a file; see ``SparseTensor.read``."""
    frostt = kind_of(path) == ".tns"
    table, place, titled = read_frame(path, modes, -1 if frostt else value, header)
    if not titled:
        modes = None
    if frostt or isinstance(value, int):
        value = str(table.columns[-1 if frostt else value])
    for name in table.columns:
        if name != value:
            _refuse_mixed(table[name], labelled, frostt, place)
    listing = read_table(table, modes, value if value is None else str(value), None, labelled, place)
    return _count_from(int(frostt) if first is None else first, listing, shape, frostt)


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file's name, that before .gz."""
    file = Path(path)
    return file.with_suffix("").suffix if file.suffix == ".gz" else file.suffix


def read_frame(
    path: str | os.PathLike[str],
    modes: Sequence[str] | None = None,
    value: str | int | None = None,
    header: bool | None = None,
) -> tuple[Any, Place, bool]:
    """Return the table in a file, what says where a row is, and whether its columns had names.

    Parameters
    ----------
    path : path
        Text or Parquet.
    modes : sequence of str, optional
        Names of the columns with indices: the first line has them if it has all of these.
    value : str or int, optional
        The column with values; its position if there are no names.
    header : bool, optional
        Whether the first line has names; by default that is guessed.
    """
    file, kind = Path(path), kind_of(path)
    if kind == ".parquet":
        return _read_parquet(file), "row {}".format, True
    if kind not in SEPARATORS:
        raise FileError(f"{file} is of no known kind; give {ENDINGS}.")
    heads = _first_lines(file)
    separator = SEPARATORS[kind] or _guess_separator(heads)
    titled = _has_header(heads, separator, modes, kind == ".tns") if header is None else header
    table = _parse(file, separator, titled)
    if not titled:
        table.columns = _name_columns(file, len(table.columns), modes, value)
    return table, Lines(file, titled), titled


def _count_from(start: int, listing: Listing, shape: Sequence[int] | None, frostt: bool) -> Listing:
    """Return the cells with indices that count from 0, where there are no labels."""
    labels = listing.labels or (None,) * len(listing.columns)
    shifts = [start if known is None else 0 for known in labels]
    columns = tuple(column - shift for column, shift in zip(listing.columns, shifts, strict=True))
    sizes = tuple(max(size - shift, 1) for size, shift in zip(listing.shape, shifts, strict=True))
    values = listing.values != 0 if frostt and listing.values is not None else listing.values
    return listing._replace(columns=columns, shape=sizes if shape is None else tuple(shape), values=values)


class Lines:
    """Says in which line of a file the row of a table is; the file is read again for that."""

    def __init__(self, file: Path, titled: bool) -> None:
        self.file, self.titled = file, titled

    def __call__(self, row: int) -> str:
        """Return the place of a row, for messages."""
        with _open(self.file) as text:
            full = (number for number, line in enumerate(text, 1) if _content(line))
            return f"line {next(islice(full, row + self.titled, None))} of {self.file}"


def _open(file: Path) -> Any:
    return gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else open(file, encoding="utf-8")


def _content(line: str) -> str:
    return line.split("#")[0].strip()


def _first_lines(file: Path) -> list[str]:
    """Return the first two lines that are neither empty nor comments."""
    try:
        with _open(file) as text:
            lines = list(islice(filter(None, map(_content, text)), 2))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise _unreadable(file, error) from error
    if not lines:
        raise FileError(f"{file} holds no cell; give one cell in each line.")
    return lines


def _unreadable(file: Path, error: Exception) -> FileError:
    reason = getattr(error, "strerror", None) or "it is damaged, or no text"
    return FileError(f"{file} cannot be read: {reason}; give another file.")


def _guess_separator(heads: list[str]) -> str:
    return next((mark for mark in (",", ";", "\t") if mark in heads[0]), r"\s+")


def _has_header(heads: list[str], separator: str, modes: Sequence[str] | None, frostt: bool) -> bool:
    """Whether the first line has names: those asked for, or no number where the second line has one."""
    names, *rest = ([field.strip() for field in re.split(separator, line)] for line in heads)
    if frostt:
        return False
    if modes is not None and set(modes) <= set(names):
        return True
    return not any(map(_is_number, names)) and any(_is_number(field) for line in rest for field in line)


def has_numbers(path: str | os.PathLike[str]) -> bool:
    """Whether the first line of a text has a number in it, so that it names no columns."""
    separator = SEPARATORS[kind_of(path)]
    heads = _first_lines(Path(path))
    return any(
        _is_number(field.strip()) for field in re.split(separator or _guess_separator(heads), heads[0])
    )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?", text) is not None


def _name_columns(file: Path, n: int, modes: Sequence[str] | None, value: str | int | None) -> list[str]:
    """Return names for the columns of a file that has none."""
    at = range(n)[value] if isinstance(value, int) and -n <= value < n else None
    if value is not None and at is None:
        raise InputError(f"value is {value!r}, but {file} has no names; give a position below {n}.")
    n_modes = n - (at is not None)
    names = [f"mode {k}" for k in range(n_modes)] if modes is None else list(modes)
    if len(names) != n_modes:
        raise InputError(f"modes is {names}, but {file} has {n_modes} columns for modes; name each.")
    if at is not None:
        names.insert(at, "value" if "value" not in names else "the value")
    return names


def _read_parquet(file: Path) -> Any:
    import pandas as pd

    try:
        return pd.read_parquet(file)
    except ImportError as error:
        raise FileError(f"{file} needs pyarrow to be read; install it, or give CSV.") from error
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from error


def _parse(file: Path, separator: str, titled: bool) -> Any:
    import pandas as pd

    how = {"comment": "#", "skipinitialspace": True, "na_values": [""], "keep_default_na": False}
    try:
        return pd.read_csv(file, sep=separator, header=0 if titled else None, low_memory=False, **how)
    except pd.errors.ParserError as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        what = f"line {found[2]} has {found[3]} fields, not {found[1]}" if found else "its lines differ"
        raise FileError(f"{file} cannot be read: {what}; give one cell in each line.") from error
    except (OSError, EOFError, ValueError) as error:
        raise _unreadable(file, error) from error


def _refuse_mixed(series: Any, labelled: bool, frostt: bool, place: Place) -> None:
    """Raise if a column that begins with a number, or must have numbers only, holds something else."""
    if series.dtype.kind in "iufb" or labelled or not len(series):
        return
    if not frostt and not _is_number(str(series.iloc[0])):
        return  # labels
    odd = (i for i, item in enumerate(series) if not _is_number(str(item)))
    if (i := next(odd, None)) is not None:
        raise InputError(f"{place(i)} holds {series.iloc[i]!r} where an integer is needed; mend that line.")
