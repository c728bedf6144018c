"""No input crashes, hangs, runs code, reads other files, asks for all memory or ends in a traceback."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import anndata
import h5py
import numcodecs
import numcodecs.abc
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sparse
import xarray
import zarr

import tensorm
from hostile import inputs, samples
from tensorm import InputError


def refused(paths: list[Path], outside: Path) -> list[str]:
    """What must not happen, by case."""
    ends = [(path.name, outcome) for path, outcome in inputs.check(paths, outside)]
    return [f"{name}: {outcome}" for name, outcome in ends if not outcome.accepted]


def test_forged_and_damaged_files(tmp_path: Path) -> None:
    forged = samples.forge_all(tmp_path / "forged", tmp_path / "outside")
    assert len(forged) > 150
    damaged = inputs.mutants(tmp_path / "mutants", 60, 0)
    assert refused([*forged, *damaged], tmp_path / "outside") == []


@pytest.mark.slow
def test_very_many_columns(tmp_path: Path) -> None:
    samples.write_secrets(tmp_path / "outside")
    (tmp_path / "columns.csv").write_text(samples.many_columns(20_000))
    assert refused([tmp_path / "columns.csv"], tmp_path / "outside") == []


class Singing(numcodecs.abc.Codec):
    """A codec that runs what it reads, as that of pickles did up to numcodecs 0.16.5."""

    codec_id = "singing"

    def encode(self, content: Any) -> bytes:
        return pickle.dumps(content)

    def decode(self, content: Any, out: Any = None) -> Any:
        return np.array(pickle.loads(content))


@pytest.mark.parametrize(
    "place", [{"compressor": {"id": "singing"}}, {"filters": [{"id": "singing"}]}], ids=str
)
def test_codecs_that_run_code_are_refused_unread(place: dict[str, Any], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(numcodecs.registry.codec_registry, "singing", Singing)
    zarr.save_array(tmp_path / "x.zarr", np.eye(3), zarr_format=2)
    said = json.loads((tmp_path / "x.zarr" / ".zarray").read_text())
    (tmp_path / "x.zarr" / ".zarray").write_text(json.dumps(said | {"compressor": None} | place))
    (tmp_path / "x.zarr" / "0.0").write_bytes(pickle.dumps([samples.Song(tmp_path / "canary")]))
    with pytest.raises(InputError, match=r"uses 1 codec \('singing'\) that tensorm does not trust; use zstd"):
        tensorm.read(tmp_path / "x.zarr")
    assert not (tmp_path / "canary").exists()


def test_honest_files_are_read(tmp_path: Path) -> None:
    """Else the tests above could pass by refusing everything."""
    for path in samples.write_samples(tmp_path):
        options = {"wide": True} if path.name.startswith("wide.csv") else {}
        assert tensorm.read(path, **options).n_observed > 0, path.name


I4 = np.int32


def broken(kind: str, **arrays) -> object:
    matrix = getattr(scipy.sparse, f"{kind}_matrix")(np.eye(3))
    for name, numbers in arrays.items():
        setattr(matrix, name, numbers)
    return matrix


@pytest.mark.parametrize(
    "matrix",
    [
        broken("csr", indices=np.array([0, 1, 2**30], I4)),
        broken("csr", indices=np.array([0, 1, -1], I4)),
        broken("csr", indptr=np.array([0, 2**30, 2, 3], I4)),
        broken("csr", indices=np.array([0.5, 1, 2])),
        broken("csc", indices=np.array([0, 1, 3], I4)),
        broken("bsr", indices=np.array([7], I4)),
        broken("coo", coords=(np.array([0, 1, 3]), np.array([0, 1, 2]))),
        broken("coo", coords=(np.array([0, 1, -1]), np.array([0, 1, 2]))),
        broken("coo", coords=(np.array([0, 1]), np.array([0, 1]))),
        broken("lil", rows=np.array([[0], [1, 2], [2]], object)),
        broken("lil", rows=np.array([[0], [1], [2**30]], object)),
    ],
)
def test_sparse_matrices_in_memory(matrix) -> None:
    import anndata

    for relational in (False, True):
        with pytest.raises(InputError, match=r"sparse matrix|list of cells"):
            tensorm.read(matrix, relational=relational)
    data = anndata.AnnData(np.eye(3))
    data._X = matrix
    with pytest.raises(InputError, match=r"sparse matrix|list of cells"):
        tensorm.read(data)


def test_sparse_arrays_in_memory() -> None:
    for column in ([0, 1, 2**40], [0, 1, -1]):
        array = sparse.COO(np.array([[0, 1, 2], [0, 1, 2]]), np.ones(3), shape=(3, 3))
        array.coords = np.array([[0, 1, 2], column])
        with pytest.raises(InputError, match="list of cells contains"):
            tensorm.read(array)
    array = sparse.GCXS.from_numpy(np.eye(3))
    array.indptr = np.array([0, 2**30, 2, 3])
    with pytest.raises(InputError, match="sparse matrix"):
        tensorm.read(array)


@pytest.mark.parametrize("name", ["\ud800", "a\0b", "x" * 20_000])
def test_labels_that_cannot_be_kept(name) -> None:
    table = pd.DataFrame({"i": ["a", name], "j": [0, 1]})
    for source, options in (
        (table, {"modes": ["i", "j"]}),
        (table, {"wide": True}),
        (pd.DataFrame([[0, 1]], columns=["a", name]), {}),
    ):
        with pytest.raises(InputError, match=r"contains .*label.*\.$"):
            tensorm.read(source, **options)
    with pytest.raises(InputError, match=r"contains .*label.*\.$"):
        tensorm.SparseTensor([(0, 0)], (2, 2), labels=[["a", name], None])


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_names_of_modes_that_cannot_be_kept(name) -> None:
    for read in (
        lambda: tensorm.read(xarray.DataArray(np.eye(2), dims=("i", name))),
        lambda: tensorm.read(np.eye(2), modes=["i", name]),
        lambda: tensorm.read(pd.DataFrame({"i": ["a", "b"], name: ["c", "d"]})),
        lambda: tensorm.SparseTensor([(0, 0)], (2, 2), modes=["i", name]),
    ):
        with pytest.raises(InputError, match=r"X has a mode .*, which has a NUL .*; rename it\.$"):
            read()


def test_layers_of_an_anndata_are_not_read(tmp_path: Path) -> None:
    data = anndata.AnnData(
        scipy.sparse.csr_matrix(np.eye(3)), layers={"counts": scipy.sparse.csr_matrix(np.eye(3))}
    )
    expected = tensorm.read(data).digest()
    data.write_h5ad(tmp_path / "cells.h5ad")
    with h5py.File(tmp_path / "cells.h5ad", "r+") as file:
        file["layers/counts/indices"][1] = 10**6
    data.layers["counts"].indices[1] = 10**6
    assert tensorm.read(tmp_path / "cells.h5ad").digest() == expected
    assert tensorm.read(data).digest() == expected
    data.X.indices[1] = 10**6
    with pytest.raises(tensorm.InputError, match="indices do not fit its shape"):
        tensorm.read(data)
