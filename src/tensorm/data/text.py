"""Tables in text files (.csv, .tsv, .txt, .tns, also .gz): parsed by pandas; which line a row is in.

Everything in the file counts, as in Python's ``csv``. Only lines before the table can be skipped: empty ones,
comments that begin with #, and a first line such as ``sep=;`` that spreadsheets write.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import logging
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.arrays import Indices
from tensorm.data.columns import (
    LONG_MEAN,
    LONG_TEXTS,
    NUMBER_PATTERN,
    CodedColumn,
    factorise,
    parse_numbers,
)
from tensorm.data.memory import available_memory, check_room
from tensorm.data.opening import MAX_EXPANSION
from tensorm.errors import FileError, InputError

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": ",", ".tns": r"\s+"}  # what the file's name suggests
COORDINATES = (".tns",)  # files that list indices counted from 1 with their values
SPREADSHEET_SEPARATORS = (",", ";", "\t", "|")  # what spreadsheets write
BLANK = ' \t\r\n,;|"'  # a line of these alone, before the table, is empty

CHARACTER_BYTES = 4  # at most
TEXT_COPIES = 5  # times that a text is held while it is read, about
FREE_UNPACKED_BYTES = 2**26  # that a .gz file may hold whatever its size
FREE_FIELDS = 2**24  # that a table may have whatever its size
FILLED = 4  # times as many fields as characters, that a table may have

SAMPLE = 100  # records that tell which columns hold text
SHORTEST = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
LINE_PATTERN = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")

log = logging.getLogger(__name__)


def ending_of(path: Path) -> str:
    """Return the ending of a file's name; of a text file, which may be compressed, without .gz."""
    ending, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    return inner if ending == ".gz" and inner in SEPARATORS else ending


