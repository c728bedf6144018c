"""Columns of tables: labels in the order people expect, values of 0 and 1, indices.

A column is stored as its distinct values and, for each row, which of them it has. Everything is computed for
the distinct values only, which makes long tables quick to read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Array, Floats, Indices, Ints
from tensorm.data.checks import check_labels, short
from tensorm.data.inputs import RowLocator
from tensorm.data.options import Options
from tensorm.errors import BadValuesError, InputError

Codes = Indices


def _number_names(names: str) -> dict[str, int]:
    """Return the number of each name, which may be cut to three letters."""
    words = names.casefold().split()
    return {text: n for n, word in enumerate(words) for text in (word, word[:3])}


CROWDED = 16  # times as many possible integers as rows, up to which a table of them is made
LARGEST_INDEX = 2**53
MAX_MISSING_CODES, SMALLEST_CODE = 3, 7  # numbers such as 9 and -1 that may stand for missing cells
LONG_TEXTS = 2**26  # characters of a column, beyond which a long text that many rows share is looked at once
LONG_MEAN = 100  # characters of an average text that is worth that
ROWS_AT_ONCE = 2**17  # whose texts are looked through together
NUMBER_PATTERN = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?", re.ASCII)
FLOAT_PATTERN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)
DIGIT_RUN = re.compile(r"([0-9]+)")
MISSING_WORDS = ("", "na", "n/a", "nan", "none", "null", "<na>")
MONTHS = _number_names(
    "January February March April May June July August September October November December"
)
WEEKDAYS = _number_names("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
CALENDAR = MONTHS | WEEKDAYS
YES_NO = {**dict.fromkeys(("true", "yes"), 1.0), **dict.fromkeys(("false", "no"), 0.0)}


class CodedColumn(NamedTuple):
    """A column of a table.

    Attributes
    ----------
    name : str
    codes : array of int (n,)
        For each row which of the values it has; -1 if it is empty.
    values : array
        The distinct values, each of which occurs.
    place : callable
        Says where a row is.
    categories : list, optional
        All values in their order, if the column is an ordered categorical.
    decimal : str
        What separates the decimals of a number.
    """

    name: str
    codes: Codes
    values: Array
    place: RowLocator
    categories: Sequence[Any] | None = None
    decimal: str = "."

    def where(self, n: int) -> str:
        """Say where a value occurs first."""
        return self.place(int((self.codes == n).argmax()))

    def refuse_empty(self, wanted: str, words: Collection[str] = ()) -> None:
        """Raise if a row has nothing in this column, or one of the words that mean missing."""
        values = self.values.tolist() if words else []
        odd = [-1, *(n for n, value in enumerate(values) if str(value).lower() in words)]
        bad = np.isin(self.codes, odd)
        if bad.any():
            row = int(bad.argmax())
            code = int(self.codes[row])
            what = f"has {short(values[code])}" if code >= 0 else "is empty"
            wanted = "set skip_bad_rows=True to leave such rows out" if code >= 0 else wanted
            raise BadValuesError(f"column {self.name!r} {what} in {self.place(row)}; {wanted}.", odd)


def factorise(name: str, array: Array, place: RowLocator, plain: bool = False, **more: Any) -> CodedColumn:
    """Return a column from its rows; texts lose the blanks around them.

    ``plain`` says that the texts have no NUL, and together no more than LONG_TEXTS characters.
    """
    import pandas as pd

    if array.dtype.kind in "UT":  # each text of such an array takes the room of the longest
        array = array.astype(object)
    if array.dtype == np.int64 and 0 < np.ptp(array) < CROWDED * len(array):  # quicker than a hash table
        offsets = array - array.min()
        present = np.zeros(int(offsets.max()) + 1, np.bool_)
        present[offsets] = True
        codes = np.cumsum(present, dtype=np.int32)[offsets] - 1
        return CodedColumn(name, codes, np.flatnonzero(present) + array.min(), place, **more)
    if array.dtype.kind == "O" and not plain:
        length = sum(sum(map(len, texts)) for texts in _texts(array))
        if length > max(LONG_TEXTS, LONG_MEAN * len(array)):
            rows, objects = _share(array)
            if len(objects) < len(array):
                column = factorise(name, objects, place, **more)
                return column._replace(codes=column.codes[rows])
        for texts in _texts(array):
            if "\0" in "".join(texts):  # pandas compares texts up to a NUL
                check_labels(f"column {name!r}", {text for text in texts if "\0" in text})
    try:
        codes, values = pd.factorize(array)
    except TypeError:  # lists and other things that cannot be hashed
        codes, values = pd.factorize(np.array([str(item) for item in array], object))
    if values.dtype.kind == "O":
        stripped = [(value.strip() or None) if isinstance(value, str) else value for value in values]
        if any(new is not old for new, old in zip(stripped, values, strict=True)):
            distinct, values = pd.factorize(np.array(stripped, object))
            codes = np.append(distinct, -1)[codes]
    return CodedColumn(name, codes, np.asarray(values), place, **more)


def _texts(array: Array) -> Iterator[list[str]]:
    """Yield the texts among some rows at a time."""
    import pandas as pd

    only_texts = pd.api.types.infer_dtype(array, skipna=False) == "string"
    for first in range(0, len(array), ROWS_AT_ONCE):
        some = array[first : first + ROWS_AT_ONCE].tolist()
        yield some if only_texts else [item for item in some if isinstance(item, str)]


def _share(array: Array) -> tuple[Codes, Array]:
    """Return for each row which object it is, and the objects: a long text may stand in many rows."""
    _, first, rows = np.unique([id(item) for item in array], return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[rows], array[first[order]]


def label(columns: Sequence[CodedColumn], order: Sequence[Any] | None = None) -> tuple[list[Codes], Any]:
    """Return the index of each row of some columns in the labels they share, and these labels.

    Parameters
    ----------
    columns : sequence of CodedColumn
        One column, or two that stand for the same things.
    order : sequence, optional
        All labels in their order. By default numbers are sorted as numbers, categories in their order,
        English months and days of the week as in the calendar, and texts naturally: "bench 4" before
        "bench 10".
    """
    for column in columns:
        column.refuse_empty("give a label")
    kinds = {column.values.dtype.kind for column in columns}
    categories = columns[0].categories
    if any(column.categories != categories for column in columns):
        categories = None
    if order is None and categories is None and len(kinds) == 1 and kinds <= {*"iufM"}:
        labels, found = np.unique(np.concatenate([column.values for column in columns]), return_inverse=True)
        labels = write_times(labels) if kinds == {"M"} else labels
    else:
        name = columns[0].name
        texts = [str(value) for column in columns for value in column.values.tolist()]
        places = {text: n for n, text in enumerate(_arrange(name, set(texts), order, categories))}
        stray = next((text for text in texts if text not in places), None)
        if stray is not None:
            raise InputError(f"order leaves out {stray!r}, a label of {name!r}; list all labels.")
        labels, found = as_written([*places]), np.array([places[text] for text in texts], np.intp)
    starts = np.cumsum([0, *(len(column.values) for column in columns)])
    return [found[start:][column.codes] for start, column in zip(starts[:-1], columns, strict=True)], labels


def write_times(moments: Array) -> Array:
    """Return times as people write them: dates alone if the clock shows midnight, seconds if they suffice."""
    unit = next(unit for unit in ("D", "s", "ns") if (moments.astype(f"M8[{unit}]") == moments).all())
    return np.char.replace(np.datetime_as_string(moments.astype(f"M8[{unit}]")), "T", " ")


def _arrange(
    name: str, texts: set[str], order: Sequence[Any] | None, categories: Sequence[Any] | None
) -> Iterable[str]:
    """Return labels as ordered, by category, by number if all are numbers, or else sorted naturally."""
    check_labels(f"column {name!r}", texts)
    if order is not None:
        return dict.fromkeys(map(str, order))
    if categories is not None:
        return [text for text in map(str, categories) if text in texts]
    if all(map(NUMBER_PATTERN.fullmatch, texts)):
        numbers = {text: float(text) for text in texts}
        if len({*numbers.values()}) == len(texts):  # else 7 and 007 are two names of one number
            return sorted(texts, key=numbers.__getitem__)
        return sorted(texts, key=lambda text: (numbers[text], natural(text)))
    if is_calendar(texts):
        return sorted(texts, key=lambda text: (CALENDAR[text.casefold()], natural(text)))
    return sorted(texts, key=natural)


def is_calendar(texts: Collection[str]) -> bool:
    """Whether all texts are months, or all are days of the week."""
    return any(all(text.casefold() in names for text in texts) for names in (MONTHS, WEEKDAYS))


def natural(text: str) -> tuple[list[Any], str]:
    """Return a key by which "bench 4" comes before "bench 10"."""
    parts = DIGIT_RUN.split(text)
    parts[1::2] = [(len(digits), digits) for digits in (part.lstrip("0") for part in parts[1::2])]
    return parts, text


def as_written(texts: Sequence[str]) -> Array:
    """Return numbers if every text is exactly how its number is written, or else the texts: 007 is a name."""
    array = np.array(texts, np.str_)
    for kind in (np.int64, np.float64):
        try:
            numbers = array.astype(kind)
        except (ValueError, OverflowError):
            continue
        if np.isfinite(numbers).all() and (numbers.astype(np.str_) == array).all():
            return numbers
    return array


def parse_numbers(values: Array, decimal: str) -> Array:
    """Return texts that are all numbers as integers or floats; anything else stays."""
    if values.dtype != object or not all(isinstance(text, str) for text in values):
        return values
    texts = [text.replace(decimal, ".") for text in values]
    if not all(map(FLOAT_PATTERN.fullmatch, texts)):
        return values
    try:
        return np.array([int(text) for text in texts], np.int64)
    except ValueError:
        return np.array([float(text) for text in texts])
    except OverflowError:
        return values


def cut_numbers(numbers: Array, threshold: float | None) -> tuple[Array, list[int]]:
    """Return 0, 1 or NaN for each number, and which are something else."""
    if threshold is not None:
        numbers = np.where(np.isnan(numbers), np.nan, numbers >= threshold)
    odd = ~(np.isin(numbers, [0, 1]) | np.isnan(numbers))
    return numbers, np.flatnonzero(odd).tolist()


def read_values(column: CodedColumn, options: Options) -> Floats:
    """Return 0, 1 or NaN for each row; yes, no, true, false and NA are understood."""
    numbers = _distinct_numbers(column, options, YES_NO, "0, 1, or nothing where it is not known")
    numbers, odd = cut_numbers(numbers, options.threshold)
    if odd:
        codes = [f"{n:.10g}" for n in numbers[odd] if n == np.floor(n) and not 0 < n < SMALLEST_CODE]
        likely = len(odd) == len(codes) <= MAX_MISSING_CODES
        missing = f", set missing={codes} if that means missing" if likely else ""
        wanted = f"use 0, 1 or an empty field{missing}, or set threshold=NUMBER"
        if options.wide:
            wanted += ", or name the columns of cells, as in columns=['q1', 'q2']"
        shown = f"{numbers[odd[0]]:.10g} in {column.where(odd[0])}"
        raise BadValuesError(f"column {column.name!r} contains {shown}; {wanted}.", odd)
    return np.append(numbers, np.nan)[column.codes]


def is_cell(column: CodedColumn) -> bool:
    """Whether a column holds nothing but 0, 1, yes, no and the like."""
    if column.values.dtype.kind in "biuf":
        return bool(np.isin(column.values, [0, 1]).all())
    return all(str(value).lower() in YES_NO or value in ("0", "1") for value in column.values.tolist())


def is_number(column: CodedColumn) -> bool:
    """Whether a column holds nothing but numbers."""
    return column.values.dtype.kind in "biuf"


def read_numbers(column: CodedColumn, options: Options) -> Floats:
    """Return a number or NaN for each row."""
    return np.append(_distinct_numbers(column, options, {}, "a number, or nothing"), np.nan)[column.codes]


def _distinct_numbers(column: CodedColumn, options: Options, words: dict[str, float], wanted: str) -> Floats:
    if column.values.dtype.kind in "biuf":
        numbers = column.values.astype(np.float64)
        numbers[np.isin(numbers, numbers_in(options.missing))] = np.nan
        return numbers
    known = dict.fromkeys((*MISSING_WORDS, *options.missing), np.nan) | words
    numbers, odd = np.empty(len(column.values)), []
    for n, value in enumerate(column.values.tolist()):
        word = str(value).lower()
        text = word.replace(column.decimal, ".")
        if word not in known and not NUMBER_PATTERN.fullmatch(text):
            odd.append(n)
            continue
        numbers[n] = known[word] if word in known else float(text)
    if odd:
        value = short(column.values.tolist()[odd[0]])
        shown = f"{column.name!r} contains {value} in {column.where(odd[0])}"
        raise BadValuesError(f"column {shown}; give {wanted}, or set missing=[{value}].", odd)
    return numbers


def numbers_in(words: Collection[str]) -> list[float]:
    """Return those words that are numbers."""
    return [float(word) for word in words if NUMBER_PATTERN.fullmatch(word)]


def read_indices(column: CodedColumn, first: int) -> Ints:
    """Return indices counted from 0, of a column in which they are counted from ``first``."""
    column.refuse_empty("give an index")
    values = column.values.tolist() if column.values.dtype.kind not in "iuf" else []
    odd = [n for n, value in enumerate(values) if not NUMBER_PATTERN.fullmatch(str(value))]
    if odd:
        shown = f"{column.where(odd[0])} contains {short(values[odd[0]])}"
        raise BadValuesError(f"{shown} instead of an index; give an integer.", odd)
    numbers = column.values.astype(np.float64)
    wrong = (numbers != np.floor(numbers)) | (numbers < first) | (numbers > LARGEST_INDEX)
    if wrong.any():
        n = int(wrong.argmax())
        shown = f"{numbers[n]:.15g}" if column.values.dtype.kind == "f" else f"{column.values[n]!s:.40}"
        told = f"{column.where(n)} contains {shown} in {column.name!r}"
        raise BadValuesError(f"{told}; give integers counted from {first}.", np.flatnonzero(wrong).tolist())
    return numbers.astype(np.int64)[column.codes] - first
