"""Settings of every kind, there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge
from tensorm import FileError, InputError
from tensorm.storage.archive import open_archive, write_archive
from tensorm.storage.chain import pack_settings, read_settings


def round_trip(settings: dict[str, Any], path: Path) -> dict[str, Any]:
    write_archive(path, pack_settings(settings))
    with open_archive(path) as file:
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
    again = round_trip({"a": value, "b": value}, tmp_path / "s.tensorm")["b"]
    np.testing.assert_equal(again, value)
    if isinstance(value, (np.ndarray, tuple, list)):
        assert type(again) is type(value)
    if isinstance(value, np.ndarray):
        assert again.dtype == value.dtype


def test_what_is_like_an_array_comes_back_as_one(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    again = round_trip({"init": [pd.DataFrame({"a": [0, 1]})]}, tmp_path / "s.tensorm")["init"]
    assert again[0].tolist() == [[0], [1]]
    assert round_trip({"init": np.zeros((0, 3))}, tmp_path / "s.tensorm")["init"].shape == (0, 3)


def test_a_generator_is_not_kept(tmp_path: Path) -> None:
    for generator in (np.random.default_rng(0), np.random.RandomState(0)):
        assert round_trip({"random_state": generator}, tmp_path / "s.tensorm") == {"random_state": None}


def test_a_mapping_needs_texts_as_keys(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="init has keys that are no texts"):
        round_trip({"init": {1: 2}}, tmp_path / "s.tensorm")


@pytest.mark.parametrize("value", [object(), 1j, b"x", np.array(["x"]), print])
def test_what_cannot_be_saved_is_refused(value: Any, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"init is of type .*; only numbers, strings and arrays can be saved"
    ):
        round_trip({"init": [value]}, tmp_path / "s.tensorm")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("forms", "why"),
    [
        ([1], "the settings are damaged"),
        ({"zz": 1}, "'zz' is not a setting"),
        ({"__class__": 1}, "'__class__' is not a setting"),
        ({"a": {"tuple": 3}}, "damaged"),
        ({"a": {"pickle": "x"}}, "damaged"),
        ({"a": {"array": 1}}, "'array_1' is missing"),
        ({"a": {"array": -1}}, "'array_-1' is missing"),
        ({"a": {"array": True}}, "damaged"),
        ({"a": {"array": "../x"}}, "damaged"),
        ({"a": {"array": 0, "dtype": "object"}}, "damaged"),
    ],
)
def test_damaged_settings_are_refused(forms: Any, why: str, tmp_path: Path) -> None:
    write_archive(tmp_path / "s.tensorm", {"parameters": forms, "array_0": np.eye(3)})
    with open_archive(tmp_path / "s.tensorm") as file, pytest.raises(FileError, match=why):
        read_settings(file, ["a"])


def test_arrays_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    for array in (np.array(["a"]), np.array([1], "M8[s]"), np.array([b"a"])):
        write_archive(tmp_path / "s.tensorm", {"parameters": {"a": {"array": 0}}, "array_0": array})
        with (
            open_archive(tmp_path / "s.tensorm") as file,
            pytest.raises(FileError, match="settings are damaged"),
        ):
            read_settings(file, ["a"])


def test_settings_nested_deeper_than_any(tmp_path: Path) -> None:
    path = tmp_path / "s.tensorm"
    write_archive(path, {"parameters": {"a": 1}})
    parts = forge.Parts(path.read_bytes())
    parts.about = b'{"parameters": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}"
    path.write_bytes(parts.join())
    with open_archive(path) as file, pytest.raises(FileError, match="settings are damaged"):
        read_settings(file, ["a"])
