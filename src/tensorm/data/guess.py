"""What a table seems to contain if no option says so, and labels that may be misspelt."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorm.data.checks import list_some
from tensorm.data.columns import MISSING_WORDS, NUMBER_PATTERN, YES_NO, CodedColumn, is_cell, is_number
from tensorm.data.frames import Table
from tensorm.data.options import Options
from tensorm.data.text import log
from tensorm.errors import InputError, note

MAX_GUESSED = 6  # columns that are modes without being named
FEW_ROWS = 100  # in which each may well have a label of its own
MANY_STAMPS = 1000  # different ones, which nobody means as labels
SAMPLED_VALUES = 200  # distinct values of a column that are looked at
MAX_ANSWERS = 3  # that are neither yes nor no in a column of answers
LONG_TEXT = 25  # characters of an average value of free text
MANY_LABELS = 100_000  # above which no spellings are compared
STAMP = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[ T]+\d{1,2}:\d{2}.*")
DATE = re.compile(r"\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{2,4}")
STAMPED, DATED, COUNTED = "looks like time stamps", "has many dates", "looks like counts"
COUNTS = re.compile(r"(?i)n|counts?|qty|quantity|quantities|amount|number|total|times|freq(uency)?")


def find_cell_columns(table: Table, options: Options) -> list[str] | None:
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


def check_guess(table: Table, time: str | None = None) -> None:
    """Raise if it is not plain that each column of a table is a mode; `time` names one that is."""
    columns = [table.column(name, exact=False) for name in table.names if name != time]
    _check_answers(table, columns)
    doubts = {column.name: why for column in columns if (why := _doubt(column)) is not None}
    good = [column.name for column in columns if column.name and column.name not in doubts]
    times = [name for name, why in doubts.items() if why in (STAMPED, DATED)] if time is None else [time]
    counts = [name for name, why in doubts.items() if why == COUNTED]
    if doubts and len(good) + len(times[:1]) > 1 and not all(map(is_number, columns)):
        told = ", ".join(f"{name!r} {why}" for name, why in list(doubts.items())[:MAX_GUESSED])
        known = f"time={times[0]!r}, " if times else ""
        known += "bins='month', " * (times != [] and doubts.get(times[0]) == DATED)
        modes = ", ".join(map(repr, good[:MAX_GUESSED]))
        value = f", value={counts[0]!r}, threshold=1" if counts else ""
        raise InputError(
            f"{table.title} has columns that are probably no modes: {told}; name the modes, as in "
            f"tensorm.read(X, {known}modes=[{modes}]{value})."
        )
    odd = next((column.name for column in columns if _has_fractions(column)), None)
    if len(table.names) > MAX_GUESSED or odd is not None:
        raise _refuse_guess(table, "" if odd is None else f", and numbers with fractions in {odd!r}")
    _check_cells(table)


def _refuse_guess(table: Table, what: str) -> InputError:
    names = table.names
    shown = ", ".join(map(repr, names[:MAX_GUESSED])) + ", ..." * (len(names) > MAX_GUESSED)
    modes = ", ".join(map(repr, names[:2])) + ", ..." * (len(names) > 2)
    return InputError(
        f"{table.title} has the columns {shown}{what}; name the modes, as in "
        f"tensorm.read(X, modes=[{modes}]), or set wide=True if its first column has labels, or "
        "threshold=NUMBER to turn the numbers in every column into 0 and 1."
    )


def _check_answers(table: Table, columns: Sequence[CodedColumn]) -> None:
    """Raise if most columns hold yes and no, or 0 and 1, and few other words: that is a survey."""
    others = {column.name: found for column in columns if (found := _other_words(column)) is not None}
    if len(others) < 3 or 2 * len(others) <= len(columns):
        return
    wanted = _find_pattern([*others], table.names)
    words = [*dict.fromkeys(word for found in others.values() for word in found)]
    missing = f", missing={words}" if words else ""
    rest = [name for name in table.names if name not in others]
    other = f", and other things in {', '.join(map(repr, rest[:MAX_GUESSED]))}" if rest else ""
    raise InputError(
        f"{table.title} has answers such as yes and no in {len(others)} columns{other}; say how to read it, "
        f"as in tensorm.read(X, columns={wanted}{missing})."
    )


def _other_words(column: CodedColumn) -> list[str] | None:
    """Return what a column holds beside yes and no, or 0 and 1; None if it is much, or has not both."""
    if len(column.values) > MAX_ANSWERS + 4:
        return None
    texts = [str(value) for value in column.values.tolist()]
    other = [text for text in texts if text.lower() not in {*YES_NO, *MISSING_WORDS, "0", "1", "0.0", "1.0"}]
    return other if len(texts) - len(other) > 1 and len(other) <= MAX_ANSWERS else None


def _find_pattern(wanted: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return a pattern for some names, such as Q*, if there is one that fits no others; or else them."""
    prefix = next(
        (
            wanted[0][:n]
            for n in range(len(wanted[0]), 0, -1)
            if all(w.startswith(wanted[0][:n]) for w in wanted)
        ),
        "",
    )
    alike = sum(name.startswith(prefix) for name in names) == len(wanted)
    return [f"{prefix}*"] if prefix and alike else [*wanted]


