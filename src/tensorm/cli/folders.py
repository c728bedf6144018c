"""A folder that a fit is left in: the fit, its cells, and what is known besides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tensorm.choice import Selection
from tensorm.errors import FileError
from tensorm.estimator import TensOrMachine, load
from tensorm.files import FIT, open_run
from tensorm.netcdf import replace_file
from tensorm.tensors import Tensor

SELECTION, METADATA = "selection.json", "metadata.json"


class Folder:
    """What lies in the folder of a fit.

    Parameters
    ----------
    path : Path
        As given to ``tensorm fit --out``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def keep(self, selection: Selection | None, metadata: dict[str, Any]) -> None:
        """Write how the number of components was chosen, and the metadata, beside the fit."""
        if selection is not None:
            replace_file(self.path / SELECTION, selection.to_json().encode())
        if metadata:
            tables = {mode: _columns(table) for mode, table in metadata.items()}
            replace_file(self.path / METADATA, json.dumps(tables, indent=1).encode())

    def model(self) -> TensOrMachine:
        """Return the fit."""
        if not (self.path / FIT).exists():
            unfinished = next(self.path.glob("*.nc"), None) is not None
            advice = f"finish it by: tensorm resume {self.path}" if unfinished else "make one by: tensorm fit"
            raise FileError(f"{self.path} holds no finished fit; {advice}.")
        return load(self.path / FIT)

    def cells(self) -> Tensor:
        """Return the cells of the fit."""
        return open_run(self.path, TensOrMachine._get_param_names()).tensor

    def selection(self) -> Selection | None:
        """Return how the number of components was chosen, if it was."""
        text = _read(self.path / SELECTION)
        try:
            return None if text is None else Selection.from_json(text)
        except ValueError as error:
            raise FileError(f"{self.path / SELECTION} is damaged; delete it to go without.") from error

    def metadata(self) -> dict[str, Any]:
        """Return the tables of metadata."""
        text = _read(self.path / METADATA)
        try:
            tables = {} if text is None else json.loads(text)
        except ValueError as error:
            raise FileError(f"{self.path / METADATA} is damaged; delete it to go without.") from error
        return dict(tables)


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _columns(table: Any) -> dict[str, list[Any]]:
    """Return the columns of a table, as JSON holds them."""
    if isinstance(table, dict):
        return table
    known = table.astype(object).where(table.notna(), None)
    return {str(name): [_plain(value) for value in known[name]] for name in known.columns}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
