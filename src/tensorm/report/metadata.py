"""Other facts about a mode's indices, such as people's roles: tables joined by label."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Floats
from tensorm.data.checks import as_array, check_mapping, check_mode, check_text
from tensorm.data.inputs import RowLocator, is_a
from tensorm.errors import InputError
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import of_posterior
from tensorm.tensors import Tensor

Metadata = Mapping[Any, Any]

LABEL = "label"  # the column of labels, if none has the name of the mode
UNKNOWN_GROUP = "unknown"
MAX_CODES = 12  # a column with at most this many different numbers may hold codes instead of measurements


class Column(NamedTuple):
    """One thing that is known about the indices of a mode.

    Attributes
    ----------
    name : str
    values : ndarray of str (N,)
        As text; empty if unknown.
    numbers : ndarray (N,) or None
        The values if all known ones are numbers; NaN if unknown.
    """

    name: str
    values: npt.NDArray[np.str_]
    numbers: Floats | None

    @property
    def categories(self) -> list[str]:
        """The different values in order of appearance; none for measurements."""
        found = list(dict.fromkeys(value for value in self.values.tolist() if value))
        code = len(found) <= MAX_CODES and self._repeats(found)
        return found if self.numbers is None or code else []

    @property
    def grouping(self) -> bool:
        """Whether the values form groups, as roles do and names do not."""
        return bool(self.categories) and self._repeats(self.categories)

    def _repeats(self, found: Sequence[str]) -> bool:
        return 2 * len(found) <= int(np.count_nonzero(self.values))


@of_posterior
def read_metadata(posterior: Posterior, metadata: Metadata | None) -> tuple[tuple[Column, ...], ...]:
    """Join tables to the modes of a fit.

    Parameters
    ----------
    posterior : Posterior
    metadata : mapping, optional
        For some modes, by name or number, a table (pandas, polars, pyarrow, or a mapping of columns) with a
        row for each label, in any order. Labels are in the column with the mode's name, or in "label", or in
        the index of a pandas table, or in the first column. A column may also map labels to values. An array
        with a value for each index is a table of one column.

    Returns
    -------
    tuple of tuples of Column
        The columns of each mode; labels without a row have empty values.

    Raises
    ------
    InputError
        If a table has an unknown label, or a label twice.
    """
    given = check_mapping("metadata", metadata, "a dict of modes and tables")
    tables = {check_mode(mode, posterior.modes, "metadata"): table for mode, table in given.items()}
    return tuple(
        _join(mode, _labels(posterior, k), tables[k]) if k in tables else ()
        for k, mode in enumerate(posterior.modes)
    )


def share_metadata(tensor: Posterior | Tensor, metadata: Metadata) -> dict[str, dict[str, list[Any]]]:
    """Return the tables as columns, labels first, by mode; modes with the same labels share theirs."""
    given = {check_mode(mode, tensor.modes, "metadata"): table for mode, table in metadata.items()}
    names = [_labels(tensor, k) for k in range(len(tensor.modes))]
    read = {k: _read(tensor.modes[k], len(names[k]), table) for k, table in given.items()}
    shared: dict[str, dict[str, list[Any]]] = {}
    for k, mode in enumerate(tensor.modes):
        own = tensor.labels[k]
        alike = (j for j in read if own is not None and np.array_equal(np.asarray(tensor.labels[j]), own))
        labels, columns = next((read[j] for j in (k, *alike) if j in read), (None, {}))
        if columns:
            others = {name: values for name, values in columns.items() if name != mode}
            shared[mode] = {mode: names[k] if labels is None else labels, **others}
    return shared


def check_metadata(tensor: Posterior | Tensor, mode: str, table: Any, place: RowLocator) -> None:
    """Raise unless a table can be joined to a mode of a tensor, as ``read_metadata`` does after the fit.

    Parameters
    ----------
    tensor : Tensor
    mode : str
    table : table
    place : callable
        Returns where a row of the table is, for messages.
    """
    _join(mode, _labels(tensor, check_mode(mode, tensor.modes, "metadata")), table, place)


@of_posterior
def groups_of(
    posterior: Posterior, metadata: Metadata | None, column: str | None = None
) -> dict[str, npt.NDArray[np.str_]]:
    """Return a column of each table as ``groups`` for ``describe`` and ``plot_factors``.

    Parameters
    ----------
    posterior : Posterior
    metadata : mapping, optional
        As for ``read_metadata``.
    column : str, optional
        Its name; by default the first whose values occur at least twice on average. Tables without it are
        skipped.

    Returns
    -------
    dict
        For some modes, by name, the group of each index.
    """
    check_text("column", column)
    groups = {}
    for mode, columns in zip(posterior.modes, read_metadata(posterior, metadata), strict=True):
        wanted = (part for part in columns if (part.grouping if column is None else part.name == column))
        found = next(wanted, None)
        if found is not None:
            groups[mode] = np.where(found.values == "", UNKNOWN_GROUP, found.values)
    if column is not None and not groups:
        raise InputError(f"column is {column!r}, but no metadata table has such a column.")
    return groups


def _labels(source: Posterior | Tensor, k: int) -> list[str]:
    labels = source.labels[k]
    return list(map(str, range(source.shape[k]) if labels is None else labels))


def _join(mode: str, names: list[str], table: Any, place: RowLocator | None = None) -> tuple[Column, ...]:
    labels, columns = _read(mode, len(names), table)
    rows: Sequence[int | None] = range(len(names))
    if labels is not None:
        first = _check_labels(mode, names, labels, place or (lambda row: f"row {row}"))
        rows = [first.get(name) for name in names]
    made = []
    for name, values in columns.items():
        if labels is not None and len(values) != len(labels):
            raise InputError(
                f"metadata for {mode!r} has {len(values)} values in {name!r} and {len(labels)} in the "
                "column of labels; give one value for each label."
            )
        made.append(_column(name, [None if row is None else values[row] for row in rows]))
    return tuple(made)


def _read(mode: str, N: int, table: Any) -> tuple[list[str] | None, dict[str, list[Any]]]:
    """Return the labels of a table's rows (None if it has a row for each index) and its other columns."""
    index = None
    named = type(getattr(table, "index", None)).__name__ != "RangeIndex"
    if is_a(table, "pandas", "Series") and named:
        table = table.to_frame(table.name or "group")
    if is_a(table, "pandas", "DataFrame") and named:
        index = list(table.index)
    columns = _columns(table)
    if columns is None:
        array = as_array(f"metadata for {mode!r}", table)
        if array.shape != (N,):
            raise InputError(
                f"metadata for {mode!r} is not a table and has shape {array.shape}; give a table with a "
                f"column of labels, or an array of shape ({N},)."
            )
        return None, {str(getattr(table, "name", None) or "group"): array.tolist()}
    if columns and all(isinstance(values, Mapping) for values in columns.values()):
        keys = list(dict.fromkeys(key for values in columns.values() for key in values))
        return list(map(str, keys)), {
            name: [values.get(key) for key in keys] for name, values in columns.items()
        }
    key = next((name for name in (mode, LABEL) if name in columns), None)
    if key is None and index is not None:
        return _names(index), columns
    if not columns:
        raise InputError(f"metadata for {mode!r} has no columns; give one of labels and at least one more.")
    labels = columns.pop(next(iter(columns)) if key is None else key)
    return _names(labels), columns


