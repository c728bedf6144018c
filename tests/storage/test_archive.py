"""Archives: what is written is read, and nothing else is."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge
from tensorm import FileError
from tensorm.storage.archive import MAX_JSON_BYTES, Stored, open_archive, write_archive

NUMBERS = np.arange(12, dtype=np.int64).reshape(3, 4)
TREE = {
    "number": 7,
    "share": 0.1,
    "word": "Österreich",
    "list": [1, None, {"a": True}],
    "numbers": NUMBERS,
    "inner": {"large": 2**64 - 1, "reversed": np.arange(3.0)[::-1], "deep": {"x": np.array(5, np.uint8)}},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_archive(tmp_path / "file.tensorm", TREE)
    return tmp_path / "file.tensorm"


def test_what_is_written_is_read(path: Path) -> None:
    with open_archive(path) as file:
        assert file.integer("number", 0) == 7
        assert file.positive("share", 1.0) == 0.1
        assert file.word("word") == "Österreich"
        assert file.value("list") == [1, None, {"a": True}]
        np.testing.assert_array_equal(file.array("numbers", "i8", (3, None)), NUMBERS, strict=True)
        inner = file.tree("inner")
        assert inner.integer("large", 0, 2**64) == 2**64 - 1
        assert inner.array("reversed", "f8", (3,)).tolist() == [2.0, 1.0, 0.0]
        assert inner.tree("deep").array("x", None, ()).item() == 5
        file.expect_end()


def test_arrays_are_read_once_and_all_of_them(path: Path) -> None:
    with open_archive(path) as file:
        assert file.has("numbers")
        assert file.has("inner")
        assert not file.has("number")
        with pytest.raises(FileError, match="'numbers' is unexpected"):
            file.expect_end()
        file.array("numbers", None, None)
        with pytest.raises(FileError, match="'numbers' is missing"):
            file.array("numbers", None, None)
        with pytest.raises(FileError, match="'inner/reversed' is unexpected"):
            file.expect_end()


KINDS = ["?", "i1", "i8", "u2", "u8", "f2", "f4", "f8", "S3", "U4", "M8[D]", "m8[ns]", "M8"]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (5,), (2, 3)])
def test_arrays_of_every_type_and_shape(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    array = numbers.astype("i8").astype(dtype) if dtype != "M8" else np.full(shape, "NaT", "M8")
    for given in (array, array.copy("F"), array.astype(array.dtype.newbyteorder(">"))):
        write_archive(tmp_path / "a", {"x": given})
        with open_archive(tmp_path / "a") as file:
            np.testing.assert_array_equal(file.array("x", None, shape), array, strict=True)


def test_other_programs_read_it_as_a_zip(path: Path) -> None:
    arrays = np.load(path, allow_pickle=False)
    np.testing.assert_array_equal(arrays["numbers"], NUMBERS)
    assert b'"number": 7' in arrays["about.json"]
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        assert file.namelist() == ["about.json", "numbers.npy", "inner/reversed.npy", "inner/deep/x.npy"]
        assert file.comment.startswith(b"tensorm ")


def test_the_hdf5_library_is_not_needed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("h5py", "h5netcdf"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it would raise
    write_archive(path, TREE)
    with open_archive(path) as file:
        assert file.word("word") == "Österreich"


def test_the_same_content_gives_the_same_bytes(path: Path) -> None:
    first = path.read_bytes()
    write_archive(path, TREE)
    assert path.read_bytes() == first


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="its settings are too long; give arrays, not lists"):
        write_archive(tmp_path / "a", {"list": ["x" * MAX_JSON_BYTES]})
    assert not list(tmp_path.iterdir())


def test_every_single_changed_byte_is_found(path: Path) -> None:
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(FileError, match="cannot be read"), open_archive(path):
            pass


def read_all(path: Path) -> None:
    with open_archive(path) as file:
        read_tree(file, TREE)


def read_tree(stored: Stored, tree: dict[str, Any]) -> None:
    for name, value in tree.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(stored.array(name, value.dtype.str, value.shape), value)
        elif isinstance(value, dict):
            read_tree(stored.tree(name), value)


def test_every_flipped_bit_is_found_or_harmless_with_the_checksum_put_right(path: Path) -> None:
    """Arrays have a checksum of their own in a zip; whatever else can be changed does not matter."""
    whole = path.read_bytes()
    for bit in np.random.default_rng(0).permutation(8 * len(whole))[:400]:  # all of them take a minute
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(forge.seal(bytes(changed)))
        try:
            read_all(path)
        except FileError as error:
            assert str(error).isprintable()  # noqa: PT017


def test_every_missing_end_is_found(path: Path) -> None:
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match="cannot be read"), open_archive(path):
            pass


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"shape": (10**6, 10**6)}, "does not have the size that its header states"),
        ({"shape": (3, 4, 2)}, "has shape"),
        ({"shape": (0, 2**61)}, "does not have the size that its header states"),
        ({"shape": (-3, -4)}, "has shape"),
        ({"shape": (True, 12)}, "has shape"),
        ({"shape": (12,)}, r"has shape \(12,\), not \(any, any\)"),
        ({"shape": "3, 4"}, "'numbers' is damaged"),
        ({"shape": (3.0, 4)}, "'numbers' is damaged"),
        ({"shape": [3, 4]}, "'numbers' is damaged"),
        ({"shape": None}, "'numbers' is damaged"),
        ({"fortran_order": True}, "does not have the size that its header states"),
        ({"fortran_order": 1}, "'numbers' is damaged"),
        ({"descr": "|O"}, "is of type '|O', not '<i8'"),
        ({"descr": "<f8"}, "is of type '<f8', not '<i8'"),
        ({"descr": ">i8"}, "is of type '>i8', not '<i8'"),
        ({"descr": "<i4"}, "is of type '<i4', not '<i8'"),
        ({"descr": [("a", "<i4"), ("b", "<i4")]}, "is of type '|V8', not '<i8'"),
        ({"descr": ("<i4", (2,))}, "is of type '|V8', not '<i8'"),
        ({"descr": [["a", "<i4"]] * 9}, "'numbers' is damaged"),
        ({"descr": "<U0", "shape": (10**15,)}, "is of type '<U0'"),
        ({"descr": "<M8[9999999999s]"}, "'numbers' is damaged"),
        ({"descr": "<U100000000"}, "is of type '<U100000000'"),
        ({"descr": 8}, "'numbers' is damaged"),
        ({"extra": 1}, "'numbers' is damaged"),
    ],
    ids=str,
)
def test_headers_that_lie(path: Path, changes: dict[str, Any], why: str) -> None:
    parts = forge.Parts(path.read_bytes())
    parts.say("numbers", **changes)
    path.write_bytes(parts.join())
    with pytest.raises(FileError, match=why), open_archive(path) as file:
        file.array("numbers", "i8", (None, None))


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"\x93NUMPY",
        b"\x80\x04\x95",
        forge.header("{'descr': '<i8', 'fortran_order': False, 'shape': (3, 4)}", (2, 0)),
        forge.header("{'descr': '<i8', 'fortran_order': False, 'shape': (3, 4)}", (9, 0)),
        forge.header("__import__('os').system('true')"),
        forge.header("(" * 5000),
        forge.header("'" + "x" * 60_000 + "'"),
        forge.header("\0"),
        forge.header("{'descr': '<i8', 'fortran_order': False, 'shape': (3L, 4L)}"),
        forge.header("{'descr': '<i8', 'fortran_order': False, 'shape': (3, 4)")[:-2],
        b"\x93NUMPY\x01\x00\xff\xff{}",
    ],
    ids=range(12),
)
def test_headers_that_are_none(path: Path, start: bytes) -> None:
    parts = forge.Parts(path.read_bytes())
    parts.members["numbers.npy"] = start + NUMBERS.tobytes()
    path.write_bytes(parts.join())
    with pytest.raises(FileError, match="'numbers'"), open_archive(path) as file:
        file.array("numbers", "i8", (3, 4))


@pytest.mark.parametrize(
    "changes", [{"descr": "<U100000000"}, {"descr": "<U0"}, {"shape": (10**12,)}, {"shape": (-12,)}], ids=str
)
def test_headers_that_lie_where_any_array_will_do(path: Path, changes: dict[str, Any]) -> None:
    parts = forge.Parts(path.read_bytes())
    parts.say("numbers", **changes)
    path.write_bytes(parts.join())
    with (
        open_archive(path) as file,
        pytest.raises(FileError, match=r"the size that|has shape|is of type"),
    ):
        file.array("numbers", None, None)


def test_pickles_are_not_read(path: Path) -> None:
    image = io.BytesIO()
    np.save(image, np.array([print], object), allow_pickle=True)
    parts = forge.Parts(path.read_bytes())
    parts.members["numbers.npy"] = image.getvalue()
    path.write_bytes(parts.join())
    with open_archive(path) as file, pytest.raises(FileError, match="'numbers'"):
        file.array("numbers", None, (1,))


@pytest.mark.parametrize(
    "name",
    [
        "../evil.npy",
        "/etc/passwd",
        "/abs.npy",
        "a/../b.npy",
        "a//b.npy",
        "C:\\x.npy",
        "Numbers.npy",
        "a.npy/",
        "a.npy\n",
        "x.pkl",
        ".npy",
        "about.json/a.npy",
        "numbers.npy.npy",
        "ü.npy",
    ],
)
def test_names_that_we_never_write(path: Path, name: str) -> None:
    parts = forge.Parts(path.read_bytes())
    path.write_bytes(forge.make_zip([("about.json", b"{}"), *parts.members.items(), (name, b"")]))
    with pytest.raises(FileError, match="is unexpected"), open_archive(path):
        pass


def test_a_name_twice(path: Path) -> None:
    parts = forge.Parts(path.read_bytes())
    for name in ("about.json", "numbers.npy"):
        members = {"about.json": b"{}", **parts.members}
        with pytest.warns(UserWarning, match="Duplicate name"):
            path.write_bytes(forge.make_zip([*members.items(), (name, members[name])]))
        with pytest.raises(FileError, match="two of its members have the same name"), open_archive(path):
            pass


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions(path: Path, compression: int) -> None:
    path.write_bytes(forge.Parts(path.read_bytes()).join(compression))
    with pytest.raises(FileError, match="not compressed with deflate"), open_archive(path):
        pass


def patch_directory(content: bytes, name: str, offset: int, value: int, size: int = 4) -> bytes:
    """Change a field of a member's entry in the directory."""
    at = content.rindex(name.encode()) - 46 + offset
    return forge.seal(content[:at] + value.to_bytes(size, "little") + content[at + size :])


