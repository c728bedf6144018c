"""Labels of every kind, there and back, and as other programs see them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge
from tensorm import FileError
from tensorm.storage.labels import read_labels, write_labels
from tensorm.storage.netcdf import reading, writing

UTC = datetime.UTC


def objects(*items: Any) -> np.ndarray:
    array = np.empty(len(items), object)
    array[:] = [None] * len(items)
    for n, item in enumerate(items):
        array[n] = item
    return array


def round_trip(labels: np.ndarray | None, path: Path) -> np.ndarray | None:
    with writing(path) as file:
        if labels is not None:
            file.dimensions = {"mode_0": len(labels)}
        kind = write_labels(file, "mode_0", "some mode", labels)
    with reading(path) as file:
        return read_labels(file, "mode_0", kind, 0 if labels is None else len(labels))


LABELS = {
    "text": np.array(["a", "", "ü\u4e2d\U0001f600", "a b\tc\nd", "a\0b"]),
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
    "quarters of minutes": np.array([1, 2], "M8[15s]"),
    "timedelta": np.array([1, -2], "m8[h]"),
    "no unit": np.array(["NaT"], "M8"),
    "mixed": objects("a", 1, 2.5, True, None, float("inf"), 10**30),
    "tuples": objects(("a", 1), ("b", (2, None))),
    "dates": objects(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 2, 3, 4, 5, UTC)),
    "numpy scalars": objects(np.str_("a"), np.int64(3), np.float64(0.5)),
    "odd texts": objects("ends in zero\0", "\ud800"),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_come_back(name: str, tmp_path: Path) -> None:
    labels = LABELS[name]
    again = round_trip(labels, tmp_path / "l.nc")
    assert again is not None
    assert again.dtype.kind == labels.dtype.kind
    if labels.dtype.kind in "fiubMm":
        assert again.dtype == labels.dtype.newbyteorder("=")
    if labels.dtype.kind in "fMm":
        np.testing.assert_array_equal(again, labels)  # NaN and NaT are equal here
    else:
        assert again.tolist() == labels.tolist()


def test_no_labels(tmp_path: Path) -> None:
    assert round_trip(None, tmp_path / "l.nc") is None


def test_pandas_labels(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    times = pd.date_range("2020-01-01", periods=3, tz="Europe/Vienna").to_numpy()
    again = round_trip(times, tmp_path / "l.nc")
    assert again is not None
    assert again.tolist() == times.tolist()
    names = pd.Index(["a", "b"], dtype="str").to_numpy()
    assert round_trip(names, tmp_path / "l.nc").tolist() == ["a", "b"]  # type: ignore[union-attr]


def test_labels_that_no_file_holds_are_saved_as_text(tmp_path: Path) -> None:
    for labels in [objects(1j, "a"), np.array([1j]), objects(frozenset("a"), (range(3), 1))]:
        with pytest.warns(UserWarning, match="Labels of 'some mode' such as .* are saved as text"):
            again = round_trip(labels, tmp_path / "l.nc")
        assert again is not None
        assert again.tolist() == [item if isinstance(item, str) else str(item) for item in labels.tolist()]


def test_xarray_reads_texts_and_times(tmp_path: Path) -> None:
    import xarray

    for name in ("text", "days", "nanoseconds"):
        round_trip(LABELS[name], tmp_path / "l.nc")
        with xarray.open_dataset(tmp_path / "l.nc", engine="h5netcdf", decode_times=name != "days") as data:
            assert data["mode_0"].attrs["long_name"] == "some mode"
            if name == "days":
                assert data["mode_0"].attrs["units"] == "days since 1970-01-01"
                assert data["mode_0"].values[0] == 18262
            else:
                assert data["mode_0"].values.tolist() == LABELS[name].tolist()


@pytest.mark.parametrize(
    ("kind", "rows", "why"),
    [
        ("object", ["a"], "unknown kind"),
        ("datetime64[xs]", ["a"], "unknown kind"),
        ("datetime64[9999999999s]", ["a"], "unknown kind"),
        ("<U1000000000", ["a"], "unknown kind"),
        ("int64", ["a"], "of type"),
        ("text", ["a", "b"], "has shape"),
        ("text", [b"\xff"], "labels mode_0 are damaged"),
        ("json", ["{"], "damaged"),
        ("json", ["[1]"], "damaged"),
        ("json", ['{"os": "x"}'], "damaged"),
        ("json", ['{"date": "2020-99-99"}'], "damaged"),
        ("json", ['{"date": 5}'], "damaged"),
        ("json", ['{"tuple": "ab"}'], "damaged"),
        ("json", ["[" * 100_000], "damaged"),
        ("json", ["1" * 5_000], "damaged"),
    ],
)
def test_damaged_labels_are_refused(kind: str, rows: list[Any], why: str, tmp_path: Path) -> None:
    path = tmp_path / "l.nc"
    round_trip(np.array(["a"]), path)
    parts = forge.take_apart(path.read_bytes())
    octets = np.array([row if isinstance(row, bytes) else row.encode() for row in rows])
    parts.write("mode_0", octets.view("S1").reshape(len(rows), -1))
    path.write_bytes(parts.join())
    with reading(path) as file, pytest.raises(FileError, match=why):
        read_labels(file, "mode_0", kind, 1)
