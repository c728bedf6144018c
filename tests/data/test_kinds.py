"""Every kind of input that ``tensorm.read`` names gives the same cells; all doors have the same options."""

from __future__ import annotations

import inspect
from pathlib import Path

import click
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import sparse
import xarray

import tensorm
from tensorm import InputError
from tensorm.cli.options import about_cells
from tensorm.data.options import Options

X = np.array([[1, 0, 0], [0, 1, 1]])
LONG = pd.DataFrame({"i": ["p", "p", "p", "q", "q", "q"], "j": [*"abcabc"], "x": X.ravel()})
WIDE = pd.DataFrame(X, pd.Index(["p", "q"], name="i"), pd.Index([*"abc"], name="j"))
LABELLED = xarray.DataArray(X, coords={"i": ["p", "q"], "j": [*"abc"]}, dims=("i", "j"), name="cells")
SPARSE = scipy.sparse.coo_array(X)
HOW = {"modes": ["i", "j"], "value": "x"}


def anndata() -> object:
    import anndata

    return anndata.AnnData(X.astype(float), pd.DataFrame(index=["p", "q"]), pd.DataFrame(index=[*"abc"]))


IN_MEMORY = {
    "pandas": (LONG, HOW),
    "polars": (pl.from_pandas(LONG), HOW),
    "pyarrow": (pa.Table.from_pandas(LONG), HOW),
    "wide pandas": (WIDE, {}),
    "wide polars": (pl.from_pandas(WIDE.reset_index()), {"wide": True}),
    "wide pyarrow": (pa.Table.from_pandas(WIDE.reset_index()), {"wide": True}),
    "AnnData": (anndata(), {"modes": ["i", "j"]}),
    "xarray": (LABELLED, {}),
    "Dataset": (LABELLED.to_dataset(), {}),
    "one of two": (xarray.Dataset({"a": LABELLED, "b": 1 - LABELLED}), {"value": "a"}),
    "scipy": (scipy.sparse.csr_array(X), {}),
    "COO": (sparse.COO.from_numpy(X), {}),
    "array": (X, {}),
    "lists": (X.tolist(), {}),
}


def check(tensor) -> None:
    ones = np.concatenate([ones for _, ones, _ in tensor.blocks()])
    np.testing.assert_array_equal(ones, X == 1)
    assert tensor.n_observed == 6


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_in_memory(kind) -> None:
    source, options = IN_MEMORY[kind]
    tensor = tensorm.read(source, **options)
    check(tensor)
    if tensor.labels[1] is not None:
        assert [labels.tolist() for labels in tensor.labels] == [["p", "q"], ["a", "b", "c"]]


@pytest.mark.parametrize("kind", ["scipy", "COO"])
def test_sparse_matrices_mean_what_arrays_do(kind) -> None:
    source = IN_MEMORY[kind][0]
    hidden = tensorm.read(source, missing=0)  # cells that are not stored are zeros
    assert hidden.n_observed == hidden.n_ones == X.sum()
    compared, wanted = (tensorm.read(given, relational=True) for given in (source, X))
    assert compared.digest() == wanted.digest()


FILES = {
    "a.csv": (lambda path: LONG.to_csv(path, index=False), HOW),
    "a.tsv": (lambda path: LONG.to_csv(path, index=False, sep="\t"), HOW),
    "a.csv.gz": (lambda path: LONG.to_csv(path, index=False), HOW),
    "wide.csv": (WIDE.to_csv, {"wide": True}),
    "a.parquet": (LONG.to_parquet, HOW),
    "wide.parquet": (WIDE.to_parquet, {}),
    "a.xlsx": (lambda path: LONG.to_excel(path, index=False), HOW),
    "a.npy": (lambda path: np.save(path, X), {}),
    "a.npz": (lambda path: np.savez(path, X=X, Y=X), {}),
    "named.npz": (lambda path: np.savez(path, a=X, b=X), {"value": "a"}),
    "a.nc": (lambda path: LABELLED.to_netcdf(path, engine="h5netcdf"), {}),
    "a.zarr": (lambda path: LABELLED.to_zarr(path, zarr_format=2), {}),
    "a.h5ad": (lambda path: anndata().write_h5ad(path), {}),
    **{
        f"{kind}.npz": (
            lambda path, kind=kind: scipy.sparse.save_npz(path, scipy.sparse.coo_array(X).asformat(kind)),
            {},
        )
        for kind in ("coo", "csr", "csc", "bsr", "dia")
    },
}


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path: Path, name) -> None:
    write, options = FILES[name]
    write(tmp_path / name)
    check(tensorm.read(tmp_path / name, **options))


def test_several_variables_need_a_name() -> None:
    two = xarray.Dataset({"a": LABELLED, "b": LABELLED})
    with pytest.raises(InputError, match=r"^X contains 2 variables \('a', 'b'\); choose one: value=NAME.$"):
        tensorm.read(two)


def test_a_wide_table_names_its_modes_by_one_rule(tmp_path: Path) -> None:
    WIDE.to_csv(tmp_path / "a.csv")
    bare = WIDE.rename_axis(None).rename_axis(None, axis=1)
    bare.to_csv(tmp_path / "bare.csv")
    named, unnamed = WIDE.rename_axis(None, axis=1), bare
    for source, options in (
        (tmp_path / "a.csv", {"wide": True}), (named, {}), (named, {"wide": True}),
        (pl.from_pandas(WIDE.reset_index()), {"wide": True}),
    ):  # fmt: skip
        assert tensorm.read(source, **options).modes == ("i", "column")
    for source, options in (
        (tmp_path / "bare.csv", {"wide": True}), (unnamed, {}), (unnamed, {"wide": True}),
        (pl.DataFrame({"a": [0, 1], "b": [1, 1]}), {}), (pd.DataFrame({"a": [0, 1], "b": [1, 1]}), {}),
    ):  # fmt: skip
        assert tensorm.read(source, **options).modes == ("row", "column")


def test_python_and_the_command_line_have_the_same_options() -> None:
    @click.command()
    @about_cells
    def command(**given) -> None:
        """Do nothing."""

    told = {name: kind.default for name, kind in inspect.signature(tensorm.read).parameters.items()}
    in_python = {*told} - {"source", "client"}
    assert in_python == {*Options._fields}
    assert in_python == {option.name for option in command.params} - {"symmetric"}
    given = command.make_context("command", []).params
    assert {name: given[name] or None for name in in_python} == {
        name: told[name] or None for name in in_python
    }
