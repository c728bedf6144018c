"""The folder of a fit: the fit, its cells, and what else is known about it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.errors import FileError
from tensorm.estimator.load import load
from tensorm.estimator.machine import TensOrMachine
from tensorm.report.metadata import is_missing
from tensorm.storage.files import replace_file
from tensorm.storage.run import FIT, RUN, check_folder, find_file, open_run
from tensorm.tensors import Tensor

METADATA, COMMAND = "metadata.json", "command.json"


@contextmanager
def starting(
    folder: Path, words: Sequence[str], metadata: dict[str, Any], symmetric: tuple[str, str] | None
) -> Iterator[None]:
    """Write the command, the metadata and an undirected pair; leave nothing if no sampling follows."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    check_folder(folder)
    try:
        given = {"command": list(words), "symmetric": symmetric}
        replace_file(folder / COMMAND, json.dumps(given, indent=1).encode())
        if metadata:
            tables = {
                mode: {name: [_plain(value) for value in values] for name, values in columns.items()}
                for mode, columns in metadata.items()
            }
            replace_file(folder / METADATA, json.dumps(tables, indent=1).encode())
        yield
    except BaseException:
        if find_file(folder, RUN) is None:
            for name in (COMMAND, METADATA):
                (folder / name).unlink(missing_ok=True)
            with suppress(OSError):  # somebody else may have put something there
                for path in made:
                    path.rmdir()
        raise


def load_finished(folder: Path) -> TensOrMachine:
    """Return the fit."""
    if find_file(folder, FIT) is None:
        unfinished = find_file(folder, RUN) is not None
        advice = f"finish it with: tensorm resume {folder}" if unfinished else "run: tensorm fit"
        raise FileError(f"{folder} contains no finished fit; {advice}.")
    return load(folder)


def read_cells(folder: Path) -> Tensor:
    """Return the cells of the fit."""
    return open_run(folder, TensOrMachine._get_param_names()).tensor


def read_command(folder: Path) -> str | None:
    """Return the commands that make the fit and its report again, if a command made it."""
    words = read_mapping(folder / COMMAND).get("command")
    if not isinstance(words, list):
        return None
    return f"{shlex.join(map(str, words))}\ntensorm report {shlex.quote(str(folder))}"


def read_symmetric(folder: Path) -> tuple[str, str] | None:
    """Return the two modes whose pairs have no direction, if there are any."""
    pair = read_mapping(folder / COMMAND).get("symmetric")
    return (str(pair[0]), str(pair[1])) if isinstance(pair, list) and len(pair) == 2 else None


def read_mapping(path: Path) -> dict[str, Any]:
    """Return what a JSON file of the folder says, or nothing if there is no such file."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}
    except (ValueError, TypeError, RecursionError) as error:
        raise FileError(f"{path} is damaged; delete it to continue without it.") from error


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it."""
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value):
        return None
    return value if isinstance(value, (bool, int, float, str)) else str(value)
