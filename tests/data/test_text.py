"""Tables in text files: every field counts, labels are what is written, and mistakes are located."""

from __future__ import annotations

import csv
import gzip
import io
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorm
from tensorm import FileError, InputError
from tensorm.data.text import SAMPLE, TextTable


def ones(tensor) -> set[tuple[int, ...]]:
    return {tuple(map(int, np.unravel_index(key, tensor.shape))) for key in tensor.listed_keys()[0]}


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
    tensor = tensorm.read(written(tmp_path / name, text), indices=True)
    assert tensor.shape == shape
    assert ones(tensor) == CELLS
    assert tensor.modes == (("i", "j", "k") if "i\t" in text else ("mode 0", "mode 1", "mode 2"))


def test_names_labels_and_values(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "when,who,x,what\n3,ann,1,tea\n0,bob,0,tea\n1,bob,,milk\n")
    tensor = tensorm.read(file, modes=["who", "what", "when"], value="x", unlisted="missing")
    assert (tensor.modes, tensor.shape) == (("who", "what", "when"), (2, 2, 3))
    assert [labels.tolist() for labels in tensor.labels] == [["ann", "bob"], ["milk", "tea"], [0, 1, 3]]
    assert ones(tensor) == {(0, 1, 2)}
    assert tensor.n_observed == 2
    triples = written(tmp_path / "b.tsv", "uk\tally\tusa\nusa\tally\tuk\n")
    named = tensorm.read(triples, modes=["head", "link", "tail"], header=False)
    assert (named.shape, named.modes) == ((2, 1, 2), ("head", "link", "tail"))
    ids = written(tmp_path / "d.csv", "700,1,1\n900,1,0\n")
    labelled = tensorm.read(ids, modes=["id", "day"], value="x")
    assert (labelled.shape, labelled.n_ones, labelled.labels[0].tolist()) == ((2, 1), 1, [700, 900])
    assert tensorm.read(ids, modes=["id", "day"], value="x", indices=True).shape == (901, 2)


def test_a_value_that_is_not_known_is_missing(tmp_path: Path) -> None:
    tensor = tensorm.read(written(tmp_path / "a.tns", "1 1 1\n2 2 nan\n3 3 0\n"))
    assert (tensor.n_ones, tensor.n_observed) == (1, 8)


def test_parquet(tmp_path: Path) -> None:
    pd.DataFrame({"i": [0, 3], "j": [1, 0], "k": [2, 0]}).to_parquet(tmp_path / "a.parquet")
    assert ones(tensorm.read(tmp_path / "a.parquet", indices=True)) == CELLS
    written(tmp_path / "b.parquet", "nothing")
    with pytest.raises(FileError, match=r"b.parquet cannot be read as Parquet"):
        tensorm.read(tmp_path / "b.parquet")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.csv",
            "i,j\n0,1\n\n-1,2\n",
            r"line 4 of .*a.csv contains -1 in 'i'; give integers counted from 0",
        ),
        (
            "a.csv",
            "0,1\n0,1.5\n",
            r"line 2 of .*a.csv contains 1.5 in 'mode 1'; give integers counted from 0",
        ),
        ("a.csv", "0,1\n0,x\n", r"line 2 of .*a.csv contains 'x' instead of an index; give an integer"),
        ("a.csv", "0,1\n0,\n", r"column 'mode 1' is empty in line 2 of .*a.csv; give an index"),
        ("a.csv", "0,1\n0,1,2\n", r".*a.csv cannot be read: line 2 has 3 fields, but the first line has 2"),
        (
            "a.tns",
            "1 2 1\n0 2 1\n",
            r"line 2 of .*a.tns contains 0 in 'mode 0'; give integers counted from 1",
        ),
        ("a.csv", f"0,1\n0,{'9' * 20}\n", r"line 2 of .*a.csv contains 9{20} in 'mode 1'; give integers"),
        ("a.tns", "# no\n1 2 1\na 2 1\n", r"line 3 of .*a.tns contains 'a' instead of an index"),
        ("a.csv", "", r".*a.csv contains no data; give a table with names"),
        ("a.xls", "1", r"Unsupported file type: .*a.xls; give .csv"),
    ],
)
def test_the_line_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}.*\\.$"):
        tensorm.read(written(tmp_path / name, text), indices=True)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for junk in (b"no gzip", gzip.compress(b"a,b\n" * 9)[:-9]):
        (tmp_path / "a.csv.gz").write_bytes(junk)
        with pytest.raises(FileError, match=r"a.csv.gz cannot be read: "):
            tensorm.read(tmp_path / "a.csv.gz")
    file = written(tmp_path / "b.csv", "0,1\n")
    with pytest.raises(
        InputError, match=r"b.csv has no header and 2 columns, but 1 are named \(a\); name all"
    ):
        tensorm.read(file, modes=["a"])
    with pytest.raises(FileError, match=r"has a field that is too long"):
        tensorm.read(written(tmp_path / "c.csv", f"{'x' * 200_000},b\na,b\n"))


