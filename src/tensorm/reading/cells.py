"""One door for all files: which reader a file goes to, and what its user may say about it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.coordinates.files import kind_of
from tensorm.data.coordinates.listing import NOTHING, Place, read_values
from tensorm.errors import FileError, InputError
from tensorm.reading.events import read_events
from tensorm.reading.tables import TABLES, read_any_table, refuse_sheet

ARRAYS = (".npy", ".npz", ".nc", ".zarr", ".h5ad")
NAMES = ("X", "observed")  # what the cells of an .npz file may be called if there are more arrays


class Wanted(NamedTuple):
    """What a user says of a file of cells.

    Attributes
    ----------
    modes : sequence of str, optional
        For a table the columns that hold the modes; for an array the names of its modes.
    value : str, optional
        The column with the cells' values, 0 or 1; without one every row of the table is a 1.
    unlisted : "zero" or "missing"
        What cells are that no row of the table names.
    time : str, optional
        A column with times, to be cut into bins.
    bins : str
        "clock" for the hours of the day, a length such as "1h", "30min" or "1d", or a number of equal bins.
    origin : str, optional
        When times that are seconds start, such as "2010-12-06 13:00".
    pair : pair of str, optional
        Two modes that stand for the same things, such as people.
    undirected : bool
        Whether the pair has no direction: a row then says the same of both orders.
    wide : bool
        Whether a table has a row for each index of one mode and a column for each of the other.
    relational : bool
        Whether it holds numbers to be compared with each other, as ``RelationalTensor`` does.
    """

    modes: Sequence[str] | None = None
    value: str | None = None
    unlisted: str = "zero"
    time: str | None = None
    bins: str = "clock"
    origin: str | None = None
    pair: tuple[str, str] | None = None
    undirected: bool = False
    wide: bool = False
    relational: bool = False


def read_cells(path: str | os.PathLike[str], wanted: Wanted | None = None) -> Any:
    """Read the cells of a file as something that ``fit`` takes.

    Parameters
    ----------
    path : path
        A table (.csv, .tsv, .txt, .tns, also .gz; .parquet) or an array (.npy, .npz, .nc, .zarr, .h5ad).
    wanted : Wanted, optional
        What is known of it.

    Raises
    ------
    FileError, InputError
        When the file cannot be read, or does not hold what was said.
    """
    wanted = Wanted() if wanted is None else wanted
    file, kind = Path(path), kind_of(path)
    if not file.exists():
        raise FileError(f"{file} is not there; give the path of a file.")
    refuse_sheet(file)
    if kind in ARRAYS:
        for name in ("value", "time", "pair", "wide"):
            if getattr(wanted, name):
                raise InputError(f"{file} is an array, so there is no {name} in it; give a table instead.")
        return _name_modes(READERS[kind](file), wanted.modes)
    if kind not in TABLES:
        raise FileError(
            f"{file} is of no known kind; give {', '.join((*TABLES, *ARRAYS))}, or .gz of a text."
        )
    if wanted.wide or wanted.relational:
        for name in ("value", "time", "pair"):
            if getattr(wanted, name):
                raise InputError(f"{file} is wide, so there is no {name} in it; leave that out.")
        return _read_wide(file, wanted.modes, _read_number if wanted.relational else _read_bit)
    return read_events(file, wanted)


def metadata_of(cells: Any) -> dict[str, dict[str, Any]]:
    """Return what an xarray array knows of its modes' indices beside their labels, as metadata."""
    known: dict[str, dict[str, Any]] = {}
    for name, coordinate in getattr(cells, "coords", {}).items():
        if len(coordinate.dims) == 1 and name not in coordinate.dims:
            (mode,) = coordinate.dims
            labels = cells[mode].values.astype(str).tolist()
            twice = next((label for label, times in Counter(labels).items() if times > 1), None)
            if twice is not None:
                raise InputError(f"{mode} has the label {twice!r} twice; give each of its indices its own.")
            known.setdefault(str(mode), {str(mode): labels})[str(name)] = coordinate.values.tolist()
    return known


def _read_wide(file: Path, modes: Sequence[str] | None, read: Callable[[Any, Place], Any]) -> Any:
    """Return a table whose first column has the labels of its rows, its other columns read one by one."""
    table, place = read_any_table(file)
    if len(table.columns) < 2:
        raise InputError(f"{file} has one column; give a column of labels and one for each index.")
    first = table.iloc[:, 0]
    if first.isna().any():
        raise InputError(f"{place(int(first.isna().argmax()))} has no label in its first column; give one.")
    labels = first.astype(str)
    twice = labels.duplicated()
    if twice.any():
        row = int(twice.argmax())
        raise InputError(f"{place(row)} has the label {labels[row]!r}, which was there; give each once.")
    names = ("row", "column") if modes is None else tuple(modes)
    if len(names) != 2:
        raise InputError(
            f"modes is {', '.join(names)}, but a wide table has two; name the rows and the columns."
        )
    cells = table.iloc[:, 1:].assign(**{name: read(table[name], place) for name in table.columns[1:]})
    return cells.set_axis(labels).rename_axis(index=names[0], columns=names[1])


