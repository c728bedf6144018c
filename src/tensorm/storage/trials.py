"""A folder that remembers finished trials, so that a selection can be stopped and continued.

``selection.json`` says which data and settings the folder belongs to; every finished trial is a JSON file of
its own, written in one step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tensorm.errors import FileError
from tensorm.storage.files import FilePath, make_folder, replace_file

HEAD, FORMAT = "selection.json", "tensorm selection"


class Store:
    """Trials in a folder.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    settings : mapping
        What the trials depend on. A folder of other settings is refused.
    """

    def __init__(self, folder: FilePath, settings: Mapping[str, Any]) -> None:
        self.folder = make_folder(folder)
        mine = json.loads(json.dumps({"format": FORMAT, **settings}))
        head = self.folder / HEAD
        if not head.exists():
            replace_file(head, json.dumps(mine, indent=1).encode())
            return
        theirs = _read(head)
        for name in mine:
            if not isinstance(theirs, dict) or theirs.get(name) != mine[name]:
                raise FileError(f"{folder} holds a selection with another {name}; give another run_dir.")

    def __call__(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the result of this name: from its file, or made now and written unless it is None."""
        path = self.folder / f"{name}.json"
        if path.exists():
            return _read(path)
        result = make()
        if result is not None:
            replace_file(path, json.dumps(result).encode())
        return result


def read_seed(folder: FilePath) -> int | None:
    """Return the seed of the selection in a folder, or None if there is none."""
    head = Path(folder) / HEAD
    settings = _read(head) if head.exists() else {}
    seed = settings.get("seed") if isinstance(settings, dict) else None
    return seed if isinstance(seed, int) else None


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read; delete it to run its trial again.") from error