def test_only_what_precedes_the_table_is_skipped_and_that_is_said(tmp_path: Path, caplog) -> None:
    text = "# made by hand\n\nwho,tool\n#1,saw\nsep=;,axe\nann,# no\n"
    with caplog.at_level(logging.INFO, "tensorm"):
        tensor = tensorm.read(written(tmp_path / "a.csv", text))
    assert "Skipped 1 line(s) that begin with # at the top of" in caplog.text
    assert set(tensor.labels[0]) == {"#1", "sep=;", "ann"}
    assert set(tensor.labels[1]) == {"saw", "axe", "# no"}
    with pytest.raises(InputError, match=r"column 'tool' is empty in line 3 of .*b.csv"):
        tensorm.read(written(tmp_path / "b.csv", "who,tool\nann,saw\n# the end\n"))
    declared = tensorm.read(written(tmp_path / "c.csv", "sep=|\na,b|c,d,e\n1,2|3,4,5\n"))
    assert declared.modes == ("a,b", "c,d,e")


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["10", "9", "-1"], [-1, 9, 10]),
        (["2.5", "10.0", "0.1"], [0.1, 2.5, 10.0]),
        (["250.0", "250.00", "250.1"], ["250.0", "250.00", "250.1"]),
        (["1E1", "10", "9"], ["9", "1E1", "10"]),
        (["+491", "491", "7"], ["7", "491", "+491"]),
        (["007", "7", "10"], ["007", "7", "10"]),
        (["-0", "0"], ["0", "-0"]),
        (["1", "2.5"], ["1", "2.5"]),
        (["true", "TRUE", "1"], ["1", "TRUE", "true"]),
        (["True", "False"], ["False", "True"]),
        (["nan", "inf", "NA"], ["NA", "inf", "nan"]),
        (["9" * 20, "8" * 20], ["8" * 20, "9" * 20]),
        (["bench 10", "bench 4", "Bench 1"], ["Bench 1", "bench 4", "bench 10"]),
        (["a10b2", "a10b10", "a9"], ["a9", "a10b2", "a10b10"]),
        (["2010-12-06", "2010-02-06"], ["2010-02-06", "2010-12-06"]),
        ([" 7", "8 "], [7, 8]),
        (["Feb", "jan", "Apr", "May"], ["jan", "Feb", "Apr", "May"]),
        (["Tuesday", "Monday", "sun"], ["Monday", "Tuesday", "sun"]),
        (["Mon", "Jan", "Feb"], ["Feb", "Jan", "Mon"]),  # neither months nor days alone
    ],
)
@pytest.mark.filterwarnings("ignore:Column .i. has")
def test_labels_are_what_is_written_in_the_order_people_expect(tmp_path: Path, texts, labels) -> None:
    rows = "".join(f"{text},{n % 2}\n" for n, text in enumerate([*texts, *texts]))
    tensor = tensorm.read(written(tmp_path / "a.csv", f"i,j\n{rows}"), modes=["i", "j"])
    assert tensor.labels[0].tolist() == labels
    assert tensor.labels[0].dtype.kind == (
        "U" if isinstance(labels[0], str) else "if"[isinstance(labels[0], float)]
    )


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("early", [1, SAMPLE + 2])
def test_only_columns_that_need_it_are_parsed_again_and_only_once(
    tmp_path, monkeypatch, mark, end, early
) -> None:
    plain = [f"7,{n},5,3,0.5" for n in range(1, early)]  # more than are looked at to guess what a column is
    lines = ["i,j,k,l,x", *plain, "7,007,5,+1,-0.5", "8, 08,6,2,0.5", "9,010,-1,3,-0.25"]
    (tmp_path / "a.csv").write_bytes(end.join(lines).replace(",", mark).encode())
    calls = []
    parse = pd.read_csv
    monkeypatch.setattr(
        pd, "read_csv", lambda *a, **how: calls.append(how.get("usecols")) or parse(*a, **how)
    )
    tensor = tensorm.read(tmp_path / "a.csv", modes=["i", "j", "k", "l"], value="x", threshold=0)
    assert calls == ([None, [1, 3]] if early > SAMPLE else [None])
    found = [labels.tolist() for labels in tensor.labels]
    assert (found[0], found[2:]) == ([7, 8, 9], [[-1, 5, 6], ["+1", "2", "3"]])
    assert {"007", "08", "010"} <= set(found[1])