class TextTable:
    """The table in a text file.

    Parameters
    ----------
    path : Path
    header : bool, optional
        Whether the first line has the names of the columns. By default it has if none of its fields is a
        number, or if it contains all of ``wanted``.
    wanted : sequence of str, optional
        Columns that are asked for; without a header, the names of all columns.
    numeric : collection of str, optional
        Columns of which only the values count, not how they are written; by default all.
    lenient : bool, default False
        Whether a few rows may have too many fields: these are empty then, and listed in ``uneven``.

    Attributes
    ----------
    title : str
        What messages call the table.
    names : list of str
        The names of the columns; "" for those without one.
    coordinates : bool
        Whether it lists indices counted from 1 with their values.
    """

    def __init__(
        self,
        path: Path,
        header: bool | None = None,
        wanted: Sequence[str] = (),
        numeric: Collection[str | None] | None = None,
        lenient: bool = False,
    ) -> None:
        self.uneven: dict[int, int] = {}  # rows that have too many fields, and how many
        self._lenient, self._long = lenient, dict[int, int]()  # the same by the number of the record
        self.path, self.title, self.coordinates = path, str(path), ending_of(path) in COORDINATES
        self._text = read_text(path).rstrip("\r\n")
        self._begin, self._n_skipped, line, separator = self._skip_preamble()
        self._separator = separator or _find_separator(line, SEPARATORS[ending_of(path)])
        self.decimal = "," if self._separator == ";" else "."
        first = [field.strip() for field in next(self._split(self._begin))[1]]
        if header is None:
            asked = bool(wanted) and set(wanted) <= set(first)
            header = asked or not (self.coordinates or any(map(NUMBER_PATTERN.fullmatch, first)))
        self._header, self._start = header, self._position if header else self._begin
        self._width = len(first)
        self._check_size()
        names = first if header else list(wanted) or [f"mode {k}" for k in range(len(first))]
        if len(names) != len(first):
            problem = f"no header and {len(first)} columns, but {len(names)} are named ({', '.join(names)})"
            raise InputError(f"{path} has {problem}; name all of them in their order.")
        labels = [] if numeric is None else [k for k, name in enumerate(names) if name not in numeric]
        self._frame = self._parse_mixed(self._find_texts(labels))
        self._texts: dict[int, Any] = {}  # columns that were parsed again
        self._coded: dict[tuple[int, bool], CodedColumn] = {}  # columns asked for before, as texts or not
        if not any(self._is_full(k, names[k]) for k in self._frame):
            used = self._frame.notna().any(axis=1) | self._frame.index.isin(list(self._long))
            self._frame, self._coded = self._frame[used], {}
        self._number_uneven()
        if not len(self._frame):
            raise no_data(self.path)
        kept = [k for k, name in enumerate(names) if name or not self._frame[k].isna().all()]
        self.names = [names[k] for k in kept]
        self._numbers = dict(zip(self.names, kept, strict=True))
        for name, times in Counter(filter(None, self.names)).items():
            if times > 1:
                raise FileError(f"{path} has {times} columns with the name {name!r}; give each its own.")

    def column(self, name: str, exact: bool = True) -> CodedColumn:
        """Return a column; if ``exact``, numbers that are written differently are different labels."""
        k = self._numbers[name]
        if exact:
            self.keep_texts([name])
        as_texts = exact and k in self._texts
        column = self._code(k, name, as_texts)
        return column if exact else column._replace(values=parse_numbers(column.values, self.decimal))

    def _code(self, k: int, name: str, as_texts: bool) -> CodedColumn:
        if (k, as_texts) not in self._coded:
            rows = self._texts[k] if as_texts else self._frame[k]
            most = max(LONG_TEXTS, LONG_MEAN * len(self._frame))
            plain = len(self._text) <= most  # a file with a NUL was refused
            column = factorise(name, rows.to_numpy(), self.place, plain, decimal=self.decimal)
            self._coded[k, as_texts] = column
        return self._coded[k, as_texts]

    def _is_full(self, k: int, name: str) -> bool:
        """Whether a column has no empty field; texts are coded, which most tables need anyway."""
        rows = self._frame[k]
        if rows.dtype.kind != "O":
            return bool(rows.notna().all())
        return bool((self._code(k, name, False).codes >= 0).all())

    def __len__(self) -> int:
        return len(self._frame)

    def drop(self, rows: Indices) -> None:
        """Leave rows out from now on."""
        self._frame = self._frame.drop(index=self._frame.index[rows])
        self._texts = {k: texts[self._frame.index] for k, texts in self._texts.items()}
        self._coded = {}
        self._number_uneven()

    def _number_uneven(self) -> None:
        rows = np.flatnonzero(self._frame.index.isin(list(self._long))).tolist()
        self.uneven = {row: self._long[int(self._frame.index[row])] for row in rows}

    def keep_texts(self, names: Sequence[str]) -> None:
        """Parse those columns again, all at once, whose numbers may be written in more than one way."""
        numbers = [self._numbers[name] for name in names]
        wanted = [k for k in numbers if k not in self._texts and self._is_ambiguous(k)]
        if wanted:
            as_texts = dict.fromkeys(wanted, object)
            try:
                frame = self._parse(dtype=as_texts, usecols=wanted)
            except FileError:  # pandas wants all columns that it is to use in the first line
                frame = self._parse(dtype=as_texts)
            self._texts |= {k: frame[k][self._frame.index] for k in wanted}

    def place(self, row: int) -> str:
        """Say in which line of the file a row of the table is."""
        number = int(self._frame.index[row]) + self._header
        return f"line {next(islice(self._split(self._begin), number, None))[0]} of {self.path}"

    def _skip_preamble(self) -> tuple[int, int, str, str | None]:
        """Return where the table begins, how many lines are before it, its first line, and the separator."""
        separator, comments = None, 0
        for number, line in enumerate(self._lines(0)):
            declared = re.fullmatch(r"sep=([,;|\t])[\r\n]*", line) if number == 0 else None
            if declared:
                separator = declared[1]
            elif line.startswith("#"):
                comments += 1
            elif line.strip(BLANK):
                if comments:
                    log.info("Skipped %d line(s) that begin with # at the top of %s.", comments, self.path)
                return self._position - len(line), number, line, separator
        raise no_data(self.path)

    def _check_size(self) -> None:
        """Raise if most records are far shorter than the first: pandas fills all of them up."""
        most = max(FREE_FIELDS, FILLED * len(self._text))
        if self._width * (1 + max(map(self._text.count, "\r\n"))) <= most:
            return
        n = sum(1 for _ in self._split(self._begin))  # fields may have lines of their own
        if self._width * n > most:
            problem = f"the first line has {self._width:,} fields, and most of {n:,} lines are far shorter"
            raise FileError(
                f"{self.path} cannot be read: {problem}; give every line the same number of fields."
            )

    def _lines(self, start: int) -> Iterator[str]:
        """Yield the lines from a position on; the attribute ``_position`` says how far that got."""
        for match in LINE_PATTERN.finditer(self._text, start):
            self._position = match.end()
            yield match[0]

    def _split(self, start: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the records from a position on: the line in which each begins, and its fields."""
        lines = self._lines(start)
        if self._separator not in SPREADSHEET_SEPARATORS:
            yield from enumerate(map(str.split, lines), self._n_skipped + 1)
            return
        reader, begin = csv.reader(lines, delimiter=self._separator, skipinitialspace=True), 1
        try:
            for fields in reader:
                yield self._n_skipped + begin, fields
                begin = reader.line_num + 1
        except csv.Error as error:
            raise FileError(f"{self.path} has a field that is too long; shorten it.") from error

    def _find_texts(self, labels: Collection[int]) -> list[int]:
        """Return the columns that are quicker to read as text, judged by the first records.

        Among labels, all but integers in their shortest form; among others, numbers that occur often.
        """
        records = [fields for _, fields in islice(self._split(self._start), SAMPLE)]
        samples = [{field.strip() for field in fields} for fields in zip_longest(*records, fillvalue="")]
        odd = [k for k, fields in enumerate(samples) if not all(map(SHORTEST.fullmatch, fields))]
        return [k for k in odd[: self._width] if k in labels or 4 * len(samples[k]) < len(records)]

    def _parse_mixed(self, texts: Sequence[int]) -> Any:
        """Return the records with some columns as text, and those of which pandas read parts as numbers."""
        from pandas.api.types import infer_dtype

        frame = self._parse(dtype=dict.fromkeys(texts, object))
        others = [k for k in frame if k not in texts and frame[k].dtype.kind == "O"]
        mixed = [k for k in others if infer_dtype(frame[k]) not in ("string", "empty")]
        mixed += [k for k in others if (frame[k] == "").any()]  # left where a number exceeds 2^63
        return self._parse(dtype=dict.fromkeys([*texts, *mixed], object)) if mixed else frame

    def _parse(self, **how: Any) -> Any:
        """Return the records as a table of pandas, its columns numbered."""
        import pandas as pd

        version = tuple(map(int, pd.__version__.split(".")[:2]))
        exact: Any = {"float_precision": "round_trip"} if version < (3, 1) else {}  # the default since then
        try:
            with warnings.catch_warnings(action="ignore", category=pd.errors.DtypeWarning):
                frame = pd.read_csv(
                    self._body(),
                    sep=self._separator,
                    header=None,
                    names=range(self._width),
                    comment="#" if self.coordinates else None,
                    decimal=self.decimal,
                    na_values=[""],
                    keep_default_na=False,
                    skipinitialspace=True,
                    skip_blank_lines=False,  # so that each record is a row
                    **exact,
                    **how,
                )
        except pd.errors.ParserError as error:
            if "EOF inside string" in str(error):
                *_, (line, _) = self._split(self._begin)
                problem = f"a quote is opened in line {line} and never closed; close it"
                raise FileError(f"{self.path} cannot be read: {problem}.") from error
            if self._may_be_emptied():
                return self._parse(**how)
            raise self.refuse_uneven() from error
        except (ValueError, OverflowError) as error:
            raise unreadable(self.path, error) from error
        if not isinstance(frame.index, pd.RangeIndex):
            if self._may_be_emptied():
                return self._parse(**how)
            raise self.refuse_uneven()
        return frame

    def _may_be_emptied(self) -> bool:
        """Note which records are too long, and whether they are few enough to be read as empty."""
        if not self._lenient or self._long:
            return False
        lengths = [len(fields) for _, fields in self._split(self._start)]
        self._long = {row: n for row, n in enumerate(lengths) if n > self._width}
        return 2 * len(self._long) <= len(lengths)

    def _body(self) -> io.BufferedIOBase:
        """Return the records as bytes, without bare carriage returns: pandas trips over some of them."""
        if not (self._has_bare_returns or self._long):
            return Encoded(self._text, self._start)
        body = io.StringIO(newline="")
        mark = self._separator if self._separator in SPREADSHEET_SEPARATORS else " "
        writer = csv.writer(body, delimiter=mark, quoting=csv.QUOTE_ALL, lineterminator="\n")
        empty = [""] * self._width
        records = enumerate(self._split(self._start))
        writer.writerows(empty if row in self._long else fields for row, (_, fields) in records)
        return io.BytesIO(body.getvalue().encode())

    def refuse_uneven(self) -> FileError:
        """Return the error for a record with more fields than there are columns."""
        n = self._width
        records = self._split(self._begin)
        line, found = next(((line, len(fields)) for line, fields in records if len(fields) > n), (0, 0))
        if not found:
            return unreadable(self.path, ValueError())
        problem = f"line {line} has {found} fields, but the first line has {n}"
        return FileError(f"{self.path} cannot be read: {problem}; give every line the same number of fields.")

    def _is_ambiguous(self, k: int) -> bool:
        """Whether a column has numbers that may be written in more than one way."""
        kind = self._frame[k].dtype.kind
        return kind != "O" and (kind != "i" or k in self._padded)

    @cached_property
    def _has_bare_returns(self) -> bool:
        return "\r" in self._text and self._text.count("\r") > self._text.count("\r\n")

    @cached_property
    def _padded(self) -> set[int]:
        """Columns in which a field may begin as an integer not in its shortest form: 007, +7 or -0."""
        data = np.frombuffer(f"\n{self._text[self._start :]}\n\n".encode(), np.uint8)
        marks = self._separator if self._separator in SPREADSHEET_SEPARATORS else " \t"
        after = data[:-2] == ord("\n")
        for mark in f'{marks}"' + "\r" * self._has_bare_returns:
            after |= data[:-2] == ord(mark)
        starts = np.flatnonzero(after) + 1
        blank = np.zeros(256, np.bool_)
        blank[[ord(mark) for mark in " \t\v\f" if mark not in marks]] = True
        while (inside := blank[data[starts]]).any():
            starts = starts + inside
        first = data[starts]
        suspects = np.flatnonzero((first == ord("0")) | (first == ord("+")) | (first == ord("-")))
        first, second = first[suspects], data[starts[suspects] + 1]
        digit = (second >= ord("0")) & (second <= ord("9"))
        padded = suspects[(first == ord("+")) | (digit & ((first == ord("0")) | (second == ord("0"))))]
        if len(starts) == self._width * len(self._frame):  # each is one field
            return set((padded % self._width).tolist())
        return set(range(self._width)) if len(padded) else set()


class Encoded(io.BufferedIOBase):
    """The bytes of a text from a position on, made piece by piece: a large file is in memory once."""

    def __init__(self, text: str, start: int) -> None:
        self._text, self._at = text, start

    def readable(self) -> bool:
        """Say yes."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes, at most that many."""
        stop = len(self._text) if size is None or size < 0 else self._at + max(size // CHARACTER_BYTES, 1)
        piece, self._at = self._text[self._at : stop], min(stop, len(self._text))
        return piece.encode()

    def read1(self, size: int = -1, /) -> bytes:
        """Do the same."""
        return self.read(size)


def read_text(path: Path) -> str:
    """Return what is in a text file: UTF-8, or UTF-16 if it begins as such."""
    try:
        size = path.stat().st_size
        check_room(path, TEXT_COPIES * size)
        packed = path.suffix.lower() == ".gz"
        data = _unpack(path, max(FREE_UNPACKED_BYTES, MAX_EXPANSION * size)) if packed else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"line {line} is damaged or not UTF-8 text; save it as UTF-8"
        raise FileError(f"{path} cannot be read: {problem}.") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileError(f"line {line} of {path} contains a NUL character, so it is damaged; save it again.")
    return text


def _unpack(path: Path, most: int) -> bytes:
    """Return what a .gz file holds, unless that is very much more than its size."""
    with gzip.open(path) as file:
        data = file.read(min(most, available_memory() // TEXT_COPIES) + 1)
    if len(data) > most:
        raise FileError(f"{path} unpacks to more than {MAX_EXPANSION} times its size; unpack it first.")
    check_room(path, TEXT_COPIES * len(data))
    return data


def no_data(path: Path) -> FileError:
    """Return the error for a table without rows."""
    return FileError(f"{path} contains no data; give a table with names in its first line and rows below.")


def unreadable(path: Path, error: Exception) -> FileError:
    """Return the error for a file that cannot be opened, or is damaged."""
    reason = getattr(error, "strerror", None) or "it is damaged, or its name has the wrong extension"
    return FileError(f"{path} cannot be read: {reason}; give another file.")


def _find_separator(line: str, expected: str) -> str:
    """Return what stands most often between the fields of a line: what was expected, or what is there."""
    if expected not in SPREADSHEET_SEPARATORS:
        return expected
    bare = re.sub(r'"[^"]*"', "", line)
    mark = max((expected, *SPREADSHEET_SEPARATORS), key=bare.count)
    return mark if mark in bare else r"\s+" if " " in bare.strip() and '"' not in line else expected
