"""Settings of every kind, there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge
from tensorm import FileError, InputError
from tensorm.storage.netcdf import reading, writing
from tensorm.storage.settings import read_settings, write_settings


def round_trip(settings: dict[str, Any], path: Path) -> dict[str, Any]:
    with writing(path) as file:
        write_settings(file, settings)
    with reading(path) as file:
        return read_settings(file, list(settings))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        0.1,
        "auto",
        "ü\n",
        (1.0, 2.0),
        [1, (2, "x"), [None]],
        2**80,
        np.eye(3),
        np.eye(3, dtype=bool),
        np.float32(0.25),
        np.array(7, np.uint8),
        np.zeros((2, 1, 2, 1), np.float16),
        [0.5, np.ones((2, 2)), [[0, 1], [1, 0]]],
    ],
    ids=str,
)
def test_settings_come_back(value: Any, tmp_path: Path) -> None:
    again = round_trip({"a": value, "b": value}, tmp_path / "s.nc")["b"]
    np.testing.assert_equal(again, value)
    if isinstance(value, (np.ndarray, tuple, list)):
        assert type(again) is type(value)
    if isinstance(value, np.ndarray):
        assert again.dtype == value.dtype


def test_what_is_like_an_array_comes_back_as_one(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    again = round_trip({"init": [pd.DataFrame({"a": [0, 1]})]}, tmp_path / "s.nc")["init"]
    assert again[0].tolist() == [[0], [1]]
    assert round_trip({"init": np.zeros((0, 3))}, tmp_path / "s.nc") == {"init": []}


def test_a_generator_is_not_kept(tmp_path: Path) -> None:
    for generator in (np.random.default_rng(0), np.random.RandomState(0)):
        assert round_trip({"random_state": generator}, tmp_path / "s.nc") == {"random_state": None}


@pytest.mark.parametrize("value", [object(), {1: 2}, 1j, b"x", np.array(["x"]), print])
def test_what_cannot_be_saved_is_refused(value: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"init is of type .*; only numbers, texts and arrays are saved"):
        round_trip({"init": [value]}, tmp_path / "s.nc")
    assert not list(tmp_path.iterdir())


ARRAY = {"array": 0, "axes": 2, "dtype": "float64"}


@pytest.mark.parametrize(
    ("forms", "why"),
    [
        (b"[1]", "damaged"),
        (b"{", "damaged"),
        (b"\xff", "not a text"),
        (b'{"a":' + b"[" * 100_000, "damaged"),
        ({"zz": 1}, "'zz' is no setting"),
        ({"__class__": 1}, "'__class__' is no setting"),
        ({"a": {"tuple": 3}}, "damaged"),
        ({"a": {"pickle": "x"}}, "damaged"),
        ({"a": ARRAY | {"array": 1}}, "no 'array_1'"),
        ({"a": ARRAY | {"array": "../x"}}, "damaged"),
        ({"a": ARRAY | {"axes": 3}}, "has shape"),
        ({"a": ARRAY | {"axes": 10**9}}, "damaged"),
        ({"a": ARRAY | {"dtype": "object"}}, "damaged"),
        ({"a": ARRAY | {"dtype": "int64"}}, "of type"),
        ({"a": ARRAY | {"dtype": ["int64"]}}, "damaged"),
    ],
)
def test_damaged_settings_are_refused(forms: Any, why: str, tmp_path: Path) -> None:
    path = tmp_path / "s.nc"
    round_trip({"a": np.eye(3)}, path)
    parts = forge.take_apart(path.read_bytes())
    parts.write_text("settings", forms)
    path.write_bytes(parts.join())
    with reading(path) as file, pytest.raises(FileError, match=why):
        read_settings(file, ["a"])
