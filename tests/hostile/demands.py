"""Small files with large demands on memory or time; more forgeries for samples.py, each by its name."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet

from hostile.samples import FORGERIES, forgery, npy, text, zipped
from hostile.stores import SHEET, change, edit_zip, repeated_text

ROWS = 200_000
text("row-wide-repeats.csv", "id,a\n" + "".join(f"r{n},1\n" for n in [*range(ROWS), 0]))
text("long-value-name.csv", "who," + "tool" * 200 + "\nann,saw\n")
text("short-wide-rows.csv", "id," + ",".join(f"c{n}" for n in range(20_000)) + "\n" + "x,1\n" * 20_000)
text("short_rows.csv", ",".join(f"c{n}" for n in range(30)) + "\n" + "1\n" * 2**22)
text(
    "far-undirected-pairs.csv",
    "hour,a,b\n" + "".join(f"h{n},p{n},q{n}\n" for n in range(30_000)),
)


def write_codes(path: Path, long: str | bytes, rows: int, **columns: Any) -> None:
    """Write a table in which every row has the same long text, which the file has once."""
    texts = pyarrow.DictionaryArray.from_arrays(np.zeros(rows, np.int32), pyarrow.array([long]))
    table = pyarrow.table({"a": texts, **columns})
    pyarrow.parquet.write_table(table, path, store_schema=False)


@forgery("many_texts.parquet")
def many_texts(path: Path, honest: Path, outside: Path) -> None:
    write_codes(path, "x" * 9_999, 2**20, b=np.zeros(2**20, np.int8))


@forgery("repeated_index.parquet")
def repeated_index(path: Path, honest: Path, outside: Path) -> None:
    write_codes(path, "x" * 9_999, 10**5, b=np.zeros(10**5))
    table = pyarrow.parquet.read_table(path, read_dictionary=["a"])
    about = pd.DataFrame({"b": [0.0]}, index=pd.Index(["x"], name="a"))
    known = pyarrow.Table.from_pandas(about).schema.metadata
    pyarrow.parquet.write_table(table.replace_schema_metadata(known), path, store_schema=False)


@forgery("list.parquet")
def long_list(path: Path, honest: Path, outside: Path) -> None:
    """One row: a list of 2^25 zeros, as large as the 600 bytes that say so."""
    zeros = pyarrow.ListArray.from_arrays(np.array([0, 2**25], np.int32), np.zeros(2**25, np.int64))
    pyarrow.parquet.write_table(pyarrow.table({"a": zeros}), path, compression="zstd")


@forgery("bytes.parquet")
def repeated_bytes(path: Path, honest: Path, outside: Path) -> None:
    write_codes(path, b"x" * 200_000, 10_000, b=np.arange(10_000))


def write_parts(name: str, parts: dict[str, dict[str, Any]]) -> None:
    """Register a folder of files with these columns."""

    def forge(path: Path, honest: Path, outside: Path) -> None:
        for part, columns in parts.items():
            (path / part).parent.mkdir(parents=True, exist_ok=True)
            pyarrow.parquet.write_table(pyarrow.table(columns), path / part)

    FORGERIES[name] = forge


FEW, MANY = {"a": [0, 1]}, {"a": np.zeros(2**20, np.int64)}
KEYS = "/".join(f"k{n}=1" for n in range(500))
write_parts("many_keys.parquet", {f"{KEYS}/a.parquet": FEW, "b.parquet": MANY})
write_parts("wide_and_long.parquet", {"a.parquet": {f"c{n}": [0] for n in range(500)}, "b.parquet": MANY})
write_parts(
    "other_ending.parquet",
    {end: {f"c{n}": np.zeros(rows) for n in range(80)} for end, rows in (("a.parquet", 2), ("b", 2**20))},
)


edit_zip(
    "same_text.xlsx",
    "long.xlsx",
    SHEET,
    lambda xml: (
        xml.partition(b"<sheetData>")[0]
        + b"<sheetData>"
        + b'<row><c t="inlineStr"><is><t>a</t></is></c><c t="inlineStr"><is><t>b</t></is></c></row>'
        + b"<row><c><v>1</v></c><c><v>2</v></c></row>" * 100_000
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


def false_length(name: str, kind: str, work: Callable[[Any], Any], claimed: int = 2**29) -> None:
    """A text or list of 12,345 elements that claims to be far longer."""

    def forge(path: Path, honest: Path, outside: Path) -> None:
        change(path, kind, honest, work)
        image = bytearray(path.read_bytes())
        pointer = re.escape((12_345).to_bytes(4, "little")) + b".{6}\0\0[\1-\x20]\0\0\0"
        (found,) = re.finditer(pointer, image, re.DOTALL)  # the length, then where it is
        image[found.start() : found.start() + 4] = claimed.to_bytes(4, "little")
        path.write_bytes(image)

    FORGERIES[name] = forge


LONG = "x" * 12_345
LIST = np.empty(1, object)
LIST[0] = np.zeros(12_345)
false_length("false_label.nc", "labelled.nc", lambda file: file["patient"].__setitem__(1, LONG))
false_length("false_label.h5ad", "dense.h5ad", lambda file: file["obs/_index"].__setitem__(1, LONG))
false_length("false_attribute.h5ad", "dense.h5ad", lambda file: file["X"].attrs.create("encoding-type", LONG))
false_length(
    "false_list.h5ad",
    "dense.h5ad",
    lambda file: file["obs"].attrs.create("column-order", LIST, dtype=h5py.vlen_dtype(np.float64)),
    2**26,
)


@forgery("repeated_nothing.h5ad")
def repeated_nothing(path: Path, honest: Path, outside: Path) -> None:
    """100,000 names that point to the same 20 kB, which Python takes for an empty text."""
    repeated_text(path, honest, outside)
    path.write_bytes(path.read_bytes().replace(b"x" * 20_000, bytes(20_000)))


MANY_TAGS = b"<row>" + b"<a/>" * 10**6 + b"</row>"


def add_rows(name: str, rows: bytes) -> None:
    edit_zip(name, "long.xlsx", SHEET, lambda xml: xml.replace(b"</sheetData>", rows + b"</sheetData>"))


add_rows("far_row.xlsx", b'<row r="99999999999999"><c r="A99999999999999"><v>1</v></c></row>')
add_rows("far_columns.xlsx", b'<row><c r="XFD9"><v>1</v></c></row>' * 20_000)
add_rows("deep_rows.xlsx", b"<row>" * 10**6)
add_rows("many_tags.xlsx", MANY_TAGS)
add_rows("rows_in_row.xlsx", b"<row>" + (b"<a/>" * 10**5 + b"<row/><!--</row>-->") * 10 + b"</row>")
add_rows(
    "other_rows.xlsx", b'<row xmlns:b="b">' + (b"<b:row>" + b"<a/>" * 10**5 + b"</b:row>") * 10 + b"</row>"
)
edit_zip(
    "blank_start.xlsx",
    "long.xlsx",
    SHEET,
    lambda xml: b"\n" + xml.replace(b"</sheetData>", MANY_TAGS + b"</sheetData>"),
)
edit_zip(
    "wide_start.xlsx",
    "long.xlsx",
    SHEET,
    lambda xml: xml.replace(b"</sheetData>", MANY_TAGS + b"</sheetData>").decode().encode("utf-16-be"),
)
edit_zip("many_styles.xlsx", "long.xlsx", "xl/styles.xml", lambda xml: b"<styleSheet>" + b"<a/>" * 10**6)


@forgery("many_arrays.npz")
def many_arrays(path: Path, honest: Path, outside: Path) -> None:
    """A sparse matrix with ten arrays that nobody asked for."""
    large = npy("'|u1'", (2**26,), bytes(2**26))
    members = {f"a{n}.npy": large for n in range(10)}
    members |= {"format.npy": npy("'|S3'", (), b"csr"), "data.npy": npy("'<f8'", (0,))}
    path.write_bytes(zipped(members | {"shape.npy": npy("'<i8'", (2,), bytes(16))}))


@forgery("dictionary.npz")
def large_dictionary(path: Path, honest: Path, outside: Path) -> None:
    path.write_bytes(pack_by_lzma({"X.npy": npy("'<f8'", (3, 3), bytes(72))}))


@forgery("dictionary.xlsx")
def large_sheet_dictionary(path: Path, honest: Path, outside: Path) -> None:
    with zipfile.ZipFile(honest / "long.xlsx") as archive:
        path.write_bytes(pack_by_lzma({name: archive.read(name) for name in archive.namelist()}))


def pack_by_lzma(members: dict[str, bytes]) -> bytes:
    """Return a zip whose members ask for 2 GB each: the size of a dictionary, after the version of LZMA."""
    image = zipped(members, zipfile.ZIP_LZMA)
    head = re.compile(rb"\x09\x04\x05\x00\x5d.{4}", re.DOTALL)
    return head.sub(lambda found: found[0][:5] + (2**31 - 1).to_bytes(4, "little"), image)
