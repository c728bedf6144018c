"""Arrays and tables in binary files, as other libraries read them; a new binary format is added here.

A reader in ARRAYS gets a path and the name of an array or None, and returns what ``observe`` takes (an array,
an xarray object, an AnnData, a sparse matrix); one in FRAMES returns a table that narwhals knows. Formats of
text are in text.py. A file may be forged: sizes are checked before memory is allocated.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.hdf5 import read_h5ad, read_netcdf
from tensorm.data.memory import check_room
from tensorm.data.opening import list_names, need, reading
from tensorm.data.text import no_data
from tensorm.data.zarr import read_zarr
from tensorm.errors import FileError

NAMES = ("X", "observed")  # what the cells of an .npz file may be called if there are more arrays
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
SPARSE = {"coo": ("row", "col"), "dia": ("offsets",)} | dict.fromkeys(
    ("csr", "csc", "bsr"), ("indices", "indptr")
)
LARGEST_SHEET = 2**28  # bytes of an Excel file, unpacked
EXPANSION = 100  # a spreadsheet is seldom packed more tightly
EMPTY = ("", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A")  # cells without a value
LARGEST_TABLE = 2**27  # cells of a sheet


def _read_npy(file: Path, _: str | None) -> Any:
    with reading(file, "an array of numbers", "numpy.save"):
        return np.load(file, allow_pickle=False, mmap_mode="r")  # read block by block as it is packed


def _read_npz(file: Path, value: str | None) -> Any:
    with reading(file, "arrays of numbers", "numpy.savez"), zipfile.ZipFile(file) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        if value is None and {"format", "shape", "data"} <= {*members}:
            return _read_sparse({name: _read_member(archive, member) for name, member in members.items()})
        names = list(members)
        known = (names[0],) if len(names) == 1 else NAMES
        name = next((name for name in ((value,) if value else known) if name in members), None)
        if name is None:
            raise FileError(f"{file} holds {list_names(names, 'arrays')}; name one with value, or call it X.")
        return _read_member(archive, members[name])


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """Return an array of an .npz file if it is as large as it says."""
    with archive.open(member) as file:
        shape, by_column, dtype = HEADERS[np.lib.format.read_magic(file)](file)
        size = dtype.itemsize * math.prod(shape)
        if dtype.hasobject or min(shape, default=0) < 0 or file.tell() + size != member.file_size:
            raise ValueError("the header lies")
        check_room(archive.filename, 2 * size)
        return np.ndarray(shape, dtype, file.read(), order="F" if by_column else "C")


def _read_sparse(arrays: dict[str, Any]) -> Any:
    """Return a matrix that ``scipy.sparse.save_npz`` wrote; its indices are checked by ``as_coo``."""
    import scipy.sparse

    kind = bytes(np.asarray(arrays["format"], "S").item()).decode()
    parts = tuple(arrays[name] for name in SPARSE[kind])
    given = (arrays["data"], parts if kind == "coo" else parts[0], *parts[1:])[: 2 if kind == "coo" else None]
    return getattr(scipy.sparse, f"{kind}_array")(given, shape=tuple(arrays["shape"].tolist()))


def _read_parquet(file: Path) -> Any:
    need("pyarrow", "Parquet files", "pyarrow")
    with reading(file, "Parquet", "pandas or polars"):
        import pyarrow as pa
        from pyarrow import parquet

        if int(pa.__version__.split(".")[0]) < 15:
            raise FileError(f"{file} cannot be read safely by pyarrow {pa.__version__}; install 15 or later.")
        with parquet.ParquetFile(file) as store:
            about, schema = store.metadata, store.schema_arrow
        stored = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
        check_room(file, 16 * about.num_rows * about.num_columns + stored)
        # Held as codes, since each of many rows may repeat a long text that the file lists once.
        texts = [field.name for field in schema if field.type in (pa.string(), pa.large_string())]
        frame = parquet.ParquetFile(file, read_dictionary=texts).read().to_pandas()
        held = {name: object for name in texts if name in frame.columns}
        return _decode_index(frame.astype(held))


def _decode_index(frame: Any) -> Any:
    return frame.set_axis(frame.index.astype(object)) if frame.index.dtype == "category" else frame


def _read_excel(file: Path) -> Any:
    """Return the first sheet; its first row that is not empty has the names of the columns."""
    import pandas as pd

    openpyxl = need("openpyxl", "Excel files", "'tensorm[excel]'")
    with reading(file, "an Excel file", "a spreadsheet, or save the sheet as CSV"):
        with zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > max(LARGEST_SHEET // 10, min(LARGEST_SHEET, EXPANSION * file.stat().st_size)):
            raise FileError(f"{file} unpacks to {size:,} bytes, which is too much; save the sheet as CSV.")
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what it says of its size may be wrong
        rows = [row for row in map(_read_row, sheet.iter_rows(values_only=True)) if row]
        book.close()
        width = max(map(len, rows), default=0)
        if width * len(rows) > LARGEST_TABLE:
            raise FileError(f"{file} has {len(rows):,} rows and {width:,} columns; save the sheet as CSV.")
        if len(rows) < 2:
            raise no_data(file)
        names = ["" if name is None else str(name).strip() for name in [*rows[0], *[None] * width][:width]]
        frame = pd.DataFrame([[*row, *[None] * (width - len(row))] for row in rows[1:]], dtype=object)
        return frame.infer_objects().set_axis(names, axis=1)


def _read_row(row: tuple[Any, ...]) -> list[Any]:
    """Return what the cells of a row hold, up to the last that is not empty."""
    cells = [None if cell in EMPTY else cell for cell in row]
    while cells and cells[-1] is None:
        cells.pop()
    return [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in cells]


ARRAYS: dict[str, Callable[[Path, str | None], Any]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".nc": read_netcdf,
    ".zarr": read_zarr,
    ".h5ad": read_h5ad,
}
NAMED = (".npz", ".nc", ".zarr")  # files that may hold several arrays
FRAMES: dict[str, Callable[[Path], Any]] = {".parquet": _read_parquet, ".xlsx": _read_excel}
