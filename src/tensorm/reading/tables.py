"""Tables in files, as pandas reads them."""

from __future__ import annotations

import os
from typing import Any

from tensorm.data.coordinates.files import SEPARATORS, kind_of, read_frame
from tensorm.data.coordinates.listing import Place
from tensorm.errors import FileError

TABLES = (*SEPARATORS, ".parquet")
SHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


def read_any_table(path: str | os.PathLike[str]) -> tuple[Any, Place]:
    """Return a table with names for its columns, as from a spreadsheet, and what says where a row is."""
    refuse_sheet(path)
    if kind_of(path) not in TABLES:
        raise FileError(f"{path} is no table; give {', '.join(TABLES)}.")
    return read_frame(path, header=True, labelled=True)[:2]


def refuse_sheet(path: str | os.PathLike[str]) -> None:
    """Raise if a file is a spreadsheet."""
    if kind_of(path) in SHEETS:
        raise FileError(f"{path} is a spreadsheet; save the sheet as CSV, and give that file.")
