"""``tensorm.read``: every kind of source, and the same cells whichever way a table comes."""

from __future__ import annotations

import builtins

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import sparse
import xarray

import tensorm
from tensorm import DenseTensor, FileError, InputError, RelationalTensor, SparseTensor, TensOrMachine

NAN = np.nan
X = np.array([[1.0, 0.0, NAN], [0.0, 1.0, 1.0]])


def cells_of(tensor) -> np.ndarray:
    """The cells as an array, NaN where missing."""
    return np.concatenate([np.where(observed, ones, NAN) for _, ones, observed in tensor.blocks()])


def ones(tensor) -> set[tuple[object, ...]]:
    """The labels of the cells that are 1."""
    cells = np.unravel_index(tensor.listed_keys()[0], tensor.shape)
    names = [labels[cell].tolist() for labels, cell in zip(tensor.labels, cells, strict=True)]
    return set(zip(*names, strict=True))


LONG = {"bench": ["b10", "b9", "b10"], "day": [13, 2, 2], "x": [1, 0, None]}


@pytest.fixture(params=["pandas", "nullable", "polars", "pyarrow", "csv", "tsv.gz", "parquet"])
def long(request, tmp_path):
    frame = pd.DataFrame(LONG)
    made = {
        "pandas": lambda: frame,
        "nullable": frame.convert_dtypes,
        "polars": lambda: pl.DataFrame(LONG),
        "pyarrow": lambda: pa.table(LONG),
    }
    if request.param in made:
        return made[request.param]()
    path = tmp_path / f"a.{request.param}"
    if request.param == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if "tsv" in request.param else ",")
    return path


def test_a_table_means_the_same_everywhere(long) -> None:
    tensor = tensorm.read(long, modes=["day", "bench"], value="x")
    assert isinstance(tensor, SparseTensor)
    assert (tensor.modes, tensor.shape) == (("day", "bench"), (2, 2))
    assert [labels.tolist() for labels in tensor.labels] == [[2, 13], ["b9", "b10"]]
    assert ones(tensor) == {(13, "b10")}
    assert tensor.n_observed == 3
    only = tensorm.read(long, modes=["day", "bench"], value="x", unlisted="missing")
    assert only.n_observed == 2
    with pytest.raises(InputError, match=r"has no column 'hour'; choose from 'bench', 'day', 'x'\.$"):
        tensorm.read(long, modes=["hour", "bench"])
    with pytest.raises(InputError, match=r"contains 'b10' instead of an index"):
        tensorm.read(long, modes=["bench", "day"], indices=True)


def test_integers_are_indices_only_if_asked() -> None:
    table = pd.DataFrame({"i": np.array([-128, 127], np.int8), "j": [-(2**63), 2**63 - 1]})
    extremes = tensorm.read(table, modes=["i", "j"])
    assert [labels.tolist() for labels in extremes.labels] == [[-128, 127], [-(2**63), 2**63 - 1]]
    table = pd.DataFrame({"i": [3, 13], "j": [0, 2]})
    assert tensorm.read(table, modes=["i", "j"]).shape == (2, 2)
    tensor = tensorm.read(table, modes=["i", "j"], indices=True)
    assert (tensor.shape, tensor.labels) == ((14, 3), (None, None))
    with pytest.raises(InputError, match=r"^row 0 contains -1 in 'i'; give integers counted from 0\.$"):
        tensorm.read(pd.DataFrame({"i": [-1], "j": [0]}), indices=True)


def test_ordered_categoricals_keep_their_order_and_others_do_not() -> None:
    sizes = ["small", "medium", "large"]
    table = pd.DataFrame({"size": ["large", "small", "large"], "who": ["a", "b", "c"]})
    ordered = table.assign(size=pd.Categorical(table["size"], sizes, ordered=True))
    assert tensorm.read(ordered, modes=["size", "who"]).labels[0].tolist() == ["small", "large"]
    unordered = table.assign(size=pd.Categorical(table["size"], sizes))
    assert tensorm.read(unordered, modes=["size", "who"]).labels[0].tolist() == ["large", "small"]
    levels = pl.DataFrame({"size": pl.Series(table["size"].tolist(), dtype=pl.Enum(sizes)), "who": [1, 2, 3]})
    assert tensorm.read(levels, modes=["size", "who"]).labels[0].tolist() == ["small", "large"]


