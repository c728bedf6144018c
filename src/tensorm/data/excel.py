"""Excel files: the first sheet as a table, checked before openpyxl makes objects of it."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from tensorm.data.opening import MAX_EXPANSION, check_packed
from tensorm.data.text import no_data
from tensorm.errors import FileError

MAX_UNPACKED_BYTES = 2**28
MAX_SHEET_ROWS = 2**20  # of a sheet, as Excel has it
FREE_CELLS = 2**22  # that a sheet may have whatever its size; more only with a byte for each
MAX_TAGS = 2**18  # that openpyxl may hold at once
FORGOTTEN = {  # what it forgets at their ends: rows, and texts that cells refer to
    f"http://schemas.openxmlformats.org/spreadsheetml/2006/main {name}" for name in ("row", "si")
}
XML = (b"<", b"\0", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb", b"Lo")  # its start, in any encoding
EMPTY = ("", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A")  # cells without a value


def read_excel(file: Path) -> Any:
    """Return the first sheet; its first row that is not empty has the names of the columns."""
    import openpyxl
    import pandas as pd

    size = _check_parts(file)
    book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # what it says of its size may be wrong
    rows = _list_rows(file, sheet, max(FREE_CELLS, size))
    book.close()
    if len(rows) < 2:
        raise no_data(file)
    width = max(map(len, rows))
    names = ["" if name is None else str(name).strip() for name in [*rows[0], *[None] * width][:width]]
    frame = pd.DataFrame([[*row, *[None] * (width - len(row))] for row in rows[1:]], dtype=object)
    return frame.infer_objects().set_axis(names, axis=1)


def _check_parts(file: Path) -> int:
    """Return the size of all parts of a file, or raise if they are too large."""
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
        size = sum(part.file_size for part in parts)
        if size > max(MAX_UNPACKED_BYTES // 10, min(MAX_UNPACKED_BYTES, MAX_EXPANSION * file.stat().st_size)):
            raise FileError(f"{file} unpacks to {size:,} bytes, which is too much; save the sheet as CSV.")
        for part in parts:
            check_packed(part)
            with archive.open(part) as text:
                _check_tags(file, text)
    return size


def _check_tags(file: Path, text: IO[bytes]) -> None:
    """Raise if openpyxl would hold far more tags at once than a row has cells; a picture has none."""
    held, starts = 0, list[int]()

    def begin(*_: Any) -> None:
        nonlocal held
        starts.append(held)
        held += 1
        if held > MAX_TAGS:
            raise FileError(f"{file} has a row with too many tags; save the sheet as CSV.")

    def end(name: str) -> None:
        nonlocal held
        start = starts.pop()
        held = start if name in FORGOTTEN else held

    def refuse(*_: Any) -> None:
        raise FileError(f"{file} defines entities, which no spreadsheet does; save the sheet as CSV.")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.ParseFile(text)
    except (expat.ExpatError, ValueError):
        text.seek(0)
        if held or text.read(2).startswith(XML):
            raise


def _list_rows(file: Path, sheet: Any, most: int) -> list[list[Any]]:
    """Return the rows that are not empty, or raise if filled up they have more cells than ``most``."""
    rows, width = [], 0
    for number, cells in enumerate(sheet.iter_rows(values_only=True)):
        if row := _read_row(cells):
            rows.append(row)
            width = max(width, len(row))
        if number >= MAX_SHEET_ROWS or width * len(rows) > most:
            problem = f"at least {number + 1:,} rows and {width:,} columns, and most cells are empty"
            raise FileError(f"{file} has {problem}; save the sheet as CSV.")
    return rows


def _read_row(row: tuple[Any, ...]) -> list[Any]:
    """Return what the cells of a row hold, up to the last that is not empty."""
    cells = [None if cell in EMPTY else cell for cell in row]
    while cells and cells[-1] is None:
        cells.pop()
    return [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in cells]
