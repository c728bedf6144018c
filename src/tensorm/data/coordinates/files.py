"""Files of coordinates: one cell in each line, read by pandas; and in which line something is wrong."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.checks import check_count
from tensorm.data.coordinates.listing import Listing, Place, read_table
from tensorm.errors import FileError, InputError

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tns": r"\s+", ".txt": ","}  # those that their names promise
MARKS = (",", ";", "\t", "|")  # those that spreadsheets write
BLANK = ' \t\r\n,;|"'  # a line of these alone is empty
NUMBER = r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?"
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
    return _count_from(
        int(frostt) if first is None else check_count("first", first, 0), listing, shape, frostt
    )


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file's name, that before .gz."""
    file = Path(path)
    return (file.with_suffix("").suffix if _is_packed(file) else file.suffix).lower()


def read_frame(
    path: str | os.PathLike[str],
    modes: Sequence[str] | None = None,
    value: str | int | None = None,
    header: bool | None = None,
    labelled: bool = False,
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
    labelled : bool
        Whether integers are labels: 007 is then not 7, and a first line without numbers has names.
    """
    file, kind = Path(path), kind_of(path)
    if kind == ".parquet":
        return _read_parquet(file), "row {}".format, True
    if kind not in SEPARATORS:
        raise FileError(f"{file} is of no known kind; give {ENDINGS}.")
    heads = _first_lines(file)
    separator = _find_separator(heads[0], SEPARATORS[kind])
    names, *rest = (_fields(line, separator) for line in heads)
    titled = header
    if titled is None:
        titled = kind != ".tns" and _has_header(names, rest, modes, labelled)
    place = Lines(file, titled)
    table = _parse(file, separator, titled, labelled, place)
    if titled:
        _refuse_repeated(file, names)
    else:
        table.columns = _name_columns(file, len(table.columns), modes, value)
    return table, place, titled


def _count_from(start: int, listing: Listing, shape: Sequence[int] | None, frostt: bool) -> Listing:
    """Return the cells with indices that count from 0, where there are no labels."""
    labels = listing.labels or (None,) * len(listing.columns)
    shifts = [start if known is None else 0 for known in labels]
    for k, (column, shift) in enumerate(zip(listing.columns, shifts, strict=True)):
        low = column < shift
        if low.any():
            i = int(low.argmax())
            raise InputError(
                f"{listing.place(i)} holds {column[i]} for mode {k}, but indices count from {shift}; mend "
                "that line, or give first."
            )
    columns = tuple(column - shift for column, shift in zip(listing.columns, shifts, strict=True))
    sizes = tuple(max(size - shift, 1) for size, shift in zip(listing.shape, shifts, strict=True))
    values = listing.values
    if frostt and values is not None:
        values = np.where(np.isnan(values), np.nan, values != 0)
    return listing._replace(columns=columns, shape=sizes if shape is None else tuple(shape), values=values)


class Lines:
    """Says in which line of a file the row of a table is; the file is read again for that."""

    def __init__(self, file: Path, titled: bool) -> None:
        self.file, self.titled = file, titled

    def __call__(self, row: int) -> str:
        """Return the place of a row, for messages."""
        with _open(self.file) as text:
            return f"line {next(islice(_records(text), row + self.titled, None))} of {self.file}"


def _records(text: Iterable[str]) -> Iterator[int]:
    """Number the lines in which a record begins; one with an open quote goes on in the next."""
    within = False
    for number, line in enumerate(text, 1):
        full = bool(_content(line))
        if full and not within:
            yield number
        if full or within:
            within ^= line.count('"') % 2 == 1


def _last_record(file: Path) -> int:
    with _open(file) as text:
        return deque(_records(text), maxlen=1).pop()


def _is_packed(file: Path) -> bool:
    return file.suffix.lower() == ".gz"


def _open_octets(file: Path) -> Any:
    return gzip.open(file) if _is_packed(file) else open(file, "rb")


def _open(file: Path) -> Any:
    """Open a text: UTF-8, or UTF-16 if it begins as such."""
    with _open_octets(file) as data:
        wide = data.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return io.TextIOWrapper(_open_octets(file), encoding="utf-16" if wide else "utf-8-sig")


def _is_comment(line: str) -> bool:
    """Whether a line holds no data; spreadsheets may say which separator they use in the first."""
    return line.startswith(("#", "sep="))


def _content(line: str) -> str:
    return "" if _is_comment(line) else line.strip(BLANK)


def _first_lines(file: Path) -> list[str]:
    """Return the first two lines that are neither empty nor comments."""
    try:
        with _open(file) as text:
            lines = [line.rstrip("\r\n") for line in islice(filter(_content, text), 2)]
        _refuse_zeros(file)
    except (OSError, EOFError, UnicodeError) as error:
        raise _unreadable(file, error) from error
    if not lines:
        raise _empty(file)
    return lines


def _refuse_zeros(file: Path) -> None:
    """Raise if a text holds the character 0, which readers drop without a word."""
    with _open(file) as text:
        found = next((number for number, line in enumerate(text, 1) if "\0" in line), None)
    if found is not None:
        raise FileError(f"line {found} of {file} holds a character 0, so it is damaged; write it again.")


def _empty(file: Path) -> FileError:
    return FileError(f"{file} holds no data; give a table with names in its first line and rows below.")


def _unreadable(file: Path, error: Exception) -> FileError:
    if isinstance(error, UnicodeError):
        line = f"line {_undecoded(file)} is damaged, or no text in UTF-8"
        return FileError(f"{file} cannot be read: {line}; save it as UTF-8.")
    reason = getattr(error, "strerror", None) or "it is damaged, or no text"
    return FileError(f"{file} cannot be read: {reason}; give another file.")


def _undecoded(file: Path) -> int:
    """Return the first line that is no UTF-8; all of UTF-16 is."""
    with _open_octets(file) as data:
        for number, line in enumerate(data, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1


def _find_separator(line: str, promised: str) -> str:
    """Return what stands most often between the fields of a line: what was promised, or what is there."""
    if promised not in MARKS:
        return promised
    bare = re.sub(r'"[^"]*"', "", line)
    mark = max((promised, *MARKS), key=bare.count)
    return mark if mark in bare else r"\s+" if " " in bare.strip() and '"' not in line else promised


def _fields(line: str, separator: str) -> list[str]:
    if separator not in MARKS:
        return line.split()
    try:
        fields = next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    except csv.Error as error:
        raise FileError(
            f"A field that begins with {line[:20]!r} is too long; give a table of short texts."
        ) from error
    return [field.strip() for field in fields]


def _has_header(names: list[str], rest: list[list[str]], modes: Sequence[str] | None, labelled: bool) -> bool:
    """Whether the first line has names: those asked for, or no number where the second line has one."""
    if modes is not None and set(modes) <= set(names):
        return True
    numbers = any(_is_number(field) for line in rest for field in line)
    return not any(map(_is_number, names)) and (labelled or numbers)


def _is_number(text: str) -> bool:
    return re.fullmatch(NUMBER, text) is not None


def _refuse_repeated(file: Path, names: list[str]) -> None:
    for name, times in Counter(filter(None, names)).items():
        if times > 1:
            raise FileError(f"{file} has {times} columns with the name {name!r}; give each its own.")


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
        table = pd.read_parquet(file)
    except ImportError as error:
        raise FileError(f"{file} needs pyarrow to be read; install it, or give CSV.") from error
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from error
    if not len(table):
        raise _empty(file)
    return table


def _parse(file: Path, separator: str, titled: bool, labelled: bool, place: Place) -> Any:
    import pandas as pd

    how: dict[str, Any] = {"skipinitialspace": True, "na_values": [""], "keep_default_na": False}
    decimal = "," if separator == ";" else "."
    if separator in MARKS:
        how["dtype"] = str if labelled else None
        how["decimal"] = decimal
    else:
        how["comment"] = "#"
    try:
        source = _without_comments(file) if separator in MARKS else file
        table = pd.read_csv(source, sep=separator, header=0 if titled else None, low_memory=False, **how)
    except pd.errors.ParserError as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        what = f"line {found[2]} has {found[3]} fields, not {found[1]}" if found else "its lines differ"
        if "EOF inside string" in str(error):
            what = f"a quote is opened in line {_last_record(file)} and never closed"
        raise FileError(f"{file} cannot be read: {what}; give one cell in each line.") from error
    except (OSError, EOFError, ValueError) as error:
        raise _unreadable(file, error) from error
    if not isinstance(table.index, pd.RangeIndex):
        raise FileError(f"{place(0)} has more fields than the first line has names; give as many.")
    return _tidy(file, table, labelled, decimal)


def _without_comments(file: Path) -> Any:
    """Return a file that pandas can read, or its text with comments made empty lines."""
    with _open(file) as text:
        if text.encoding != "utf-16" and not any(map(_is_comment, text)):
            return file
    with _open(file) as text:
        return io.StringIO("".join("\n" if _is_comment(line) else line for line in text))


def _tidy(file: Path, table: Any, labelled: bool, decimal: str) -> Any:
    """Return a table without blanks around its texts, empty rows, and empty columns that have no name."""
    table.columns = [str(name).strip() for name in table.columns]
    for name in table.columns:
        if table[name].dtype.kind not in "iufb":
            texts = table[name].astype("str").str.strip()
            texts = texts.mask((texts == "") | table[name].isna())  # older pandas has "nan" for nothing
            table[name] = _typed(texts, decimal) if labelled else texts
    empty = [name for name in table.columns if is_unnamed(name) and table[name].isna().all()]
    table = table.drop(columns=empty).dropna(how="all").reset_index(drop=True)
    if not len(table):
        raise _empty(file)
    return table


def is_unnamed(name: str) -> bool:
    """Whether pandas had to make a name up."""
    return name.startswith("Unnamed: ")


def _typed(texts: Any, decimal: str) -> Any:
    """Return numbers if all texts are some, and can be told from their numbers: 007 is a name."""
    import pandas as pd

    plain = texts.str.replace(decimal, ".", regex=False)
    if not plain.str.fullmatch(NUMBER, na=True).all() or plain.str.match(r"[+-]?0\d", na=False).any():
        return texts
    try:
        numbers = pd.to_numeric(plain)
    except ValueError:  # integers too large for older pandas
        return texts
    exact = numbers.dtype.kind == "i" or (numbers.dtype.kind == "f" and numbers.abs().max() < 2**53)
    return numbers if exact or numbers.isna().all() else texts


def _refuse_mixed(series: Any, labelled: bool, frostt: bool, place: Place) -> None:
    """Raise if a column that begins with a number, or must have numbers only, holds something else."""
    if series.dtype.kind in "iufb" or labelled or not len(series):
        return
    if not frostt and not _is_number(str(series.iloc[0])):
        return  # labels
    odd = (i for i, item in enumerate(series) if not _is_number(str(item)))
    if (i := next(odd, None)) is not None:
        raise InputError(f"{place(i)} holds {series.iloc[i]!r} where an integer is needed; mend that line.")
    i = int(series.astype(float).abs().argmax())  # numbers alone, and pandas holds them as texts
    raise InputError(f"{place(i)} holds {series.iloc[i]}, too large for an index; or give labelled=True.")