def _names(labels: Sequence[Any]) -> list[str]:
    return ["" if is_missing(label) else str(label) for label in labels]


def _columns(table: Any) -> dict[str, Any] | None:
    """Return the columns of a table, or None if it is not a table."""
    if isinstance(table, Mapping):
        return {
            str(name): values if isinstance(values, Mapping) else list(values)
            for name, values in table.items()
        }
    import narwhals

    try:
        frame = narwhals.from_native(table, eager_only=True)
    except TypeError:
        return None
    return {name: frame[name].to_list() for name in frame.columns}


def _check_labels(mode: str, names: list[str], labels: Sequence[str], place: RowLocator) -> dict[str, int]:
    """Return the row of each label, or raise unless every row has a different label of the mode."""
    first: dict[str, int] = {}
    known = set(names)
    for row, label in enumerate(labels):
        if not label and label not in known:
            raise InputError(f"metadata for {mode!r} has no label in {place(row)}; add one.")
        if label not in known:
            raise InputError(
                f"metadata for {mode!r} has the unknown label {label!r} in {place(row)}; labels in the "
                f"data look like {names[0]!r}."
            )
        if label in first:
            raise InputError(
                f"metadata for {mode!r} has the label {label!r} in {place(first[label])} and again in "
                f"{place(row)}; give each label once."
            )
        first[label] = row
    return first


def _column(name: str, values: Sequence[Any]) -> Column:
    known = [None if is_missing(value) else value for value in values]
    text = np.array(["" if value is None else _text(value) for value in known], np.str_)
    kinds = {type(value) for value in known if value is not None}
    if not kinds or bool in kinds or not all(issubclass(kind, numbers.Real) for kind in kinds):
        return Column(name, text, None)
    return Column(name, text, np.array([math.nan if value is None else float(value) for value in known]))


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA; NaN and NaT differ from themselves."""
    return value is None or bool(value != value) or type(value).__name__ == "NAType"


def _text(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, (float, np.floating)) else str(value)
