"""Result files: netCDF-4, written whole or not at all, and read without trust.

A file is two things. To other programs it is netCDF, made by h5netcdf. After that comes an *index* of ours,
which says where in the file each variable lies, and a checksum of everything (docs/files.md). Our own readers
use nothing else: they never give the file to the HDF5 library, which does not survive all that can be put
into one. So nothing in a file is followed or run, and every size is checked before memory is asked for.
"""

from __future__ import annotations

import json
import math
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from tensorm.errors import FileError
from tensorm.tensors.memory import available_memory

SIGNATURE = b"\x89HDF\r\n\x1a\n"
SEAL = b"tensorm\n"  # the file ends with it, after the length of the index and the checksum
DIGEST = 32  # bytes of the checksum
LONGEST_TEXT = 2**22  # bytes of a text that is read: parsing takes many times its length

FilePath = str | os.PathLike[str]


@contextmanager
def writing(path: FilePath) -> Iterator[Any]:
    """Yield an empty ``h5netcdf.File``; at the end it takes the place of ``path`` in one step.

    The file is made in memory and then written beside ``path``, because the HDF5 library may end the process
    when it meets a full disk. Until the last step an older file of that name stays as it is.

    Raises
    ------
    FileError
        When the file cannot be written.
    """
    import h5netcdf

    place = _place(path)
    image = BytesIO()
    with h5netcdf.File(image, "w", libver=("v110", "v110")) as file:
        yield file
    _seal(image)
    replace_file(place, image.getbuffer())


def put(group: Any, name: str, dimensions: Sequence[str], data: npt.ArrayLike, **attributes: Any) -> None:
    """Write a variable; a dimension that is not known yet is made with it."""
    array = np.asarray(data)
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
    describe(group.create_variable(name, tuple(dimensions), array.dtype, data=array), **attributes)


def put_text(group: Any, name: str, text: str, **attributes: Any) -> None:
    """Write a text as a variable of single characters, as netCDF has them."""
    put(group, name, [f"{name}_length"], np.frombuffer(text.encode(), "S1"), _Encoding="utf-8", **attributes)


def describe(owner: Any, **attributes: Any) -> None:
    """Set attributes of a variable or group: texts, and NumPy's numbers."""
    from h5py import string_dtype

    for name, value in attributes.items():
        if isinstance(value, str):
            octets = value.encode() or b" "
            value = np.array(octets, string_dtype("utf-8", len(octets)))
        owner.attrs[name] = value


def replace_file(path: Path, content: Any) -> None:
    """Put a file in the place of ``path``, whole and on the disk, or raise and leave what was there."""
    temporary = None
    try:
        target = Path(os.path.realpath(path))  # a link stays one
        start = f".{target.name[:100]}."
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=start, suffix=".part")
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _permissions(target))
        os.replace(temporary, target)
        temporary = None
        _sync_folder(target.parent)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be written: {_reason(error)}.") from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


@contextmanager
def reading(path: FilePath) -> Iterator[Stored]:
    """Open a file that may be anything, and yield its outermost group.

    Raises
    ------
    FileError
        When it is none of our files, or a damaged one.
    """
    place = _place(path)
    with _open(place) as file:
        source = _Source(place, file)
        yield Stored(source, source.read_index(), "")


