"""HDF5 files (.nc, .h5ad), checked before they are read: HDF5 follows links out of a file to any other.

External links, external storage and virtual datasets are refused, and soft links with them, since they may
pass through one. Sizes are checked, too: a dataset may claim any shape without storing a cell, a chunk may
unpack to far more than it should hold, and a text may claim any length, for which HDF5 takes memory before
it looks for the text. So texts are read once with a limit on memory.
"""

from __future__ import annotations

import math
import mmap
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.inputs import as_coo, is_sparse
from tensorm.data.memory import at_most, check_room
from tensorm.data.opening import check_chunk, load_variable, weigh_decoded
from tensorm.errors import FileError

NETCDF = "h5netcdf", "netCDF files", '"tensorm[netcdf]"'  # what reads them
HEAP = b"GCOL\1\0\0\0"  # begins a block of texts of any length
LARGEST_TEXTS = 2**26  # bytes that are read to find out how long texts are
FREE_TEXT_MEMORY, TEXT_GROWTH = 2**26, 6  # bytes that texts may take, and more for each byte of the file
ABSENT_HDF5_CHUNKS = 10**5  # that need not be in the file
GZIP, SHUFFLE, FLETCHER32, LZF = 1, 2, 3, 32000  # what HDF5 calls filters that are trusted
ANNDATA_PARTS = ("X", "obs", "var")  # what is read of an AnnData


def read_netcdf(file: Path, value: str | None) -> Any:
    """Return a variable as an ``xarray.DataArray``."""
    _check_file(file)
    return load_variable(file, value, engine="h5netcdf")


def read_h5ad(file: Path, _: str | None) -> Any:
    """Return an AnnData of the matrix X and what is known of its rows and columns; nothing else is read."""
    import anndata
    import h5py
    from anndata.io import read_elem

    _check_file(file, ANNDATA_PARTS)
    with h5py.File(file, "r") as store:
        if any(isinstance(store.get(name), h5py.Dataset) for name in ("obs", "var")):
            remedy = "open it with anndata and save it again with write_h5ad"
            raise FileError(f"{file} was written by anndata before version 0.7; {remedy}.")
        if "X" in store:  # of a sparse matrix anndata believes the sizes that it claims
            check_room(file, 16 * sum(map(int, store["X"].attrs.get("shape", ()))))
        X, obs, var = (read_elem(store[name]) if name in store else None for name in ANNDATA_PARTS)
    if X is None:
        raise FileError(f"{file} has no matrix X; give a file with the cells in X.")
    return anndata.AnnData(as_coo(str(file), X).tocsr() if is_sparse(X) else X, obs, var)


def _check_file(file: Path, parts: Sequence[str] = ()) -> None:
    """Raise if what is read of a file leads out of it, or is more than fits in memory."""
    import h5py

    longest = _check_heaps(file)
    with h5py.File(file, "r") as root:
        groups, seen, size = [root], {h5py.h5o.get_info(root.id).addr}, 0
        _check_attributes(file, root, longest)
        while groups:
            group = groups.pop()
            for name in [name for name in group if group != root or not parts or name in parts]:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise _refusal(file, f"{name[:40]!r} is a link to another place")
                item = group[name]
                _check_attributes(file, item, longest)
                address = h5py.h5o.get_info(item.id).addr
                if isinstance(item, h5py.Group):
                    if address in seen:
                        raise _refusal(file, f"the group {name[:40]!r} contains itself")
                    groups.append(item)
                elif isinstance(item, h5py.Dataset) and address not in seen:
                    size += _check_dataset(file, item, longest)
                seen.add(address)
    check_room(file, size)


def _check_heaps(file: Path) -> int:
    """Return the size of the longest text, or raise if one leads nowhere: HDF5 would follow it for ever."""
    longest = 0
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
                longest = max(longest, size if index else 0)
            start = content.find(HEAP, start + 8)
    return longest