def test_ordered_dictionaries_of_pyarrow_keep_their_order() -> None:
    parts = [pa.DictionaryArray.from_arrays([1, 0], some, ordered=True) for some in (["small", "large"],) * 2]
    parts.append(pa.DictionaryArray.from_arrays([0, 2], ["small", "large", "huge"], ordered=True))
    table = pa.table({"size": pa.chunked_array(parts), "who": [1, 2, 3, 4, 5, 6]})
    assert tensorm.read(table, modes=["size", "who"]).labels[0].tolist() == ["small", "large", "huge"]
    plain = pa.table({"size": pa.array(["small", "large"]).dictionary_encode(), "who": [1, 2]})
    assert tensorm.read(plain, modes=["size", "who"]).labels[0].tolist() == ["large", "small"]


def test_an_order_can_be_given() -> None:
    table = pd.DataFrame({"day": ["Tue", "Mon", "Tue"], "who": [1, 2, 3]})
    order = {"day": ["Mon", "Tue", "Wed"]}
    tensor = tensorm.read(table, modes=["day", "who"], order=order)
    assert tensor.labels[0].tolist() == ["Mon", "Tue", "Wed"]
    assert ones(tensor) == {("Tue", 1), ("Mon", 2), ("Tue", 3)}
    with pytest.raises(InputError, match=r"^order leaves out 'Tue', a label of 'day'; list all labels\.$"):
        tensorm.read(table, modes=["day", "who"], order={"day": ["Mon"]})
    with pytest.raises(InputError, match=r"^Unknown mode 'days' in order; the modes are 'day', 'who'\.$"):
        tensorm.read(table, modes=["day", "who"], order={"days": ["Mon"]})


def test_a_pair_shares_labels_also_if_one_column_has_texts() -> None:
    table = pl.DataFrame({"i": [2, 10], "j": ["10", "a"]})
    tensor = tensorm.read(table, modes=["i", "j"], pair=["i", "j"], undirected=True)
    assert [labels.tolist() for labels in tensor.labels] == [["2", "10", "a"]] * 2
    assert ones(tensor) == {("2", "10"), ("10", "2"), ("10", "a"), ("a", "10")}
    assert tensor.n_observed == 6


def test_columns_of_every_type() -> None:
    table = pl.DataFrame(
        {
            "who": pl.Series(["b", "a", "b"], dtype=pl.Categorical),
            "day": pl.Series(["2024-01-02", "2024-01-01", "2024-01-01"]).str.to_date(),
            "x": pl.Series([True, None, False]),
        }
    )
    tensor = tensorm.read(table, modes=["who", "day"], value="x", unlisted="missing")
    assert tensor.labels[0].tolist() == ["a", "b"]
    assert tensor.labels[1].astype(str).tolist() == ["2024-01-01", "2024-01-02"]
    assert (tensor.n_ones, tensor.n_observed) == (1, 2)
    timed = tensorm.read(table, modes=["who"], time="day", bins="1d")
    assert timed.labels[0].tolist() == ["2024-01-01", "2024-01-02"]
    with pytest.raises(InputError, match=r"^column 'who' is empty in row 1; give a label\.$"):
        tensorm.read(pl.DataFrame({"who": ["a", None], "day": [0, 1]}), modes=["who", "day"])
    with pytest.raises(
        InputError, match=r"^column 't' is empty in row 1; give a time, or leave that row out\.$"
    ):
        tensorm.read(pd.DataFrame({"t": [1.0, NAN], "i": [0, 1]}), modes=["i"], time="t", bins=2)
    with pytest.raises(InputError, match=r"^X is a polars LazyFrame; collect it first\.$"):
        tensorm.read(table.lazy())


