"""The folder of a fit: the fit, its cells, and what else is known about it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.errors import FileError
from tensorm.estimator.machine import TensOrMachine
from tensorm.report.metadata import is_missing
from tensorm.storage.files import LOCK, make_folder, owning, read_json, replace_file
from tensorm.storage.run import RUN, check_folder, delete_run, find_file, open_run
from tensorm.tensors import Tensor

METADATA, COMMAND = "metadata.json", "command.json"
REMEDY = "delete it to continue without it"


@contextmanager
def starting(folder: Path, about: dict[str, Any], metadata: dict[str, Any], force: bool) -> Iterator[None]:
    """Own a folder, and write the command, its notes and the metadata; leave nothing without sampling."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    with owning(make_folder(folder) if force else _check_new(folder)):
        if force:
            delete_run(folder)
        _check_new(folder)  # again, since another run may have ended meanwhile
        try:
            replace_file(folder / COMMAND, json.dumps(about, indent=1).encode())
            if metadata:
                tables = {
                    mode: {name: [_plain(value) for value in values] for name, values in columns.items()}
                    for mode, columns in metadata.items()
                }
                replace_file(folder / METADATA, json.dumps(tables, indent=1).encode())
            yield
        except BaseException:
            if find_file(folder, RUN) is None:
                for name in (COMMAND, METADATA, LOCK):
                    (folder / name).unlink(missing_ok=True)
                with suppress(OSError):  # somebody else may have put something there
                    for path in made:
                        path.rmdir()
            raise


def _check_new(folder: Path) -> Path:
    """Make a folder for a new run, or raise and name the option that replaces an old one."""
    try:
        return check_folder(folder)
    except FileError as error:
        if find_file(folder, RUN) is None:
            raise
        raise FileError(f"{str(error)[:-1]}, or replace it with --force.") from error


def read_cells_of_run(folder: Path) -> Tensor:
    """Return the cells of the fit."""
    return open_run(folder, TensOrMachine._get_param_names()).tensor


def read_command(folder: Path) -> str | None:
    """Return the commands that make the fit and its report again, if a command made it."""
    words = read_json(folder / COMMAND, REMEDY).get("command")
    if not isinstance(words, list):
        return None
    return f"{shlex.join(map(str, words))}\ntensorm report {shlex.quote(str(folder))}"


def read_notes(folder: Path) -> list[str]:
    """Return what the command noted while it read the data."""
    notes = read_json(folder / COMMAND, REMEDY).get("notes")
    return [*map(str, notes)] if isinstance(notes, list) else []


def read_title(folder: Path) -> str | None:
    """Return the name of the file that a command fitted, without its ending."""
    words = read_json(folder / COMMAND, REMEDY).get("command")
    given = words[2] if isinstance(words, list) and len(words) > 2 else None  # after "tensorm fit"
    return Path(given).name.split(".")[0] or None if isinstance(given, str) and given[:1] != "-" else None


def load_metadata(folder: Path) -> dict[str, Any]:
    """Return the tables of metadata that the command was given: for each mode columns by name."""
    tables = read_json(folder / METADATA, REMEDY)
    columns = [column for table in tables.values() if isinstance(table, dict) for column in table.values()]
    plain = all(isinstance(column, list) and not any(map(_is_odd, column)) for column in columns)
    if not plain or not all(isinstance(table, dict) for table in tables.values()):
        raise FileError(f"{folder / METADATA} is damaged; {REMEDY}.")
    return tables


def _is_odd(value: Any) -> bool:
    """Whether a value is nested, or an integer that no float can hold."""
    return isinstance(value, (dict, list)) or (isinstance(value, int) and abs(value) >= 2**64)


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it."""
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value):
        return None
    return value if isinstance(value, (bool, int, float, str)) else str(value)
