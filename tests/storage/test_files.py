"""Files as such: written whole or not at all, and opened only if they are ordinary files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from tensorm import FileError
from tensorm.storage.archive import open_archive, write_archive
from tensorm.storage.files import quote, read_json, replace_file


def write(path: Path, number: int = 7) -> None:
    write_archive(path, {"number": number, "noise": np.random.default_rng(number).random((50, 10))})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "file.tensorm")
    return tmp_path / "file.tensorm"


def test_a_new_file_has_ordinary_permissions_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    path = tmp_path / "file.tensorm"
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
    link = tmp_path / "link.tensorm"
    link.symlink_to(path)
    write(link, number=8)
    assert link.is_symlink()
    with open_archive(path) as file:
        assert file.integer("number", 0) == 8


def test_a_pipe_or_device_is_not_replaced(tmp_path: Path) -> None:
    """Root may replace anything, even /dev/null."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(
        FileError, match=r"pipe cannot be written: it is not a plain file; choose another path\.$"
    ):
        write(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_what_cannot_be_written_leaves_the_old_file(path: Path) -> None:
    before = path.read_bytes()
    for tree in ({"a": object()}, {"a": np.array([None])}, {"a": {"b": 1j}}):
        with pytest.raises((TypeError, ValueError)):
            write_archive(path, tree)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["file.tensorm"]


def test_a_full_disk_leaves_the_old_file(path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # writing more fails like a full disk does
    try:
        with pytest.raises(
            FileError, match=r"file\.tensorm cannot be written: file too large; choose another path\.$"
        ):
            write(path, number=8)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["file.tensorm"]


def test_a_disk_that_fails_at_the_last_moment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    for step in ("fsync", "chmod", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(
                FileError,
                match=r"no space left on device; free some space, or choose another folder\.$",
            ):
                write(path, number=8)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == ["file.tensorm"]


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(
        FileError,
        match=r"missing/file\.tensorm cannot be written: no such file or directory; choose another path\.$",
    ):
        write(tmp_path / "missing" / "file.tensorm")
    with pytest.raises(FileError, match="cannot be written: not a directory"):
        write(tmp_path / "file" / "file.tensorm")
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
        with pytest.raises(
            FileError,
            match=r"permission denied; choose another folder, or change its permissions\.$",
        ):
            write(path.with_name("new.tensorm"))
    finally:
        os.seteuid(me)
        path.parent.chmod(0o700)
    assert os.listdir(path.parent) == ["file.tensorm"]


@pytest.mark.parametrize("path", [None, 3, ["file.tensorm"]])
def test_paths_that_are_none(path: object) -> None:
    with pytest.raises(FileError, match="give the name of a file"), open_archive(path):  # type: ignore[arg-type]
        pass
    with pytest.raises(FileError, match="give the name of a file"):
        write_archive(path, {})  # type: ignore[arg-type]


def test_what_files_say_is_quoted_short_and_printable() -> None:
    assert quote("\x1b[31mred\n") == r"'\x1b[31mred\n'"
    assert len(quote("x" * 1000)) == 60
    assert quote(10**5000) == "a very large number"


BAD_JSON = {
    "not JSON": b"{",
    "not UTF-8": b'{"a": "\xe9\xff"}',
    "deep": b'{"a":' * 100_000,
    "a list": b"[1]",
    "empty": b"",
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_damaged_json_ends_in_one_sentence(name: str, tmp_path: Path) -> None:
    (tmp_path / "side.json").write_bytes(BAD_JSON[name])
    with pytest.raises(FileError, match=r"side\.json is damaged; delete it\.$"):
        read_json(tmp_path / "side.json", "delete it")


def test_json_that_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")  # opening it would wait for ever
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    for name in ("pipe", "loop", "zero"):
        with pytest.raises(FileError, match="cannot be read"):
            read_json(tmp_path / f"{name}.json", "delete it")
    assert read_json(tmp_path / "none.json", "delete it") == {}