def test_words_and_numbers_that_stand_for_missing_cells(tmp_path) -> None:
    table = pd.DataFrame({"i": ["a", "b", "c", "d"], "j": list("uuvv"), "x": ["1", "0", "?", "Unknown"]})
    tensor = tensorm.read(table, modes=["i", "j"], value="x", missing=["?", "unknown"])
    assert tensor.n_observed == 6
    with pytest.raises(
        InputError, match=r"2 bad rows: row 2 \('x' is '\?'\), row 3 .* set missing=\['\?', 'Unknown'\] if"
    ):
        tensorm.read(table, modes=["i", "j"], value="x")
    for given in (np.array([[1, -1], [0, 1]]), scipy.sparse.csr_array([[1, -1], [0, 1]])):
        assert tensorm.read(given, missing=-1).n_observed == 3
    (tmp_path / "a.csv").write_text("i,j,x\na,u,1\na,v,-1\nb,v,0\n")
    assert tensorm.read(tmp_path / "a.csv", value="x", missing=-1).n_observed == 3


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        xarray.DataArray,
        pd.DataFrame,
        lambda cells: pl.DataFrame(cells.tolist(), orient="row"),
        lambda cells: pa.table({str(k): column for k, column in enumerate(cells.T)}),
        scipy.sparse.csr_matrix,
        sparse.COO.from_numpy,
        lambda cells: pytest.importorskip("anndata").AnnData(cells),
        lambda cells: pytest.importorskip("anndata").AnnData(scipy.sparse.csr_matrix(cells)),
    ],
)
def test_a_threshold_makes_numbers_cells(make) -> None:
    numbers = make(np.array([[0.0, 0.5, 2.0], [3.0, 0.4, 0.0]]))
    expected = [[0, 1, 1], [1, 0, 0]]
    np.testing.assert_array_equal(cells_of(tensorm.read(numbers, threshold=0.5)), expected)
    wanted = r"X contains .*unless you use tensorm.read\(X, threshold=NUMBER\)|The table has .* or threshold="
    with pytest.raises(InputError, match=rf"^({wanted})[^.]*\.$"):
        tensorm.read(numbers)


def test_a_threshold_for_values_and_files(tmp_path) -> None:
    table = pd.DataFrame({"i": ["a", "b"], "j": ["u", "v"], "x": [0.3, 7]})
    assert ones(tensorm.read(table, modes=["i", "j"], value="x", threshold=0.3)) == {("a", "u"), ("b", "v")}
    assert ones(tensorm.read(table, modes=["i", "j"], value="x", threshold=1)) == {("b", "v")}
    with pytest.raises(InputError, match=r"^column 'x' contains 0.3 in row 0; use .* set threshold=NUMBER"):
        tensorm.read(table, modes=["i", "j"], value="x")
    np.save(tmp_path / "a.npy", np.array([[1.5, NAN], [2.5, 0]]))
    np.testing.assert_array_equal(cells_of(tensorm.read(tmp_path / "a.npy", threshold=2)), [[0, NAN], [1, 0]])
    with pytest.raises(InputError, match=r"^threshold is 0, so all unlisted cells would be 1; give one"):
        tensorm.read(scipy.sparse.csr_array([[1, 0]]), threshold=0)


