"""Forged HDF5 files, zarr stores, Parquet and Excel files; more forgeries for samples.py, by their names."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import zarr

from hostile.samples import FORGERIES, I4, Song, forgery, zipped


def change(path: Path, kind: str, honest: Path, work: Callable[[Any], Any]) -> None:
    """Copy an honest HDF5 file and change something inside."""
    shutil.copy(honest / kind, path)
    with h5py.File(path, "r+") as file:
        work(file)


def replace(group: Any, name: str, **how: Any) -> None:
    attributes = dict(group[name].attrs) if name in group else {}
    attributes = {key: held for key, held in attributes.items() if not key.isupper()}
    del group[name]
    made = group.create_dataset(name, **how)
    made.attrs.update(attributes)


def hostile_hdf5(kind: str, where: str, suffix: str) -> None:
    """Attacks that both kinds of HDF5 file may carry, at one place inside."""

    def at(file: Any) -> tuple[Any, str]:
        group, _, name = f"/{where}".rpartition("/")
        return file[group or "/"], name

    def external_link(file: Any, outside: Path) -> None:
        group, name = at(file)
        del group[name]
        group[name] = h5py.ExternalLink(str(outside / "secret.h5"), "X")

    def fifo_link(file: Any, outside: Path) -> None:
        group, _ = at(file)
        group["more"] = h5py.ExternalLink(str(outside / "fifo"), "X")

    def external_storage(file: Any, outside: Path) -> None:
        group, name = at(file)
        source = [(str(outside / "secret.bin"), 0, 72)]
        replace(group, name, shape=(3, 3), dtype="f8", external=source)

    def virtual(file: Any, outside: Path) -> None:
        group, name = at(file)
        layout = h5py.VirtualLayout((3, 3), "f8")
        layout[:] = h5py.VirtualSource(str(outside / "secret.h5"), "X", (3, 3))
        attributes = dict(group[name].attrs)
        del group[name]
        group.create_virtual_dataset(name, layout).attrs.update(
            {key: held for key, held in attributes.items() if not key.isupper()}
        )

    def soft_link(file: Any, outside: Path) -> None:
        group, name = at(file)
        group["away"] = h5py.ExternalLink(str(outside / "secret.h5"), "/")
        del group[name]
        group[name] = h5py.SoftLink("/away/X")

    def circle(file: Any, outside: Path) -> None:
        file["round"] = file["/"]

    def giant(file: Any, outside: Path) -> None:
        group, name = at(file)
        replace(group, name, shape=(10**6, 10**6), dtype="f8", chunks=(1000, 1000))

    def many_chunks(file: Any, outside: Path) -> None:
        group, name = at(file)
        replace(group, name, shape=(10**9, 2), dtype="i1", chunks=(1, 1))

    def deep(file: Any, outside: Path) -> None:
        group = file
        for _ in range(3000):
            group = group.create_group("d")

    deeds = (external_link, fifo_link, external_storage, virtual, soft_link, circle, giant, many_chunks, deep)
    for deed in deeds:
        FORGERIES[f"{deed.__name__}.{suffix}"] = lambda path, honest, outside, deed=deed: change(
            path, kind, honest, lambda file: deed(file, outside)
        )


hostile_hdf5("labelled.nc", "cells", "nc")
hostile_hdf5("dense.h5ad", "X", "h5ad")
H5AD_SPARSE: dict[str, tuple[str, Any]] = {
    "beyond": ("indices", np.array([0, 1, 2, 2**30, 1], I4)),
    "negative": ("indices", np.array([0, 1, 2, -(2**30), 1], I4)),
    "pointer": ("indptr", np.array([0, 2**30, 3, 5], I4)),
    "pointer_down": ("indptr", np.array([0, -(2**28), 3, 5], I4)),
    "pointer_short": ("indptr", np.array([0, 1], I4)),
    "float_indices": ("indices", np.array([0.5, 1, 2, 0, 1])),
    "text_indices": ("indices", np.array([b"a"] * 5)),
    "deep_indices": ("indices", np.zeros((5, 1), I4)),
}
for _name, (_which, _numbers) in H5AD_SPARSE.items():
    FORGERIES[f"sparse_{_name}.h5ad"] = lambda path, honest, outside, which=_which, numbers=_numbers: change(
        path, "sparse.h5ad", honest, lambda file: replace(file["X"], which, data=numbers)
    )


@forgery("sparse_shape.h5ad")
def sparse_shape(path: Path, honest: Path, outside: Path) -> None:
    change(path, "sparse.h5ad", honest, lambda file: file["X"].attrs.update(shape=np.array([2**40, 2])))


@forgery("repeated_text.h5ad")
def repeated_text(path: Path, honest: Path, outside: Path) -> None:
    """100,000 names that all point to the same text of 20 kB."""

    def name(file: Any) -> None:
        del file["obs/_index"]
        names = file["obs"].create_dataset("_index", (10**5,), h5py.string_dtype())
        names[0] = "x" * 20_000

    change(path, "sparse.h5ad", honest, name)
    with h5py.File(path) as file:
        start = file["obs/_index"].id.get_offset()
    image = bytearray(path.read_bytes())
    image[start : start + 16 * 10**5] = image[start : start + 16] * 10**5
    path.write_bytes(image)


@forgery("before_0_7.h5ad")
def early_anndata(path: Path, honest: Path, outside: Path) -> None:
    with h5py.File(path, "w") as file:
        file["X"] = np.eye(2)
        file["obs"] = file["var"] = np.array([(b"a", 1), (b"b", 2)], [("index", "S1"), ("n", "i4")])


@forgery("link.parquet")
def linked_part(path: Path, honest: Path, outside: Path) -> None:
    path.mkdir()
    shutil.copy(honest / "long.parquet", path / "a.parquet")
    (path / "b.parquet").symlink_to(outside / "secret.h5")


@forgery("uneven.parquet")
def uneven_parts(path: Path, honest: Path, outside: Path) -> None:
    path.mkdir()
    pd.DataFrame({"i": ["a"], "j": [0]}).to_parquet(path / "a.parquet")
    pd.DataFrame({"i": [0.5], "k": ["b"]}).to_parquet(path / "b.parquet")


@forgery("pointer_link.h5ad")
def pointer_link(path: Path, honest: Path, outside: Path) -> None:
    def link(file: Any) -> None:
        del file["obs/_index"]
        file["obs/_index"] = h5py.ExternalLink(str(outside / "secret.h5"), "X")

    change(path, "sparse.h5ad", honest, link)


@forgery("surrogate.h5ad")
def surrogate(path: Path, honest: Path, outside: Path) -> None:
    labels = np.array([b"p", b"q\xed\xa0\x80", b"r"], object)
    kind = h5py.string_dtype()
    change(path, "dense.h5ad", honest, lambda file: replace(file["obs"], "_index", data=labels, dtype=kind))


@forgery("round_heap.nc")
def round_heap(path: Path, honest: Path, outside: Path) -> None:
    """Free room of size 0 in a list of texts: whoever steps over it stays where he is."""
    data = bytearray((honest / "labelled.nc").read_bytes())
    at = data.index(b"GCOL") + 16
    data[at : at + 16] = bytes(16)
    path.write_bytes(data)


def edit_zarr(name: str, honest: str, which: str, **changes: Any) -> None:
    """Change the metadata of an honest zarr store."""

    def forge(path: Path, folder: Path, outside: Path) -> None:
        shutil.copytree(folder / honest, path)
        file = path / which
        said = json.loads(file.read_text())
        file.write_text(json.dumps(said | changes))
        if said.get("dtype") is not None:
            chunk = pickle.dumps(np.array([Song(outside / "canary")] * 9, object).tolist())
            (file.parent / "0.0").write_bytes(chunk)

    FORGERIES[f"{name}.zarr"] = forge


RAW2 = {"compressor": None, "order": "C"}
edit_zarr("pickle2", "array2.zarr", ".zarray", dtype="|O", filters=[{"id": "pickle", "protocol": 5}], **RAW2)
edit_zarr("pickle_float2", "array2.zarr", ".zarray", filters=[{"id": "pickle", "protocol": 5}], **RAW2)
edit_zarr("pickle_packed2", "array2.zarr", ".zarray", compressor={"id": "pickle"}, dtype="|O", filters=None)
edit_zarr("pickle_group2", "labelled2.zarr", "cells/.zarray", dtype="|O", filters=[{"id": "pickle"}], **RAW2)
edit_zarr("object2", "array2.zarr", ".zarray", dtype="|O", filters=None, **RAW2)
edit_zarr("msgpack2", "array2.zarr", ".zarray", dtype="|O", filters=[{"id": "msgpack2"}], **RAW2)
edit_zarr("giant2", "array2.zarr", ".zarray", shape=[10**6, 10**6], chunks=[10**6, 10**6])
edit_zarr("giant_chunk2", "array2.zarr", ".zarray", chunks=[10**6, 10**6])
edit_zarr("many_chunks2", "array2.zarr", ".zarray", shape=[10**9, 3], chunks=[1, 1])
edit_zarr("zero_chunks2", "array2.zarr", ".zarray", chunks=[0, 0])
edit_zarr("negative2", "array2.zarr", ".zarray", shape=[-3, 3])
edit_zarr("overflow2", "array2.zarr", ".zarray", shape=[2**63, 2**63])
edit_zarr("separator2", "array2.zarr", ".zarray", dimension_separator="/../../")
edit_zarr("giant3", "array3.zarr", "zarr.json", shape=[10**6, 10**6])
edit_zarr("pickle3", "array3.zarr", "zarr.json", codecs=[{"name": "numcodecs.pickle", "configuration": {}}])
edit_zarr("unknown3", "array3.zarr", "zarr.json", codecs=[{"name": "os.system", "configuration": {"a": 1}}])
edit_zarr("transformers3", "array3.zarr", "zarr.json", storage_transformers=[{"name": "x"}])
edit_zarr("type3", "array3.zarr", "zarr.json", data_type="r1000000000000")
edit_zarr("bytes3", "array3.zarr", "zarr.json", data_type="variable_length_bytes")


@forgery("many_chunks3.zarr")
def many_chunks3(path: Path, honest: Path, outside: Path) -> None:
    shutil.copytree(honest / "array3.zarr", path)
    said = json.loads((path / "zarr.json").read_text())
    said["shape"] = [10**8, 3]
    said["chunk_grid"]["configuration"]["chunk_shape"] = [1, 1]
    (path / "zarr.json").write_text(json.dumps(said))


@forgery("shards3.zarr")
def shards3(path: Path, honest: Path, outside: Path) -> None:
    zarr.create_array(path, shape=(4000, 4000), shards=(4000, 4000), chunks=(1, 1), dtype="i1", zarr_format=3)


@forgery("consolidated2.zarr")
def consolidated2(path: Path, honest: Path, outside: Path) -> None:
    shutil.copytree(honest / "labelled2.zarr", path)
    file = path / ".zmetadata"
    said = json.loads(file.read_text())
    said["metadata"]["cells/.zarray"] |= {"dtype": "|O", "filters": [{"id": "pickle"}], "compressor": None}
    file.write_text(json.dumps(said))
    (path / "cells" / "0.0").write_bytes(pickle.dumps([Song(outside / "canary")] * 9))


@forgery("nested_json.zarr")
def nested_json(path: Path, honest: Path, outside: Path) -> None:
    path.mkdir()
    (path / ".zarray").write_text("[" * 10**6)
    (path / "zarr.json").write_text("[" * 10**6)


@forgery("fifo_inside.zarr")
def fifo_inside(path: Path, honest: Path, outside: Path) -> None:
    shutil.copytree(honest / "array2.zarr", path)
    (path / "0.0").unlink()
    os.mkfifo(path / "0.0")


@forgery("link_inside.zarr")
def link_inside(path: Path, honest: Path, outside: Path) -> None:
    shutil.copytree(honest / "array2.zarr", path)
    said = json.loads((path / ".zarray").read_text())
    (path / ".zarray").write_text(json.dumps(said | {"compressor": None}))
    (path / "0.0").unlink()
    (path / "0.0").symlink_to(outside / "secret.bin")


@forgery("link_below.zarr")
def link_below(path: Path, honest: Path, outside: Path) -> None:
    shutil.copytree(honest / "labelled2.zarr", path)
    shutil.rmtree(path / "cells")
    (path / "cells").symlink_to(outside)


@forgery("zipped.zarr")
def zipped_zarr(path: Path, honest: Path, outside: Path) -> None:
    files = [file for file in (honest / "array2.zarr").rglob("*") if file.is_file()]
    path.write_bytes(zipped({file.name: file.read_bytes() for file in files}))


@forgery("bomb.parquet")
def parquet_bomb(path: Path, honest: Path, outside: Path) -> None:
    table = pyarrow.table({"a": pyarrow.array(np.zeros(2**24, np.int64)), "b": np.zeros(2**24, np.int64)})
    with pyarrow.parquet.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(4):
            writer.write_table(table, row_group_size=2**24)


@forgery("long_text.parquet")
def parquet_text(path: Path, honest: Path, outside: Path) -> None:
    """One text of 200 kB, which a dictionary lists once, in each of 20,000 rows."""
    texts = pyarrow.DictionaryArray.from_arrays(np.zeros(20_000, np.int32), pyarrow.array(["x" * 200_000]))
    table = pyarrow.table({"a": texts, "b": np.arange(20_000)})
    pyarrow.parquet.write_table(table, path, store_schema=False)


def edit_zip(name: str, honest: str, which: str, work: Callable[[bytes], bytes]) -> None:
    def forge(path: Path, folder: Path, outside: Path) -> None:
        with zipfile.ZipFile(folder / honest) as archive:
            members = {member: archive.read(member) for member in archive.namelist()}
        members[which] = work(members[which])
        path.write_bytes(zipped(members))

    FORGERIES[name] = forge


SHEET = "xl/worksheets/sheet1.xml"
edit_zip(
    "bomb.xlsx", "long.xlsx", SHEET, lambda xml: xml.replace(b"<sheetData>", b"<sheetData>" + b" " * 2**28)
)
edit_zip(
    "far_cell.xlsx",
    "long.xlsx",
    SHEET,
    lambda xml: xml.replace(
        b"</sheetData>", b'<row r="1048576"><c r="XFD1048576" t="n"><v>1</v></c></row></sheetData>'
    ),
)
edit_zip(
    "laughs.xlsx",
    "long.xlsx",
    SHEET,
    lambda xml: (
        b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha">'
        + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
        + b"]><worksheet><sheetData>&j;</sheetData></worksheet>"
    ),
)
edit_zip(
    "entity.xlsx",
    "long.xlsx",
    SHEET,
    lambda xml: (
        b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
        b"<worksheet><sheetData>&a;</sheetData></worksheet>"
    ),
)
edit_zip("no_sheet.xlsx", "long.xlsx", SHEET, lambda xml: b"")
edit_zip("no_book.xlsx", "long.xlsx", "xl/workbook.xml", lambda xml: b"<a/>")