@pytest.mark.parametrize(
    ("offset", "value", "size", "why"),
    [
        (8, 1, 2, "or is encrypted"),
        (10, 99, 2, "not compressed with deflate"),
        (16, 0, 4, "'numbers' is damaged"),
        (20, 2**31, 4, "its members overlap"),
        (20, 1, 4, "is damaged"),
        (24, 2**31, 4, "cannot be as large as the directory says"),
        (24, 2000, 4, "does not have the size that its header states"),
        (24, 100, 4, "is damaged|does not have the size"),
        (24, 0, 4, "is damaged|does not have the size"),
        (24, 2**32 - 1, 4, "directory is damaged|cannot be as large"),
        (42, 2**31, 4, "is damaged"),
        (42, 0, 4, "is damaged"),
        (28, 60_000, 2, "is unexpected"),
        (30, 60_000, 2, "directory is damaged"),
        (6, 900, 2, "directory is damaged|'numbers'"),
    ],
)
def test_directories_that_lie(path: Path, offset: int, value: int, size: int, why: str) -> None:
    path.write_bytes(patch_directory(path.read_bytes(), "numbers.npy", offset, value, size))
    with pytest.raises(FileError, match=why), open_archive(path) as file:
        file.array("numbers", "i8", (3, 4))


def test_members_on_top_of_each_other(path: Path) -> None:
    """A thousand names for one run of bytes would unpack to more than the file can hold."""
    once = forge.make_zip([("about.json", b"{}"), ("a000.npy", bytes(10**6))])
    start = once.index(b"PK\x01\x02")
    entries = once[start : once.index(b"PK\x05\x06")]
    last = entries[entries.rindex(b"PK\x01\x02") :]
    more = b"".join(last.replace(b"a000", b"a%03d" % n) for n in range(1, 1000))
    ending = bytearray(once[once.index(b"PK\x05\x06") :])
    ending[8:12] = (1001).to_bytes(2, "little") * 2
    ending[12:16] = (len(entries) + len(more)).to_bytes(4, "little")
    path.write_bytes(forge.seal(once[:start] + entries + more + bytes(ending)))
    with pytest.raises(FileError, match="its members overlap"), open_archive(path):
        pass


