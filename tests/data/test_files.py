"""Arrays and wide tables from files of every kind."""

from __future__ import annotations

import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray

import tensorm
from tensorm import FileError, InputError, SparseTensor
from tensorm.data.files import FORMATS, Format
from tensorm.data.options import Options
from tensorm.data.read import open_table
from tensorm.tensors.read import read_with_metadata

X = np.array([[1.0, 0.0, np.nan], [0.0, 1.0, 1.0]])
LABELLED = xarray.DataArray(
    X,
    dims=("patient", "gene"),
    coords={"patient": ["p", "q"], "gene": ["a", "b", "c"], "type": ("patient", ["x", "y"])},
)


def cells_of(tensor) -> np.ndarray:
    """The cells as an array, NaN where missing."""
    return np.concatenate([np.where(observed, ones, np.nan) for _, ones, observed in tensor.blocks()])


def test_a_new_format_is_an_entry_and_a_reader(tmp_path, monkeypatch) -> None:
    def read_stars(file, _) -> np.ndarray:
        return np.array([[star == "*" for star in line] for line in file.read_text().splitlines()])

    (tmp_path / "sky.stars").write_text("*..\n.**\n")
    with pytest.raises(FileError, match=r"^Unsupported file type: .*sky.stars; give .csv, .*, or text with"):
        tensorm.read(tmp_path / "sky.stars")
    monkeypatch.setitem(FORMATS, ".stars", Format(table=False, read=read_stars))
    np.testing.assert_array_equal(cells_of(tensorm.read(tmp_path / "sky.stars")), [[1, 0, 0], [0, 1, 1]])
    (tmp_path / "fog.stars").write_bytes(b"\xff")
    with pytest.raises(FileError, match=r"fog.stars cannot be read as a table or an array; write it with"):
        tensorm.read(tmp_path / "fog.stars")
    with pytest.raises(InputError, match=r"sky.stars cannot be read in parts"):
        tensorm.read(tmp_path / "sky.stars", client=object())
    with pytest.raises(FileError, match=r"^Unsupported file type: .*sky.stars; give .csv, .*.xlsx, or text"):
        open_table(tmp_path / "sky.stars")
    monkeypatch.setitem(FORMATS, ".stars", FORMATS[".stars"]._replace(needs=("no_such", "Stars", "stars")))
    with pytest.raises(FileError, match=r"^Stars need no_such; install it with: pip install stars.$"):
        tensorm.read(tmp_path / "sky.stars")


def test_read_tells_of_every_format() -> None:
    for ending in FORMATS:
        assert f"{ending}" in tensorm.read.__doc__, "add it to the docstring"


def test_npy_and_npz(tmp_path) -> None:
    np.save(tmp_path / "a.npy", X)
    np.testing.assert_array_equal(cells_of(tensorm.read(tmp_path / "a.npy")), X)
    assert tensorm.read(tmp_path / "a.npy", modes=["patient", "gene"]).modes == ("patient", "gene")
    np.savez(tmp_path / "one.npz", anything=X)
    np.savez(tmp_path / "two.npz", truth=X, observed=X)
    for name in ("one.npz", "two.npz"):
        np.testing.assert_array_equal(cells_of(tensorm.read(tmp_path / name)), X)
    np.savez(tmp_path / "many.npz", a=X, b=X)
    with pytest.raises(FileError, match=r"many.npz contains 2 arrays \('a', 'b'\); choose one: value=NAME"):
        tensorm.read(tmp_path / "many.npz")
    np.save(tmp_path / "pickled.npy", np.array([None, 1]))
    with pytest.raises(FileError, match=r"pickled.npy cannot be read as an array of numbers"):
        tensorm.read(tmp_path / "pickled.npy")


def test_netcdf_keeps_names_labels_and_metadata(tmp_path) -> None:
    LABELLED.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    tensor, metadata = read_with_metadata(tmp_path / "a.nc", Options())
    np.testing.assert_array_equal(cells_of(tensor), X)
    assert tensor.modes == ("patient", "gene")
    assert [labels.tolist() for labels in tensor.labels] == [["p", "q"], ["a", "b", "c"]]
    assert metadata == {"patient": {"patient": ["p", "q"], "type": ["x", "y"]}}
    assert tensorm.read(tmp_path / "a.nc", modes=["who", "what"]).modes == ("who", "what")
    xarray.Dataset({"a": LABELLED, "b": LABELLED}).to_netcdf(tmp_path / "b.nc", engine="h5netcdf")
    with pytest.raises(FileError, match=r"b.nc contains 2 variables"):
        tensorm.read(tmp_path / "b.nc")


