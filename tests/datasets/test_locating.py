"""Public data come from a mirror or a download, are checked, and say whom to cite; no half is left behind."""

from __future__ import annotations

import errno
import hashlib
import lzma
import os
import sys
import zlib

import pooch
import pytest

from serving import archive, folder_checksum, serving
from tensorm import FileError
from tensorm.datasets import locating, scans, students
from tensorm.datasets.locating import locate
from tensorm.datasets.sources import SOURCES, Copy, Download, Source, plain

ADVICE = r"download http\S*/cells.txt, save it as some/cells.txt in a folder of yours, and set TENSORM_DATA"


@pytest.fixture(scope="module")
def the_server():
    with serving() as server:
        yield server


@pytest.fixture
def server(the_server, tmp_path, monkeypatch):
    """A server, an empty cache, no mirror."""
    monkeypatch.setattr(locating, "_told", set())
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.delenv("TENSORM_DATA", raising=False)
    the_server.files.clear()
    the_server.asked.clear()
    the_server.cut.clear()
    the_server.sent = 0
    return the_server


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def put(path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def cached(tmp_path) -> list[str]:
    folder = tmp_path / "cache"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def cells(server, monkeypatch):
    """A source whose one file holds b'cells'."""
    address = server.put("cells.txt", b"cells")
    source = plain("Cells", "CC0", "Somebody (2020)", "some/cells.txt", address, sha256(b"cells"), "no units")
    monkeypatch.setitem(SOURCES, "cells", source)


def test_the_mirror_is_read_and_the_citation_said_once(server, cells, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TENSORM_DATA", str(tmp_path))
    put(tmp_path / "some/cells.txt", b"cells")
    assert locate("cells") == locate("cells")
    assert locate("cells").path == tmp_path / "some/cells.txt"
    assert capsys.readouterr().err == "cells: please cite Somebody (2020). Licence: CC0.\n"
    assert not server.asked


def test_a_missing_or_damaged_file_says_what_to_do(server, cells, tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORM_DATA", str(tmp_path))
    with pytest.raises(FileError, match=rf"is not there; {ADVICE}"):
        locate("cells")
    put(tmp_path / "some/cells.txt", b"cellz")
    with pytest.raises(FileError, match=rf"damaged or another version than expected; {ADVICE}"):
        locate("cells")


def test_a_file_that_may_not_be_read_is_named(cells, tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORM_DATA", str(tmp_path))
    put(tmp_path / "some/cells.txt", b"cells")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hashlib.file_digest", refuse)
    with pytest.raises(FileError, match=r"cells.txt cannot be read \(Permission denied\)"):
        locate("cells")


def test_a_download_is_kept(server, cells):
    path, attrs = locate("cells")
    assert path.read_bytes() == locate("cells").path.read_bytes() == b"cells"
    assert server.asked == ["cells.txt"]
    assert attrs == {
        "title": "Cells",
        "source": f"{server.address}/cells.txt",
        "citation": "Somebody (2020)",
        "licence": "CC0",
        "remarks": "no units",
    }


def test_a_terminal_without_tqdm_downloads_too(server, cells, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(locating, "find_spec", lambda name: None if name == "tqdm" else True)
    assert locate("cells").path.read_bytes() == b"cells"
    assert "100%" not in capsys.readouterr().err


def test_a_failed_download_says_why_and_leaves_nothing(server, cells, tmp_path):
    server.put("cells.txt", b"cellz")
    with pytest.raises(FileError, match=rf"\(its checksum is not the one expected\); {ADVICE}"):
        locate("cells")
    del server.files["cells.txt"]
    with pytest.raises(FileError, match=rf"cells cannot be downloaded \(HTTPError\); {ADVICE}"):
        locate("cells")
    assert cached(tmp_path) == []


def test_a_damaged_file_in_the_cache_is_replaced(server, cells, tmp_path, capsys):
    path = tmp_path / "cache/some/cells.txt"
    put(path, b"cellz")
    assert locate("cells").path.read_bytes() == b"cells"
    assert f"cells: {path} is damaged or another version than expected; it is rep" in capsys.readouterr().err
    put(path, b"cellz")
    del server.files["cells.txt"]
    message = rf"^\S+/some/cells.txt is damaged .*expected, and cells cannot be downloaded .*; {ADVICE}"
    with pytest.raises(FileError, match=message):
        locate("cells")
    assert path.read_bytes() == b"cellz"


def test_without_a_network_the_file_can_be_put_there_by_hand(server, cells, monkeypatch):
    source = SOURCES["cells"]
    nowhere = source.downloads[0]._replace(address="http://127.0.0.1:9/cells.txt")
    monkeypatch.setitem(SOURCES, "cells", source._replace(downloads=(nowhere,)))
    with pytest.raises(FileError, match=rf"cells cannot be downloaded \(ConnectionError\); {ADVICE}"):
        locate("cells")


@pytest.fixture
def made(server, monkeypatch):
    """A source that is made of two files, one of them large; yields what ``make`` does besides."""
    monkeypatch.setattr(locating, "LARGE", 5)
    todo = []

    def make(files, path):
        path.write_bytes(files[0].read_bytes()[:2])
        for act in todo:
            act()
        path.write_bytes(b"+".join(file.read_bytes() for file in files))

    contents = {"some/left": b"a large one", "some/right": b"small"}
    downloads = tuple(
        Download(path, server.put(path, content), sha256(content)) for path, content in contents.items()
    )
    copies = (Copy("some/known", sha256(b"known"), "not made"), Copy("some/made", remarks="made"))
    monkeypatch.setitem(SOURCES, "made", Source("Made", "CC0", "Me", copies, downloads, make, "json"))
    return todo


def test_data_are_made_once_and_a_large_download_is_deleted(server, made, tmp_path):
    path, attrs = locate("made")
    assert path.read_bytes() == b"a large one+small"
    assert attrs["remarks"] == "made"
    assert cached(tmp_path) == ["some/made", "some/right"]
    locate("made")
    assert server.asked == ["some/left", "some/right"]


def test_the_mirror_may_hold_what_is_made_or_what_it_is_made_of(server, made, tmp_path, monkeypatch):
    mirror = tmp_path / "mirror"
    monkeypatch.setenv("TENSORM_DATA", str(mirror))
    put(mirror / "some/left", b"a large one")
    with pytest.raises(FileError, match=r"known is not there; download \S+ and \S+, save them as some/l"):
        locate("made")
    put(mirror / "some/right", b"smoll")
    with pytest.raises(FileError, match=r"some/right has another checksum than expected\); download"):
        locate("made")
    put(mirror / "some/right", b"small")
    assert locate("made").path == tmp_path / "cache/some/made"
    assert (mirror / "some/left").exists()
    put(mirror / "some/made", b"by hand")
    assert locate("made").path.read_bytes() == b"by hand"
    put(mirror / "some/known", b"known")
    assert locate("made").attrs["remarks"] == "not made"
    assert not server.asked


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOSPC, "No space"), "the disk is full"),
        (FileError("it holds nothing"), "it holds nothing"),
        (EOFError(), "it is not whole, or not of the form expected"),
        (zlib.error(), "it is not whole, or not of the form expected"),
        (lzma.LZMAError(), "it is not whole, or not of the form expected"),
        (KeyboardInterrupt(), ""),
    ],
)
def test_an_interruption_leaves_nothing_half_made(server, made, tmp_path, error, reason):
    def act():
        raise error

    made.append(act)
    expected = FileError if reason else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        locate("made")
    if reason:
        assert f"made cannot be made of left ({reason}); download" in str(caught.value)
    assert cached(tmp_path) == ["some/left", "some/right"]
    assert not list((tmp_path / "cache").rglob(".making*"))
    made.clear()
    assert locate("made").path.exists()
    assert server.asked == ["some/left", "some/right"]  # both were kept


def test_what_another_process_made_meanwhile_is_taken(server, made, tmp_path):
    def act():
        put(tmp_path / "cache/some/made", b"faster")
        raise OSError

    made.append(act)
    assert locate("made").path.read_bytes() == b"faster"


@pytest.mark.parametrize("missing", ["pooch", "json"])
def test_a_missing_package_is_named_before_anything_is_downloaded(server, made, monkeypatch, missing):
    monkeypatch.setattr(locating, "find_spec", lambda name: None if name == missing else True)
    with pytest.raises(FileError, match=rf"made needs {missing}; get it by: pip install 'tensorm\[data\]'"):
        locate("made")
    assert not server.asked


SCANS = {
    f"QR_u{i:02d}.json": b'[{"qr_code": "%d", "resp_time": 1364284000}]' % (i + 1)
    for i in range(scans.STUDENTS)
}
SEATS = {f"dataset/EMA/response/QR_Code/{name}": content for name, content in SCANS.items()}


@pytest.fixture
def seats(server, monkeypatch):
    """The source of students, with the scans above; yields a function that says what the archive holds."""
    source = SOURCES["students"]

    def serve(content: bytes) -> None:
        download = source.downloads[0]._replace(address=server.put("dataset.tar.bz2", content))
        copy = source.copies[0]._replace(checksum=folder_checksum(SCANS))
        monkeypatch.setitem(SOURCES, "students", source._replace(copies=(copy,), downloads=(download,)))

    return serve


def test_students_are_taken_out_of_the_archive(server, seats, tmp_path, capsys):
    seats(archive({"dataset/big.csv": b"1,2\n" * 9999, **SEATS}, "bz2"))
    X = students()
    assert X.shape == (1, 7, 49)
    assert "stand in" in X.attrs["remarks"]
    assert cached(tmp_path) == [f"students/QR_Code/{name}" for name in SCANS]
    assert "dataset.tar.bz2, about 5,000 MB" in capsys.readouterr().err
    students()
    assert server.asked == ["dataset.tar.bz2"]


def test_a_damaged_folder_in_the_cache_is_replaced(server, seats, tmp_path):
    seats(archive(SEATS))
    students()
    folder = tmp_path / "cache/students/QR_Code"
    for damage in (b"[]", b"no scans"):
        put(folder / "QR_u07.json", damage)
        assert students().sizes["student"] == 49
    put(folder / "QR_u99.json", b"[]")
    students()
    assert cached(tmp_path) == [f"students/QR_Code/{name}" for name in SCANS]
    assert server.asked == ["dataset.tar.bz2"] * 4
    server.cut.add("dataset.tar.bz2")
    put(folder / "QR_u07.json", b"[]")
    with pytest.raises(FileError, match=r"QR_Code is damaged .*, and students cannot be downloaded"):
        students()


def test_anything_may_lie_beside_the_scans(server, seats, tmp_path, monkeypatch):
    seats(b"")
    monkeypatch.setenv("TENSORM_DATA", str(tmp_path))
    others = dict.fromkeys((".DS_Store", "._QR_u00.json", "Thumbs.db", "old/QR_u00.json"), b"")
    for name, content in {**SCANS, **others, "QR_u99.json/x": b""}.items():
        put(tmp_path / "students/QR_Code" / name, content)
    assert students().sizes["student"] == 49
    put(tmp_path / "students/QR_Code/QR_u00.json", b"[]")
    with pytest.raises(FileError, match="damaged or another version"):
        students()


def test_a_terminal_sees_how_far_it_is(server, cells, seats, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    seats(archive(SEATS, "bz2"))
    assert students().sizes["student"] == 49
    assert "100%" in capsys.readouterr().err
    assert locate("cells").path.exists()
    assert "100%" in capsys.readouterr().err


def test_nothing_is_read_after_the_last_scan(server, seats):
    rest = bytes(2**26)
    seats(archive({**SEATS, "dataset/rest": rest}))
    students()
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
    assert students().sizes["student"] == 49
    assert {path.parent.name for path in tmp_path.rglob("QR_*.json")} == {"QR_Code"}
    seats(archive({"/etc/QR_Code/QR_u06.json": b"[]", **SEATS}))
    for path in (tmp_path / "cache/students/QR_Code").iterdir():
        path.unlink()
    (tmp_path / "cache/students/QR_Code").rmdir()
    with pytest.raises(FileError, match="what is in it is another version than expected"):
        students()
    assert cached(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (archive({"dataset/README": b"moved"}, "bz2"), r"it holds 0 files QR_Code/QR_u\*.json, not 49"),
        (archive(SEATS, "bz2")[:-200], "it is not whole, or not of the form expected"),
        (archive(SEATS)[:20480], r"it holds 20 files QR_Code/QR_u\*.json, not 49"),
        (b"<html>", "it is not whole, or not of the form expected"),
    ],
)
def test_an_archive_of_another_form_says_so(server, seats, tmp_path, content, reason):
    seats(content)
    advice = (
        r"download \S+, save it as students/dataset.tar.bz2 in a folder of yours, and set TENSORM_DATA to"
    )
    with pytest.raises(
        FileError, match=rf"^students cannot be downloaded \({reason}\); {advice} that folder\.$"
    ):
        students()
    assert cached(tmp_path) == []


def test_a_lost_connection_or_an_interruption_leaves_nothing(server, seats, tmp_path, monkeypatch):
    seats(archive({"dataset/big": os.urandom(2**20), **SEATS}))
    server.cut.add("dataset.tar.bz2")
    with pytest.raises(FileError, match=r"students cannot be downloaded \(ConnectionError\)"):
        students()

    def interrupted(stream):
        raise KeyboardInterrupt

    monkeypatch.setattr(scans, "take_scans", interrupted)
    with pytest.raises(KeyboardInterrupt):
        students()
    assert cached(tmp_path) == []


def test_an_archive_in_the_mirror_is_used(server, seats, tmp_path, monkeypatch):
    seats(b"")
    put(tmp_path / "mirror/students/dataset.tar.bz2", archive(SEATS, "bz2"))
    monkeypatch.setenv("TENSORM_DATA", str(tmp_path / "mirror"))
    assert students().sizes["student"] == 49
    put(tmp_path / "cache/students/QR_Code/QR_u00.json", b"[]")
    assert students().sizes["student"] == 49
    put(tmp_path / "cache/students/QR_Code/QR_u00.json", b"[]")
    put(tmp_path / "mirror/students/dataset.tar.bz2", b"<html>")
    with pytest.raises(FileError, match=r"QR_Code is damaged .*, and students cannot be made of dataset.tar"):
        students()
    put(tmp_path / "mirror/students/QR_Code/QR_u00.json", b"[]")
    with pytest.raises(FileError, match="damaged or another version"):
        students()
    assert not server.asked
