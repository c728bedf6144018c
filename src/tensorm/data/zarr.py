"""Zarr arrays, checked before a chunk is read: some codecs run code, and any shape can be claimed."""

from __future__ import annotations

import gzip
import json
import math
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensorm.data.checks import short
from tensorm.data.memory import check_room
from tensorm.data.opening import (
    MAX_EXPANSION,
    check_chunk,
    list_names,
    load_variable,
    need,
    reading,
    weigh_decoded,
    weigh_folder,
)
from tensorm.errors import FileError, InputError

ZARR = "zarr", "Zarr arrays", "'zarr>=3'"  # what reads them
TEXT_CODEC, CRC32C = "vlen-utf8", "crc32c"
CODECS = {
    "bytes", "endian", "transpose", "sharding_indexed", CRC32C, "blosc", "gzip", "zstd", "zlib", "lz4",
    "shuffle", "packbits", "bitround", TEXT_CODEC,
}  # fmt: skip
PLAIN_DTYPES = "biufUSMmT"  # kinds of types that contain no objects
PACKERS = {"blosc", "gzip", "lz4", "zlib", "zstd"}  # codecs whose output may be far larger than a chunk
METADATA_FILES = {".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json"}
FRAME = b"\x28\xb5\x2f\xfd"  # begins what zstd has packed
SHARD_INDEX_CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": CRC32C}]
ABSENT_ZARR_CHUNKS = 10**4  # that need not be in the store
FREE_TEXT_BYTES = 2**26  # that the texts of a chunk may have whatever its size


def read_zarr(path: Path, value: str | None) -> Any:
    """Return the array of a store, or one variable of a group as an ``xarray.DataArray``."""
    import zarr

    if not any((path / name).exists() for name in (".zarray", "zarr.json")) or _is_group(path):
        group = zarr.open_group(path, mode="r", use_consolidated=False)
        arrays = dict(group.arrays())
        if not arrays:
            raise FileError(f"{path} cannot be read as a zarr array: it contains none; give another store.")
        for array in arrays.values():
            _check_array(path, array, *weigh_folder(path))
            check_room(path, array.size * weigh_decoded(array.dtype.itemsize, array.attrs))
            _check_unpacked(path / array.path, array)
        return load_variable(path, value, engine="zarr", consolidated=False)
    if value is not None:
        raise FileError(f"{path} is one array, so value=... cannot be used; leave it out.")
    return read_slices(path)