class Stored:
    """A group of a file that nobody vouches for: each verb checks before it reads, or raises FileError."""

    def __init__(self, source: _Source, index: Any, where: str) -> None:
        self._source = source
        self._where = where
        parts = ("variables", "attributes", "groups")
        if not isinstance(index, dict) or not all(isinstance(index.get(part), dict) for part in parts):
            raise self.refuse("the index is damaged")
        self._variables, self._attributes, self._groups = (index[part] for part in parts)

    def refuse(self, why: str) -> FileError:
        """Return the error that says why this file cannot be read."""
        return self._source.refuse(f"{why} in {self._where}" if self._where else why)

    def names(self) -> list[str]:
        """Return the names of variables and groups."""
        return [*self._variables, *self._groups]

    def expect(self, names: Sequence[str]) -> None:
        """Raise unless there are variables and groups of these names, and no others."""
        found = set(self.names())
        missing, strange = sorted(set(names) - found), sorted(found - set(names))
        if missing:
            raise self.refuse(f"there is no {quote(missing[0])}")
        if strange:
            raise self.refuse(f"{quote(strange[0])} does not belong there")

    def group(self, name: str) -> Stored:
        """Return a group inside this one."""
        if name not in self._groups:
            raise self.refuse(f"there is no {quote(name)}")
        return Stored(self._source, self._groups[name], f"{self._where}/{name}".lstrip("/"))

    def array(self, name: str, dtype: str, shape: Sequence[int | None]) -> npt.NDArray[Any]:
        """Read a variable of this type and this shape, where None stands for any size."""
        entry = self._variables.get(name)
        if not isinstance(entry, dict):
            raise self.refuse(f"there is no {quote(name)}")
        kind = np.dtype(dtype).newbyteorder("<")
        if entry.get("dtype") != kind.str:
            raise self.refuse(f"{quote(name)} is of type {quote(entry.get('dtype'))}, not {kind.str!r}")
        sizes, start = entry.get("shape"), entry.get("offset", -1)
        if not isinstance(sizes, list) or not all(_is_count(size) for size in (*sizes, start)):
            raise self.refuse(f"the place of {quote(name)} in the file is not a place")
        fits = [want in (None, size) for want, size in zip(shape, sizes, strict=False)]
        if len(sizes) != len(shape) or not all(fits):
            wanted = ", ".join("any" if want is None else str(want) for want in shape)
            raise self.refuse(f"{quote(name)} has shape {quote(tuple(sizes))}, not ({wanted})")
        octets = math.prod(max(1, size) for size in sizes) * kind.itemsize
        self._source.take(start, octets, self.refuse(f"{quote(name)} lies outside of the file"))
        array = np.empty(sizes, kind)
        self._source.read_into(start, array)
        return array.astype(kind.newbyteorder("="), copy=False)

    def text(self, name: str) -> str:
        """Read a text."""
        entry = self._variables.get(name)
        if isinstance(entry, dict) and not _is_short(entry.get("shape")):
            raise self.refuse(f"{quote(name)} is too long")
        octets = self.array(name, "S1", (None,)).tobytes()
        try:
            return octets.decode()
        except UnicodeDecodeError as error:
            raise self.refuse(f"{quote(name)} is not a text") from error

    def word(self, attribute: str, options: Sequence[str] | None = None) -> str:
        """Read an attribute that is a text, one of the options if there are any."""
        value = self._attribute(attribute)
        if not isinstance(value, str) or (options is not None and value not in options):
            wanted = "a text" if options is None else " or ".join(map(repr, options))
            raise self.refuse(f"{attribute} is {quote(value)}, not {wanted}")
        return value

    def integer(self, attribute: str, minimum: int, maximum: int = 2**62) -> int:
        """Read an attribute that is an integer between two others."""
        value = self._attribute(attribute)
        if type(value) is not int or not minimum <= value <= maximum:
            wanted = f"at least {minimum}" if maximum > 2**60 else f"from {minimum} to {maximum}"
            raise self.refuse(f"{attribute} is {quote(value)}, not an integer {wanted}")
        return value

    def number(self, attribute: str) -> float:
        """Read an attribute that is a finite number."""
        value = self._attribute(attribute)
        if type(value) is not float or not math.isfinite(value):
            raise self.refuse(f"{attribute} is {quote(value)}, not a finite number")
        return value

    def _attribute(self, name: str) -> Any:
        if name not in self._attributes:
            raise self.refuse(f"{name} is missing")
        return self._attributes[name]


