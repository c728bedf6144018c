"""Arrays and tables in binary files, as other libraries read them; a new file format is added here."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.text import no_data, unreadable
from tensorm.errors import FileError

NAMES = ("X", "observed")  # what the cells of an .npz file may be called if there are more arrays


def need(name: str, what: str, install: str) -> Any:
    """Import a package that reads a kind of file, or say how to install it."""
    try:
        return __import__(name)
    except ImportError as error:
        raise FileError(f"{what} need {name}; install it with: pip install {install}.") from error


def _read_npy(file: Path) -> Any:
    try:
        return np.load(file, allow_pickle=False, mmap_mode="r")  # read block by block as it is packed
    except (OSError, ValueError, EOFError) as error:
        raise FileError(f"{file} is not an array of numbers; save one with numpy.save.") from error


def _read_npz(file: Path) -> Any:
    try:
        with np.load(file, allow_pickle=False) as arrays:
            names = list(arrays)
            name = names[0] if len(names) == 1 else next((name for name in NAMES if name in names), None)
            if name is not None:
                return arrays[name]
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise FileError(f"{file} holds no arrays of numbers; save them with numpy.savez.") from error
    raise FileError(f"{file} holds {', '.join(names) or 'no array'}; call the one with the cells X.")


def _read_netcdf(file: Path) -> Any:
    need("h5netcdf", "netCDF files", "'tensorm[netcdf]'")
    import xarray

    try:
        dataset = xarray.load_dataset(file, engine="h5netcdf")
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise FileError(f"{file} cannot be read as netCDF; write it with xarray's to_netcdf.") from error
    return _single(file, dataset)


def _single(file: Path, dataset: Any) -> Any:
    if len(dataset.data_vars) != 1:
        raise FileError(f"{file} holds {len(dataset.data_vars)} variables; give a file with one, the cells.")
    return next(iter(dataset.data_vars.values()))


def _read_zarr(file: Path) -> Any:
    zarr = need("zarr", "Zarr arrays", "'zarr>=3'")
    import xarray

    try:
        found = zarr.open(file, mode="r")
        if isinstance(found, zarr.Group) and len(found):
            return _single(file, xarray.load_dataset(file, engine="zarr", consolidated=False))
        return np.asarray(zarr.open_array(file, mode="r"))
    except FileError:
        raise
    except (OSError, ValueError, KeyError, zarr.errors.BaseZarrError) as error:
        raise FileError(f"{file} is not a zarr array; write one with zarr.save_array or xarray.") from error


def _read_h5ad(file: Path) -> Any:
    anndata = need("anndata", "h5ad files", "'tensorm[bio]'")
    try:
        data = anndata.read_h5ad(file)
    except (OSError, ValueError, KeyError) as error:
        raise FileError(f"{file} cannot be read as AnnData; write it with write_h5ad.") from error
    if data.X is None:
        raise FileError(f"{file} has no matrix X; give one that has the cells there.")
    return data


def _read_parquet(file: Path) -> Any:
    import pandas as pd

    need("pyarrow", "Parquet files", "pyarrow")
    try:
        table = pd.read_parquet(file)
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from error
    if not len(table):
        raise no_data(file)
    return table


def _read_excel(file: Path) -> Any:
    """Return the first sheet; its first row has the names of the columns."""
    import pandas as pd

    need("openpyxl", "Excel files", "'tensorm[excel]'")
    try:
        sheet = pd.read_excel(file, header=None, na_values=[""], keep_default_na=False)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise unreadable(file, error) from error
    sheet = sheet.dropna(how="all")
    if len(sheet) < 2:
        raise no_data(file)
    table = sheet.iloc[1:].infer_objects()
    names = ["" if pd.isna(name) else str(name).strip() for name in sheet.iloc[0]]
    return table.set_axis(names, axis=1).reset_index(drop=True)


ARRAYS: dict[str, Callable[[Path], Any]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".nc": _read_netcdf,
    ".zarr": _read_zarr,
    ".h5ad": _read_h5ad,
}
FRAMES: dict[str, Callable[[Path], Any]] = {".parquet": _read_parquet, ".xlsx": _read_excel}