def test_zarr(tmp_path) -> None:
    zarr = pytest.importorskip("zarr")
    zarr.save_array(tmp_path / "a.zarr", X)
    np.testing.assert_array_equal(cells_of(tensorm.read(tmp_path / "a.zarr")), X)
    LABELLED.rename("cells").to_zarr(tmp_path / "labelled.zarr", zarr_format=2)
    labelled = tensorm.read(tmp_path / "labelled.zarr")
    np.testing.assert_array_equal(cells_of(labelled), X)
    assert labelled.labels[0].tolist() == ["p", "q"]
    xarray.Dataset({"a": LABELLED, "b": LABELLED}).to_zarr(tmp_path / "two.zarr", zarr_format=2)
    with pytest.raises(FileError, match=r"two.zarr contains 2 variables"):
        tensorm.read(tmp_path / "two.zarr")
    (tmp_path / "b.zarr").mkdir()
    with pytest.raises(FileError, match=r"b.zarr cannot be read as a zarr array"):
        tensorm.read(tmp_path / "b.zarr")


@pytest.mark.parametrize("stored", [np.asarray, scipy.sparse.csr_matrix])
def test_anndata(tmp_path, stored) -> None:
    import anndata

    obs = pd.DataFrame(
        {"type": pd.Categorical(["x", None]), "age": [40.0, np.nan], "gene": [1, 2]}, index=["p", "q"]
    )
    var = pd.DataFrame({"age": ["old", "new", "new"]}, index=["a", "b", "c"])
    anndata.AnnData(stored(np.nan_to_num(X)), obs, var).write_h5ad(tmp_path / "a.h5ad")
    tensor = tensorm.read(tmp_path / "a.h5ad")
    assert isinstance(tensor, SparseTensor) == (stored is not np.asarray)
    assert tensor.modes == ("observation", "variable")
    np.testing.assert_array_equal(cells_of(tensor), np.nan_to_num(X))
    assert read_with_metadata(tmp_path / "a.h5ad", Options(modes=["patient", "gene"]))[1] == {
        "patient": {"patient": ["p", "q"], "type": ["x", None], "age": [40, None], "gene": [1, 2]},
        "gene": {"gene": ["a", "b", "c"], "age": ["old", "new", "new"]},
    }


def test_anndata_without_cells(tmp_path) -> None:
    import anndata

    anndata.AnnData(None, pd.DataFrame(index=["p"])).write_h5ad(tmp_path / "a.h5ad")
    with pytest.raises(FileError, match=r"a.h5ad has no matrix X"):
        tensorm.read(tmp_path / "a.h5ad")
    (tmp_path / "a.h5ad").write_bytes(b"junk")
    with pytest.raises(FileError, match=r"a.h5ad cannot be read as AnnData"):
        tensorm.read(tmp_path / "a.h5ad")


@pytest.mark.parametrize("text", ["id,a,b,c\np,1,0,\nq,0,1,1\n", "\ufeffid;a;b;c\np;yes;no;NA\nq;0;1;1\n"])
def test_wide_tables(tmp_path, text) -> None:
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    tensor = tensorm.read(tmp_path / "a.csv", wide=True, modes=["patient", "gene"])
    assert tensor.modes == ("patient", "gene")
    assert [labels.tolist() for labels in tensor.labels] == [["p", "q"], ["a", "b", "c"]]
    np.testing.assert_array_equal(np.concatenate([ones for _, ones, _ in tensor.blocks()]), X == 1)
    assert tensor.n_observed == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\np\n", "a.csv has one column"),
        ("id,a\np,1\np,0\n", "line 3 of .*a.csv repeats the label 'p'; give each label once"),
        ("id,a\np,1\n,0\n", "column 'id' is empty in line 3 of .*a.csv; give a label"),
        ("id,a,a\np,1,0\n", "2 columns with the name 'a'"),
        ("id,a\np,1\nq,often\n", "column 'a' contains 'often' in line 3 of .*a.csv; give 0, 1"),
    ],
)
def test_wide_tables_that_are_none(tmp_path, text, message) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        tensorm.read(tmp_path / "a.csv", wide=True)


