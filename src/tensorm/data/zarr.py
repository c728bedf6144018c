"""Zarr arrays, checked before a chunk is read: some codecs run code, and any shape can be claimed."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.checks import short
from tensorm.data.memory import check_room
from tensorm.data.opening import list_names, load_variable, need, reading, weigh_folder
from tensorm.errors import FileError, InputError

TEXTS = "vlen-utf8"
CODECS = {
    "bytes", "endian", "transpose", "sharding_indexed", "crc32c", "crc32", "adler32", "blosc", "gzip", "zstd",
    "zlib", "lz4", "bz2", "lzma", "shuffle", "delta", "fixedscaleoffset", "packbits", "bitround", TEXTS,
}  # fmt: skip
KINDS = "biufUSMmT"
MOST_CHUNKS = 10**4  # that need not be in the store


def read_zarr(path: Path, value: str | None) -> Any:
    """Return the array of a store, or one variable of a group as an ``xarray.DataArray``."""
    zarr = need("zarr", "Zarr arrays", "'zarr>=3'")
    with reading(path, "a zarr array", "zarr.save_array or xarray"):
        if not any((path / name).exists() for name in (".zarray", "zarr.json")) or _is_group(path):
            group = zarr.open_group(path, mode="r", use_consolidated=False)
            arrays = dict(group.arrays())
            if not arrays:
                raise FileError(f"{path} cannot be read as a zarr array: it holds none; give another store.")
            for array in arrays.values():
                _check(path, array, *weigh_folder(path))
                check_room(path, array.nbytes)
            return load_variable(path, value, engine="zarr", consolidated=False)
        if value is not None:
            raise FileError(f"{path} is one array, so value cannot be used; leave it out.")
        return read_slices(path)


def read_slices(path: Any, start: int | None = None, stop: int | None = None) -> Any:
    """Return some slices of mode 0 of an array."""
    array = open_array(path)
    with reading(path, "a zarr array", "zarr.save_array"):
        if not array.ndim:
            return np.asarray(array[...])
        rows = range(array.shape[0])[start:stop]
        check_room(path, len(rows) * array.nbytes // max(1, array.shape[0]))
        return np.asarray(array[rows.start : rows.stop])


def open_array(path: Any) -> Any:
    """Return an array that can be read safely, from a folder or an address."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path is {short(path)}; give a folder or an address.")
    zarr = need("zarr", "Zarr arrays", "'zarr>=3'")
    with reading(path, "a zarr array", "zarr.save_array"):
        local = "://" not in str(path)
        limits = weigh_folder(Path(path)) if local else (math.inf, math.inf)
        array = zarr.open_array(path, mode="r")
        _check(path, array, *limits)
        return array


def _is_group(path: Path) -> bool:
    file = path / "zarr.json"
    return file.exists() and json.loads(file.read_bytes()).get("node_type") == "group"


def _check(path: Any, array: Any, n_files: float, n_bytes: float) -> None:
    """Raise if an array needs a codec that may run code, or asks for far more than is stored."""
    said = array.metadata.to_dict()
    given = [*(said.get("codecs") or said.get("filters") or ()), *filter(None, [said.get("compressor")])]
    names = list(_names(given))
    strange = [name for name in names if name not in CODECS]
    if strange or said.get("storage_transformers"):
        raise FileError(f"{path} uses {list_names(strange, 'codecs')} that tensorm does not trust; use zstd.")
    if array.dtype.kind not in KINDS and not (array.dtype.kind == "O" and TEXTS in names):
        raise FileError(f"{path} holds objects of dtype {array.dtype}; give numbers, and text for labels.")
    outer = array.shards or array.chunks
    _check_chunks(path, array.shape, outer, MOST_CHUNKS + 100 * n_files)
    _check_chunks(path, array.shape, array.chunks, MOST_CHUNKS + n_bytes if array.shards else math.inf)
    check_room(path, math.prod(outer) * array.dtype.itemsize)
    check_room(path, 16 * math.prod(-(-n // c) for n, c in zip(outer, array.chunks, strict=True)))


def _check_chunks(path: Any, shape: Sequence[int], chunks: Sequence[int], most: float) -> None:
    count = math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True))
    if count > most:
        problem = f"it says that it has {count:,} chunks, far more than it stores"
        raise FileError(f"{path} cannot be read: {problem}; use larger chunks.")


def _names(codecs: Any) -> Iterator[str]:
    """Yield the names of codecs, and of those inside a shard."""
    for codec in codecs:
        said = codec if isinstance(codec, dict) else getattr(codec, "get_config", codec.to_dict)()
        yield str(said.get("id") or said.get("name")).removeprefix("numcodecs.")
        inner = said.get("configuration") or {}
        yield from _names([*inner.get("codecs", ()), *inner.get("index_codecs", ())])