def test_wide_tables_in_memory() -> None:
    named = pd.DataFrame({"id": ["p", "q"], "a": [1, 0], "b": ["no", "yes"], "c": [NAN, 1]})
    for table in (named, named.set_index("id"), pl.from_pandas(named)):
        tensor = tensorm.read(table, wide=True, modes=["patient", "gene"])
        np.testing.assert_array_equal(cells_of(tensor), X)
        assert tensor.modes == ("patient", "gene")
        assert [labels.tolist() for labels in tensor.labels] == [["p", "q"], ["a", "b", "c"]]
    polars = tensorm.read(pl.DataFrame({"a": [1, 0], "b": [None, 1]}))
    np.testing.assert_array_equal(cells_of(polars), [[1, NAN], [0, 1]])
    assert polars.labels[1].tolist() == ["a", "b"]
    levels = named.assign(b=[2.0, 3.0])
    for table in (levels, levels.set_index("id"), pl.from_pandas(levels)):
        relational = tensorm.read(table, relational=True)
        assert isinstance(relational, RelationalTensor)
        assert relational.labels[1].tolist() == ["a", "b", "c"]
    counts = pd.DataFrame({"a": [0.0, 0.0, 3.0], "b": [0.0, 5.0, 2.0], "c": [1.0, 2.0, 2.5]})
    for options, observed in (({}, 18), ({"normalise": "none"}, 16), ({"normalise": "none", "floor": 0}, 8)):
        assert tensorm.read(counts, relational=True, **options).n_observed == observed


@pytest.mark.parametrize("labels", [["p", "q"], [7, 9], None])
@pytest.mark.parametrize("name", [None, "who"])
def test_a_wide_table_means_the_same_in_a_file_and_in_memory(tmp_path, labels, name) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=labels).rename_axis(index=name)
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.parquet"):
        tensor = tensorm.read(source)
        assert isinstance(tensor, DenseTensor)
        np.testing.assert_array_equal(cells_of(tensor), X)
        assert tensor.labels[1].tolist() == ["a", "b", "c"]
        if labels or name:
            assert tensor.labels[0].tolist() == (labels or [0, 1])
        else:
            assert tensor.labels[0] is None
        if labels or name:
            wide = tensorm.read(source, wide=True)
            np.testing.assert_array_equal(cells_of(wide), X)
            assert wide.labels[0].tolist() == (labels or [0, 1])


def test_a_named_index_is_a_column_of_a_long_table(tmp_path) -> None:
    frame = pd.DataFrame({"hour": [9, 10], "person": ["ann", "bob"], "x": [1, 0]}).set_index("hour")
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (frame, frame.set_index("person", append=True), tmp_path / "a.parquet"):
        for modes in (["hour", "person"], None):
            tensor = tensorm.read(source, modes=modes, value="x")
            assert (tensor.modes, ones(tensor)) == (("hour", "person"), {(9, "ann")})
    some = frame.reset_index().set_index("hour", drop=False)[lambda table: table.x == 1]
    assert tensorm.read(some, value="x").modes == ("hour", "person")
    assert tensorm.read(some.set_axis([5]), value="x").modes == ("hour", "person")


SOURCES = ["csv", "tsv", "parquet", "xlsx", "pandas", "polars", "pyarrow"]


def brought(frame: pd.DataFrame, source: str, folder):
    """The same table as a file, or as another library holds it."""
    path = folder / f"a.{source}"
    if source in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="," if source == "csv" else "\t")
    elif source == "parquet":
        frame.to_parquet(path)
    elif source == "xlsx":
        frame.to_excel(path, index=False)
    else:
        return {"pandas": frame, "polars": pl.from_pandas(frame), "pyarrow": pa.table(frame)}[source]
    return path


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("table", "shape", "modes", "first"),
    [
        ({"a": [0, 1], "b": [1, 1], "c": [1, 0]}, (2, 3), ("row", "column"), None),  # cells
        ({"id": ["p", "q"], "b": [1, 1], "c": [1, 0]}, (2, 2), ("id", "column"), ["p", "q"]),
        ({"id": [10, 2], "b": [1, 1], "c": [1, 0]}, (2, 2), ("id", "column"), [10, 2]),
        ({"i": ["p", "q", "p"], "j": [1, 0, 0]}, (2, 2), ("i", "j"), ["p", "q"]),  # a row for each one
        ({"person": [7, 8], "met": [9, 7]}, (2, 2), ("person", "met"), [7, 8]),
        ({"h": [9, 10], "who": ["x", "y"], "met": ["y", "x"]}, (2, 2, 2), ("h", "who", "met"), [9, 10]),
    ],
)
def test_a_table_without_options_means_the_same_wherever_it_is(
    source, table, shape, modes, first, tmp_path
) -> None:
    tensor = tensorm.read(brought(pd.DataFrame(table), source, tmp_path))
    assert (tensor.shape, tensor.modes) == (shape, modes)
    assert first == (None if tensor.labels[0] is None else tensor.labels[0].tolist())
    if first is None:
        np.testing.assert_array_equal(cells_of(tensor), np.array([*table.values()]).T)


