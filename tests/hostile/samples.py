"""Honest files of every kind that ``tensorm.read`` takes, and forged ones: each an attack, by its name."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import shutil
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import scipy.sparse
import xarray
import zarr

X = np.array([[1.0, 0.0, np.nan], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
LABELLED = xarray.DataArray(
    X,
    dims=("patient", "gene"),
    coords={"patient": ["p", "q", "r"], "gene": ["a", "b", "c"], "type": ("patient", ["x", "y", "y"])},
    name="cells",
)
TABLE = pd.DataFrame({"who": ["ann", "bob", "cy"], "tool": ["saw", "axe", "axe"], "x": [1, 0, 1]})
LONG = TABLE.to_csv(index=False) + "".join(f"p{n},t{n % 7},{n % 2}\n" for n in range(40))


def write_samples(folder: Path) -> list[Path]:
    """Write an honest file of every kind."""
    import anndata

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "long.csv").write_text(LONG)
    (folder / "quoted.csv").write_text('who,tool\n"a ""b"", c","d\ne"\n007,1.50\n#x,sep=;\n\n+7,\u00e9\n')
    (folder / "wide.csv").write_text("id,a,b\np,1,0\nq,0,\n")
    (folder / "long.tsv").write_text(LONG.replace(",", "\t"))
    (folder / "semicolons.txt").write_text(LONG.replace(",", ";"))
    (folder / "cells.tns").write_text("# made by hand\n1 1 1 1.0\n3 2 1 0\n2 4 2 1\n")
    (folder / "long.csv.gz").write_bytes(gzip.compress(LONG.encode()))
    (folder / "utf16.csv").write_bytes(LONG.encode("utf-16"))
    TABLE.to_parquet(folder / "long.parquet")
    pd.DataFrame(X, ["p", "q", "r"], ["a", "b", "c"]).to_parquet(folder / "wide.parquet")
    TABLE.to_excel(folder / "long.xlsx", index=False)
    np.save(folder / "array.npy", X)
    np.savez(folder / "array.npz", X)
    np.savez_compressed(folder / "packed.npz", X=X, more=X)
    matrix = scipy.sparse.csr_matrix(np.nan_to_num(X))
    for kind in ("csr", "csc", "coo", "bsr", "dia"):
        scipy.sparse.save_npz(folder / f"{kind}.npz", matrix.asformat(kind))
    LABELLED.to_netcdf(folder / "labelled.nc", engine="h5netcdf")
    obs, var = pd.DataFrame({"type": ["x", "y", "y"]}, index=["p", "q", "r"]), pd.DataFrame(index=[*"abc"])
    anndata.AnnData(matrix, obs, var).write_h5ad(folder / "sparse.h5ad")
    anndata.AnnData(np.nan_to_num(X), obs, var).write_h5ad(folder / "dense.h5ad")
    for version in (2, 3):
        zarr.save_array(folder / f"array{version}.zarr", X, zarr_format=version)
        with warnings.catch_warnings(action="ignore"):  # texts have no specification in version 3 yet
            LABELLED.to_zarr(folder / f"labelled{version}.zarr", zarr_format=version, consolidated=None)
    return sorted(folder.iterdir())


class Song:
    """Writes the canary when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = str(canary)

    def __reduce__(self) -> Any:
        return open, (self.canary, "w")


def forge_all(folder: Path, outside: Path) -> list[Path]:
    """Write all forgeries into a folder; ``outside`` has files that none of them may read."""
    folder.mkdir(parents=True, exist_ok=True)
    write_secrets(outside)
    honest = folder / "honest"
    write_samples(honest)
    made = []
    for name, forge in FORGERIES.items():
        path = folder / name
        forge(path, honest, outside)
        made.append(path)
    return made


def write_secrets(outside: Path) -> None:
    """Write what a file from a stranger might try to read."""
    outside.mkdir(parents=True, exist_ok=True)
    (outside / "secret.csv").write_text("a,b\nmine,not yours\n")
    (outside / "secret.bin").write_bytes(np.nan_to_num(X).tobytes())
    with h5py.File(outside / "secret.h5", "w") as file:
        file["X"] = np.nan_to_num(X)
    os.mkfifo(outside / "fifo")


FORGERIES: dict[str, Callable[[Path, Path, Path], Any]] = {}


def forgery(name: str) -> Callable[[Any], Any]:
    """Register an attack under the name of its file."""

    def register(forge: Any) -> Any:
        FORGERIES[name] = forge
        return forge

    return register


