"""Arrays and wide tables from files of every kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray

from tensorm import FileError, InputError
from tensorm.reading import Wanted, metadata_of, read_any_table, read_cells
from tensorm.tensors import as_tensor

X = np.array([[1.0, 0.0, np.nan], [0.0, 1.0, 1.0]])
LABELLED = xarray.DataArray(
    X,
    dims=("patient", "gene"),
    coords={"patient": ["p", "q"], "gene": ["a", "b", "c"], "type": ("patient", ["x", "y"])},
)


def test_npy_and_npz(tmp_path) -> None:
    np.save(tmp_path / "a.npy", X)
    np.testing.assert_array_equal(read_cells(tmp_path / "a.npy"), X)
    assert read_cells(tmp_path / "a.npy", Wanted(modes=["patient", "gene"])).dims == ("patient", "gene")
    np.savez(tmp_path / "one.npz", anything=X)
    np.savez(tmp_path / "two.npz", truth=X, observed=X)
    for name in ("one.npz", "two.npz"):
        np.testing.assert_array_equal(read_cells(tmp_path / name), X)
    np.savez(tmp_path / "many.npz", a=X, b=X)
    with pytest.raises(FileError, match=r"many.npz holds a, b; call the one with the cells X.$"):
        read_cells(tmp_path / "many.npz")
    np.save(tmp_path / "pickled.npy", np.array([None, 1]))
    with pytest.raises(FileError, match=r"pickled.npy is no array of numbers"):
        read_cells(tmp_path / "pickled.npy")


def test_netcdf_keeps_names_labels_and_metadata(tmp_path) -> None:
    LABELLED.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    cells = read_cells(tmp_path / "a.nc")
    xarray.testing.assert_equal(cells, LABELLED)
    assert metadata_of(cells) == {"patient": {"patient": ["p", "q"], "type": ["x", "y"]}}
    assert read_cells(tmp_path / "a.nc", Wanted(modes=["who", "what"])).dims == ("who", "what")
    xarray.Dataset({"a": LABELLED, "b": LABELLED}).to_netcdf(tmp_path / "b.nc", engine="h5netcdf")
    with pytest.raises(FileError, match=r"b.nc holds 2 variables"):
        read_cells(tmp_path / "b.nc")


def test_zarr(tmp_path) -> None:
    zarr = pytest.importorskip("zarr")
    zarr.save_array(tmp_path / "a.zarr", X)
    np.testing.assert_array_equal(read_cells(tmp_path / "a.zarr"), X)
    LABELLED.rename("cells").to_zarr(tmp_path / "labelled.zarr", zarr_format=2)
    xarray.testing.assert_equal(read_cells(tmp_path / "labelled.zarr"), LABELLED)
    xarray.Dataset({"a": LABELLED, "b": LABELLED}).to_zarr(tmp_path / "two.zarr", zarr_format=2)
    with pytest.raises(FileError, match=r"two.zarr holds 2 variables"):
        read_cells(tmp_path / "two.zarr")
    (tmp_path / "b.zarr").mkdir()
    with pytest.raises(FileError, match=r"b.zarr is no zarr array"):
        read_cells(tmp_path / "b.zarr")


@pytest.mark.parametrize("stored", [np.asarray, scipy.sparse.csr_matrix])
def test_anndata(tmp_path, stored) -> None:
    import anndata

    obs = pd.DataFrame(
        {"type": pd.Categorical(["x", None]), "age": [40.0, np.nan], "gene": [1, 2]}, index=["p", "q"]
    )
    var = pd.DataFrame({"age": ["old", "new", "new"]}, index=["a", "b", "c"])
    anndata.AnnData(stored(np.nan_to_num(X)), obs, var).write_h5ad(tmp_path / "a.h5ad")
    cells = read_cells(tmp_path / "a.h5ad")
    assert cells.dims == ("observation", "variable")
    np.testing.assert_array_equal(cells, np.nan_to_num(X))
    assert metadata_of(read_cells(tmp_path / "a.h5ad", Wanted(modes=["patient", "gene"]))) == {
        "patient": {
            "patient": ["p", "q"],
            "type": ["x", None],
            "age": [40, None],
            "observation gene": [1, 2],
        },
        "gene": {"gene": ["a", "b", "c"], "variable age": ["old", "new", "new"]},
    }


def test_anndata_without_cells(tmp_path) -> None:
    import anndata

    anndata.AnnData(None, pd.DataFrame(index=["p"])).write_h5ad(tmp_path / "a.h5ad")
    with pytest.raises(FileError, match=r"a.h5ad has no matrix X"):
        read_cells(tmp_path / "a.h5ad")
    (tmp_path / "a.h5ad").write_bytes(b"junk")
    with pytest.raises(FileError, match=r"a.h5ad cannot be read as AnnData"):
        read_cells(tmp_path / "a.h5ad")


@pytest.mark.parametrize("text", ["id,a,b,c\np,1,0,\nq,0,1,1\n", "\ufeffid;a;b;c\np;yes;no;NA\nq;0;1;1\n"])
def test_wide_tables(tmp_path, text) -> None:
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    tensor = as_tensor(read_cells(tmp_path / "a.csv", Wanted(wide=True, modes=["patient", "gene"])))
    assert tensor.modes == ("patient", "gene")
    assert [labels.tolist() for labels in tensor.labels] == [["p", "q"], ["a", "b", "c"]]
    np.testing.assert_array_equal(np.concatenate([ones for _, ones, _ in tensor.blocks()]), X == 1)
    assert tensor.n_observed == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\np\n", "a.csv has one column"),
        ("id,a\np,1\np,0\n", "line 3 of .*a.csv has the label 'p', which was there"),
        ("id,a\np,1\n,0\n", "line 3 of .*a.csv has no label in its first column"),
        ("id,a,a\np,1,0\n", "2 columns with the name 'a'"),
        ("id,a\np,1\nq,often\n", "column 'a' holds 'often' in line 3 of .*a.csv; give 0, 1"),
    ],
)
def test_wide_tables_that_are_none(tmp_path, text, message) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_cells(tmp_path / "a.csv", Wanted(wide=True))


def test_what_cannot_be_read(tmp_path) -> None:
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(FileError, match=r"none.csv is not there"):
        read_cells(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"a.npy is an array, so there is no time in it"):
        read_cells(tmp_path / "a.npy", Wanted(time="t"))
    with pytest.raises(InputError, match=r"^modes is a; give 2 different names"):
        read_cells(tmp_path / "a.npy", Wanted(modes=["a"]))
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    for read in (read_cells, read_any_table):
        with pytest.raises(FileError, match=r"a.xlsx is a spreadsheet; save the sheet as CSV"):
            read(tmp_path / "a.xlsx")