@pytest.mark.parametrize("source", SOURCES)
def test_yes_and_no_are_cells_wherever_they_are(source, tmp_path) -> None:
    frame = pd.DataFrame({"id": ["p", "q"], "x": ["yes", "no"], "y": ["No", "Yes"]})
    np.testing.assert_array_equal(cells_of(tensorm.read(brought(frame, source, tmp_path))), [[1, 0], [0, 1]])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": [0.5, 1.5], "b": [2, 3]}, "has the columns 'a', 'b', and numbers with fractions in 'a'; name"),
        ({name: ["x", "y"] for name in "abcdefg"}, "has the columns 'a', 'b', 'c', 'd', 'e', 'f', ...; name"),
    ],
)
def test_a_table_that_may_mean_anything_is_refused(source, table, message, tmp_path) -> None:
    given = brought(pd.DataFrame(table), source, tmp_path)
    wanted = r"as in tensorm.read\(X, modes=\['a', 'b'.*\), or set wide=True"
    with pytest.raises(InputError, match=rf"{message} the modes, {wanted}"):
        tensorm.read(given)
    if "and numbers" in message:
        np.testing.assert_array_equal(cells_of(tensorm.read(given, threshold=2)), [[0, 1], [0, 1]])


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("source", SOURCES)
def test_zeros_of_a_column_are_not_taken_for_ones(source, place, tmp_path) -> None:
    columns = [("i", ["p", "q", "q"]), ("j", ["x", "x", "y"])]
    columns.insert(place, ("met", [1, 0, 1]))
    given = brought(pd.DataFrame(dict(columns)), source, tmp_path)
    wanted = r"has only 0 and 1, or yes and no, in 'met'; give value='met' .* modes=\['i', 'j', 'met'\]"
    with pytest.raises(InputError, match=wanted):
        tensorm.read(given)
    assert tensorm.read(given, value="met").n_ones == 2
    assert tensorm.read(given, modes=["i", "j", "met"]).shape == (2, 2, 2)


def test_cells_beside_gaps_are_no_numbers_with_fractions() -> None:
    table = pd.DataFrame({"i": ["p", "q", "q"], "j": ["x", "x", "y"], "met": [1, 0, np.nan]})
    with pytest.raises(InputError, match=r"in 'met'; give value='met'"):
        tensorm.read(table)


def test_labels_of_wide_tables_are_those_of_their_files(tmp_path) -> None:
    table = pd.DataFrame({2: [1, 0, 1], 10: [0, 1, 1]}, index=[7, 12, 30])
    tensors = [tensorm.read(table), tensorm.read(table, wide=True)]
    table.to_csv(tmp_path / "wide.csv")
    tensors.append(tensorm.read(tmp_path / "wide.csv", wide=True))
    for tensor in tensors:
        assert [list(labels) for labels in tensor.names.labels] == [[7, 12, 30], [2, 10]]


def test_a_table_with_labels_must_hold_cells() -> None:
    frame = pd.DataFrame({"person": [7, 8], "met": [8, 7]}, index=["p", "q"])
    with pytest.raises(InputError, match=r"^X contains 7.*threshold=NUMBER\)\.$"):
        tensorm.read(frame)


