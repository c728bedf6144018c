"""Tables in memory, used like those in text files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tensorm.data.arrays import Indices
from tensorm.data.columns import CodedColumn, factorise
from tensorm.data.inputs import is_a
from tensorm.data.text import TextTable
from tensorm.errors import InputError


class FrameTable:
    """A pandas, polars or pyarrow table, or any other that narwhals knows; used like a ``TextTable``."""

    coordinates = False
    uneven: Mapping[int, int] = MappingProxyType({})  # rows of a text file that have too many fields

    def __init__(self, frame: Any, title: str = "The table") -> None:
        import narwhals as nw  # here and below, since files of text do without it

        self.title = title
        try:
            self._frame = nw.from_native(frame, eager_only=True)
            self._natives = {str(name): name for name in self._frame.columns}
        except nw.exceptions.DuplicateError as error:
            raise InputError(f"{title} has several columns with the same name; give each its own.") from error
        self.names = list(self._natives)
        self._columns: dict[str, CodedColumn] = {}  # that somebody asked for
        self._rows: Indices | None = None  # those that are left, after others were left out
        if not len(self._frame):
            raise InputError(f"{title} contains no data; give a table with rows.")

    def __len__(self) -> int:
        return len(self._frame)

    def drop(self, rows: Indices) -> None:
        """Leave rows out from now on."""
        kept = np.delete(np.arange(len(self)), rows)
        self._columns.clear()
        self._frame = self._frame[kept.tolist()]
        self._rows = kept if self._rows is None else self._rows[kept]

    def column(self, name: str, exact: bool = True) -> CodedColumn:
        """Return a column; its values have the types that they have in the table."""
        if name not in self._columns:
            self._columns[name] = self._read(name)
        return self._columns[name]

    def _read(self, name: str) -> CodedColumn:
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
        row = row if self._rows is None else int(self._rows[row])
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
