"""Labels of every kind, there and back."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorm import FileError
from tensorm.storage.archive import open_archive, write_archive
from tensorm.storage.chain import pack_labels, read_labels

UTC = datetime.UTC


def objects(*items: Any) -> np.ndarray:
    array = np.empty(len(items), object)
    array[:] = [None] * len(items)
    for n, item in enumerate(items):
        array[n] = item
    return array


def round_trip(labels: np.ndarray, path: Path) -> np.ndarray | None:
    kind, array = pack_labels("some mode", labels)
    write_archive(path, {"mode_0": array})
    with open_archive(path) as file:
        return read_labels(file, "mode_0", kind, len(labels))


LABELS = {
    "text": np.array(["a", "", "ü\u4e2d\U0001f600", "a b\tc\nd"]),
    "empty texts": np.array(["", ""]),
    "text objects": objects("a", "bb", ""),
    "bytes": np.array([b"a", b"\xff\xfe", b""]),
    "bool": np.array([True, False]),
    "int64": np.array([2**62, -5]),
    "uint8": np.array([0, 255], np.uint8),
    "uint64": np.array([2**64 - 1], np.uint64),
    "float16": np.array([0.1, np.inf, -0.0], np.float16),
    "float64": np.array([0.1, np.nan, -np.inf]),
    "big-endian": np.array([1, 2], ">i4"),
    "days": np.array(["2020-01-01", "NaT", "0001-01-01"], "M8[D]"),
    "nanoseconds": np.array(["2020-01-01T01:02:03.123456789"], "M8[ns]"),
    "years": np.array([1970, 12000], "M8[Y]"),
    "timedelta": np.array([1, -2], "m8[h]"),
    "mixed": objects("a", 1, 2.5, True, None, float("inf"), 2**64 - 1, -(2**63)),
    "nested tuples": objects(
        ((((((("a",),),),),),),),
    ),
    "tuples": objects(("a", 1), ("b", (2, None))),
    "dates": objects(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 2, 3, 4, 5, UTC)),
    "numpy scalars": objects(np.str_("a"), np.int64(3), np.float64(0.5)),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_come_back(name: str, tmp_path: Path) -> None:
    labels = LABELS[name]
    again = round_trip(labels, tmp_path / "l.tensorm")
    assert again is not None
    assert again.dtype.kind == labels.dtype.kind
    if labels.dtype.kind in "fiubMm":
        assert again.dtype == labels.dtype.newbyteorder("=")
    if labels.dtype.kind in "fMm":
        np.testing.assert_array_equal(again, labels)  # NaN and NaT are equal here
    else:
        assert again.tolist() == labels.tolist()


def test_pandas_labels(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    times = pd.date_range("2020-01-01", periods=3, tz="Europe/Vienna").to_numpy()
    again = round_trip(times, tmp_path / "l.tensorm")
    assert again is not None
    assert again.tolist() == times.tolist()
    names = pd.Index(["a", "b"], dtype="str").to_numpy()
    assert round_trip(names, tmp_path / "l.tensorm").tolist() == ["a", "b"]  # type: ignore[union-attr]


def test_labels_that_no_file_holds_are_saved_as_text(tmp_path: Path) -> None:
    for labels in [objects(1j, "a"), np.array([1j]), objects(frozenset("a"), (range(3), 1))]:
        with pytest.warns(UserWarning, match="Labels of 'some mode' such as .* are saved as text"):
            again = round_trip(labels, tmp_path / "l.tensorm")
        assert again is not None
        assert again.tolist() == [item if isinstance(item, str) else str(item) for item in labels.tolist()]


def test_times_of_several_units_are_saved_as_times(tmp_path: Path) -> None:
    again = round_trip(np.array([1, 2], "M8[15s]"), tmp_path / "l.tensorm")
    assert again is not None
    assert again.tolist() == [
        datetime.datetime(1970, 1, 1, 0, 0, 15),
        datetime.datetime(1970, 1, 1, 0, 0, 30),
    ]


@pytest.mark.parametrize(
    "item",
    [10**30, (1, -(10**30)), (((((((((1,),),),),),),),),), ("x" * 6_000,) * 2, b"x" * 10_001],
    ids=repr,
)
def test_labels_that_no_reader_takes_are_saved_as_text(item: Any, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="saved as text"):
        again = round_trip(objects(item), tmp_path / "l.tensorm")
    assert again is not None
    assert again.tolist() == [str(item)[:10_000]]


def test_labels_that_could_not_be_read_again_are_saved_escaped(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="saved as text"):
        again = round_trip(objects(Path("caf\udce9"), "a"), tmp_path / "l.tensorm")
    assert again is not None
    assert again.tolist() == [r"caf\udce9", "a"]


def as_json(text: str | bytes) -> np.ndarray:
    return np.frombuffer(text if isinstance(text, bytes) else text.encode(), np.uint8)


@pytest.mark.parametrize(
    ("kind", "array", "why"),
    [
        ("object", np.array(["a"]), "unknown kind"),
        ("array", np.array(["a", "b"]), r"has shape \(2,\), not \(1\)"),
        ("array", np.array([["a"]]), "has shape"),
        ("array", np.array([1j]), "is of type"),
        ("array", np.array([0x110000], np.uint32).view("U1"), "damaged"),
        ("array", np.array([2**32 - 1], np.uint32).view("U1"), "damaged"),
        ("array", np.array(["a\0b"]), "NUL, an incomplete character"),
        ("array", np.array(["\ud800"]), "NUL, an incomplete character"),
        ("json", np.array(["a"]), "is of type"),
        ("json", as_json(r'["a\u0000b"]'), "damaged"),
        ("json", as_json(r'["\ud800"]'), "damaged"),
        ("json", as_json(""), "damaged"),
        ("json", as_json("{"), "damaged"),
        ("json", as_json("[1, 2]"), "damaged"),
        ("json", as_json('"a"'), "damaged"),
        ("json", as_json("[[1]]"), "damaged"),
        ("json", as_json(b'["\xff"]'), "damaged"),
        ("json", as_json('[{"os": "x"}]'), "damaged"),
        ("json", as_json('[{"date": "2020-99-99"}]'), "damaged"),
        ("json", as_json('[{"date": 5}]'), "damaged"),
        ("json", as_json('[{"tuple": "ab"}]'), "damaged"),
        ("json", as_json("[" * 100_000), "damaged"),
        ("json", as_json("[" + "1" * 5_000 + "]"), "damaged"),
    ],
)
def test_damaged_labels_are_refused(kind: str, array: np.ndarray, why: str, tmp_path: Path) -> None:
    write_archive(tmp_path / "l.tensorm", {"mode_0": array})
    with open_archive(tmp_path / "l.tensorm") as file, pytest.raises(FileError, match=why):
        read_labels(file, "mode_0", kind, 1)


def test_json_that_would_grow_beyond_memory_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_archive(tmp_path / "l.tensorm", {"mode_0": as_json("[[]" + ",[]" * 9_999 + "]")})
    monkeypatch.setattr("tensorm.storage.chain.available_memory", lambda: 500_000)
    with (
        open_archive(tmp_path / "l.tensorm") as file,
        pytest.raises(FileError, match="too long for this machine"),
    ):
        read_labels(file, "mode_0", "json", 10_000)
