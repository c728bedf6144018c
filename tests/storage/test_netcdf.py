"""Files as such: written whole or not at all, and read without trust."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge
from tensorm import FileError
from tensorm.storage.netcdf import describe, put, put_text, quote, reading, replace_file, writing

NUMBERS = np.arange(12, dtype=np.int64).reshape(3, 4)


def write(path: Path, number: int = 7) -> None:
    with writing(path) as file:
        describe(file, number=np.int64(number), share=np.float64(0.1), word="Österreich", empty="")
        put(file, "numbers", ("row", "column"), NUMBERS, long_name="some numbers")
        put_text(file, "text", "naïve")
        inner = file.create_group("inner")
        describe(inner, large=np.uint64(2**64 - 1))
        put(inner, "reversed", ("row",), np.arange(3.0)[::-1])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "file.nc")
    return tmp_path / "file.nc"


def test_what_is_written_is_read(path: Path) -> None:
    with reading(path) as file:
        assert file.integer("number", 0) == 7
        assert file.number("share") == 0.1
        assert file.word("word") == "Österreich"
        assert file.word("empty") == " "
        np.testing.assert_array_equal(file.array("numbers", "i8", (3, None)), NUMBERS, strict=True)
        assert file.text("text") == "naïve"
        assert file.group("inner").integer("large", 0, 2**64) == 2**64 - 1
        assert file.group("inner").array("reversed", "f8", (3,)).tolist() == [2.0, 1.0, 0.0]
        file.expect(["numbers", "text", "inner"])


def test_arrays_of_the_other_byte_order_and_of_any_layout(tmp_path: Path) -> None:
    swapped = np.asfortranarray(NUMBERS).astype(">i8")
    with writing(tmp_path / "file.nc") as file:
        put(file, "numbers", ("row", "column"), swapped)
    with reading(tmp_path / "file.nc") as file:
        np.testing.assert_array_equal(file.array("numbers", "i8", (3, 4)), NUMBERS, strict=True)


def test_other_programs_read_it_as_netcdf(path: Path) -> None:
    import xarray

    with xarray.open_datatree(path, engine="h5netcdf") as tree:
        assert tree["numbers"].dims == ("row", "column")
        assert tree["numbers"].attrs == {"long_name": "some numbers"}
        np.testing.assert_array_equal(tree["numbers"].values, NUMBERS)
        assert tree["text"].item() == "naïve"
        assert tree.attrs["word"] == "Österreich"
        assert tree["inner/reversed"].dims == ("row",)


def test_reading_does_not_touch_the_hdf5_library(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("h5py", "h5netcdf"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it would raise
    with reading(path) as file:
        assert file.text("text") == "naïve"


def test_the_same_content_gives_the_same_bytes(path: Path) -> None:
    first = path.read_bytes()
    write(path)
    assert path.read_bytes() == first


def test_a_new_file_has_ordinary_permissions_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    path = tmp_path / "file.nc"
    mask = os.umask(0o027)
    try:
        write(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(mask)
    path.chmod(0o600)
    write(path, number=8)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.nc"
    link.symlink_to(path)
    write(link, number=8)
    assert link.is_symlink()
    with reading(path) as file:
        assert file.integer("number", 0) == 8


def _write_half(file: Any) -> None:
    put(file, "half", ("n",), NUMBERS[0])
    raise RuntimeError("midway")


def test_an_error_while_writing_leaves_the_old_file(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match="midway"), writing(path) as file:
        _write_half(file)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["file.nc"]


def test_a_full_disk_leaves_the_old_file(path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # writing more fails like a full disk does
    try:
        with pytest.raises(FileError, match=r"file\.nc cannot be written: file too large\.$"):
            write(path, number=8)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["file.nc"]


def test_a_disk_that_fails_at_the_last_moment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    for step in ("fsync", "chmod", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(FileError, match=r"cannot be written: no space left on device\.$"):
                write(path, number=8)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == ["file.nc"]


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(FileError, match=r"missing/file\.nc cannot be written: no such file or directory\.$"):
        write(tmp_path / "missing" / "file.nc")
    with pytest.raises(FileError, match="cannot be written: not a directory"):
        write(tmp_path / "file" / "file.nc")
    with pytest.raises(FileError, match="cannot be written: is a directory"):
        write(closed)
    with pytest.raises(FileError, match="cannot be written: file name too long"):
        write(tmp_path / ("n" * 300))
    with pytest.raises(FileError, match="cannot be written"):
        replace_file(tmp_path / "a\0b", b"")
    assert sorted(os.listdir(tmp_path)) == ["closed", "file"]


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="permissions are another matter here")
def test_a_folder_that_is_closed_to_us(path: Path) -> None:
    me = os.geteuid()
    path.parent.chmod(0o500)
    if me == 0:
        os.seteuid(65534)  # nothing is closed to root
    try:
        with pytest.raises(FileError, match=r"new\.nc cannot be written: permission denied\.$"):
            write(path.with_name("new.nc"))
    finally:
        os.seteuid(me)
        path.parent.chmod(0o700)
    assert os.listdir(path.parent) == ["file.nc"]


@pytest.mark.parametrize("path", [None, 3, ["file.nc"]])
def test_paths_that_are_none(path: object) -> None:
    with pytest.raises(FileError, match="give the name of a file"), reading(path):  # type: ignore[arg-type]
        pass
    with pytest.raises(FileError, match="give the name of a file"), writing(path):  # type: ignore[arg-type]
        pass


def test_every_single_changed_byte_is_found(path: Path) -> None:
    whole = path.read_bytes()
    for at in range(0, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(FileError, match="cannot be read"), reading(path):
            pass


def test_every_missing_end_is_found(path: Path) -> None:
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 211), *range(len(whole) - 60, len(whole))]:
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match="cannot be read"), reading(path):
            pass


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"offset": -1}, "not a place"),
        ({"offset": 2**70}, "not a place"),
        ({"offset": 1.0}, "not a place"),
        ({"offset": None}, "not a place"),
        ({"offset": 10**9}, "lies outside of the file"),
        ({"shape": [10**6, 10**6]}, "lies outside of the file"),
        ({"shape": [0, 2**61]}, "lies outside of the file"),
        ({"shape": [3]}, r"has shape \(3,\), not \(any, any\)"),
        ({"shape": [True, 4]}, "not a place"),
        ({"shape": "3, 4"}, "not a place"),
        ({"shape": {"3": 4}}, "not a place"),
        ({"dtype": "|O"}, "is of type '|O', not '<i8'"),
        ({"dtype": ">i8"}, "is of type"),
        ({"dtype": ["<i8"]}, "is of type"),
    ],
)
def test_impossible_places(path: Path, change: dict[str, object], why: str) -> None:
    parts = forge.take_apart(path.read_bytes())
    parts.place("numbers").update(change)
    path.write_bytes(parts.join())
    with pytest.raises(FileError, match=why), reading(path) as file:
        file.array("numbers", "i8", (None, None))


def test_no_more_is_read_than_the_file_has(path: Path) -> None:
    """Variables may lie on top of each other, but their sizes are added up."""
    parts = forge.take_apart(path.read_bytes())
    size = len(parts.join()) // 16 * 8
    for name in ("a", "b", "c"):
        parts.index["variables"][name] = {"offset": 0, "dtype": "|u1", "shape": [size]}
    path.write_bytes(parts.join())
    with reading(path) as file:
        file.array("a", "u1", (None,))
        file.array("b", "u1", (None,))
        with pytest.raises(FileError, match="'c' lies outside"):
            file.array("c", "u1", (None,))


@pytest.mark.parametrize(
    "index",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"variables": {}, "groups": {}}',
        b"9" * 10_000,
    ],
    ids=["empty", "list", "null", "half", "no text", "deep", "no attributes", "long number"],
)
def test_an_index_that_is_none(path: Path, index: bytes) -> None:
    path.write_bytes(forge.Parts(forge.take_apart(path.read_bytes()).body, index).join())
    with pytest.raises(FileError, match="index is damaged"), reading(path):
        pass


def test_an_index_longer_than_any(path: Path) -> None:
    path.write_bytes(forge.Parts(forge.take_apart(path.read_bytes()).body, b" " * 2**23).join())
    with pytest.raises(FileError, match="impossible length"), reading(path):
        pass


def test_a_text_longer_than_any(path: Path) -> None:
    parts = forge.take_apart(path.read_bytes())
    parts.write("text", np.full(2**22 + 1, b"[", "S1"))
    path.write_bytes(parts.join())
    with reading(path) as file, pytest.raises(FileError, match="'text' is too long"):
        file.text("text")


def test_a_file_larger_than_memory_is_not_even_summed_up(tmp_path: Path) -> None:
    path = tmp_path / "sparse.nc"
    write(path)
    with open(path, "r+b") as file:
        file.truncate(2**43)  # no blocks are used
    with (
        pytest.raises(FileError, match=r"it has 8,796,093,022,208 bytes, more than this machine"),
        reading(path),
    ):
        pass


def test_wrong_attributes(path: Path) -> None:
    with reading(path) as file:
        for read, why in [
            (lambda: file.integer("number", 8), "number is 7, not an integer at least 8"),
            (lambda: file.integer("number", 0, 6), "number is 7, not an integer from 0 to 6"),
            (lambda: file.integer("share", 0), "share is 0.1, not an integer"),
            (lambda: file.integer("word", 0), "not an integer"),
            (lambda: file.number("number"), "number is 7, not a finite number"),
            (lambda: file.word("number"), "number is 7, not a text"),
            (lambda: file.word("word", ["a", "b"]), "not 'a' or 'b'"),
            (lambda: file.word("nothing"), "nothing is missing"),
            (lambda: file.group("numbers"), "there is no 'numbers'"),
            (lambda: file.array("inner", "i8", ()), "there is no 'inner'"),
            (lambda: file.text("numbers"), "is of type '<i8', not '|S1'"),
            (lambda: file.expect(["numbers"]), "'inner' does not belong there"),
            (lambda: file.expect(["zebra", *file.names()]), "there is no 'zebra'"),
        ]:
            with pytest.raises(FileError, match=why):
                read()
        with pytest.raises(FileError, match=r"no 'x' in inner\.$"):
            file.group("inner").array("x", "i8", ())


def test_what_files_say_is_quoted_short_and_printable() -> None:
    assert quote("\x1b[31mred\n") == r"'\x1b[31mred\n'"
    assert len(quote("x" * 1000)) == 60
    assert quote(10**5000) == "a very large number"
