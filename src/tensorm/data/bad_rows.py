"""Rows of a table that cannot be used: all are reported at once, or left out if that is what was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from tensorm.data.arrays import Indices
from tensorm.data.checks import list_some, short
from tensorm.data.columns import CodedColumn
from tensorm.data.frames import Table
from tensorm.data.text import TextTable
from tensorm.errors import BadValuesError, InputError

MAX_TOLD = 5  # bad rows in a message
MAX_WORDS = 3  # that may stand for missing cells


class BadRowsError(InputError):
    """Some rows cannot be used; ``rows`` are their numbers, and ``told`` says where and why."""

    def __init__(self, title: str, told: str, rows: Indices, words: Sequence[str] = ()) -> None:
        self.rows, s = rows, "s" * (len(rows) != 1)
        self.told = f"{len(rows):,} bad row{s}: {told}"
        missing = f" set missing={words} if that means missing," if words else ""
        super().__init__(
            f"{title} has {self.told}; correct them,{missing} or set skip_bad_rows=True to leave them out."
        )


class BadRows:
    """Collects the bad rows of a table while its columns are read.

    Parameters
    ----------
    table : Table
    skip : bool
        Whether they will be left out.
    """

    def __init__(self, table: Table, skip: bool) -> None:
        self._table, self._skip = table, skip
        self._found: list[tuple[CodedColumn, Indices, BadValuesError]] = []

    @contextmanager
    def noting(self, column: CodedColumn) -> Iterator[None]:
        """Note the rows in which a column cannot be read; if they are most of them, that is no accident."""
        try:
            yield
        except BadValuesError as error:
            rows = np.flatnonzero(np.isin(column.codes, error.values))
            rows, most = np.setdiff1d(rows, [*self._table.uneven]), len(self._table) - len(self._table.uneven)
            if len(rows) == most or (not self._skip and 2 * len(rows) > most):
                raise
            self._found.append((column, rows, error))

    def settle(self) -> None:
        """Raise if any rows are bad."""
        uneven = self._table.uneven
        rows = np.unique(np.concatenate([[*uneven], *(rows for _, rows, _ in self._found)])).astype(np.intp)
        if not len(rows):
            return
        if len(rows) == 1 and not self._skip:
            if uneven and isinstance(self._table, TextTable):
                raise self._table.refuse_uneven()
            raise self._found[0][2]
        title = self._table.title
        told = [
            f"{self._table.place(row).removesuffix(f' of {title}')} ({self._tell(row)})"
            for row in rows[:MAX_TOLD].tolist()
        ]
        raise BadRowsError(title, list_some(told, MAX_TOLD, len(rows)), rows, self._find_words())

    def _find_words(self) -> list[str]:
        """Return what stands in the place of 0 and 1, if these are few words, which may mean missing."""
        words = {
            _write(column.values[value])
            for column, _, error in self._found
            for value in error.values
            if value >= 0 and "missing=" in str(error)
        }
        return sorted(words) if len(words) <= MAX_WORDS else []

    def _tell(self, row: int) -> str:
        """Say what is wrong with a row."""
        if row in self._table.uneven:
            return f"{self._table.uneven[row]} fields"
        column = next(column for column, rows, _ in self._found if row in rows)
        code = int(column.codes[row])
        return f"{column.name!r} is {'empty' if code < 0 else short(column.values[code])}"


def _write(value: object) -> str:
    """Return a value as it is given to an option: 9 for 9.0."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
