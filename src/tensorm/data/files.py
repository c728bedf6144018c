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

from tensorm.data.excel import read_excel
from tensorm.data.hdf5 import read_h5ad, read_netcdf
from tensorm.data.memory import check_room
from tensorm.data.opening import list_names, need, reading, weigh_folder
from tensorm.data.text import no_data
from tensorm.data.zarr import read_zarr
from tensorm.errors import FileError

NAMES = ("X", "observed")  # what the cells of an .npz file may be called if there are more arrays
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
SPARSE = {"coo": ("row", "col"), "dia": ("offsets",)} | dict.fromkeys(
    ("csr", "csc", "bsr"), ("indices", "indptr")
)


def _read_npy(file: Path, _: str | None) -> Any:
    with reading(file, "an array of numbers", "numpy.save"):
        return np.load(file, allow_pickle=False, mmap_mode="r")  # read block by block as it is packed


def _read_npz(file: Path, value: str | None) -> Any:
    with reading(file, "arrays of numbers", "numpy.savez"), zipfile.ZipFile(file) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        if value is None and {"format", "shape", "data"} <= {*members}:
            return _read_sparse(archive, members)
        names = list(members)
        known = (names[0],) if len(names) == 1 else NAMES
        name = next((name for name in ((value,) if value else known) if name in members), None)
        if name is None:
            raise FileError(f"{file} holds {list_names(names, 'arrays')}; choose one: value=NAME.")
        return _read_member(archive, members[name])


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """Return an array of an .npz file if it is as large as it says."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others take what they like
        raise ValueError("not written by numpy")
    with archive.open(member) as file:
        shape, by_column, dtype = HEADERS[np.lib.format.read_magic(file)](file)
        size = dtype.itemsize * math.prod(shape)
        if dtype.hasobject or min(shape, default=0) < 0 or file.tell() + size != member.file_size:
            raise ValueError("the header lies")
        check_room(archive.filename, 2 * size)
        return np.ndarray(shape, dtype, file.read(), order="F" if by_column else "C")


def _read_sparse(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> Any:
    """Return a matrix that ``scipy.sparse.save_npz`` wrote; its indices are checked by ``as_coo``."""
    import scipy.sparse

    kind = bytes(np.asarray(_read_member(archive, members["format"]), "S").item()).decode()
    wanted = [members[name] for name in ("shape", "data", *SPARSE[kind])]
    check_room(archive.filename, 2 * sum(member.file_size for member in wanted))
    shape, data, *parts = (_read_member(archive, member) for member in wanted)
    given = (data, tuple(parts)) if kind == "coo" else (data, *parts)
    return getattr(scipy.sparse, f"{kind}_array")(given, shape=tuple(shape.tolist()))


def _read_parquet(file: Path) -> Any:
    need("pyarrow", "Parquet files", "pyarrow")
    with reading(file, "Parquet", "pandas or polars"):
        import pyarrow as pa
        from pyarrow import parquet

        if int(pa.__version__.split(".")[0]) < 15:
            raise FileError(f"{file} cannot be read safely by pyarrow {pa.__version__}; install 15 or later.")
        if file.is_dir():
            weigh_folder(file)
        parts = sorted(file.rglob("[!._]*.parquet")) if file.is_dir() else [file]
        need_bytes, texts = 0, set()
        for part in parts:
            with parquet.ParquetFile(part) as store:
                about, schema = store.metadata, store.schema_arrow
            need_bytes += 16 * about.num_rows * about.num_columns
            need_bytes += sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
            texts |= {field.name for field in schema if field.type in (pa.string(), pa.large_string())}
        if not parts:
            raise no_data(file)
        check_room(file, need_bytes)
        # Held as codes, since each of many rows may repeat a long text that the file lists once.
        if file.is_dir():  # folders named year=2024 make a column
            rows = parquet.read_table(file, read_dictionary=[*texts], partitioning="hive")
            texts |= {*rows.column_names} - {*schema.names}
        else:
            rows = parquet.ParquetFile(file, read_dictionary=[*texts]).read()
        frame = rows.to_pandas()
        held = {name: object for name in texts if name in frame.columns}
        return _decode_index(frame.astype(held))


def _decode_index(frame: Any) -> Any:
    return frame.set_axis(frame.index.astype(object)) if frame.index.dtype == "category" else frame


ARRAYS: dict[str, Callable[[Path, str | None], Any]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".nc": read_netcdf,
    ".zarr": read_zarr,
    ".h5ad": read_h5ad,
}
NAMED = (".npz", ".nc", ".zarr")  # files that may hold several arrays
FRAMES: dict[str, Callable[[Path], Any]] = {".parquet": _read_parquet, ".xlsx": read_excel}
