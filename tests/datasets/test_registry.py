"""Public data come from a folder or a download, are checked, and say whom to cite."""

from __future__ import annotations

import hashlib
import sys

import pooch
import pytest

from serving import folder_checksum, serving
from tensorm import FileError, datasets
from tensorm.datasets import registry
from tensorm.datasets.registry import FILES, SOURCES, File, Source, fetch

ADVICE = r"download http\S*/cells.txt, save it as some/cells.txt in a folder, and set TENSORM_DATA to that f"


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
    return the_server


def put(path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.fixture
def cells(server, monkeypatch):
    """A source whose only file contains b'cells'."""
    address = server.put("cells.txt", b"cells")
    monkeypatch.setitem(SOURCES, "cells", Source("Cells", "CC0", "Somebody (2020)"))
    file = File("cells", hashlib.sha256(b"cells").hexdigest(), address, "no units")
    monkeypatch.setitem(FILES, "some/cells.txt", file)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder of the user."""
    monkeypatch.setenv("TENSORM_DATA", str(tmp_path))
    return tmp_path


def test_a_folder_is_read_and_the_citation_printed_once(server, cells, own, capsys):
    put(own / "some/cells.txt", b"cells")
    assert fetch("some/cells.txt") == fetch("some/cells.txt")
    assert fetch("some/cells.txt")[0] == own / "some/cells.txt"
    assert capsys.readouterr().err == "cells: please cite Somebody (2020). Licence: CC0.\n"
    assert not server.asked


def test_a_missing_or_damaged_file_says_what_to_do(server, cells, own):
    with pytest.raises(FileError, match=rf"^No such file: \S+/some/cells.txt; {ADVICE}"):
        fetch("some/cells.txt")
    put(own / "some/cells.txt", b"cellz")
    with pytest.raises(FileError, match=rf"cells.txt is damaged or a different version; {ADVICE}"):
        fetch("some/cells.txt")
    assert (own / "some/cells.txt").read_bytes() == b"cellz"
    assert not server.asked


def test_a_file_that_cannot_be_read_is_named(cells, own):
    (own / "some/cells.txt").mkdir(parents=True)
    with pytest.raises(FileError, match=r"^Cannot read \S+cells.txt \(Is a directory\); check its permiss"):
        fetch("some/cells.txt")


def test_a_download_is_kept(server, cells):
    path, attrs = fetch("some/cells.txt")
    assert path.read_bytes() == fetch("some/cells.txt")[0].read_bytes() == b"cells"
    assert server.asked == ["cells.txt"]
    assert attrs == {
        "title": "Cells",
        "source": f"{server.address}/cells.txt",
        "citation": "Somebody (2020)",
        "licence": "CC0",
        "remarks": "no units",
    }


def test_a_failed_download_says_why_and_leaves_nothing(server, cells, tmp_path):
    server.put("cells.txt", b"cellz")
    with pytest.raises(FileError, match=rf"^Cannot download cells \(wrong checksum\); {ADVICE}"):
        fetch("some/cells.txt")
    del server.files["cells.txt"]
    with pytest.raises(FileError, match=rf"^Cannot download cells \(HTTPError\); {ADVICE}"):
        fetch("some/cells.txt")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_damaged_file_in_the_cache_is_replaced(server, cells, tmp_path):
    path = tmp_path / "cache/some/cells.txt"
    put(path, b"cellz")
    assert fetch("some/cells.txt")[0].read_bytes() == b"cells"
    put(path, b"cellz")
    del server.files["cells.txt"]
    with pytest.raises(FileError, match=rf"^Cannot download cells \(HTTPError\); {ADVICE}"):
        fetch("some/cells.txt")
    assert path.read_bytes() == b"cellz"


def test_without_a_network_the_file_can_be_saved_by_hand(cells, monkeypatch):
    nowhere = FILES["some/cells.txt"]._replace(origin="http://127.0.0.1:9/cells.txt")
    monkeypatch.setitem(FILES, "some/cells.txt", nowhere)
    with pytest.raises(FileError, match=rf"^Cannot download cells \(ConnectionError\); {ADVICE}"):
        fetch("some/cells.txt")


def test_a_folder_needs_no_pooch_and_a_download_says_how_to_install_it(server, cells, own, monkeypatch):
    put(own / "some/cells.txt", b"cells")
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert fetch("some/cells.txt")[0].exists()
    monkeypatch.delenv("TENSORM_DATA")
    with pytest.raises(FileError, match=r'need pooch; install it with: pip install "tensorm\[data\]"\.$'):
        fetch("some/cells.txt")
    assert not server.asked


@pytest.mark.parametrize(
    ("load", "path", "name"),
    [
        (datasets.students, "students/QR_Code", "students"),
        (datasets.cancer, "cancer/mirna.npz", "mirna"),
        (lambda: datasets.cancer("mrna"), "cancer/mrna_pancan.npz", "mrna"),
    ],
)
def test_data_without_an_address_say_what_to_get_and_where_to_put_it(server, tmp_path, load, path, name):
    message = rf"^No such file: {tmp_path}/cache/{path}; run `python -m experiments.prepare {name}` in a "
    message += rf"clone of the repository, or \w+ .* https://\S+.*, save it as {path} in a folder, and"
    with pytest.raises(FileError, match=message):
        load()


def test_the_first_file_that_is_there_is_read(server, cells, own, monkeypatch):
    monkeypatch.setitem(FILES, "some/other.txt", FILES["some/cells.txt"]._replace(sha256="", remarks="built"))
    put(own / "some/other.txt", b"any")
    names = "some/cells.txt", "some/other.txt"
    assert fetch(*names)[1]["remarks"] == "built"
    put(own / "some/cells.txt", b"cells")
    assert fetch(*names)[1]["remarks"] == "no units"


SCANS = {f"QR_u{i:02d}.json": b'[{"qr_code": "%d", "resp_time": 1364284000}]' % (i + 1) for i in range(49)}


def test_anything_may_lie_beside_the_scans(own, monkeypatch):
    file = FILES["students/QR_Code"]._replace(sha256=folder_checksum(SCANS))
    monkeypatch.setitem(FILES, "students/QR_Code", file)
    others = dict.fromkeys((".DS_Store", "._QR_u00.json", "Thumbs.db", "old/QR_u00.json"), b"")
    for name, content in {**SCANS, **others, "QR_u99.json/x": b""}.items():
        put(own / "students/QR_Code" / name, content)
    assert datasets.students().sizes["student"] == 49
    put(own / "students/QR_Code/QR_u00.json", b"[]")
    with pytest.raises(FileError, match="damaged or a different version"):
        datasets.students()
