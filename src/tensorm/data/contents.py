"""What was read from a source: cells, and what else it says about the labels of each mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tensorm.data.coordinates import ListedCells
from tensorm.data.inputs import Observations
from tensorm.errors import InputError

Cells = Observations | ListedCells


class Contents(NamedTuple):
    """What was read: the cells, and for each mode what else is known of its indices."""

    cells: Cells
    columns: Sequence[Mapping[str, list[Any]]] = ()

    def metadata(self) -> dict[str, dict[str, list[Any]]]:
        """Return what is known as a table for each mode, its labels first."""
        tables = {}
        for k, columns in enumerate(self.columns):
            if not columns:
                continue
            mode, labels = (self.cells.modes or ())[k], (self.cells.labels or {k: None})[k]
            names = [str(name) for name in (range(self.cells.shape[k]) if labels is None else labels)]
            twice = next((name for name, times in Counter(names).items() if times > 1), None)
            if twice is not None:
                raise InputError(f"{mode!r} has the label {twice!r} twice; give each index its own label.")
            others = {f"{mode} {name}" if name == mode else name: values for name, values in columns.items()}
            tables[mode] = {mode: names, **others}
        return tables