def test_what_cannot_be_read(tmp_path) -> None:
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(FileError, match=r"^No such file: .*none.csv.$"):
        tensorm.read(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"a.npy is an array, so time=... cannot be used; leave it out"):
        tensorm.read(tmp_path / "a.npy", time="t")
    with pytest.raises(InputError, match=r"^modes is \('a',\); give 2 different names"):
        tensorm.read(tmp_path / "a.npy", modes=["a"])
    (tmp_path / "a.ods").write_bytes(b"PK")
    for read in (tensorm.read, open_table):
        with pytest.raises(FileError, match=r"^Unsupported file type: .*a.ods; give .csv, .*.xlsx"):
            read(tmp_path / "a.ods")
    with pytest.raises(FileError, match=r"a.npy; give .csv, .*.xlsx, or text with .gz"):
        open_table(tmp_path / "a.npy")
    (tmp_path / "a.parquet.gz").write_bytes(b"")
    with pytest.raises(FileError, match=r"^Unsupported file type: .*a.parquet.gz"):
        tensorm.read(tmp_path / "a.parquet.gz")


def test_a_folder_of_parquet_files_is_one_table(tmp_path) -> None:
    table = pd.DataFrame({"year": [2024, 2024, 2023], "who": ["a", "b", "a"], "what": ["x", "y", "y"]})
    table.to_parquet(tmp_path / "a.parquet", partition_cols=["year"])
    (tmp_path / "a.parquet" / "_SUCCESS").touch()
    tensor = tensorm.read(tmp_path / "a.parquet", modes=["who", "what", "year"])
    assert [labels.tolist() for labels in tensor.labels] == [["a", "b"], ["x", "y"], [2023, 2024]]
    assert tensor.n_ones == 3
    (tmp_path / "b.parquet").mkdir()
    with pytest.raises(FileError, match=r"b.parquet contains no data"):
        tensorm.read(tmp_path / "b.parquet")
    (tmp_path / "a.parquet" / "_delta_log").mkdir()
    (tmp_path / "a.parquet" / "_delta_log" / "0.json").write_text("{}")
    table.to_parquet(tmp_path / "a.parquet" / "year=2024" / "part-2")  # pyarrow goes by no ending
    assert tensorm.read(tmp_path / "a.parquet", modes=["who", "what", "year"]).n_ones == 4


def test_a_parquet_file_has_each_name_once(tmp_path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.Table.from_arrays([pyarrow.array([1, 2])] * 2, names=["a", "a"])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(FileError, match=r"a.parquet has several columns with the same name; give each"):
        tensorm.read(tmp_path / "a.parquet")


def test_an_excel_file_may_have_pictures(tmp_path) -> None:
    pd.DataFrame({"who": ["ann", "bob"], "what": ["saw", "axe"]}).to_excel(tmp_path / "a.xlsx", index=False)
    with zipfile.ZipFile(tmp_path / "a.xlsx", "a") as archive:
        archive.writestr("docProps/thumbnail.jpeg", b"\xff\xd8\xff\xe0\0\x10JFIF\0")
        archive.writestr("xl/media/image1.png", b"\x89PNG\r\n\x1a\n\0")
    assert tensorm.read(tmp_path / "a.xlsx").n_ones == 2


@pytest.mark.parametrize("name", ["a.nc", "a.zarr"])
def test_numbers_that_become_floats_need_room_for_them(name, tmp_path, monkeypatch) -> None:
    """Integers of a byte with a scale are read as floats of eight."""
    array = xarray.DataArray(np.ones((1000, 1000)), dims=("i", "j"), name="x")
    coded = {"x": {"dtype": "int8", "scale_factor": 0.5, "_FillValue": -1}}
    if name == "a.nc":
        array.to_netcdf(tmp_path / name, engine="h5netcdf", encoding=coded)
    else:
        array.to_dataset().to_zarr(tmp_path / name, encoding=coded, consolidated=False)
    monkeypatch.setattr("tensorm.data.memory.available_memory", lambda: 5 * 10**6)
    with pytest.raises(FileError, match=r"cannot be read: it needs .* GB of memory"):
        tensorm.read(tmp_path / name)
