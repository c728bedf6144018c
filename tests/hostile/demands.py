"""Small files with large demands on memory or time; more forgeries for samples.py, each by its name."""

from __future__ import annotations

import bz2
import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import zarr

from hostile.samples import change, edit_zip, forgery, text

ROWS = 200_000
text("row-wide-repeats.csv", "id,a\n" + "".join(f"r{n},1\n" for n in [*range(ROWS), 0]))
text("short-wide-rows.csv", "id," + ",".join(f"c{n}" for n in range(20_000)) + "\n" + "x,1\n" * 20_000)
text("short_rows.csv", ",".join(f"c{n}" for n in range(30)) + "\n" + "1\n" * 2**22)
text(
    "far-undirected-pairs.csv",
    "hour,a,b\n" + "".join(f"h{n},p{n},q{n}\n" for n in range(30_000)),
)


def write_codes(path: Path, long: str, rows: int, **columns: Any) -> None:
    """Write a table in which every row has the same long text, which the file has once."""
    texts = pyarrow.DictionaryArray.from_arrays(np.zeros(rows, np.int32), pyarrow.array([long]))
    table = pyarrow.table({"a": texts, **columns})
    pyarrow.parquet.write_table(table, path, store_schema=False)


@forgery("many_texts.parquet")
def many_texts(path: Path, honest: Path, outside: Path) -> None:
    write_codes(path, "x" * 9_999, 2**22, b=np.zeros(2**22, np.int8))


@forgery("repeated_index.parquet")
def repeated_index(path: Path, honest: Path, outside: Path) -> None:
    write_codes(path, "x" * 9_999, 10**5, b=np.zeros(10**5))
    table = pyarrow.parquet.read_table(path, read_dictionary=["a"])
    about = pd.DataFrame({"b": [0.0]}, index=pd.Index(["x"], name="a"))
    known = pyarrow.Table.from_pandas(about).schema.metadata
    pyarrow.parquet.write_table(table.replace_schema_metadata(known), path, store_schema=False)


edit_zip(
    "same_text.xlsx",
    "long.xlsx",
    "xl/worksheets/sheet1.xml",
    lambda xml: (
        xml.partition(b"<sheetData>")[0]
        + b"<sheetData>"
        + b'<row><c t="inlineStr"><is><t>a</t></is></c><c t="inlineStr"><is><t>b</t></is></c></row>'
        + b"<row><c><v>1</v></c><c><v>2</v></c></row>" * 300_000
        + b"</sheetData></worksheet>"
    ),
)


@forgery("texts_in_attribute.h5ad")
def texts_in_attribute(path: Path, honest: Path, outside: Path) -> None:
    """An attribute of 4,000 texts, all of which point to the same megabyte."""
    texts = np.array(["x" * 2**20, *["y"] * 3_999], object)
    change(path, "dense.h5ad", honest, lambda file: file["obs"].attrs.create("column-order", texts))
    image = bytearray(path.read_bytes())
    first = re.search(re.escape((2**20).to_bytes(4, "little")) + b".{12}" + b"\1\0\0\0", image, re.DOTALL)
    assert first  # the length of the text and where it is, then the length of the next
    at = first.start()
    image[at : at + 16 * 4_000] = image[at : at + 16] * 4_000
    path.write_bytes(image)


def packed_zarr(name: str, codec: str, chunk: bytes) -> None:
    """A chunk that unpacks to far more than its array can hold."""

    def forge(path: Path, honest: Path, outside: Path) -> None:
        shutil.copytree(honest / "array2.zarr", path)
        said = json.loads((path / ".zarray").read_text())
        (path / ".zarray").write_text(json.dumps(said | {"compressor": {"id": codec}, "filters": None}))
        (path / "0.0").write_bytes(chunk)

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


packed_zarr("zstd_chunk", "zstd", zstd((b"\0", 2**30)))
packed_zarr("gzip_chunk", "gzip", gzip.compress(bytes(2**24), 1) * 64)
packed_zarr("bz2_chunk", "bz2", bz2.compress(bytes(2**20)) * 1024)


@forgery("text_chunk.zarr")
def text_chunk(path: Path, honest: Path, outside: Path) -> None:
    """A label of half a gigabyte, which takes 16 kB."""
    shutil.copytree(honest / "labelled2.zarr", path)
    said = json.loads((path / "gene" / ".zarray").read_text())
    said |= {"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "compressor": {"id": "zstd", "level": 1}}
    (path / "gene" / ".zarray").write_text(json.dumps(said))
    head = (3).to_bytes(4, "little") + (2**29).to_bytes(4, "little")
    (path / "gene" / "0").write_bytes(zstd((head, 1), (b"x", 2**29), (b"\1\0\0\0y\1\0\0\0z", 1)))


@forgery("shard_bomb3.zarr")
def shard_bomb(path: Path, honest: Path, outside: Path) -> None:
    """A chunk inside a shard that unpacks to far more than its array can hold."""
    zarr.create_array(path, shape=(4, 4), shards=(4, 4), chunks=(2, 2), dtype="i1", zarr_format=3)[:] = 1
    (shard,) = (file for file in path.rglob("*") if file.is_file() and file.name != "zarr.json")
    bomb = zstd((b"\0", 2**30))
    index = np.array([[0, len(bomb)]] * 4, "<u8").tobytes()
    shard.write_bytes(bomb + index + google_crc32c.value(index).to_bytes(4, "little"))
