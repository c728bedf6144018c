"""Archives: fits, runs and checkpoints are zip files of arrays, with everything else as JSON.

A *tree* is a dictionary of arrays, of whatever JSON can hold, and of further trees. ``write_archive`` puts
every array into a ``.npy`` member of its own and the rest into ``about.json`` (docs/files.md). A file that is
read may be damaged or malicious. So its checksum comes first, then the zip's directory, then the header
of an array; all sizes must agree and fit what the reader expects before memory is allocated for an array.
Nothing is unpickled, and no name in a file is used as a path.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from tensorm.data.arrays import Array
from tensorm.data.memory import available_memory
from tensorm.errors import FileError
from tensorm.storage.files import FilePath, as_path, open_file, quote, replace_file

ABOUT = "about.json"
ARRAY_MEMBER = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*\.npy")
ZIP, HDF5 = b"PK\x03\x04", b"\x89HDF\r\n\x1a\n"  # how files begin
MARK, HEX_DIGITS = b"tensorm ", 64  # the zip's comment, the end of the file: this and the checksum
LARGE = 2**20  # bytes from which arrays are compressed at level 1: 8 times as fast, and hardly larger
MAX_DEFLATION = 1032  # times that deflate can shrink its input
MAX_JSON_BYTES = 2**22  # bytes: parsing takes many times as many
PLAIN_KINDS = "biufSUMm"  # kinds of types that need no pickle and have no parts
Tree = Mapping[str, Any]


def write_archive(path: FilePath, tree: Tree) -> None:
    """Write a tree to a file, in one step and in place of an older one.

    Raises
    ------
    FileError
        When the file cannot be written.
    """
    place = as_path(path)
    replace_file(place, pack_archive(place, tree))


def pack_archive(place: Path, tree: Tree) -> bytes:
    """Return the content of a file that holds a tree."""
    image, arrays = BytesIO(), dict[str, Array]()
    about = json.dumps(_take_arrays(tree, "", arrays)).encode()
    if len(about) > MAX_JSON_BYTES:
        raise FileError(f"{place} cannot be written: its settings are too long; give arrays, not lists.")
    with zipfile.ZipFile(image, "w", zipfile.ZIP_DEFLATED) as file:
        file.comment = MARK + bytes(HEX_DIGITS)
        with file.open(ABOUT, "w") as member:  # without a date: the same content gives the same bytes
            member.write(about)
        for name, array in arrays.items():
            little = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
            file.compresslevel = None if array.nbytes < LARGE else 1
            with file.open(f"{name}.npy", "w", force_zip64=array.nbytes > 2**30) as member:
                npy.write_array(member, little, (1, 0), allow_pickle=False)
    with image.getbuffer() as content:  # given back, or the garbage collector of Python 3.13 may complain
        content[-HEX_DIGITS:] = _checksum(content)
    return image.getvalue()


@contextmanager
def open_archive(path: FilePath) -> Iterator[Stored]:
    """Open a file that may be anything, and yield its tree.

    Raises
    ------
    FileError
        When tensorm did not write the file, or it is damaged.
    """
    place = as_path(path)
    with open_file(place) as file:
        with refusing(place, "it cannot be read to its end"):
            size = os.fstat(file.fileno()).st_size
            if not size:
                raise refusal(place, "it is empty")
            if size > available_memory():
                raise refusal(place, f"it has {size:,} bytes, more than this machine's memory")
            content: bytes | memoryview = file.read(size)
            if content[: len(HDF5)] == HDF5:
                from tensorm.storage.old_netcdf import read_tree  # which needs what is here

                content = pack_archive(place, read_tree(place, memoryview(content)))
            if content[: len(ZIP)] != ZIP:
                remedy = "" if place.suffix == ".tensorm" else "; to read data, use tensorm.read"
                raise refusal(place, f"it is not a tensorm file{remedy}")
            archive = _Archive(place, content)
        yield Stored(archive, archive.about, "")


def refusal(path: Path, why: str) -> FileError:
    """Return the error that says why a file cannot be read."""
    return FileError(f"{path} cannot be read: {why}.")


class Stored:
    """A tree from a file of unknown origin: each verb checks before it reads, or raises FileError."""

    def __init__(self, archive: _Archive, about: Any, where: str) -> None:
        self._archive, self._about, self._where = archive, about, where
        if not isinstance(about, dict):
            raise self.refuse(f"{quote(where or ABOUT)} is not a tree")

    def refuse(self, why: str) -> FileError:
        """Return the error that says why this file cannot be read."""
        return refusal(self._archive.path, f"{why} in {self._where}" if self._where else why)

    def has(self, name: str) -> bool:
        """Whether there is an array of this name that was not read yet, or a tree."""
        return self._path(name) in self._archive.unread or isinstance(self._about.get(name), dict)

    def expect_end(self) -> None:
        """Raise if the file holds an array that nobody read."""
        for name in self._archive.unread:
            raise self.refuse(f"{quote(name)} is unexpected")

    def tree(self, name: str) -> Stored:
        """Return a tree inside this one."""
        return Stored(self._archive, self.value(name), self._path(name))

    def array(self, name: str, dtype: str | None, shape: Sequence[int | None] | None) -> Array:
        """Read an array, once, of this type and shape; None stands for any plain type, shape or size."""
        member = self._archive.unread.pop(self._path(name), None)
        if member is None:
            raise self.refuse(f"{quote(name)} is missing")
        damaged = refusing(self._archive.path, f"{quote(name)} is damaged")
        with damaged, self._archive.zip.open(member) as file:
            version = npy.read_magic(file)
            sizes, by_column, found = npy.read_array_header_1_0(file)
            self._check_type(name, found, dtype)
            self._check_shape(name, sizes, shape)
            size = file.tell() + found.itemsize * math.prod(sizes)
            if version != (1, 0) or by_column or size != member.file_size:
                raise self.refuse(f"{quote(name)} does not have the size that its header states")
            content = bytearray(file.read())
            return np.ndarray(sizes, found, content).astype(found.newbyteorder("="), copy=False)

    def value(self, name: str, default: Any = None) -> Any:
        """Return what JSON says under a name, which may be left out if there is a default."""
        if name not in self._about and default is None:
            raise self.refuse(f"{quote(name)} is missing")
        return self._about.get(name, default)

    def word(self, name: str, options: Sequence[str] | None = None) -> str:
        """Read a text, one of the options if there are any."""
        value = self.value(name)
        if not isinstance(value, str) or (options is not None and value not in options):
            wanted = "a text" if options is None else " or ".join(map(repr, options))
            raise self.refuse(f"{name} is {quote(value)}, not {wanted}")
        return value

    def integer(self, name: str, minimum: int, maximum: int = 2**62) -> int:
        """Read an integer between two others."""
        value = self.value(name)
        if type(value) is not int or not minimum <= value <= maximum:
            wanted = f"at least {minimum}" if maximum > 2**60 else f"from {minimum} to {maximum}"
            raise self.refuse(f"{name} is {quote(value)}, not an integer {wanted}")
        return value

    def positive(self, name: str, maximum: float, default: float | None = None) -> float:
        """Read a positive number, which may be left out if there is a default."""
        value = self.value(name, default)
        if type(value) is not float or not 0 < value <= maximum:
            raise self.refuse(f"{name} is {quote(value)}, not a positive number up to {maximum:g}")
        return value

    def _check_type(self, name: str, found: np.dtype[Any], dtype: str | None) -> None:
        wanted = "a plain type" if dtype is None else repr(np.dtype(dtype).newbyteorder("<").str)
        plain = found.kind in PLAIN_KINDS and found.itemsize > 0
        if not plain or (dtype is not None and repr(found.str) != wanted):
            raise self.refuse(f"{quote(name)} is of type {quote(found.str)}, not {wanted}")

    def _check_shape(self, name: str, sizes: Any, shape: Sequence[int | None] | None) -> None:
        wanted = (None,) * len(sizes) if shape is None else shape
        counts = all(type(n) is int and n >= 0 for n in sizes)
        fits = all(want in (None, n) for n, want in zip(sizes, wanted, strict=False))
        if len(sizes) != len(wanted) or not counts or not fits:
            expected = ", ".join("any" if want is None else str(want) for want in wanted)
            raise self.refuse(f"{quote(name)} has shape {quote(sizes)}, not ({expected})")

    def _path(self, name: str) -> str:
        return f"{self._where}/{name}" if self._where else name


class _Archive:
    """An open file of unknown origin."""

    def __init__(self, path: Path, content: bytes | memoryview) -> None:
        self.path = path
        if content[-HEX_DIGITS - len(MARK) : -HEX_DIGITS] != MARK:
            raise refusal(path, "tensorm did not write it, or it is incomplete or was changed since")
        if _checksum(content) != content[-HEX_DIGITS:]:
            raise refusal(path, "its checksum is wrong, so it is damaged or was changed")
        with refusing(path, "its directory is damaged"):
            self.zip = zipfile.ZipFile(BytesIO(content))
        members = self.zip.infolist()
        for member in members:
            self._check_member(member)
        if len({member.filename for member in members}) < len(members):
            raise refusal(path, "two of its members have the same name")
        if sum(member.compress_size for member in members) > len(content):
            raise refusal(path, "its members overlap")
        if sum(member.file_size for member in members) > available_memory():
            raise refusal(path, "what it contains is larger than this machine's memory")
        self.unread = {member.filename.removesuffix(".npy"): member for member in members}
        self.about = self._read_about(self.unread.pop(ABOUT, None))

    def _check_member(self, member: zipfile.ZipInfo) -> None:
        """Raise unless a member is of a kind that we write, and as small as it claims to be."""
        name = quote(member.filename)
        if member.filename != ABOUT and not ARRAY_MEMBER.fullmatch(member.filename):
            raise refusal(self.path, f"{name} is unexpected")
        if member.compress_type != zipfile.ZIP_DEFLATED or member.flag_bits & 1:
            raise refusal(self.path, f"{name} is not compressed with deflate, or is encrypted")
        if member.file_size > MAX_DEFLATION * member.compress_size:
            raise refusal(self.path, f"{name} cannot be as large as the directory says")

    def _read_about(self, member: zipfile.ZipInfo | None) -> Any:
        if member is None or member.file_size > MAX_JSON_BYTES:
            raise refusal(self.path, f"{ABOUT} is missing or too long")
        with refusing(self.path, f"{ABOUT} is damaged"):
            about = json.loads(self.zip.read(member))
            json.dumps(about, ensure_ascii=False).encode()  # raises if a text has half a character
            return about


@contextmanager
def refusing(path: Path, why: str) -> Iterator[None]:
    """Turn whatever a library raises about a damaged file into one sentence."""
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        raise refusal(path, why) from error


def _checksum(content: bytes | memoryview) -> bytes:
    """Return the checksum of a file, with which it ends: of all bytes before that."""
    return blake2b(memoryview(content)[:-HEX_DIGITS], digest_size=HEX_DIGITS // 2).hexdigest().encode()


def _take_arrays(tree: Tree, where: str, arrays: dict[str, Array]) -> dict[str, Any]:
    """Return the tree without its arrays, which are put into a dictionary by their paths."""
    rest = {}
    for name, value in tree.items():
        if isinstance(value, np.ndarray):
            arrays[where + name] = value
        else:
            inner = isinstance(value, Mapping)
            rest[name] = _take_arrays(value, f"{where}{name}/", arrays) if inner else value
    return rest
