"""File formats: FORMATS has an entry for each ending, and a new format is an entry and its reader.

Here are the readers of arrays and tables in binary files, as other libraries read them; text.py reads text.
A file may be forged: a reader asks ``check_room`` (memory.py) for the memory of what a file claims to hold
before it reads on, and calls libraries that believe any size within ``at_most``. ``_weigh_value`` counts
texts as Parquet holds them, by codes. The docstring of ``tensorm.read`` lists the endings.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.excel import read_excel
from tensorm.data.hdf5 import NETCDF, read_h5ad, read_netcdf
from tensorm.data.memory import check_room
from tensorm.data.opening import check_exists, check_packed, list_names, need, reading, weigh_folder
from tensorm.data.text import SEPARATORS, ending_of, no_data
from tensorm.data.zarr import ZARR, read_zarr
from tensorm.errors import FileError

CELL_ARRAYS = ("X", "observed")  # what the cells of an .npz file may be called if there are more arrays
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
SPARSE = {"coo": ("row", "col"), "dia": ("offsets",)} | dict.fromkeys(
    ("csr", "csc", "bsr"), ("indices", "indptr")
)


def _read_npy(file: Path, _: str | None) -> Any:
    return np.load(file, allow_pickle=False, mmap_mode="r")  # read block by block as it is packed


def _read_npz(file: Path, value: str | None) -> Any:
    with zipfile.ZipFile(file) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        if value is None and {"format", "shape", "data"} <= {*members}:
            return _read_sparse(archive, members)
        names = list(members)
        known = (names[0],) if len(names) == 1 else CELL_ARRAYS
        name = next((name for name in ((value,) if value else known) if name in members), None)
        if name is None:
            raise FileError(f"{file} contains {list_names(names, 'arrays')}; choose one: value=NAME.")
        return _read_member(archive, members[name])


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """Return an array of an .npz file if it is as large as it says."""
    check_packed(member)
    with archive.open(member) as file:
        shape, by_column, dtype = HEADERS[np.lib.format.read_magic(file)](file)
        size = dtype.itemsize * math.prod(shape)
        if dtype.hasobject or min(shape, default=0) < 0 or file.tell() + size != member.file_size:
            raise ValueError("the header is wrong")
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
    import pyarrow as pa
    from pyarrow import parquet

    if int(pa.__version__.split(".")[0]) < 15:
        raise FileError(f"{file} cannot be read safely by pyarrow {pa.__version__}; install 15 or later.")
    parts = _list_parts(file) if file.is_dir() else [file]
    rows, packed, texts = 0, 0, set()
    widths = {key.name.partition("=")[0]: 16 for part in parts for key in part.relative_to(file).parents}
    for part in parts:
        with parquet.ParquetFile(part) as store:
            about, schema = store.metadata, store.schema_arrow
        rows += about.num_rows
        packed += sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
        if len({*schema.names}) < len(schema.names):
            raise FileError(f"{part} has several columns with the same name; give each its own.")
        for field in schema:  # which other parts may lack: their rows get it, too
            widths[field.name] = max(widths.get(field.name, 0), _weigh_value(part, field))
        texts |= {field.name for field in schema if field.type in (pa.string(), pa.large_string())}
    if not parts:
        raise no_data(file)
    check_room(file, rows * sum(widths.values()) + packed)
    # Held as codes, since each of many rows may repeat a long text that the file lists once.
    if file.is_dir():  # folders named year=2024 make a column
        table = parquet.read_table(file, read_dictionary=[*texts], partitioning="hive")
        texts |= {*table.column_names} - {*schema.names}
    else:
        table = parquet.ParquetFile(file, read_dictionary=[*texts]).read()
    frame = table.to_pandas()
    frame = frame.astype({name: object for name in texts if name in frame.columns})
    return frame.set_axis(frame.index.astype(object)) if frame.index.dtype == "category" else frame


def _list_parts(folder: Path) -> list[Path]:
    """Return the files that pyarrow reads of a folder: all whose path has no name that begins with . or _."""
    weigh_folder(folder)
    files = (file for file in folder.rglob("*") if file.is_file())
    return sorted(
        file for file in files if all(name[0] not in "._" for name in file.relative_to(folder).parts)
    )


def _weigh_value(file: Path, field: Any) -> int:
    """Return how many bytes a value of a column takes in memory; of a text its code, as it is held once."""
    from pyarrow import types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if types.is_decimal(kind) or types.is_date(kind) or types.is_time(kind):
        return 128  # an object of Python
    text = types.is_string(kind) or types.is_large_string(kind)
    if text or types.is_primitive(kind) or types.is_null(kind):
        return 16
    problem = f"{field.name[:40]!r} is a column of {kind!s:.40}"
    raise FileError(f"{file} cannot be read: {problem}; give numbers, texts or times.")


class Format(NamedTuple):
    """How files with an ending are read.

    Attributes
    ----------
    table : bool
        Whether they hold a table or an array.
    read : callable or None
        Takes a path and returns a table that narwhals knows. Or takes a path and the name of an array or None
        and returns what ``observe`` takes: an array, an xarray object, an AnnData, a sparse matrix. None for
        text, of which ``TextTable`` makes a table.
    written : (str, str)
        What messages call such files, and what writes them.
    needs : (str, str, str), optional
        The package that reads them, what the sentence calls such files if it is missing, and what to install.
    folder, plain : bool
        Whether they may be folders, and plain files.
    named : bool
        Whether they may hold several arrays.
    parts : bool
        Whether the workers of a cluster can read them in parts; distributed.py needs a reader for each.
    """

    table: bool
    read: Callable[..., Any] | None = None
    written: tuple[str, str] = ("a table or an array", "another program")
    needs: tuple[str, str, str] | None = None
    folder: bool = False
    plain: bool = True
    named: bool = False
    parts: bool = False

    def load(self, file: Path, *value: str | None) -> Any:
        """Return what ``read`` returns, or raise one sentence, whatever it raises about a damaged file."""
        read: Any = self.read
        with reading(file, *self.written):
            return read(file, *value)


FORMATS: dict[str, Format] = {
    **dict.fromkeys(SEPARATORS, Format(True)),
    ".parquet": Format(
        True, _read_parquet, ("Parquet", "pandas or polars"), ("pyarrow", "Parquet files", "pyarrow"),
        folder=True, parts=True,
    ),
    ".xlsx": Format(
        True, read_excel, ("an Excel file", "a spreadsheet, or save the sheet as CSV"),
        ("openpyxl", "Excel files", '"tensorm[excel]"'),
    ),
    ".npy": Format(False, _read_npy, ("an array of numbers", "numpy.save")),
    ".npz": Format(False, _read_npz, ("arrays of numbers", "numpy.savez"), named=True),
    ".nc": Format(False, read_netcdf, ("netCDF", "xarray's to_netcdf"), NETCDF, named=True),
    ".zarr": Format(
        False, read_zarr, ("a zarr array", "zarr.save_array or xarray"), ZARR,
        folder=True, plain=False, named=True, parts=True,
    ),
    ".h5ad": Format(
        False, read_h5ad, ("AnnData", "write_h5ad"), ("anndata", "h5ad files", '"tensorm[bio]"')
    ),
}  # fmt: skip
ENDINGS = f"{', '.join(FORMATS)}, or text with .gz"


def find_format(file: Path, table: bool = False) -> Format:
    """Return how a file is read, or raise unless it exists and can be read, if asked to as a table."""
    ending = ending_of(file)
    known = {name: one for name, one in FORMATS.items() if one.table or not table}
    found = known.get(ending, Format(True))
    check_exists(file, found.folder, found.plain)
    if ending not in known:
        raise FileError(f"Unsupported file type: {file}; give {', '.join(known)}, or text with .gz.")
    if found.needs is not None:
        need(*found.needs)
    return found
