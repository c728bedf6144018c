"""Columns: what is computed once, and in pieces."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tensorm.data import columns
from tensorm.data.columns import factorise
from tensorm.data.frames import FrameTable
from tensorm.data.text import Encoded
from tensorm.errors import InputError


@pytest.mark.parametrize("row", [0, 1, 2, 6])
@pytest.mark.parametrize("last", ["i", 7, None])
def test_a_nul_is_found_in_every_piece(row: int, last: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "ROWS_AT_ONCE", 2)
    texts = np.array([*"abcdefgh", last], object)
    column = factorise("who", texts, str)
    assert column.values[column.codes[:8]].tolist() == [*"abcdefgh"]
    texts[row] += "\0"
    with pytest.raises(InputError, match="NUL"):
        factorise("who", texts, str)


@pytest.mark.parametrize("mean", [0, 100])
def test_texts_that_rows_share_are_the_same_either_way(mean: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "LONG_TEXTS", 0)
    monkeypatch.setattr(columns, "LONG_MEAN", mean)
    rows = ["b ", "a", "b", None, "a"]
    column = factorise("who", np.array(rows, object), str)
    assert column.values.tolist() == ["b", "a"]
    assert column.codes.tolist() == [0, 1, 0, -1, 1]


def test_a_column_of_a_table_is_read_once_until_rows_are_left_out() -> None:
    table = FrameTable(pd.DataFrame({"who": ["a", "b", "c"], "met": ["x", "y", "z"]}))
    first = table.column("who")
    assert table.column("who", exact=False) is first
    table.drop(np.array([0]))
    assert table.column("who").values.tolist() == ["b", "c"]


def test_bytes_come_in_pieces_and_are_those_of_the_text() -> None:
    text = "héader\nä€,𝒳\n" * 9
    stream, found = Encoded(text, 7), []
    while piece := stream.read(5):
        assert len(piece) <= 5
        found.append(piece)
    assert b"".join(found) == text[7:].encode() == Encoded(text, 7).read()