def test_a_bomb_larger_than_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_archive(path, {"zeros": np.zeros(10**6)})
    assert path.stat().st_size < 40_000
    with open_archive(path) as file:
        assert not file.array("zeros", "f8", (10**6,)).any()
    monkeypatch.setattr("tensorm.storage.archive.available_memory", lambda: 10**6)
    with (
        pytest.raises(FileError, match="what it contains is larger than this machine's memory"),
        open_archive(path),
    ):
        pass


@pytest.mark.parametrize(
    "about",
    [b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 200_000, b"9" * 10_000, rb'{"a": ["\ud800"]}'],
    ids=["empty", "list", "null", "half", "no text", "deep", "long number", "half a character"],
)
def test_json_that_is_none(path: Path, about: bytes) -> None:
    parts = forge.Parts(path.read_bytes())
    parts.about = about
    path.write_bytes(parts.join())
    with pytest.raises(FileError, match=r"about\.json"), open_archive(path):
        pass


def test_json_longer_than_any(path: Path) -> None:
    parts = forge.Parts(path.read_bytes())
    parts.about = b" " * 2**23
    path.write_bytes(parts.join())
    with pytest.raises(FileError, match=r"about\.json is missing or too long"), open_archive(path):
        pass


def test_no_json(path: Path) -> None:
    path.write_bytes(forge.make_zip(forge.Parts(path.read_bytes()).members.items()))
    with pytest.raises(FileError, match=r"about\.json is missing"), open_archive(path):
        pass


