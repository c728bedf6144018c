"""Honest files of every kind that ``tensorm.read`` takes, and forged ones: each an attack, by its name."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numcodecs
import numpy as np
import pandas as pd
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
TABLE = pd.DataFrame({"x": [3, 2, 3], "who": ["ann", "bob", "cy"], "tool": ["saw", "axe", "axe"]})
LONG = TABLE.to_csv(index=False) + "".join(f"{n % 2 + 2},p{n},t{n % 7}\n" for n in range(40))


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
    (folder / "cells.tns.gz").write_bytes(gzip.compress((folder / "cells.tns").read_bytes()))
    (folder / "utf16.csv").write_bytes(LONG.encode("utf-16"))
    TABLE.to_parquet(folder / "long.parquet")
    pd.DataFrame(X, ["p", "q", "r"], ["a", "b", "c"]).to_parquet(folder / "wide.parquet")
    TABLE.to_parquet(folder / "parts.parquet", partition_cols=["who"])
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
    for packer in ("gzip", "lzf"):
        anndata.AnnData(matrix, obs, var).write_h5ad(folder / f"{packer}.h5ad", compression=packer)
    for name, packer in (("lz4", numcodecs.LZ4()), ("blosc", numcodecs.Blosc("zstd"))):
        zarr.create_array(folder / f"{name}.zarr", data=X, compressors=packer, zarr_format=2)
    zarr.create_array(folder / "sharded.zarr", data=X, shards=(4, 4), chunks=(2, 2))
    checked = [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()]
    zarr.create_array(folder / "checked.zarr", data=X, compressors=checked)
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
    if not (outside / "fifo").exists():
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


def many_columns(count: int) -> str:
    return ",".join(f"c{n}" for n in range(count)) + "\n" + "1," * (count - 1) + "1\n"


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
text("many_columns.csv", many_columns(5_000))
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
        for _ in range(6):
            file.write(b"1,2\n" * 2**24)


@forgery("cut.csv.gz")
def cut(path: Path, honest: Path, outside: Path) -> None:
    path.write_bytes((honest / "long.csv.gz").read_bytes()[:-9])


@forgery("fifo.csv")
@forgery("fifo.npy")
@forgery("fifo.npz")
@forgery("fifo.nc")
@forgery("lists.h5ad")
def lists(path: Path, honest: Path, outside: Path) -> None:
    with h5py.File(path, "w") as file:
        file["X"] = np.eye(3)
        labels = file.create_dataset("obs/_index", (3,), h5py.vlen_dtype(np.uint8))
        for n in range(3):
            labels[n] = np.array([n], np.uint8)


@forgery("attribute.h5ad")
def listed_attribute(path: Path, honest: Path, outside: Path) -> None:
    with h5py.File(path, "w") as file:
        file["X"] = np.eye(3)
        lists = np.empty(1, object)
        lists[0] = np.array([7, 8], np.uint8)
        file["X"].attrs.create("encoding-type", lists, (1,), h5py.vlen_dtype(np.uint8))


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
