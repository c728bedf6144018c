"""Arrays and tables in binary files, as other libraries read them; a new binary format is added here.

A reader in ARRAYS returns what ``observe`` takes (an array, an xarray object, an AnnData, a sparse matrix);
one in FRAMES returns a table that narwhals knows. Formats of text are in text.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.text import no_data
from tensorm.errors import FileError

NAMES = ("X", "observed")  # what the cells of an .npz file may be called if there are more arrays


def need(name: str, what: str, install: str) -> Any:
    """Import a package that reads a kind of file, or say how to install it."""
    try:
        return __import__(name)
    except ImportError as error:
        raise FileError(f"{what} need {name}; install it with: pip install {install}.") from error


@contextmanager
def _reading(file: Path, what: str, writer: str) -> Iterator[None]:
    """Turn whatever a library raises when it reads a damaged file into one sentence."""
    try:
        yield
    except (FileError, MemoryError):
        raise
    except Exception as error:
        raise FileError(f"{file} cannot be read as {what}; write it with {writer}.") from error


def _read_npy(file: Path) -> Any:
    with _reading(file, "an array of numbers", "numpy.save"):
        return np.load(file, allow_pickle=False, mmap_mode="r")  # read block by block as it is packed


def _read_npz(file: Path) -> Any:
    with _reading(file, "arrays of numbers", "numpy.savez"), np.load(file, allow_pickle=False) as arrays:
        names = list(arrays)
        name = names[0] if len(names) == 1 else next((name for name in NAMES if name in names), None)
        if name is None:
            raise FileError(f"{file} holds {', '.join(names) or 'no array'}; name the array of cells X.")
        return arrays[name]


def _read_netcdf(file: Path) -> Any:
    need("h5netcdf", "netCDF files", "'tensorm[netcdf]'")
    with _reading(file, "netCDF", "xarray's to_netcdf"):
        return _read_variable(file, engine="h5netcdf")


def _read_variable(file: Path, **how: Any) -> Any:
    import xarray

    dataset = xarray.load_dataset(file, **how)
    if len(dataset.data_vars) != 1:
        raise FileError(f"{file} holds {len(dataset.data_vars)} variables; give a file with one, the cells.")
    return next(iter(dataset.data_vars.values()))


def _read_zarr(file: Path) -> Any:
    zarr = need("zarr", "Zarr arrays", "'zarr>=3'")
    with _reading(file, "a zarr array", "zarr.save_array or xarray"):
        found = zarr.open(file, mode="r")
        if isinstance(found, zarr.Group) and len(found):
            return _read_variable(file, engine="zarr", consolidated=False)
        return np.asarray(zarr.open_array(file, mode="r"))


def _read_h5ad(file: Path) -> Any:
    anndata = need("anndata", "h5ad files", "'tensorm[bio]'")
    with _reading(file, "AnnData", "write_h5ad"):
        data = anndata.read_h5ad(file)
    if data.X is None:
        raise FileError(f"{file} has no matrix X; give one that has the cells there.")
    return data


def _read_parquet(file: Path) -> Any:
    import pandas as pd

    need("pyarrow", "Parquet files", "pyarrow")
    with _reading(file, "Parquet", "pandas or polars"):
        return pd.read_parquet(file)


def _read_excel(file: Path) -> Any:
    """Return the first sheet; its first row has the names of the columns."""
    import pandas as pd

    need("openpyxl", "Excel files", "'tensorm[excel]'")
    with _reading(file, "an Excel file", "a spreadsheet, or save the sheet as CSV"):
        sheet = pd.read_excel(file, header=None, na_values=[""], keep_default_na=False).dropna(how="all")
    if len(sheet) < 2:
        raise no_data(file)
    names = ["" if pd.isna(name) else str(name).strip() for name in sheet.iloc[0]]
    return sheet.iloc[1:].infer_objects().set_axis(names, axis=1).reset_index(drop=True)


ARRAYS: dict[str, Callable[[Path], Any]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".nc": _read_netcdf,
    ".zarr": _read_zarr,
    ".h5ad": _read_h5ad,
}
FRAMES: dict[str, Callable[[Path], Any]] = {".parquet": _read_parquet, ".xlsx": _read_excel}
