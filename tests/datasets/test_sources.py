"""Public files come from a mirror or a download, are checked, and say whom to cite."""

from __future__ import annotations

import hashlib

import pooch
import pytest

from tensorm import FileError
from tensorm.datasets import sources
from tensorm.datasets.sources import SOURCES, Source, locate


@pytest.fixture
def a_file(tmp_path, monkeypatch):
    """A source whose file holds b'cells', not there yet; returns the folder TENSORM_DATA."""
    checksum = hashlib.sha256(b"cells").hexdigest()
    source = Source("some/cells.txt", "https://example.org/cells.txt", checksum, "CC0", "Somebody (2020)")
    monkeypatch.setitem(SOURCES, "cells", source)
    monkeypatch.setattr(sources, "_told", set())
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.delenv("TENSORM_DATA", raising=False)
    return tmp_path


def put(path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_the_mirror_is_read_and_the_citation_said_once(a_file, monkeypatch, capsys):
    monkeypatch.setenv("TENSORM_DATA", str(a_file))
    put(a_file / "some/cells.txt", b"cells")
    assert locate("cells") == locate("cells") == a_file / "some/cells.txt"
    assert capsys.readouterr().err == "cells: please cite Somebody (2020). Licence: CC0.\n"


def test_a_missing_or_damaged_file_says_what_to_do(a_file, monkeypatch):
    monkeypatch.setenv("TENSORM_DATA", str(a_file))
    advice = r"download https://example.org/cells.txt, save it as some/cells.txt in a folder .* TENSORM_DATA"
    with pytest.raises(FileError, match=rf"is not there; {advice}"):
        locate("cells")
    put(a_file / "some/cells.txt", b"cellz")
    with pytest.raises(FileError, match=rf"damaged or another version than expected; {advice}"):
        locate("cells")


def test_a_download_is_kept(a_file, monkeypatch):
    calls = []

    def retrieve(address, known_hash, name, folder, progressbar):
        calls.append((address, known_hash))
        put(folder / name, b"cells")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert locate("cells").read_bytes() == locate("cells").read_bytes() == b"cells"
    assert calls == [("https://example.org/cells.txt", f"sha256:{SOURCES['cells'].sha256}")]


def test_without_a_network_the_file_can_be_put_there_by_hand(a_file, monkeypatch):
    def retrieve(*args, **options):
        raise ConnectionError

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(FileError, match=r"cells cannot be downloaded \(ConnectionError\); download https"):
        locate("cells")


def test_data_without_an_address_say_how_to_come_by_them(a_file):
    with pytest.raises(FileError, match=r"is not there; make it from Bioconductor's RTCGA.miRNASeq: arrays"):
        locate("mirna")
