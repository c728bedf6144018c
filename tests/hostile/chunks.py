"""Chunks of zarr arrays and HDF5 datasets that unpack to far more than they should hold; for samples.py."""

from __future__ import annotations

import bz2
import gzip
import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import google_crc32c
import h5py
import numcodecs
import numpy as np
import zarr

from hostile.samples import BODY, FORGERIES, forgery
from hostile.stores import change


def packed_zarr(name: str, codec: str, chunk: Callable[[], bytes], filters: Any = None, **more: Any) -> None:
    """A chunk that unpacks to far more than its array can hold, or claims to hold."""

    def forge(path: Path, honest: Path, outside: Path) -> None:
        shutil.copytree(honest / "array2.zarr", path)
        said = json.loads((path / ".zarray").read_text())
        (path / ".zarray").write_text(
            json.dumps(said | {"compressor": {"id": codec}, "filters": filters} | more)
        )
        (path / "0.0").write_bytes(chunk())

    forgery(f"{name}.zarr")(forge)


def zstd(*parts: tuple[bytes, int]) -> bytes:
    """Return bytes, each repeated so many times, as a frame of zstd with a block of 4 bytes for 128 kB."""
    size = sum(len(piece) * times for piece, times in parts)
    image = b"\x28\xb5\x2f\xfd\xc0\x38" + size.to_bytes(8, "little")
    for piece, times in parts:
        if len(piece) == 1:
            for start in range(0, times, 2**17):
                image += (2 | min(2**17, times - start) << 3).to_bytes(3, "little") + piece
        else:
            image += (len(piece) << 3).to_bytes(3, "little") + piece
    return image + b"\1\0\0"  # an empty block is the last


packed_zarr("zstd_chunk", "zstd", lambda: zstd((b"\0", 2**30)))
packed_zarr("wide_chunk", "zstd", lambda: zstd((b"\0", 2**29)), chunks=[2**13, 2**13])
packed_zarr("zstd_second", "zstd", lambda: zstd((BODY, 1)) + zstd((b"\0", 2**30)))
packed_zarr("zstd_skipped", "zstd", lambda: b"\x50\x2a\x4d\x18\4\0\0\0rest" + zstd((b"\0", 2**30)))
packed_zarr("gzip_chunk", "gzip", lambda: gzip.compress(bytes(2**24), 1) * 64)
packed_zarr("bz2_chunk", "bz2", lambda: bz2.compress(bytes(2**20)) * 1024)
packed_zarr("twice_packed", "zstd", lambda: zstd((gzip.compress(bytes(2**24), 1), 1)), [{"id": "gzip"}])
packed_zarr("lz4_chunk", "lz4", lambda: bytes(numcodecs.LZ4().encode(np.zeros(2**29, np.uint8))))
for _name in ("zstd", "lz4", "blosclz", "zlib"):
    _codec = numcodecs.Blosc(_name, 9)
    packed_zarr(
        f"blosc_{_name}", "blosc", lambda codec=_codec: bytes(codec.encode(np.zeros(2**29, np.uint8)))
    )


def write_filtered(path: Path, honest: Path, filters: list[dict[str, Any]], chunk: bytes) -> None:
    """Write an array with these filters and this chunk."""
    shutil.copytree(honest / "array2.zarr", path)
    said = json.loads((path / ".zarray").read_text())
    (path / ".zarray").write_text(json.dumps(said | {"compressor": None, "filters": filters}))
    (path / "0.0").write_bytes(chunk)


@forgery("wide_delta.zarr")
@forgery("wide_fixedscaleoffset.zarr")
def wide_numbers(path: Path, honest: Path, outside: Path) -> None:
    """A filter that turns each number into 128 MB of text."""
    known = {"id": path.stem.removeprefix("wide_"), "dtype": "|S134217728", "astype": "<f8"}
    scale = {"scale": 1, "offset": 0} if known["id"] != "delta" else {}
    write_filtered(path, honest, [known | scale], BODY)


@forgery("shuffled_chunk.zarr")
def shuffled_chunk(path: Path, honest: Path, outside: Path) -> None:
    """A chunk that is shuffled after it was packed, so that zeros are where its size would be."""
    packed = bytes(numcodecs.Blosc("zstd", 9).encode(np.zeros(2**29, np.uint8)))
    shuffle = numcodecs.Shuffle(len(packed))
    filters = [{"id": "blosc"}, shuffle.get_config()]
    write_filtered(path, honest, filters, bytes(shuffle.encode(packed + bytes(7 * len(packed)))))


