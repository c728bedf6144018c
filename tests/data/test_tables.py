"""Tables of events made tensors: labels, pairs, directions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tensorm
from tensorm import InputError


@pytest.fixture
def read(tmp_path):
    def read(text: str, name: str = "a.csv", **options):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tensorm.read(tmp_path / name, **options)

    return read


def ones(tensor):
    """The cells that are 1, by their labels."""
    cells = np.unravel_index(tensor.listed_keys()[0], tensor.shape)
    names = [labels[cell].tolist() for labels, cell in zip(tensor.labels, cells, strict=True)]
    return set(zip(*names, strict=True))


def test_rows_are_ones_and_come_once(read) -> None:
    tensor = read("who,tool\nann,saw\nbob,axe\nann,saw\n")
    assert (tensor.modes, tensor.shape) == (("who", "tool"), (2, 2))
    assert ones(tensor) == {("ann", "saw"), ("bob", "axe")}
    assert tensor.n_observed == 4
    with pytest.raises(
        InputError, match=r"^unlisted='missing' needs value=COLUMN, with 0 and 1; otherwise every "
    ):
        read("who,tool\nann,saw\nbob,axe\n", unlisted="missing")


def test_times_become_a_mode(read) -> None:
    text = "t,i,j\n2024-01-01 10:05,a,b\n2024-01-01 12:00,b,c\n"
    tensor = read(text, time="t", bins="1h")
    assert (tensor.modes, tensor.shape) == (("t", "i", "j"), (3, 2, 2))
    assert ones(tensor) == {("2024-01-01 10:00", "a", "b"), ("2024-01-01 12:00", "b", "c")}
    assert read(text, time="t", modes=["i", "t", "j"]).shape == (2, 24, 2)
    assert read(text, time="t", modes=["i", "j"]).modes == ("t", "i", "j")


def test_a_pair_has_the_same_labels(read) -> None:
    tensor = read("i,j\na,b\nc,a\n", pair=("i", "j"))
    assert [labels.tolist() for labels in tensor.labels] == [["a", "b", "c"]] * 2
    assert ones(tensor) == {("a", "b"), ("c", "a")}
    assert tensor.n_observed == 9  # with a direction, nothing is missing
    mixed = read("i,j\n1,a\n2,1\n", pair=("i", "j"))
    assert ones(mixed) == {("1", "a"), ("2", "1")}


def test_without_direction_both_orders_are_one_and_oneself_is_missing(read) -> None:
    tensor = read("h,i,j\nx,a,b\ny,b,a\nx,c,c\nx,b,a\n", pair=("i", "j"), undirected=True)
    assert ones(tensor) == {("x", "a", "b"), ("x", "b", "a"), ("y", "a", "b"), ("y", "b", "a")}
    assert tensor.shape == (2, 3, 3)
    assert tensor.n_observed == 2 * (9 - 3)
    valued = read("i,j,x\na,b,0\nb,c,1\n", pair=("i", "j"), undirected=True, value="x", unlisted="missing")
    assert (valued.n_observed, valued.n_ones) == (4, 2)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffwho,tool\nann,saw\nbob,axe\n",
        "who,tool\nann,saw\nbob,axe\n".encode("utf-16"),
        "who;tool\nann;saw\nbob;axe\n",
        "who\ttool\nann\tsaw\nbob\taxe\n",
        "who|tool\nann|saw\nbob|axe\n",
        "sep=;\nwho;tool\nann;saw\nbob;axe\n",
        "who,tool,\nann,saw,\nbob,axe,\n,,\n",
        '# made by hand\n\nwho ,tool\n  ann,saw \n   \n"bob", axe\n',
        "who,tool\rann,saw\rbob,axe\r",
        "who,tool\r\nann,saw\r\n\r\nbob,axe",
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "A.TSV", "a.txt"])
def test_tables_as_people_have_them(read, text, name) -> None:
    assert ones(read(text, name)) == {("ann", "saw"), ("bob", "axe")}


def test_labels_stay_what_they_are(read) -> None:
    with pytest.warns(UserWarning, match=r"^Column 'who' has the label 'NA'; if it means missing, set "):
        tensor = read('who,id\n"Ann, the\nfirst",007\nÅse #2 🙂,010\nNA,011\n')
    assert set(tensor.labels[0]) == {"Ann, the\nfirst", "Åse #2 🙂", "NA"}
    assert tensor.labels[1].tolist() == ["007", "010", "011"]
    large = read("who,id\n123456789012345678901,9\n9007199254740993,10\n9007199254740992,9\n")
    assert set(large.labels[0]) == {"123456789012345678901", "9007199254740993", "9007199254740992"}
    assert large.labels[1].tolist() == [9, 10]


def test_a_header_of_numbers_is_one_if_it_is_asked_for(read) -> None:
    assert read("who,2024\nann,x\nbob,y\n", modes=["who", "2024"]).modes == ("who", "2024")
    assert read("3,4\n5,6\n").labels[0].tolist() == [3, 5]


@pytest.mark.parametrize(
    "words", [("1", "0", ""), ("yes", "No", "NA"), ("TRUE", "False", "n/a"), ("1,0", "0,0", "")]
)
def test_values_are_understood(read, words) -> None:
    rows = "".join(f"{who};saw;{word}\n" for who, word in zip("abc", words, strict=True))
    tensor = read(f"who;tool;x\n{rows}d;axe;1\n", value="x")
    assert ones(tensor) == {("a", "saw"), ("d", "axe")}
    assert tensor.n_observed == 7


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        ("who,tool\n", {}, "a.csv contains no data"),
        ("who\nann\n", {}, "a.csv has one column, 'who'"),
        ("who,who\na,b\n", {}, "a.csv has 2 columns with the name 'who'"),
        (",who,tool\n0,a,b\n", {}, "a.csv has no name for column 1"),
        ("who,tool\na,b,\nc,d,\n", {}, "line 2 has 3 fields, but the first line has 2"),
        ("who,tool\na,b\nc,d,e\n", {}, "line 3 has 3 fields, but the first line has 2"),
        ('who,tool\n"a,b\nc,d\n', {}, "a quote is opened in line 2 and never closed"),
        ('who,tool\n"a\nb",c\nd,\n', {}, "column 'tool' is empty in line 4 of"),
        ("# x\nwho,tool\n\na,b\n  ,d\n", {}, "column 'who' is empty in line 5 of"),
        ("who,tool\njörg,b\n".encode("latin-1"), {}, "line 2 is damaged or not UTF-8 text"),
        (
            "who,tool,x\na,b,1\nc,d,maybe\n",
            {"value": "x"},
            "column 'x' contains 'maybe' in line 3 of .*a.csv; give 0",
        ),
        (
            "who;tool;x\na;b;1,5\n",
            {"value": "x"},
            "column 'x' contains 1.5 in line 2 of .*; use 0, 1 or an empty field, or set threshold=NUMBER",
        ),
        ("who,tool,x\na,b,1\n", {"value": "tool"}, "column 'tool' contains 'b' in line 2"),
        ("who,tool\na,b\n", {"value": "who", "modes": ["who", "tool"]}, "value is 'who', which is a mode"),
        (
            "who,tool\na,b\n",
            {"modes": ["who", "place"]},
            "a.csv has no column 'place'; choose from 'who', 'tool'",
        ),
        (f"who,tool\n{'x' * 200_000},b\n", {}, "is too long"),
        (
            "who,tool\na,b\n",
            {"pair": ("who", "met")},
            "Unknown mode 'met' in pair; the modes are 'who', 'tool'",
        ),
    ],
)
def test_the_line_or_column_is_named(read, text, wanted, message) -> None:
    with pytest.raises(InputError, match=rf"{message}.*\.$"):
        read(text, **wanted)


def test_parquet_has_types_of_its_own(tmp_path) -> None:
    table = pd.DataFrame(
        {"t": pd.to_datetime(["2024-01-01 10:00", "2024-01-02 11:00"]), "i": ["a", "b"], "j": [1, 2]}
    )
    table.to_parquet(tmp_path / "a.parquet")
    tensor = tensorm.read(tmp_path / "a.parquet", time="t", bins="1d")
    assert ones(tensor) == {("2024-01-01", "a", 1), ("2024-01-02", "b", 2)}


def test_no_modes_are_too_few() -> None:
    with pytest.raises(InputError, match=r"^The table has no column for modes; give two or more\.$"):
        tensorm.read(pd.DataFrame({"i": ["a"], "j": ["b"]}), modes=[], value="j")


def test_a_wide_table_without_labels_has_cells_in_its_first_column(tmp_path):
    frame = pd.DataFrame([[1, 0, 1], [0, 0, 1], [1, 1, 0]], columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "wide.csv", index=False)
    for source in (frame, tmp_path / "wide.csv"):
        found = tensorm.read(source, wide=True)
        assert found.shape == (3, 3)
        assert found.n_ones == 5
    frame.insert(0, "row", [0, 1, 2])
    assert tensorm.read(frame, wide=True).shape == (3, 3)


def test_columns_that_no_array_holds_are_refused() -> None:
    import polars as pl
    import pyarrow as pa

    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    bytes_of_no_text = [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    for table in (
        pl.DataFrame({"a": [{"q": 1}], "b": ["x"]}),
        pl.DataFrame({"a": pl.Series([2**100], dtype=pl.Int128), "b": ["x"]}),
        pa.table({"a": union, "b": ["x", "y"]}),
        pa.table({"a": pa.Array.from_buffers(pa.string(), 1, bytes_of_no_text), "b": ["x"]}),
    ):
        with pytest.raises(
            InputError, match=r"^The table has a column 'a' of type .*; give numbers, texts or"
        ):
            tensorm.read(table)