def test_a_file_larger_than_memory_is_not_even_summed_up(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(2**43)  # no blocks are used
    with (
        pytest.raises(FileError, match=r"it has 8,796,093,022,208 bytes, more than this machine"),
        open_archive(path),
    ):
        pass


def test_wrong_values(path: Path) -> None:
    with open_archive(path) as file:
        for read, why in [
            (lambda: file.integer("number", 8), "number is 7, not an integer at least 8"),
            (lambda: file.integer("number", 0, 6), "number is 7, not an integer from 0 to 6"),
            (lambda: file.integer("share", 0), "share is 0.1, not an integer"),
            (lambda: file.integer("word", 0), "not an integer"),
            (lambda: file.positive("number", 9.0), "number is 7, not a positive number up to 9"),
            (lambda: file.word("number"), "number is 7, not a text"),
            (lambda: file.word("word", ["a", "b"]), "not 'a' or 'b'"),
            (lambda: file.word("nothing"), "'nothing' is missing"),
            (lambda: file.tree("numbers"), "'numbers' is missing"),
            (lambda: file.tree("number"), "'number' is not a tree"),
            (lambda: file.array("inner", "i8", ()), "'inner' is missing"),
            (lambda: file.array("numbers", "S1", (3, 4)), "is of type '<i8', not '|S1'"),
        ]:
            with pytest.raises(FileError, match=why):
                read()
        with pytest.raises(FileError, match=r"'x' is missing in inner\.$"):
            file.tree("inner").array("x", "i8", ())
