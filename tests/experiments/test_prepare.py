"""Data of studies are built from downloads, checked, and complete or absent."""

from __future__ import annotations

import errno
import hashlib
import lzma
import os
import sys
import zlib

import pooch
import pytest
from click.testing import CliRunner

from experiments import prepare as preparing
from experiments import scans
from experiments.prepare import RECIPES, Download, Recipe, ensure, prepare
from serving import archive, folder_checksum, serving
from tensorm import FileError
from tensorm.datasets import registry, students
from tensorm.datasets.registry import FILES, File


@pytest.fixture(scope="module")
def the_server():
    with serving() as server:
        yield server


@pytest.fixture
def server(the_server, tmp_path, monkeypatch):
    """A server, an empty cache, no folder of the user."""
    registry._cite.cache_clear()
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.delenv("TENSORM_DATA", raising=False)
    the_server.files.clear()
    the_server.asked.clear()
    the_server.cut.clear()
    the_server.sent = 0
    return the_server


def put(path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def cached(tmp_path) -> list[str]:
    folder = tmp_path / "cache"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def made(server, monkeypatch):
    """A recipe with two downloads; yields what ``make`` does besides."""
    todo = []

    def make(files, path):
        path.write_bytes(files[0].read_bytes()[:2])
        for act in todo:
            act()
        path.write_bytes(b"+".join(file.read_bytes() for file in files))

    downloads = tuple(
        Download(path, server.put(path, content), f"sha256:{hashlib.sha256(content).hexdigest()}")
        for path, content in {"some/left": b"one", "some/right": b"two"}.items()
    )
    monkeypatch.setitem(RECIPES, "made", Recipe("some/made", make, downloads))
    monkeypatch.setitem(FILES, "some/made", File("made", "", "here"))
    return todo


def test_data_are_built_once_and_downloads_deleted(server, made, tmp_path):
    ensure("made")
    assert (tmp_path / "cache/some/made").read_bytes() == b"one+two"
    assert cached(tmp_path) == ["some/made"]
    ensure("made")
    assert server.asked == ["some/left", "some/right"]
    assert prepare("made") == tmp_path / "cache/some/made"  # asked for: built again
    assert len(server.asked) == 4


def test_a_folder_of_the_user_is_changed_only_on_demand(server, made, tmp_path, monkeypatch):
    own = tmp_path / "own"
    monkeypatch.setenv("TENSORM_DATA", str(own))
    ensure("made")
    assert not own.exists()
    put(own / "some/left", b"one")
    put(own / "some/right", b"tow")
    with pytest.raises(FileError, match=r"^Cannot build made \(wrong checksum\); download \S+/some/left and"):
        prepare("made")
    put(own / "some/right", b"two")
    assert prepare("made").read_bytes() == b"one+two"
    assert sorted(path.name for path in (own / "some").iterdir()) == ["left", "made", "right"]
    assert not server.asked


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (FileError("nothing is in it"), "nothing is in it"),
        (EOFError(), "a download is incomplete or not in the expected format"),
        (zlib.error(), "a download is incomplete or not in the expected format"),
        (lzma.LZMAError(), "a download is incomplete or not in the expected format"),
        (KeyboardInterrupt(), ""),
    ],
)
def test_an_interruption_leaves_nothing_incomplete(server, made, tmp_path, error, reason):
    def act():
        raise error

    made.append(act)
    with pytest.raises(FileError if reason else KeyboardInterrupt) as caught:
        prepare("made")
    if reason:
        assert str(caught.value).startswith(f"Cannot build made ({reason}); download ")
    assert cached(tmp_path) == []
    assert not list((tmp_path / "cache").rglob(".making*"))


def test_the_command_says_what_it_wrote_or_why_not(server, made, tmp_path, monkeypatch):
    command = preparing.main
    monkeypatch.setattr(command.params[0].type, "choices", ("made",))
    done = CliRunner().invoke(command, ["made"])
    assert done.stdout == f"Written: {tmp_path}/cache/some/made\n"
    server.put("some/left", b"another one")
    done = CliRunner().invoke(command, ["made"])
    assert done.exit_code == 1
    assert "Error: Cannot build made (wrong checksum); download" in done.stderr


SCANS = {
    f"QR_u{i:02d}.json": b'[{"qr_code": "%d", "resp_time": 1364284000}]' % (i + 1)
    for i in range(scans.STUDENTS)
}
SEATS = {f"dataset/EMA/response/QR_Code/{name}": content for name, content in SCANS.items()}


