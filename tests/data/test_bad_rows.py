"""Rows that cannot be used: all are named at once, and left out if that is asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tensorm
from tensorm import InputError

GOOD = [f"2024-03-{day:02d} {hour:02d}:30,{who},hall" for day, hour, who in zip(
    np.arange(30) % 28 + 1, np.arange(30) % 24, ["ann", "bob", "cat"] * 10, strict=True
)]  # fmt: skip
BAD = {5: "soon,ann,hall", 9: "2024-03-01 10:00,,hall", 12: "2024-03-01 10:00,bob,hall,x,y", 20: ",bob,hall"}


def write(path, header: str, lines: list[str]):
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


@pytest.fixture
def events(tmp_path):
    return write(tmp_path / "events.csv", "t,who,where", [BAD.get(n, line) for n, line in enumerate(GOOD)])


def test_all_bad_rows_are_named_at_once(events) -> None:
    told = (
        r"events.csv has 4 bad rows: line 7 \('t' is 'soon'\), line 11 \('who' is empty\), "
        r"line 14 \(5 fields\), line 22 \('t' is empty\); "
        r"correct them, or set skip_bad_rows=True to leave them out\.$"
    )
    with pytest.raises(InputError, match=told):
        tensorm.read(events, time="t")


def test_bad_rows_are_left_out_with_a_count_and_the_first_lines(tmp_path, events) -> None:
    with pytest.warns(UserWarning, match=r"left out 4 bad rows: line 7 \('t' is 'soon'\), line 11"):
        found = tensorm.read(events, time="t", skip_bad_rows=True)
    good = [line for n, line in enumerate(GOOD) if n not in BAD]
    expected = tensorm.read(write(tmp_path / "good.csv", "t,who,where", good), time="t")
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.listed_keys()[0], expected.listed_keys()[0])
    assert [list(labels) for labels in found.labels] == [list(labels) for labels in expected.labels]


def test_labels_that_are_numbers_stay_so_without_the_bad_rows(tmp_path) -> None:
    lines = ["007,1", "7,2", "8,3", "1,2,3,4", "8,1"]
    with pytest.warns(UserWarning, match=r"left out 1 bad row: line 5 \(4 fields\)"):
        found = tensorm.read(write(tmp_path / "a.csv", "i,j", lines), skip_bad_rows=True)
    assert [labels.tolist() for labels in found.labels] == [["007", "7", "8"], [1, 2, 3]]


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "polars"])
def test_values_and_labels_of_any_table(tmp_path, kind) -> None:
    frame = pd.DataFrame(
        {
            "who": ["ann", "bob", None, "cat", "dan", "eve"],
            "what": list("xyxyxy"),
            "v": ["1", "0", "?", "1", "no", "so"],
        }
    )
    source = {"csv": tmp_path / "a.csv", "parquet": tmp_path / "a.parquet", "frame": frame}.get(kind)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    if kind == "polars":
        source = pytest.importorskip("polars").from_pandas(frame)
    first = "line 4" if kind == "csv" else "row 2"
    wanted = rf"2 bad rows: {first} \('(v' is '\?'|who' is empty)\), .* set missing=\['\?', 'so'\] if"
    with pytest.raises(InputError, match=wanted):
        tensorm.read(source, value="v")
    with pytest.warns(UserWarning, match="left out 2 bad rows"):
        found = tensorm.read(source, value="v", skip_bad_rows=True)
    assert found.labels[0].tolist() == ["ann", "bob", "cat", "dan"]
    assert found.n_ones == 2
    with pytest.warns(UserWarning, match="left out 1 bad row:"):
        found = tensorm.read(source, value="v", missing=["?", "so"], skip_bad_rows=True)
    assert (found.shape, found.n_observed) == ((5, 2), 9)


def test_a_wide_table_loses_rows_too(tmp_path) -> None:
    lines = ["p,1,0", "q,0,1", ",1,1", "r,1,perhaps", "s,0,0"]
    path = write(tmp_path / "a.csv", "id,a,b", lines)
    with pytest.raises(
        InputError, match=r"2 bad rows: line 4 \('id' is empty\), line 5 \('b' is 'perhaps'\)"
    ):
        tensorm.read(path, wide=True)
    with pytest.warns(UserWarning, match="left out 2 bad rows"):
        found = tensorm.read(path, wide=True, skip_bad_rows=True)
    assert (found.labels[0].tolist(), found.n_ones) == (["p", "q", "s"], 2)


def test_what_is_wrong_in_most_rows_is_no_matter_of_rows(tmp_path) -> None:
    path = write(tmp_path / "a.csv", "who,what,n", [f"a{n},b,{n}" for n in range(2, 30)])
    for skip in (False, True):
        with pytest.raises(InputError, match=r"^column 'n' contains 2 in line 2 of .*set threshold=NUMBER"):
            tensorm.read(path, value="n", skip_bad_rows=skip)


def test_indices_may_be_bad_too(tmp_path) -> None:
    path = write(tmp_path / "a.csv", "i,j", ["0,1", "1,-1", "x,0", "2,2", "0,0"])
    with pytest.raises(InputError, match=r"2 bad rows: line 3 \('j' is -1\), line 4 \('i' is 'x'\)"):
        tensorm.read(path, indices=True)
    with pytest.warns(UserWarning, match="left out 2 bad rows"):
        assert tensorm.read(path, indices=True, skip_bad_rows=True).shape == (3, 3)


def test_a_cell_in_several_rows_is_one_if_a_number_reaches_the_threshold() -> None:
    table = pd.DataFrame({"who": list("aabbc"), "what": list("xxyyx"), "qty": [0, 3, 0, 0, np.nan]})
    found = tensorm.read(table, value="qty", threshold=1)
    assert (found.n_ones, found.n_observed) == (1, 5)  # c bought an unknown number of x
    assert tensorm.read(table.iloc[::-1], value="qty", threshold=1).listed_keys()[0].tolist() == [0]
    with pytest.raises(InputError, match="give the same cell different values"):
        tensorm.read(table[:2].assign(qty=[0, 1]), value="qty")