@pytest.mark.parametrize("odd", ["x", "TRUE", "1.50", "9" * 19, "007"])
def test_a_column_that_changes_its_type_keeps_its_texts(tmp_path: Path, odd: str) -> None:
    """pandas reads long files in parts, and would give each part the type that fits it."""
    first = ["007", *(str(n) for n in range(1, 40_000))]
    rows = [*(f"{n},{text}" for n, text in enumerate(reversed(first))), *(f"{n},{odd}" for n in range(10))]
    tensor = tensorm.read(written(tmp_path / "a.csv", "\n".join(["i,j", *rows])), modes=["i", "j"])
    assert sorted(map(str, tensor.labels[1])) == sorted({*first, odd})


ALPHABET = st.sampled_from(list("ab01.+-#\t ,;|\"'\n\r=\u00e9\u2028\x1c"))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    st.integers(2, 4).flatmap(
        lambda n: st.lists(
            st.lists(st.text(ALPHABET, max_size=5), min_size=n, max_size=n), min_size=1, max_size=6
        )
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_no_field_is_lost_or_invented(tmp_path_factory, rows, mark, end, quoting) -> None:
    """What Python's csv reads is what is read, without the blanks around each field."""
    text = io.StringIO(newline="")
    names = [f"column {k}" for k in range(len(rows[0]))]
    csv.writer(text, delimiter=mark, lineterminator=end, quoting=quoting).writerows([names, *rows])
    file = tmp_path_factory.getbasetemp() / "fuzz.csv"
    file.write_bytes(text.getvalue().encode())
    reader = csv.reader(io.StringIO(text.getvalue(), newline=""), delimiter=mark, skipinitialspace=True)
    expected = [[field.strip() for field in row] for row in reader if any(row)][1:]
    expected = [row + [""] * (len(names) - len(row)) for row in expected]
    if not expected or max(map(len, expected)) > len(names):  # a bare line end inside a field splits a row
        with pytest.raises(FileError, match=r"contains no data|has \d+ fields, but"):
            TextTable(file)
        return
    table = TextTable(file)
    assert table.names == names
    for k, name in enumerate(names):
        column = table.column(name)
        found = [*(str(value) for value in column.values), ""]
        assert [found[code] for code in column.codes] == [row[k] for row in expected]


def test_an_empty_field_below_a_very_large_number_is_missing(tmp_path: Path) -> None:
    """pandas takes it for a text, since such numbers have no type with room for missing ones."""
    rows = "".join(f"{n},b\n" for n in range(150))
    (tmp_path / "a.csv").write_text(f"who,tool\n{rows}{'1' * 20},a\n\n5,c\n")
    assert tensorm.read(tmp_path / "a.csv", modes=["who", "tool"]).n_ones == 152
    (tmp_path / "b.csv").write_text(f"who,tool\n{rows}{'1' * 20},a\n,c\n")
    with pytest.raises(InputError, match=r"column 'who' is empty in line 153 of .*b.csv"):
        tensorm.read(tmp_path / "b.csv", modes=["who", "tool"])


def test_a_small_file_does_not_unpack_to_a_large_one(tmp_path) -> None:
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,1\n" * 2**24 + b"1,1\n" * 100, 1))
    with pytest.raises(FileError, match="unpacks to more than 100 times its size; unpack it first"):
        tensorm.read(tmp_path / "bomb.csv.gz")