def text(name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    FORGERIES[name] = lambda path, honest, outside: path.write_bytes(data)


text("long_label.csv", "a,b\n" + "x" * 20_000 + ",1\n" + "".join(f"{n},y{n}\n" for n in range(60_000)))
text("wide_long_label.csv", "id,a\n" + "x" * 9_000 + ",1\n" + "".join(f"n{n},1\n" for n in range(60_000)))
text("long_name.csv", "a," + "x" * 200_000 + "\n1,2\n")
text("pipe.csv", 'a,b,c\n1,5" pipe,x\n2,y,')
text("open_quote.csv", 'a,b\n"1,2\n3,4\n')
text("nul.csv", "a,b\n1,\x002\n")
text("latin.csv", b"a,b\n\xe9,1\n\xff,2\n")
text("odd_utf16.csv", b"\xff\xfea\x00,\x00b\x00\n\x00\x00\xd8\n")
text("ragged.csv", "a,b\n1,2\n1,2,3\n")
text("escape.csv", "a,b\n\x1b[31mred,1\n\u202eabc,2\n")
text("many_columns.csv", ",".join(f"c{n}" for n in range(50_000)) + "\n" + "1," * 49_999 + "1\n")
text("returns.csv", "a,b\r1,2\r\r\r3,4\r" * 50)
text("number.csv", "a,b\n1e999999999,1\n" + "9" * 5000 + ",2\n")
text("many_quotes.csv", "a,b\n" + '"' * 99_999 + ",1\n")
text("empty.csv", "")
text("huge.tns", "999999999 999999999 1 1\n")
text("huger.tns", "9999999999999999999 1 1 1\n")
text("long_number.tns", "1" * 5000 + " 1 1\n")
text("three.tns", "4000000 4000000 4000000 1\n" * 2)
text("empty.npz", b"PK\x05\x06" + bytes(18))
text("text.npy", "1 0 1\n")
text("text.xlsx", "a,b\n1,2\n")
text("text.h5ad", "a,b\n1,2\n")
text("text.parquet", "PAR1" + "x" * 100 + "PAR1")


def npy(descr: str, shape: Any, body: bytes = b"", order: bool = False) -> bytes:
    """Return an array file with a header that may lie."""
    known = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape!r}, }}".encode()
    known += b" " * (-(10 + len(known) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(known).to_bytes(2, "little") + known + body


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    image = io.BytesIO()
    with zipfile.ZipFile(image, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return image.getvalue()


BODY = X.tobytes()
ARRAYS = {
    "giant": npy("'<f8'", (10**6, 10**6), BODY),
    "negative": npy("'<f8'", (-3, -3), BODY),
    "flat": npy("'<f8'", (), BODY),
    "deep": npy("'<f8'", (1,) * 70, BODY),
    "zero": npy("'<f8'", (10**18, 0), BODY),
    "object": npy("'|O'", (3, 3), pickle.dumps([1])),
    "empty_items": npy("'|V0'", (10**12, 10**5), b""),
    "empty_text": npy("'<U0'", (10**9, 10), b""),
    "record": npy("[('a', '<f8'), ('b', '<f8')]", (3, 1), BODY[:48]),
    "cut_header": npy("'<f8'", (3, 3), BODY)[:40],
    "nested": b"\x93NUMPY\x02\x00" + (9000).to_bytes(4, "little") + b"(" * 9000,
    "overflow": npy("'<f8'", (2**62, 8), BODY),
    "text": npy("'<U3'", (3, 3), bytes(108)),
    "bytes": npy("'|S1'", (3, 3), b"101010101"),
}
for _name, _data in ARRAYS.items():
    text(f"{_name}.npy", _data)
    text(f"{_name}.npz", zipped({"X.npy": _data}))
text("bomb.npz", zipped({"X.npy": npy("'|b1'", (60_000, 60_000)) + bytes(2**28)}))
text("bz2_bomb.npz", zipped({"X.npy": npy("'|b1'", (50_000, 50_000)) + bytes(2**28)}, zipfile.ZIP_BZIP2))
text("twice.npz", zipped({"X.npy": npy("'<f8'", (3, 3), BODY), "./X.npy": b"x"}))
text("many.npz", zipped({f"a{n}.npy": b"" for n in range(500)}))


@forgery("lying.npz")
def lying_size(path: Path, honest: Path, outside: Path) -> None:
    data = bytearray(zipped({"X.npy": npy("'<f8'", (3, 3), BODY)}))
    for mark, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        n = data.index(mark)
        data[n + at : n + at + 4] = (2**32 - 2).to_bytes(4, "little")
    path.write_bytes(data)


@forgery("gzip_bomb.csv.gz")
def gzip_bomb(path: Path, honest: Path, outside: Path) -> None:
    with gzip.open(path, "wb", 9) as file:
        file.write(b"a,b\n")
        for _ in range(12):
            file.write(b"1,2\n" * 2**24)


@forgery("cut.csv.gz")
def cut(path: Path, honest: Path, outside: Path) -> None:
    path.write_bytes((honest / "long.csv.gz").read_bytes()[:-9])


@forgery("fifo.csv")
@forgery("fifo.npy")
@forgery("fifo.npz")
@forgery("fifo.nc")
@forgery("fifo.h5ad")
@forgery("fifo.parquet")
@forgery("fifo.xlsx")
@forgery("fifo.zarr")
def fifo(path: Path, honest: Path, outside: Path) -> None:
    os.mkfifo(path)


@forgery("folder.csv")
@forgery("folder.npy")
@forgery("folder.npz")
@forgery("folder.nc")
@forgery("folder.h5ad")
@forgery("folder.parquet")
@forgery("folder.xlsx")
@forgery("empty.zarr")
def folder(path: Path, honest: Path, outside: Path) -> None:
    path.mkdir()


@forgery("zero.csv")
@forgery("zero.nc")
@forgery("zero.h5ad")
def device(path: Path, honest: Path, outside: Path) -> None:
    path.symlink_to("/dev/zero")


def sparse_npz(kind: str, shape: Any = (3, 3), **arrays: Any) -> bytes:
    image = io.BytesIO()
    np.savez(image, format=np.array(kind.encode()), shape=np.array(shape), **arrays)
    return image.getvalue()


I4, ONES = np.int32, np.ones(3)
SPARSE = {
    "csr_beyond": ("csr", {"indices": [0, 1, 2**30], "indptr": [0, 1, 2, 3]}),
    "csr_negative": ("csr", {"indices": [0, -(2**30), 1], "indptr": [0, 1, 2, 3]}),
    "csr_pointer": ("csr", {"indices": [0, 1, 2], "indptr": [0, 2**30, 2, 3]}),
    "csr_pointer_down": ("csr", {"indices": [0, 1, 2], "indptr": [0, -(2**30), 2, 3]}),
    "csr_pointer_long": ("csr", {"indices": [0, 1, 2], "indptr": [0, 1, 2, 2**30]}),
    "csr_short": ("csr", {"indices": [0], "indptr": [0, 1, 2, 3]}),
    "csc_beyond": ("csc", {"indices": [0, 1, 2**30], "indptr": [0, 1, 2, 3]}),
    "coo_beyond": ("coo", {"row": [0, 1, 2**30], "col": [0, 1, 2]}),
    "coo_negative": ("coo", {"row": [0, 1, -1], "col": [0, 1, 2]}),
    "coo_short": ("coo", {"row": [0, 1], "col": [0, 1]}),
    "dia_odd": ("dia", {"offsets": [2**30]}),
    "bsr_beyond": ("bsr", {"indices": [0, 1, 2**20], "indptr": [0, 1, 2, 3]}),
}
for _name, (_kind, _arrays) in SPARSE.items():
    _data = {"dia": np.ones((1, 3)), "bsr": np.ones((3, 1, 1))}.get(_kind, ONES)
    _given = {key: np.array(numbers, I4) for key, numbers in _arrays.items()}
    text(f"{_name}.npz", sparse_npz(_kind, data=_data, **_given))
text("csr_float.npz", sparse_npz("csr", data=ONES, indices=ONES / 2, indptr=np.array([0, 1, 2, 3])))
text(
    "csr_giant.npz",
    sparse_npz("csr", (2**62, 2**62), data=ONES, indices=np.array([0, 1, 2]), indptr=np.array([0, 1, 2, 3])),
)
text(
    "coo_tall.npz",
    sparse_npz("coo", (2**31, 2), data=ONES, row=np.array([0, 1, 2**30]), col=np.zeros(3, int)),
)
text("format.npz", sparse_npz("__class__", data=ONES, indices=ONES, indptr=ONES))


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
        for _ in range(12):
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
    "bomb.xlsx", "long.xlsx", SHEET, lambda xml: xml.replace(b"<sheetData>", b"<sheetData>" + b" " * 2**29)
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
