"""HDF5 files (.nc, .h5ad), checked before they are read: HDF5 follows links out of a file to any other.

External links, external storage and virtual datasets are refused, and soft links with them, since they may
pass through one. Sizes are checked, too: a dataset may claim any shape without storing a cell.
"""

from __future__ import annotations

import math
import mmap
from pathlib import Path
from typing import Any

from tensorm.data.inputs import as_coo, is_sparse
from tensorm.data.memory import check_room
from tensorm.data.opening import load_variable, need, reading
from tensorm.errors import FileError

HEAP = b"GCOL\1\0\0\0"  # begins a block of texts of any length
MOST_CHUNKS = 10**5  # that need not be in the file


def read_netcdf(file: Path, value: str | None) -> Any:
    """Return a variable as an ``xarray.DataArray``."""
    need("h5netcdf", "netCDF files", "'tensorm[netcdf]'")
    with reading(file, "netCDF", "xarray's to_netcdf"):
        _check(file)
        return load_variable(file, value, engine="h5netcdf")


def read_h5ad(file: Path, _: str | None) -> Any:
    """Return an AnnData of the matrix X and what is known of its rows and columns; nothing else is read."""
    anndata = need("anndata", "h5ad files", "'tensorm[bio]'")
    import h5py
    from anndata.io import read_elem

    with reading(file, "AnnData", "write_h5ad"):
        _check(file)
        with h5py.File(file, "r") as store:
            X, obs, var = (read_elem(store[name]) if name in store else None for name in ("X", "obs", "var"))
        if X is None:
            raise FileError(f"{file} has no matrix X; give one that has the cells there.")
        return anndata.AnnData(as_coo(str(file), X).tocsr() if is_sparse(X) else X, obs, var)


def _check(file: Path) -> None:
    """Raise if a file leads out of itself, or holds more than fits in memory."""
    import h5py

    _check_heaps(file)
    with h5py.File(file, "r") as root:
        groups, seen, size = [root], {h5py.h5o.get_info(root.id).addr}, 0
        while groups:
            group = groups.pop()
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise _refusal(file, f"{name[:40]!r} is a link to another place")
                item = group[name]
                address = h5py.h5o.get_info(item.id).addr
                if isinstance(item, h5py.Group):
                    if address in seen:
                        raise _refusal(file, f"the group {name[:40]!r} lies inside itself")
                    groups.append(item)
                elif isinstance(item, h5py.Dataset) and address not in seen:
                    size += _check_dataset(file, item)
                seen.add(address)
    check_room(file, size)


def _check_heaps(file: Path) -> None:
    """Raise if a list of texts does not lead on from one to the next: HDF5 would follow it for ever."""
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content.find(HEAP)
        while start >= 0:
            at, stop = start + 16, start + int.from_bytes(content[start + 8 : start + 16], "little")
            while at + 16 <= min(stop, len(content)):
                index = int.from_bytes(content[at : at + 2], "little")
                size = int.from_bytes(content[at + 8 : at + 16], "little")
                step = 16 + -(-size // 8) * 8 if index else size
                if step < 16:
                    raise _refusal(file, "it is damaged")
                at += step
            start = content.find(HEAP, start + 8)


def _check_dataset(file: Path, item: Any) -> int:
    """Return how many bytes the cells of a dataset take, or raise if they are in other files."""
    if item.is_virtual or item.external:
        raise _refusal(file, f"the cells of {item.name[:40]!r} are in other files")
    shape = item.shape or ()
    chunks = math.prod(-(-n // c) for n, c in zip(shape, item.chunks or shape, strict=True) if c)
    if chunks > MOST_CHUNKS + file.stat().st_size:
        raise _refusal(file, f"{item.name[:40]!r} says that it has {chunks:,} chunks")
    return int(math.prod(shape) * item.dtype.itemsize)


def _refusal(file: Path, problem: str) -> FileError:
    return FileError(f"{file} cannot be read: {problem}; write it as one whole file.")