@pytest.fixture
def seats(server, monkeypatch):
    """The recipe of students, for the scans above; yields a function that sets the content of the archive."""
    recipe = RECIPES["students"]
    file = FILES["students/QR_Code"]._replace(sha256=folder_checksum(SCANS))
    monkeypatch.setitem(FILES, "students/QR_Code", file)

    def serve(content: bytes) -> None:
        download = recipe.downloads[0]._replace(address=server.put("dataset.tar.bz2", content))
        monkeypatch.setitem(RECIPES, "students", recipe._replace(downloads=(download,)))

    return serve


def test_students_are_extracted_from_the_archive(server, seats, tmp_path, capsys):
    seats(archive({"dataset/big.csv": b"1,2\n" * 9999, **SEATS}, "bz2"))
    ensure("students")
    X = students()
    assert X.shape == (1, 7, 49)
    assert "stand in" in X.attrs["remarks"]
    assert cached(tmp_path) == [f"students/QR_Code/{name}" for name in SCANS]
    assert "dataset.tar.bz2, about 5 GB" in capsys.readouterr().err
    ensure("students")
    assert server.asked == ["dataset.tar.bz2"]


def test_a_damaged_folder_is_named_and_replaced_on_demand(server, seats, tmp_path):
    seats(archive(SEATS))
    prepare("students")
    put(tmp_path / "cache/students/QR_Code/QR_u07.json", b"[]")
    put(tmp_path / "cache/students/QR_Code/QR_u99.json", b"[]")
    with pytest.raises(FileError, match=r"QR_Code is damaged .*; run `python -m experiments.prepare stud"):
        students()
    prepare("students")
    assert students().sizes["student"] == 49
    assert cached(tmp_path) == [f"students/QR_Code/{name}" for name in SCANS]


def test_a_terminal_shows_progress(server, seats, made, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    seats(archive(SEATS, "bz2"))
    for name in ("students", "made"):
        prepare(name)
        assert "100%" in capsys.readouterr().err


def test_nothing_is_read_after_the_last_scan(server, seats):
    rest = bytes(2**26)
    seats(archive({**SEATS, "dataset/rest": rest}))
    prepare("students")
    assert server.sent < len(rest) / 2


def test_names_in_the_archive_cannot_leave_the_folder(server, seats, tmp_path):
    hostile = {
        "../../x/QR_u00.json": b"[1]",
        "/tmp/QR_u01.json": b"[1]",
        "x/QR_Code/../QR_u02.json": b"[1]",
        "x/QR_Code/._QR_u03.json": b"[1]",
        "x/QR_Code/QR_u04.json": b" " * (scans.LARGEST + 1),
        "../../../QR_Code/QR_u05.json": SCANS["QR_u05.json"],
    }
    seats(archive({**hostile, **SEATS}))
    prepare("students")
    assert students().sizes["student"] == 49
    assert {path.parent.name for path in tmp_path.rglob("QR_*.json")} == {"QR_Code"}
    seats(archive({"/etc/QR_Code/QR_u06.json": b"[]", **SEATS}))
    with pytest.raises(FileError, match="its content is a different version"):
        prepare("students")
    assert students().sizes["student"] == 49  # what was there stays


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            archive({"dataset/README": b"moved"}, "bz2"),
            r"the archive contains 0 files QR_Code/QR_u\*.json, not 49",
        ),
        (archive(SEATS, "bz2")[:-200], "a download is incomplete or not in the expected format"),
        (archive(SEATS)[:20480], r"the archive contains 20 files QR_Code/QR_u\*.json, not 49"),
        (b"<html>", "a download is incomplete or not in the expected format"),
    ],
)
def test_an_archive_in_another_format_says_so(server, seats, tmp_path, content, reason):
    seats(content)
    advice = r"download \S+, save as students/dataset.tar.bz2 in a folder, set TENSORM_DATA to that folder"
    with pytest.raises(FileError, match=rf"^Cannot build students \({reason}\); {advice}, and try again\.$"):
        prepare("students")
    assert cached(tmp_path) == []


def test_a_lost_connection_or_an_interruption_leaves_nothing(server, seats, tmp_path, monkeypatch):
    seats(archive({"dataset/big": os.urandom(2**20), **SEATS}))
    server.cut.add("dataset.tar.bz2")
    with pytest.raises(FileError, match=r"^Cannot build students \(ConnectionError\)"):
        prepare("students")

    def interrupted(stream):
        raise KeyboardInterrupt

    monkeypatch.setattr(scans, "take_scans", interrupted)
    with pytest.raises(KeyboardInterrupt):
        prepare("students")
    assert cached(tmp_path) == []


def test_an_archive_in_the_folder_is_used(server, seats, tmp_path, monkeypatch):
    seats(b"")
    put(tmp_path / "own/students/dataset.tar.bz2", archive(SEATS, "bz2"))
    monkeypatch.setenv("TENSORM_DATA", str(tmp_path / "own"))
    prepare("students")
    assert students().sizes["student"] == 49
    assert not server.asked
