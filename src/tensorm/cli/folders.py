"""The folder of a fit: the fit, its cells, and what else is known about it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.errors import FileError
from tensorm.estimator.load import load
from tensorm.estimator.machine import TensOrMachine
from tensorm.report.metadata import is_missing
from tensorm.report.selection import Selection
from tensorm.storage import FIT, RUN, check_folder, find_file, open_run
from tensorm.storage.files import replace_file
from tensorm.tensors import Tensor

METADATA, COMMAND = "metadata.json", "command.json"


class Folder:
    """The folder of a fit.

    Parameters
    ----------
    path : Path
        As given to ``tensorm fit --out``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.made: list[Path] = []  # folders that did not exist before

    def begin(
        self, words: Sequence[str], metadata: dict[str, Any], symmetric: tuple[str, str] | None
    ) -> None:
        """Write what is known before the first sweep: the command, the metadata, an undirected pair."""
        self.made = [path for path in (self.path, *self.path.parents) if not path.exists()]
        check_folder(self.path)
        said = {"command": list(words), "symmetric": symmetric}
        replace_file(self.path / COMMAND, json.dumps(said, indent=1).encode())
        if metadata:
            tables = {
                mode: {name: [_plain(value) for value in values] for name, values in columns.items()}
                for mode, columns in metadata.items()
            }
            replace_file(self.path / METADATA, json.dumps(tables, indent=1).encode())

    def give_up(self) -> None:
        """Leave nothing of a fit that stopped before sampling."""
        if find_file(self.path, RUN) is not None:
            return
        for name in (COMMAND, METADATA):
            (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):  # somebody else may have put something there
            for path in self.made:
                path.rmdir()

    def model(self) -> TensOrMachine:
        """Return the fit."""
        if find_file(self.path, FIT) is None:
            unfinished = find_file(self.path, RUN) is not None
            advice = f"finish it with: tensorm resume {self.path}" if unfinished else "run: tensorm fit"
            raise FileError(f"{self.path} holds no finished fit; {advice}.")
        return load(self.path)

    def cells(self) -> Tensor:
        """Return the cells of the fit."""
        return open_run(self.path, TensOrMachine._get_param_names()).tensor

    def selection(self) -> Selection | None:
        """Return how the number of components was chosen, if it was."""
        return Selection.read(self.path)

    def metadata(self) -> dict[str, Any]:
        """Return the tables of metadata."""
        return _read_mapping(self.path / METADATA)

    def command(self) -> str | None:
        """Return the commands that make the fit and its report again, if a command made it."""
        words = _read_mapping(self.path / COMMAND).get("command")
        if not isinstance(words, list):
            return None
        return f"{shlex.join(map(str, words))}\ntensorm report {shlex.quote(str(self.path))}"

    def symmetric(self) -> tuple[str, str] | None:
        """Return the two modes whose pairs have no direction, if there are any."""
        pair = _read_mapping(self.path / COMMAND).get("symmetric")
        return (str(pair[0]), str(pair[1])) if isinstance(pair, list) and len(pair) == 2 else None


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _read_mapping(path: Path) -> dict[str, Any]:
    text = _read(path)
    try:
        return {} if text is None else dict(json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> FileError:
    return FileError(f"{path} is damaged; delete it to continue without it.")


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it."""
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value):
        return None
    return value if isinstance(value, (bool, int, float, str)) else str(value)