def _check_dataset(file: Path, item: Any, longest: int) -> int:
    """Return how many bytes the cells of a dataset take, or raise if they are in other files."""
    import h5py

    if item.is_virtual or item.external:
        raise _refusal(file, f"the cells of {item.name[:40]!r} are in other files")
    shape = item.shape or ()
    chunks = math.prod(-(-n // c) for n, c in zip(shape, item.chunks or shape, strict=True) if c)
    if chunks > ABSENT_HDF5_CHUNKS + file.stat().st_size:
        raise _refusal(file, f"{item.name[:40]!r} claims to have {chunks:,} chunks")
    size = math.prod(shape) * weigh_decoded(item.dtype.itemsize, item.attrs)
    check_room(file, size)
    check_chunk(file, math.prod(item.chunks or ()) * item.dtype.itemsize, size)
    _check_unpacked(file, item)
    if item.dtype.hasobject:
        if h5py.check_string_dtype(item.dtype) is None:  # HDF5 may crash where the lengths of lists are false
            raise _refusal(file, f"{item.name[:40]!r} contains lists, or references to other places")
        with at_most(FREE_TEXT_MEMORY + TEXT_GROWTH * file.stat().st_size):
            if math.prod(shape) * longest > LARGEST_TEXTS:
                _check_texts(file, item, max(1, LARGEST_TEXTS // max(1, longest)))
            item[()]
    return size


def _check_unpacked(file: Path, item: Any) -> None:
    """Raise if a chunk unpacks to more than its size: HDF5 would take all memory for it."""
    settings, stored = item.id.get_create_plist(), list[Any]()
    filters = [settings.get_filter(n)[0] for n in range(settings.get_nfilters())]
    packers = [n for n, kind in enumerate(filters) if kind in (GZIP, LZF)]
    if len(packers) > 1 or not {*filters} <= {GZIP, SHUFFLE, FLETCHER32, LZF}:
        raise _refusal(file, f"{item.name[:40]!r} is compressed with filters other than gzip or lzf")
    if packers:
        item.id.chunk_iter(stored.append)
    most = math.prod(item.chunks or ()) * item.dtype.itemsize * 2  # a text takes twice as much as a pointer
    for chunk in (chunk for chunk in stored if not chunk.filter_mask >> packers[0] & 1):
        if chunk.size > file.stat().st_size:
            raise _refusal(file, "it is damaged")
        _, packed = item.id.read_direct_chunk(chunk.chunk_offset)
        if filters[packers[0]] == GZIP:
            size = len(zlib.decompressobj().decompress(packed, most + 1))
        else:
            size = _weigh_lzf(packed, most)
        if size > most:
            raise _refusal(file, f"a chunk of {item.name[:40]!r} unpacks to more than its size")


def _weigh_lzf(packed: bytes, most: int) -> int:
    """Return how many bytes a chunk unpacks to, at least if they are not more than ``most``."""
    at = size = 0
    while at < len(packed) and size <= most:
        mark = packed[at]
        if mark < 32:  # so many bytes and one more, as they are
            at, size = at + mark + 2, size + mark + 1
        else:  # bytes from before, as many as three bits say, or another byte
            long = mark >= 224
            size += (mark >> 5) + 2 + (packed[at + 1] if long else 0)
            at += 2 + long
    return size


def _check_attributes(file: Path, item: Any, longest: int) -> None:
    """Raise if an attribute is larger than the file: its texts, too, may all be the same one."""
    import h5py

    for n in range(h5py.h5a.get_num_attrs(item.id)):
        about = h5py.h5a.open(item.id, index=n)
        each = longest if about.dtype.hasobject else about.dtype.itemsize
        if about.get_space().get_simple_extent_npoints() * each > max(LARGEST_TEXTS, file.stat().st_size):
            raise _refusal(file, f"an attribute of {item.name[:40]!r} is larger than the file")
        text, listed = h5py.check_string_dtype(about.dtype), h5py.check_vlen_dtype(about.dtype)
        if text is None and listed is not None and h5py.check_ref_dtype(listed) is None:  # netCDF has these
            raise _refusal(file, f"an attribute of {item.name[:40]!r} contains lists")
        if about.dtype.hasobject and about.shape is not None:
            with at_most(FREE_TEXT_MEMORY + TEXT_GROWTH * file.stat().st_size):
                about.read(np.empty(about.shape, about.dtype))


def _check_texts(file: Path, item: Any, at_once: int) -> None:
    """Raise if the texts of a dataset are larger than the file: many elements may point to the same one."""
    size = 0
    if item.ndim != 1 or item.dtype.kind != "O":
        raise _refusal(file, f"{item.name[:40]!r} has long strings that are not a plain list")
    for start in range(0, len(item), at_once):
        size += sum(map(len, item[start : start + at_once]))
        if size > file.stat().st_size:
            raise _refusal(file, f"{item.name[:40]!r} repeats a long string")


def _refusal(file: Path, problem: str) -> FileError:
    return FileError(f"{file} cannot be read: {problem}; save it as one plain file.")