def _read_bit(column: Any, place: Place) -> Any:
    """Return a column of 0, 1 and nothing."""
    import narwhals

    values = read_values(narwhals.from_native(column, series_only=True), place)
    odd = ~(np.isin(values, [0, 1]) | np.isnan(values))
    if odd.any():
        row = int(odd.argmax())
        raise InputError(
            f"column {column.name!r} holds {values[row]:.10g} in {place(row)}; give 0, 1, or nothing."
        )
    return values


def _read_number(column: Any, place: Place) -> Any:
    """Return a column of numbers and nothing."""
    import pandas as pd

    values = pd.to_numeric(column.mask(column.astype("str").str.lower().isin(NOTHING)), errors="coerce")
    odd = (values.isna() & column.notna() & ~column.astype("str").str.lower().isin(NOTHING)).to_numpy()
    if odd.any():
        row = int(odd.argmax())
        raise InputError(
            f"column {column.name!r} holds {column.iloc[row]!r} in {place(row)}; give a number, or nothing."
        )
    return values


def _read_npy(file: Path) -> Any:
    try:
        return np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FileError(f"{file} is no array of numbers; save one by numpy.save.") from error


def _read_npz(file: Path) -> Any:
    import zipfile

    try:
        with np.load(file, allow_pickle=False) as arrays:
            names = list(arrays)
            name = names[0] if len(names) == 1 else next((name for name in NAMES if name in names), None)
            if name is not None:
                return arrays[name]
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise FileError(f"{file} holds no arrays of numbers; save them by numpy.savez.") from error
    raise FileError(f"{file} holds {', '.join(names) or 'no array'}; call the one with the cells X.")


def _read_netcdf(file: Path) -> Any:
    import xarray

    if find_spec("h5netcdf") is None:
        raise InputError(f"{file} needs h5netcdf; install it with: pip install 'tensorm[netcdf]'.")
    try:
        dataset = xarray.load_dataset(file, engine="h5netcdf")
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise FileError(f"{file} cannot be read as netCDF; write it by xarray's to_netcdf.") from error
    return _single(file, dataset)


def _single(file: Path, dataset: Any) -> Any:
    if len(dataset.data_vars) != 1:
        raise FileError(f"{file} holds {len(dataset.data_vars)} variables; give a file with one, the cells.")
    return next(iter(dataset.data_vars.values()))


def _read_zarr(file: Path) -> Any:
    try:
        import zarr
    except ImportError as error:
        raise FileError(f"{file} needs zarr to be read; get it by: pip install 'zarr>=3'.") from error
    import xarray

    try:
        found = zarr.open(file, mode="r")
        if isinstance(found, zarr.Group) and len(found):
            return _single(file, xarray.load_dataset(file, engine="zarr", consolidated=False))
        return np.asarray(zarr.open_array(file, mode="r"))
    except FileError:
        raise
    except (OSError, ValueError, KeyError, zarr.errors.BaseZarrError) as error:
        raise FileError(f"{file} is no zarr array; write one by zarr.save_array or xarray.") from error


def _read_anndata(file: Path) -> Any:
    import xarray

    try:
        import anndata
    except ImportError as error:
        raise FileError(f"{file} needs anndata to be read; get it by: pip install 'tensorm[bio]'.") from error
    try:
        data = anndata.read_h5ad(file)
    except (OSError, ValueError, KeyError) as error:
        raise FileError(f"{file} cannot be read as AnnData; write it by write_h5ad.") from error
    if data.X is None:
        raise FileError(f"{file} has no matrix X; give one that has the cells there.")
    matrix = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    coords: dict[str, Any] = {
        "observation": data.obs_names.to_numpy(str),
        "variable": data.var_names.to_numpy(str),
    }
    for mode, table in (("observation", data.obs), ("variable", data.var)):
        for name, column in table.items():
            known = column.astype(object).where(column.notna(), None).to_numpy()
            coords[f"{mode} {name}" if name in coords else str(name)] = (mode, known)
    return xarray.DataArray(matrix, dims=("observation", "variable"), coords=coords)


READERS: dict[str, Callable[[Path], Any]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".nc": _read_netcdf,
    ".zarr": _read_zarr,
    ".h5ad": _read_anndata,
}


def _name_modes(cells: Any, modes: Sequence[str] | None) -> Any:
    """Return the cells with names for their modes."""
    import xarray

    if modes is None:
        return cells
    if len(modes) != cells.ndim or len(set(modes)) != len(modes):
        raise InputError(
            f"modes is {', '.join(modes)}; give {cells.ndim} different names, one for each mode."
        )
    if isinstance(cells, xarray.DataArray):
        taken = [name for name in cells.coords if name in modes and name not in cells.dims]
        cells = cells.rename({name: f"{cells[name].dims[0]} {name}" for name in taken})
        return cells.rename(dict(zip(cells.dims, modes, strict=True)))
    return xarray.DataArray(cells, dims=tuple(modes))
