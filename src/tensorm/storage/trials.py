"""A folder that remembers finished trials, so that a selection can be stopped and continued.

``selection.json`` says which data and settings the folder belongs to; every finished trial is a JSON file of
its own, written in one step, which names its selection and itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from tensorm.errors import FileError
from tensorm.storage.files import FilePath, as_path, make_folder, read_json, replace_file

HEAD, FORMAT = "selection.json", "tensorm selection"
AGAIN = "delete it to run its trial again"


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
        text = json.dumps({"format": FORMAT, **settings}, indent=1)
        self._digest = sha256(text.encode()).hexdigest()
        theirs = read_json(self.folder / HEAD, "give another run_dir")
        if not theirs:
            replace_file(self.folder / HEAD, text.encode())
            return
        for name, mine in json.loads(text).items():
            if theirs.get(name) != mine:
                raise FileError(f"{folder} holds a selection with another {name}; give another run_dir.")

    def __call__(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the result of this name: from its file, or made now and written unless it is None."""
        path = self.folder / f"{name}.json"
        identity = {"selection": self._digest, "trial": name}
        if known := read_json(path, AGAIN):
            if {**known, "result": 0} != {**identity, "result": 0}:
                raise FileError(f"{path} belongs to another selection or trial; {AGAIN}.")
            return known["result"]
        result = make()
        if result is not None:
            replace_file(path, json.dumps({**identity, "result": result}).encode())
        return result


def read_seed(folder: FilePath) -> int | None:
    """Return the seed of the selection in a folder, or None if there is none."""
    seed = read_json(as_path(folder) / HEAD, "give another run_dir").get("seed")
    return seed if type(seed) is int and 0 <= seed < 2**64 else None