def test_arrays_and_tensors() -> None:
    for given in (X, X.tolist(), np.ma.masked_invalid(X), xarray.DataArray(X)):
        tensor = tensorm.read(given)
        assert isinstance(tensor, DenseTensor)
        np.testing.assert_array_equal(cells_of(tensor), X)
    assert tensorm.read(X, modes=["who", "what"]).modes == ("who", "what")
    assert tensorm.read(tensor) is tensor
    with pytest.raises(InputError, match=r"^X is already a tensor, so options do not apply"):
        tensorm.read(tensor, modes=["a", "b"])


def test_unlisted_cells_of_a_sparse_matrix_may_be_missing() -> None:
    matrix = scipy.sparse.coo_array(([1, 0, -1], ([0, 1, 1], [0, 1, 2])), (2, 3))
    for given in (
        matrix,
        scipy.sparse.csr_matrix(matrix),
        pytest.importorskip("anndata").AnnData(matrix.tocsr()),
    ):
        tensor = tensorm.read(given, unlisted="missing", missing=-1)
        np.testing.assert_array_equal(cells_of(tensor), [[1, NAN, NAN], [NAN, 0, NAN]])
    cut = tensorm.read(matrix, unlisted="missing", threshold=0)
    np.testing.assert_array_equal(cells_of(cut), [[1, NAN, NAN], [NAN, 1, 0]])


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (X, {"unlisted": "missing"}, "X is an array, so unlisted=... cannot be used"),
        (X, {"header": False}, "X is an array, so header=... cannot be used"),
        (pd.DataFrame(X), {"unlisted": "missing"}, "The table is a table of cells, so unlisted"),
        (
            pd.DataFrame(LONG),
            {"modes": ["day", "bench"], "header": True},
            "X is a table with names, so header",
        ),
        (pd.DataFrame(X), {"wide": True, "unlisted": "missing"}, "The table is a wide table, so unlisted"),
        (
            scipy.sparse.csr_array([[1, 2]]),
            {"relational": True, "unlisted": "missing"},
            "X is .* so unlisted",
        ),
    ],
)
def test_options_are_never_ignored(source, options, message) -> None:
    with pytest.raises(InputError, match=rf"^{message}.*leave it out\.$"):
        tensorm.read(source, **options)


def test_fit_takes_a_long_table_if_every_column_is_a_mode() -> None:
    table = pd.DataFrame({"hour": [1, 2], "person": ["a", "b"], "met": ["b", "a"]})
    model = TensOrMachine(1, n_chains=1, n_draws=2, burn_in=1, noise="asymmetric", progress=False)
    assert model.fit(table).modes_ == ("hour", "person", "met")
    wanted = r"'temperature' has numbers with fractions; .* modes=\['hour', 'person', 'met'\]\)\.$"
    with pytest.raises(InputError, match=wanted):
        model.fit(table.assign(temperature=[36.6, 37.1]))
    wide = pd.DataFrame(np.eye(3, dtype=int), columns=list("abc"))
    assert model.fit(wide).labels_[1].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"undirected": True}, "undirected needs pair"),
        ({"bins": "1h"}, "bins needs time"),
        ({"pair": ["a"]}, "pair is a; give two modes"),
        ({"modes": "ab"}, "modes is 'ab'; give a list of columns"),
        ({"unlisted": "one"}, "unlisted is 'one'; choose"),
        ({"threshold": NAN}, "threshold is nan; give a number"),
        ({"floor": 0}, "floor needs relational"),
        ({"normalise": "rank"}, "normalise needs relational"),
        ({"relational": True, "normalise": "log"}, "normalise is 'log'; choose"),
        ({"relational": True, "floor": NAN}, "floor is nan; give a number"),
        ({"relational": True, "threshold": 1}, "relational compares numbers as they are"),
        ({"wide": True, "value": "a"}, "The table is a wide table, so value=... cannot be used"),
        ({"value": "b", "modes": ["a", "b"]}, "value is 'b', which is a mode"),
        ({"modes": ["a"]}, "The table has one column for modes, 'a'"),
    ],
)
def test_options_that_make_no_sense(options, message) -> None:
    with pytest.raises(InputError, match=f"^{message}.*\\.$"):
        tensorm.read(pd.DataFrame({"a": ["x"], "b": ["y"]}), **options)


