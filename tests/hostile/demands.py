"""Small files with large demands on memory or time; more forgeries for samples.py, each by its name."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet

from hostile.samples import forgery, npy, text, zipped
from hostile.stores import SHEET, change, edit_zip

ROWS = 200_000
text("row-wide-repeats.csv", "id,a\n" + "".join(f"r{n},1\n" for n in [*range(ROWS), 0]))
text("long-value-name.csv", "who," + "tool" * 200 + "\nann,saw\n")
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
    write_codes(path, "x" * 9_999, 2**20, b=np.zeros(2**20, np.int8))


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
    SHEET,
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


def add_rows(name: str, rows: bytes) -> None:
    edit_zip(name, "long.xlsx", SHEET, lambda xml: xml.replace(b"</sheetData>", rows + b"</sheetData>"))


add_rows("far_row.xlsx", b'<row r="99999999999999"><c r="A99999999999999"><v>1</v></c></row>')
add_rows("far_columns.xlsx", b'<row><c r="XFD9"><v>1</v></c></row>' * 20_000)
add_rows("deep_rows.xlsx", b"<row>" * 10**6)
add_rows("many_tags.xlsx", b"<row>" + b"<a/>" * 10**6 + b"</row>")
add_rows("rows_in_row.xlsx", b"<row>" + (b"<a/>" * 10**5 + b"<row/><!--</row>-->") * 10 + b"</row>")
add_rows(
    "other_rows.xlsx", b'<row xmlns:b="b">' + (b"<b:row>" + b"<a/>" * 10**5 + b"</b:row>") * 10 + b"</row>"
)
edit_zip("many_styles.xlsx", "long.xlsx", "xl/styles.xml", lambda xml: b"<styleSheet>" + b"<a/>" * 10**6)


@forgery("many_arrays.npz")
def many_arrays(path: Path, honest: Path, outside: Path) -> None:
    """A sparse matrix with ten arrays that nobody asked for."""
    large = npy("'|u1'", (2**27,), bytes(2**27))
    members = {f"a{n}.npy": large for n in range(10)}
    members |= {"format.npy": npy("'|S3'", (), b"csr"), "data.npy": npy("'<f8'", (0,))}
    path.write_bytes(zipped(members | {"shape.npy": npy("'<i8'", (2,), bytes(16))}))


@forgery("dictionary.npz")
def large_dictionary(path: Path, honest: Path, outside: Path) -> None:
    """A member packed with LZMA, whose header asks for 2 GB."""
    image = bytearray(zipped({"X.npy": npy("'<f8'", (3, 3), bytes(72))}, zipfile.ZIP_LZMA))
    at = image.index(b"\x5d") + 1
    image[at : at + 4] = (2**31 - 1).to_bytes(4, "little")
    path.write_bytes(image)