def read_slices(path: Any, start: int | None = None, stop: int | None = None) -> Any:
    """Return some slices of mode 0 of an array."""
    with reading(path, "a zarr array", "zarr.save_array"):
        array = _open(path, start is None)  # a part is of an array that was opened before
        if not array.ndim:
            return np.asarray(array[...])
        rows = range(array.shape[0])[start:stop]
        check_room(path, len(rows) * array.nbytes // max(1, array.shape[0]))
        return np.asarray(array[rows.start : rows.stop])


def open_array(path: Any) -> Any:
    """Return an array that can be read safely, from a folder or an address."""
    with reading(path, "a zarr array", "zarr.save_array"):
        return _open(path, True)


def _open(path: Any, whole: bool) -> Any:
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path is {short(path)}; give a folder or an address.")
    zarr, local = need(*ZARR), "://" not in str(path)
    limits = weigh_folder(Path(path)) if local else (math.inf, math.inf)
    array = zarr.open_array(path, mode="r")
    _check_array(path, array, *limits)
    if whole and local:
        _check_unpacked(Path(path), array)
    return array


def _check_unpacked(path: Path, array: Any) -> None:
    """Raise if a chunk unpacks to more than the array can hold: kilobytes of zstd may be gigabytes."""
    names, texts = {*_list_codecs(array)}, array.dtype.kind in "OT"
    holds = 2**16 + math.prod(array.chunks) * max(8, array.dtype.itemsize)  # filters may widen numbers
    for file in (file for file in path.rglob("*") if file.is_file() and file.name not in METADATA_FILES):
        most = max(FREE_TEXT_BYTES, MAX_EXPANSION * file.stat().st_size) if texts else holds
        large = any(size > most for size in _list_sizes(file, names, most, array))
        if large or (texts and _count_texts(file, names) > math.prod(array.chunks)):
            problem = "a chunk unpacks to more than the size of its array"
            raise FileError(f"{path} cannot be read: {problem}; write it again, with zstd.")


def _count_texts(file: Path, names: set[str]) -> int:
    """Return how many texts a chunk says that it holds: room for all of them is made at once."""
    import numcodecs

    content = file.read_bytes()
    for name in names & PACKERS:
        content = bytes(numcodecs.get_codec({"id": name}).decode(content))
    return int.from_bytes(content[:4], "little")


def _list_sizes(file: Path, names: set[str], most: int, array: Any) -> Iterator[int]:
    """Yield the sizes of what is packed in a file, as far as that can be more than is stored."""
    with file.open("rb") as opened:
        content = opened.read(-1 if names & {"zstd", "zlib"} else 8)
    for name, at in (("lz4", 0), ("blosc", 4)):
        if name in names:
            yield int.from_bytes(content[at : at + 4], "little")
    if "zstd" in names:
        yield from map(_weigh_zstd, _split_shard(content, array) if array.shards else [content])
    if "gzip" in names:
        with gzip.open(file) as packed:
            yield len(packed.read(most + 1))
    if "zlib" in names:
        yield len(zlib.decompressobj().decompress(content, most + 1))


def _split_shard(content: bytes, array: Any) -> Iterator[bytes]:
    """Yield the chunks of a shard by its index, which is at the end."""
    count = math.prod(n // c for n, c in zip(array.shards, array.chunks, strict=True))
    for start, size in np.frombuffer(content[-16 * count - 4 : -4], "<u8").reshape(count, 2).tolist():
        if start < len(content):
            yield content[start : start + size]


def _weigh_zstd(content: bytes) -> int:
    """Return how many bytes zstd says that it holds; if that is not all, as many as there can be."""
    if content[:4] != FRAME:
        return 2**64
    kind, single, digest = content[4] >> 6, content[4] >> 5 & 1, content[4] >> 2 & 1
    start = 6 - single + (0, 1, 2, 4)[content[4] & 3]
    at = start + (width := (single, 2, 4, 8)[kind])
    last = False
    while not last:
        head = int.from_bytes(content[at : at + 3], "little")
        last, repeated = not at + 3 < len(content) or bool(head & 1), head >> 1 & 3 == 1
        at += 3 + (1 if repeated else head >> 3)
    if not width or len(content) - at - 4 * digest not in (0, 4):  # a checksum of zarr may follow
        return 2**64
    return int.from_bytes(content[start : start + width], "little") + 256 * (kind == 1)


def _is_group(path: Path) -> bool:
    file = path / "zarr.json"
    return file.exists() and json.loads(file.read_bytes()).get("node_type") == "group"


def _check_array(path: Any, array: Any, n_files: float, n_bytes: float) -> None:
    """Raise if an array needs a codec that may run code, or asks for far more than is stored."""
    names = _list_codecs(array)
    strange = [name for name in names if name not in CODECS]
    if array.shards:  # in which only chunks of zstd are looked for
        strange += [name for name in names if name == TEXT_CODEC or name in PACKERS - {"zstd"}]
        (about,) = (codec["configuration"] for codec in array.metadata.to_dict()["codecs"])
        if [*about["index_codecs"]] != SHARD_INDEX_CODECS or about["index_location"] != "end":
            strange += ["sharding_indexed"]
        names = list(_name_codecs(about["codecs"]))
    packed = next((n for n, name in enumerate(names) if name in PACKERS), len(names))
    strange += [name for name in names[packed + 1 :] if name != CRC32C]  # what is inside cannot be weighed
    if strange or array.metadata.to_dict().get("storage_transformers"):
        raise FileError(f"{path} uses {list_names(strange, 'codecs')} that tensorm does not trust; use zstd.")
    if array.dtype.kind not in PLAIN_DTYPES and not (array.dtype.kind == "O" and TEXT_CODEC in names):
        raise FileError(f"{path} contains objects of dtype {array.dtype}; give numbers, and text for labels.")
    outer = array.shards or array.chunks
    _check_chunks(path, array.shape, outer, ABSENT_ZARR_CHUNKS + 100 * n_files)
    _check_chunks(path, array.shape, array.chunks, ABSENT_ZARR_CHUNKS + n_bytes if array.shards else math.inf)
    check_room(path, math.prod(outer) * array.dtype.itemsize)
    check_chunk(path, math.prod(outer) * array.dtype.itemsize, array.nbytes)
    check_room(path, 16 * math.prod(-(-n // c) for n, c in zip(outer, array.chunks, strict=True)))


def _check_chunks(path: Any, shape: Sequence[int], chunks: Sequence[int], most: float) -> None:
    count = math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True))
    if count > most:
        problem = f"it claims to have {count:,} chunks, far more than it stores"
        raise FileError(f"{path} cannot be read: {problem}; use larger chunks.")


def _list_codecs(array: Any) -> list[str]:
    said = array.metadata.to_dict()
    given = [*(said.get("codecs") or said.get("filters") or ()), *filter(None, [said.get("compressor")])]
    return list(_name_codecs(given))


def _name_codecs(codecs: Any) -> Iterator[str]:
    """Yield the names of codecs, and of those inside a shard."""
    for codec in codecs:
        said = codec if isinstance(codec, dict) else getattr(codec, "get_config", codec.to_dict)()
        name = str(said.get("name") or f"numcodecs.{said.get('id')}")
        yield name if name.endswith(CRC32C) else name.removeprefix("numcodecs.")  # zarr's own is at the end
        inner = said.get("configuration") or {}
        yield from _name_codecs([*inner.get("codecs", ()), *inner.get("index_codecs", ())])
