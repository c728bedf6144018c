"""Which cells some labels name: rows of a table with a column for each mode, or of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from tensorm.data.arrays import Indices
from tensorm.data.checks import as_array, check_indices, number_labels
from tensorm.data.frames import FrameTable, Table
from tensorm.errors import InputError
from tensorm.posterior.draws import Posterior


def find_cells(posterior: Posterior, cells: Any) -> tuple[Indices, ...]:
    """Return K index arrays from a table, an array of labels or an array of indices, (n, K)."""
    if nw.dependencies.is_into_dataframe(cells):
        return look_up(posterior, FrameTable(cells))[0]
    shape, array = posterior.shape, as_array("indices", cells)
    if array.ndim != 2 or array.shape[1] != len(shape) or array.dtype.kind not in "OUT":
        return check_indices(array, shape, posterior.modes)
    columns = [[str(item) for item in column] for column in array.T.tolist()]
    return tuple(
        find_labels(posterior, k, column, "row {} of indices".format) for k, column in enumerate(columns)
    )


def look_up(posterior: Posterior, table: Table) -> tuple[tuple[Indices, ...], list[list[str]]]:
    """Return K index arrays from the rows of a table, and their labels as they stand there."""
    indices, texts = [], []
    for k, mode in enumerate(posterior.modes):
        if mode not in table.names:
            raise InputError(f"{table.title} has no column {mode!r}; give one for each mode.")
        column = table.column(mode)
        column.refuse_empty("give a label")
        texts.append(column.values.astype(str)[column.codes].tolist())
        indices.append(find_labels(posterior, k, texts[-1], table.place))
    return tuple(indices), texts


def find_labels(
    posterior: Posterior,
    mode: int,
    wanted: Sequence[str],
    place: Callable[[int], str] | None = None,
) -> Indices:
    """Return the indices of labels as users see them, which may be numbers themselves."""
    known = posterior.labels[mode]
    indices = number_labels(range(posterior.shape[mode]) if known is None else known.astype(str))
    for row, name in enumerate(wanted):
        if name not in indices:
            where, like = "" if place is None else f" in {place(row)}", next(iter(indices))
            raise InputError(f"Unknown {posterior.modes[mode]} {name!r}{where}; labels look like {like!r}.")
    return np.array([indices[name] for name in wanted], np.intp)
