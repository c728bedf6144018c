"""Lists of cells from tables and files, with the line where something is wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tensorm import FileError, InputError, SparseTensor


def ones(tensor: SparseTensor) -> set[tuple[int, ...]]:
    return {tuple(map(int, np.unravel_index(key, tensor.shape))) for key in tensor.listed()[0]}


def written(path: Path, text: str) -> Path:
    with gzip.open(path, "wt") if path.suffix == ".gz" else open(path, "w") as file:
        file.write(text)
    return path


CELLS = {(0, 1, 2), (3, 0, 0)}


@pytest.mark.parametrize(
    ("name", "text", "shape"),
    [
        ("a.csv", "0,1,2\n3,0,0\n", (4, 2, 3)),  # DBTF
        ("a.csv", "\n0, 1, 2\n\n3, 0, 0\n", (4, 2, 3)),
        ("a.tsv", "i\tj\tk\n0\t1\t2\n3\t0\t0\n", (4, 2, 3)),
        ("a.txt", "0 1 2\n3 0 0\n", (4, 2, 3)),
        ("a.txt", "0;1;2\n3;0;0\n", (4, 2, 3)),
        ("a.txt.gz", "0,1,2\n3,0,0\n", (4, 2, 3)),
        ("a.tns", "# a comment\n1 2 3 5.0\n4 1 1 1\n2 2 2 0\n", (4, 2, 3)),  # FROSTT
        ("a.tns.gz", "1 2 3 1.0\n4 1 1 1.0\n", (4, 2, 3)),
    ],
)
def test_files_of_many_kinds(tmp_path: Path, name: str, text: str, shape: tuple[int, ...]) -> None:
    tensor = SparseTensor.read(written(tmp_path / name, text))
    assert tensor.shape == shape
    assert ones(tensor) == CELLS
    assert tensor.modes == (("i", "j", "k") if "i\t" in text else ("mode 0", "mode 1", "mode 2"))


def test_names_labels_and_values(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "when,who,x,what\n3,ann,1,tea\n0,bob,0,tea\n1,bob,,milk\n")
    tensor = SparseTensor.read(file, ["who", "what", "when"], "x", unlisted="missing")
    assert (tensor.modes, tensor.shape) == (("who", "what", "when"), (2, 2, 4))
    assert [None if labels is None else labels.tolist() for labels in tensor.labels] == [
        ["ann", "bob"],
        ["milk", "tea"],
        None,
    ]
    assert ones(tensor) == {(0, 1, 3)}
    assert tensor.n_observed == 2
    triples = written(tmp_path / "b.tsv", "uk\tally\tusa\nusa\tally\tuk\n")
    assert SparseTensor.read(triples, ["head", "link", "tail"]).shape == (2, 1, 2)
    assert SparseTensor.read(written(tmp_path / "c.csv", "1,1\n5,2\n"), first=1, shape=(9, 9)).shape == (9, 9)
    ids = SparseTensor.read(written(tmp_path / "d.csv", "700,1,1\n900,1,0\n"), value=-1, labelled=True)
    assert (ids.shape, ids.n_ones, ids.labels[0].tolist()) == ((2, 1), 1, [700, 900])


def test_a_value_that_is_not_known_is_missing(tmp_path: Path) -> None:
    tensor = SparseTensor.read(written(tmp_path / "a.tns", "1 1 1\n2 2 nan\n3 3 0\n"))
    assert (tensor.n_ones, tensor.n_observed) == (1, 8)


def test_parquet(tmp_path: Path) -> None:
    pd.DataFrame({"i": [0, 3], "j": [1, 0], "k": [2, 0]}).to_parquet(tmp_path / "a.parquet")
    assert ones(SparseTensor.read(tmp_path / "a.parquet")) == CELLS
    written(tmp_path / "b.parquet", "nothing")
    with pytest.raises(FileError, match=r"b.parquet cannot be read: "):
        SparseTensor.read(tmp_path / "b.parquet")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.csv",
            "i,j\n0,1\n\n# no\n-1,2\n",
            r"line 5 of .*a.csv holds -1 for mode 0, but indices count from 0; mend that line",
        ),
        ("a.csv", "0,1\n0,1.5\n", r"coords holds 1.5 for mode 1 in line 2 of .*a.csv; give integers"),
        ("a.csv", "0,1\n0,x\n", r"line 2 of .*a.csv holds 'x' where an integer is needed; mend that line"),
        ("a.csv", "0,1\n0,\n", r"column 'mode 1' is empty in line 2 of .*a.csv; give an index"),
        ("a.csv", "0,1\n0,1,2\n", r".*a.csv cannot be read: line 2 has 3 fields, not 2; give one cell"),
        ("a.tns", "1 2 1\n0 2 1\n", r"line 2 of .*a.tns holds 0 for mode 0, but indices count from 1; mend"),
        ("a.csv", "0,1\n0,99999999999999999999\n", r"line 2 of .*a.csv holds 9{20}, too large for an index"),
        ("a.tns", "1 2 1\na 2 1\n", r"line 2 of .*a.tns holds 'a' where an integer is needed"),
        ("a.csv", "", r".*a.csv holds no data; give a table with names"),
        ("a.xls", "1", r".*a.xls is of no known kind; give .csv"),
    ],
)
def test_the_line_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}.*\\.$"):
        SparseTensor.read(written(tmp_path / name, text))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none.csv cannot be read: No such file or directory; "):
        SparseTensor.read(tmp_path / "none.csv")
    (tmp_path / "a.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(FileError, match=r"a.csv.gz cannot be read: "):
        SparseTensor.read(tmp_path / "a.csv.gz")
    file = written(tmp_path / "b.csv", "0,1\n")
    with pytest.raises(InputError, match=r"^modes is \['a'\], but .*b.csv has 2 columns for modes; "):
        SparseTensor.read(file, ["a"])
    with pytest.raises(InputError, match=r"^value is 5, but .*b.csv has no names; give a position below 2.$"):
        SparseTensor.read(file, value=5)


def test_long_tables() -> None:
    columns = {"who": ["b", "a", "b"], "day": [0, 2, 2], "x": [1, 0, None]}
    table = pd.DataFrame(columns).convert_dtypes()
    for given in (table, pd.DataFrame(columns), pa.table(columns), pl.DataFrame(columns)):
        tensor = SparseTensor.from_table(given, ["day", "who"], "x")
        assert (tensor.shape, tensor.modes) == ((3, 2), ("day", "who"))
        assert ones(tensor) == {(0, 1)}
        assert tensor.n_observed == 5
        assert tensor.labels[1].tolist() == ["a", "b"]
    with pytest.raises(InputError, match=r"^table has no column 'hour'; choose from 'who', 'day', 'x'.$"):
        SparseTensor.from_table(table, ["hour", "who"])
    with pytest.raises(InputError, match=r"^table is a list; give a pandas, polars or pyarrow table.$"):
        SparseTensor.from_table([1])
    with pytest.raises(InputError, match=r"^column 'a' is empty in row 1; give an index.$"):
        SparseTensor.from_table(pd.DataFrame({"a": ["x", None], "b": [0, 1]}))


def test_polars_columns_of_every_type() -> None:
    table = pl.DataFrame(
        {
            "who": pl.Series(["b", "a", "b"], dtype=pl.Categorical),
            "day": pl.Series(["2024-01-02", "2024-01-01", "2024-01-01"]).str.to_date(),
            "x": pl.Series([True, None, False]),
        }
    )
    tensor = SparseTensor.from_table(table, ["who", "day"], "x", unlisted="missing")
    assert tensor.labels[0].tolist() == ["a", "b"]
    assert tensor.labels[1].astype(str).tolist() == ["2024-01-01", "2024-01-02"]
    assert (ones(tensor), tensor.n_observed) == ({(1, 1)}, 2)
    with pytest.raises(InputError, match=r"^column 'who' is empty in row 1; give an index.$"):
        SparseTensor.from_table(pl.DataFrame({"who": ["a", None], "day": [0, 1]}))
    with pytest.raises(InputError, match=r"^table is a LazyFrame; give a pandas, polars or pyarrow table.$"):
        SparseTensor.from_table(table.lazy())