def test_columns_may_have_names_that_are_not_texts() -> None:
    table = pd.DataFrame([["a", "b"], ["b", "c"]])
    assert tensorm.read(table, modes=[1, 0]).labels[0].tolist() == ["b", "c"]


def test_repeated_names_and_empty_tables() -> None:
    twice = pd.DataFrame([["x", "y"]], columns=["a", "a"])
    with pytest.raises(InputError, match=r"^The table has several columns with the same name"):
        tensorm.read(twice, modes=["a", "b"])
    with pytest.raises(InputError, match=r"^The table contains no data"):
        tensorm.read(pd.DataFrame({"a": [], "b": []}), modes=["a", "b"])


def test_excel(tmp_path, monkeypatch) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    plain = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "openpyxl":
            raise ImportError(name)
        return plain(name, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(builtins, "__import__", without)
        with pytest.raises(FileError, match=r"^Excel files need openpyxl; install it with: pip install"):
            tensorm.read(tmp_path / "a.xlsx")


def test_a_sheet_is_a_table_with_a_header(tmp_path) -> None:
    pytest.importorskip("openpyxl")
    sheet = pd.DataFrame([["bench", "day", None, "x"], ["b10", 13, None, 1], [None] * 4, ["b9", 2, None, 0]])
    sheet.to_excel(tmp_path / "a.xlsx", header=False, index=False)
    tensor = tensorm.read(tmp_path / "a.xlsx", modes=["day", "bench"], value="x")
    assert [labels.tolist() for labels in tensor.labels] == [[2, 13], ["b9", "b10"]]
    assert ones(tensor) == {(13, "b10")}


def test_excel_files(tmp_path) -> None:
    pytest.importorskip("openpyxl")
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(FileError, match=r"a.xlsx cannot be read"):
        tensorm.read(tmp_path / "a.xlsx")
    pd.DataFrame(LONG).to_excel(tmp_path / "b.xlsx", index=False)
    assert ones(tensorm.read(tmp_path / "b.xlsx", modes=["day", "bench"], value="x")) == {(13, "b10")}


# What a reader would not expect


def test_the_two_modes_of_a_pair_differ():
    table = pd.DataFrame({"hour": [1, 2], "person": ["ann", "bob"], "met": ["bob", "cleo"]})
    with pytest.raises(InputError, match="pair has 'person' twice; give two different modes"):
        tensorm.read(table, pair=["person", "person"], undirected=True)


@pytest.mark.parametrize("options", [{"threshold": 99}, {"missing": 1, "indices": True}])
def test_options_about_values_need_values(options):
    table = pd.DataFrame({"hour": [1, 2], "person": [0, 1], "met": [2, 3]})
    with pytest.raises(InputError, match=r"needs value=COLUMN, the column it applies to\.$"):
        tensorm.read(table, modes=["hour", "person", "met"], **options)


def test_blanks_around_labels_go_in_every_table(tmp_path):
    table = pd.DataFrame({"who": ["a ", "a", " b"], "what": ["x", "y", "y"]})
    table.to_csv(tmp_path / "blanks.csv", index=False)
    for source in (table, pl.from_pandas(table), pa.Table.from_pandas(table), tmp_path / "blanks.csv"):
        assert tensorm.read(source).labels[0].tolist() == ["a", "b"]
    with pytest.raises(InputError, match="column 'who' is empty in row 1"):
        tensorm.read(pl.DataFrame({"who": ["a", " "], "what": ["x", "y"]}))
