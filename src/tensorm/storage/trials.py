"""A folder that remembers trials, so that a selection can be stopped and continued.

``selection.json`` says which data and settings the folder belongs to; every finished trial, and how far each
unfinished one has come, is a JSON file of its own, written in one step, which names its selection and itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from tensorm.errors import FileError
from tensorm.storage.files import Due, FilePath, as_path, check_links, make_folder, read_json, replace_file

HEAD, SELECTION_FORMAT = "selection.json", "tensorm selection"
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
        self.folder, self.due = make_folder(folder), Due()
        check_links(self.folder)
        text = json.dumps({"format": SELECTION_FORMAT, **settings}, indent=1)
        self._digest = sha256(text.encode()).hexdigest()
        theirs = read_json(self.folder / HEAD, "give another run_dir")
        if not theirs:
            replace_file(self.folder / HEAD, text.encode())
            return
        for name, mine in json.loads(text).items():
            if theirs.get(name) != mine:
                raise FileError(
                    f"{folder} contains a selection with a different {name}; give another run_dir."
                )

    def read(self, name: str) -> Any:
        """Return the result of a trial, or None if there is none."""
        path = self.folder / f"{name}.json"
        if not (known := read_json(path, AGAIN)):
            return None
        if known != {"selection": self._digest, "trial": name, "result": known.get("result")}:
            raise FileError(f"{path} is damaged or belongs to another selection or trial; {AGAIN}.")
        return known["result"]

    def write(self, name: str, form: Any) -> None:
        """Keep the result of a trial, or how far it has come."""
        known = {"selection": self._digest, "trial": name, "result": form}
        replace_file(self.folder / f"{name}.json", json.dumps(known).encode())
        self.due.reset(name)


def read_seed(folder: FilePath) -> int | None:
    """Return the seed of the selection in a folder, or None if there is none."""
    seed = read_json(as_path(folder) / HEAD, "give another run_dir").get("seed")
    return seed if type(seed) is int and 0 <= seed < 2**64 else None