def _doubt(column: CodedColumn) -> str | None:
    """Say why a column is probably no mode, or return None."""
    distinct, rows = len(column.values), len(column.codes)
    if is_stamp(column):
        return STAMPED
    if _has_fractions(column):
        return "has numbers with fractions"
    if rows <= FEW_ROWS:
        return None
    if distinct > FEW_ROWS and is_date(column):
        return DATED
    if is_number(column) and COUNTS.fullmatch(column.name):
        return COUNTED
    texts = [value for value in column.values[:SAMPLED_VALUES].tolist() if isinstance(value, str)]
    if texts and 4 * distinct > rows and sum(map(len, texts)) > LONG_TEXT * len(texts):
        return "looks like free text"
    if distinct == rows:
        return "differs in every row"
    return "is often empty" if 10 * np.count_nonzero(column.codes < 0) > rows else None


def is_stamp(column: CodedColumn) -> bool:
    """Whether a column has dates with the time of the day."""
    if column.values.dtype.kind == "M":
        return bool((column.values.astype("M8[D]") != column.values).any())
    sample = column.values[:SAMPLED_VALUES].tolist()
    fitting = sum(isinstance(value, str) and STAMP.fullmatch(value) is not None for value in sample)
    return len(sample) > 0 and 10 * fitting >= 9 * len(sample)


def is_date(column: CodedColumn) -> bool:
    """Whether a column has dates without the time of the day."""
    if column.values.dtype.kind == "M":
        return not is_stamp(column)
    sample = column.values[:SAMPLED_VALUES].tolist()
    return all(isinstance(value, str) and DATE.fullmatch(value) for value in sample)


def check_stamps(column: CodedColumn) -> None:
    """Raise if labels are very many time stamps, or seldom repeated ones; log many of them, or many dates."""
    name, distinct = repr(column.name), len(column.values)
    many, most = distinct > FEW_ROWS, min(MANY_STAMPS, len(column.codes) // 2)
    if many and distinct > most and is_stamp(column):
        raise InputError(
            f"Column {name} has {distinct:,} different time stamps; set time={name} to turn them "
            f"into hours of the day, time={name} bins='1d' into days, or time={name} bins='each' to keep "
            "each."
        )
    count = f"{name} has {distinct:,} labels that look like"
    if many and is_stamp(column):
        log.info(f"{count} time stamps; time={name} turns them into hours of the day.")
    elif many and is_date(column):
        log.info(f"{count} dates; time={name} bins='month' turns them into months.")


def merge_alike(columns: Sequence[CodedColumn]) -> list[CodedColumn]:
    """Return columns in which labels that are spelt almost alike are one: the most frequent of them."""
    counts: Counter[str] = Counter()
    for column in columns:
        sizes = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
        counts.update(dict(zip(map(str, column.values.tolist()), sizes.tolist(), strict=True)))
    kept: dict[str, str] = {}
    for text, _ in counts.most_common():
        kept.setdefault(_plain(text), text)
    merged = [(text, kept[_plain(text)]) for text in counts if kept[_plain(text)] != text]
    if not merged:
        return list(columns)
    note(
        f"Column {columns[0].name!r}: "
        + list_some([f"{text[:40]!r} is now {other[:40]!r}" for text, other in merged])
        + "."
    )
    found = []
    for column in columns:
        texts = np.array([kept[_plain(str(value))] for value in column.values.tolist()], object)
        values, codes = np.unique(texts, return_inverse=True)
        found.append(column._replace(values=values, codes=np.append(codes, -1)[column.codes]))
    return found


def _plain(text: str) -> str:
    """Return a label without case, spaces and punctuation; numbers as they are."""
    if NUMBER_PATTERN.fullmatch(text):
        return text
    return re.sub(r"[\s._-]+", " ", unicodedata.normalize("NFKC", text)).strip().casefold()


def tell_alike(name: str, labels: Any, merging: bool = True) -> None:
    """Warn about labels that differ only in case, spaces or punctuation; say whether they can be merged."""
    if labels is None or labels.dtype.kind not in "UTO" or len(labels) > MANY_LABELS:
        return
    first: dict[str, str] = {}
    found = []
    for text in itertools.filterfalse(NUMBER_PATTERN.fullmatch, map(str, labels.tolist())):
        other = first.setdefault(_plain(text), text)
        if other != text:
            found.append(f"{other[:40]!r} and {text[:40]!r}")
    if found:
        note(
            f"Column {name!r} has labels that are spelt almost alike: {list_some(found)}; if they mean the "
            f"same, {'set merge_labels=True' if merging else 'write them alike'}."
        )


def tell_missing(name: str, labels: Any) -> None:
    """Warn about labels such as NULL, which usually mean that there is none."""
    for label in map(str, labels.tolist() if labels.dtype.kind in "UTO" else ()):
        if label.lower() in MISSING_WORDS:
            note(
                f"Column {name!r} has the label {label!r}; if it means missing, set missing={label!r} "
                "skip_bad_rows=True to leave its rows out."
            )


def _has_fractions(column: CodedColumn) -> bool:
    """Whether a column has numbers that are not whole."""
    values = column.values
    return values.dtype.kind == "f" and bool((values != np.floor(values)).any())


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