def text_chunk(name: str, *parts: tuple[bytes, int]) -> None:
    """Labels that are far longer than their chunk, or far more than their array has."""

    def forge(path: Path, honest: Path, outside: Path) -> None:
        shutil.copytree(honest / "labelled2.zarr", path)
        said = json.loads((path / "gene" / ".zarray").read_text())
        said |= {"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "compressor": {"id": "zstd", "level": 1}}
        (path / "gene" / ".zarray").write_text(json.dumps(said))
        (path / "gene" / "0").write_bytes(zstd(*parts))

    forgery(f"{name}.zarr")(forge)


def number(value: int) -> bytes:
    return value.to_bytes(4, "little")


text_chunk(
    "long_text", (number(3) + number(2**29), 1), (b"x", 2**29), (number(1) + b"y" + number(1) + b"z", 1)
)
text_chunk("many_texts", (number(2**24 - 2), 1), (b"\0", 2**26 - 8))
text_chunk("claimed_texts", (number(2**31 - 1) + number(1) + b"x", 1))


@forgery("shard_bomb3.zarr")
def shard_bomb(path: Path, honest: Path, outside: Path) -> None:
    """A chunk inside a shard that unpacks to far more than its array can hold."""
    zarr.create_array(path, shape=(4, 4), shards=(4, 4), chunks=(2, 2), dtype="i1", zarr_format=3)[:] = 1
    (shard,) = (file for file in path.rglob("*") if file.is_file() and file.name != "zarr.json")
    shard.write_bytes(index_shard(zstd((b"\0", 2**30))))


@forgery("shard_frames3.zarr")
def shard_frames(path: Path, honest: Path, outside: Path) -> None:
    """A chunk inside a shard of many small frames."""
    shard_bomb(path, honest, outside)
    (shard,) = (file for file in path.rglob("*") if file.is_file() and file.name != "zarr.json")
    shard.write_bytes(index_shard(zstd((b"\0", 2**16)) * 2**14))


def index_shard(bomb: bytes) -> bytes:
    """Return a shard whose four chunks are the same one."""
    index = np.array([[0, len(bomb)]] * 4, "<u8").tobytes()
    return bomb + index + google_crc32c.value(index).to_bytes(4, "little")


def packed_hdf5(name: str, kind: str, where: str, chunk: bytes, *filters: int, side: int = 3) -> None:
    """A chunk of nine numbers, or of more than the array has, that unpacks to far more."""

    def forge(path: Path, honest: Path, outside: Path) -> None:
        change(path, kind, honest, pack)

    def pack(file: Any) -> None:
        about = {key: held for key, held in file[where].attrs.items() if not key.isupper()}
        del file[where]
        settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        settings.set_chunk((side, side))
        for number in filters:
            settings.set_filter(number, h5py.h5z.FLAG_OPTIONAL, (9,) if number == 1 else (4, 261, 72))
        space = h5py.h5s.create_simple((3, 3), (h5py.h5s.UNLIMITED,) * 2)
        made = h5py.h5d.create(file.id, where.encode(), h5py.h5t.NATIVE_DOUBLE, space, settings)
        made.write_direct_chunk((0, 0), chunk)
        file[where].attrs.update(about)

    FORGERIES[name] = forge


def deflate(size: int) -> bytes:
    """Return zeros as zlib packs them, but for the checksum at the end."""
    packer = zlib.compressobj(9)
    head = packer.compress(b"\0") + packer.flush(zlib.Z_FULL_FLUSH)
    return head + (packer.compress(bytes(2**24)) + packer.flush(zlib.Z_FULL_FLUSH)) * (size >> 24) + b"\3\0"


GZIP, LZF = 1, 32000  # filters of HDF5
packed_hdf5("gzip_chunk.h5ad", "dense.h5ad", "X", deflate(2**30), GZIP)
packed_hdf5("wide_chunk.h5ad", "dense.h5ad", "X", deflate(2**29), GZIP, side=2**13)
packed_hdf5("gzip_chunk.nc", "labelled.nc", "cells", deflate(2**30), GZIP)
packed_hdf5("gzip_twice.h5ad", "dense.h5ad", "X", zlib.compress(deflate(2**30)), GZIP, GZIP)
packed_hdf5("lzf_chunk.h5ad", "dense.h5ad", "X", b"\0a" + b"\xe0\xff\0" * 2**21, LZF)
