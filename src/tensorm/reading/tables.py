"""Tables in files, as pandas reads them."""

from __future__ import annotations

import os
from typing import Any

from tensorm.coordinates.files import SEPARATORS, kind_of, read_frame
from tensorm.errors import FileError

TABLES = (*SEPARATORS, ".parquet")


def read_any_table(path: str | os.PathLike[str]) -> Any:
    """Read a table with names for its columns, as from a spreadsheet."""
    if kind_of(path) not in TABLES:
        raise FileError(f"{path} is no table; give {', '.join(TABLES)}.")
    return read_frame(path, header=True)[0]