class _Source:
    """An open file of unknown origin."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._left = self._size  # bytes that have not been read

    def refuse(self, why: str) -> FileError:
        """Return the error that says why this file cannot be read."""
        return FileError(f"{self.path} cannot be read: {why}.")

    def read_index(self) -> Any:
        """Check that the file is whole, and return its index."""
        if not self._size:
            raise self.refuse("it is empty")
        if self._read(0, len(SIGNATURE)) != SIGNATURE:
            raise self.refuse("it is not a netCDF-4 file")
        if self._size > available_memory():
            raise self.refuse(f"it has {self._size:,} bytes, more than this machine's memory")
        ending = 8 + DIGEST + len(SEAL)
        tail = self._read(max(0, self._size - ending), ending)
        length = int.from_bytes(tail[:8], "little")
        if len(tail) != ending or not tail.endswith(SEAL):
            raise self.refuse("tensorm did not write it, or it is incomplete or was changed afterwards")
        if length > min(LONGEST_TEXT, self._size - ending):
            raise self.refuse("its index has an impossible length")
        if self._checksum(self._size - DIGEST - len(SEAL)) != tail[8 : -len(SEAL)]:
            raise self.refuse("its checksum is wrong, so it is damaged or was changed")
        try:
            return json.loads(self._read(self._size - ending - length, length))
        except (ValueError, RecursionError) as error:
            raise self.refuse("its index is damaged") from error

    def take(self, start: int, octets: int, otherwise: FileError) -> None:
        """Raise unless so many bytes are there, and the file has as many that were not taken before."""
        if start + octets > self._size or octets > self._left:
            raise otherwise
        self._left -= octets

    def read_into(self, start: int, array: npt.NDArray[Any]) -> None:
        """Fill an array with the bytes that begin at ``start``."""
        octets = array.reshape(-1).view(np.uint8).data
        try:
            self._file.seek(start)
            whole = self._file.readinto(octets) == len(octets)  # type: ignore[attr-defined]
        except OSError as error:
            raise self.refuse(_reason(error)) from error
        if not whole:
            raise self.refuse("it became shorter while it was read")

    def _read(self, start: int, octets: int) -> bytes:
        try:
            self._file.seek(start)
            return self._file.read(octets)
        except OSError as error:
            raise self.refuse(_reason(error)) from error

    def _checksum(self, length: int, at_once: int = 2**20) -> bytes:
        """Return the checksum of the first bytes, however many there are."""
        digest = blake2b(digest_size=DIGEST)
        for start in range(0, length, at_once):
            digest.update(self._read(start, min(at_once, length - start)))
        return digest.digest()


def quote(value: object) -> str:
    """Return a short and printable form of what a file says, for a message."""
    text = ascii(value) if not isinstance(value, int) or abs(value) < 2**64 else "a very large number"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _seal(image: BytesIO) -> None:
    """Add the index and the checksum to a netCDF file."""
    from h5py import File

    with File(image, "r") as file:
        index = json.dumps(_index(file), separators=(",", ":")).encode()
    image.seek(0, os.SEEK_END)
    image.write(index + len(index).to_bytes(8, "little"))
    digest = blake2b(image.getbuffer(), digest_size=DIGEST).digest()
    image.write(digest + SEAL)


def _index(group: Any) -> dict[str, Any]:
    """Return where the variables of a group lie, what its attributes are, and the same for groups inside."""
    from h5py import Group

    index: dict[str, Any] = {"variables": {}, "attributes": {}, "groups": {}}
    for name, item in group.items():
        if isinstance(item, Group):
            index["groups"][name] = _index(item)
        elif (offset := item.id.get_offset()) is not None:  # None: a dimension without a variable
            index["variables"][name] = {"offset": offset, "dtype": item.dtype.str, "shape": item.shape}
    for name, value in group.attrs.items():
        if not name.startswith("_"):  # netCDF's own
            item = np.asarray(value).reshape(-1)[0].item()
            index["attributes"][name] = item.decode() if isinstance(item, bytes) else item
    return index


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _is_short(sizes: Any) -> bool:
    return (
        isinstance(sizes, list)
        and all(_is_count(size) for size in sizes)
        and math.prod(sizes) <= LONGEST_TEXT
    )


def _place(path: FilePath) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise FileError(f"path is {quote(path)}; give the name of a file.") from None


def _open(path: Path) -> BinaryIO:
    """Open a file for reading, but nothing else: opening a pipe or a device may do something."""
    try:
        if stat.S_ISREG(path.stat().st_mode):
            return open(path, "rb")
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {_reason(error)}.") from error
    raise FileError(f"{path} cannot be read: it is not a file.")


def _reason(error: Exception) -> str:
    """Return in a few words why the system did not do what it was asked to."""
    return (getattr(error, "strerror", None) or "its name is not valid").lower()


def _permissions(path: Path) -> int:
    """Return the permissions of the file that is there, or those that a new one gets."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make sure that the new name survives a power cut, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
