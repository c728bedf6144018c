"""Result files: netCDF-4, written whole or not at all, and read without trust.

``writing`` and ``put`` make a file; ``reading`` and ``Stored`` take one apart that may be damaged or meant to
do harm. What is read is plain: every variable is one uncompressed run of bytes inside the file, of a type
and shape that its reader names, with a checksum. So nothing is followed out of the file, no variable is
larger than the file itself, and every size is known before memory is asked for.
"""

from __future__ import annotations

import math
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.errors import FileError

SIGNATURE = b"\x89HDF\r\n\x1a\n"
LONGEST_ATTRIBUTE = 1024  # bytes
MOST_NAMES = 100_000  # in one group

Path_ = str | os.PathLike[str]


@contextmanager
def writing(path: Path_) -> Iterator[Any]:
    """Yield an empty ``h5netcdf.File``; at the end it takes the place of ``path`` in one step.

    The file is made in memory and then written beside ``path``, because the HDF5 library ends the process
    when it meets a full disk. Until the last step an older file of that name stays as it is.

    Raises
    ------
    FileError
        When the file cannot be written.
    """
    import h5netcdf

    place = _place(path)
    image = BytesIO()
    with h5netcdf.File(image, "w", libver=("v110", "v110")) as file:  # this HDF5 has checksums of its own
        yield file
    replace_file(place, image.getbuffer())


def put(group: Any, name: str, dimensions: Sequence[str], data: npt.ArrayLike, **attributes: Any) -> None:
    """Write a variable; a dimension that is not known yet is made with it."""
    array = np.asarray(data)
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
    variable = group.create_variable(name, tuple(dimensions), array.dtype, data=array)
    describe(variable, checksum=_checksum(array), **attributes)


def put_text(group: Any, name: str, text: str, **attributes: Any) -> None:
    """Write a text as a variable of single characters, as netCDF has them."""
    characters = np.frombuffer(text.encode(), "S1")
    put(group, name, [f"{name}_length"], characters, **attributes)
    group.variables[name].attrs["_Encoding"] = _fixed("utf-8")


def describe(owner: Any, **attributes: Any) -> None:
    """Set attributes of a variable or group: texts with a fixed length, and numbers."""
    for name, value in attributes.items():
        owner.attrs[name] = _fixed(value) if isinstance(value, str) else value


def replace_file(path: Path, content: Any) -> None:
    """Put a file in the place of ``path``, whole and on the disk, or raise and leave what was there."""
    temporary = None
    try:
        start = f".{path.name[:100]}."
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=start, suffix=".part")
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
        temporary = None
        _sync_folder(path.parent)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        kept = "; the file that was there is as it was" if path.exists() else ""
        raise FileError(f"{path} cannot be written: {reason}{kept}.") from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


@contextmanager
def reading(path: Path_) -> Iterator[Stored]:
    """Open a file that may be anything, and yield its outermost group.

    Raises
    ------
    FileError
        When it is no netCDF file, or a damaged one.
    """
    from h5py import File

    place = _place(path)
    size = _check_signature(place)
    try:
        file = File(place, "r", locking=False)
    except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{place} cannot be read: it is damaged or incomplete.") from error
    with file:
        yield Stored(_Source(place, size), file.id, "")


class _Source:
    """The file that groups are read from, and how many of its bytes have not been read yet."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size
        self.left = size


class Stored:
    """A group of a file that nobody vouches for; each verb checks before it reads, and raises ``FileError``."""

    def __init__(self, source: _Source, group: Any, where: str) -> None:
        self._source = source
        self._group = group
        self._where = where

    def refuse(self, why: str) -> FileError:
        """Return the error that says why this file cannot be read."""
        inside = f" in {self._where}" if self._where else ""
        return FileError(f"{self._source.path} cannot be read: {why}{inside}.")

    def names(self) -> list[str]:
        """Return the names of variables, dimensions and groups, none of which is a link to somewhere else."""
        from h5py import h5l

        with self._suspicion("its list of contents is damaged"):
            if self._group.get_num_objs() > MOST_NAMES:
                raise self.refuse(f"it lists more than {MOST_NAMES:,} names")
            names = [name.decode() for name in self._group]
            for name in names:
                if self._group.links.get_info(name.encode()).type != h5l.TYPE_HARD:
                    raise self.refuse(f"{quote(name)} is a link to another place, and links are not followed")
        return names

    def expect(self, needed: Sequence[str], allowed: Sequence[str] = ()) -> None:
        """Raise unless all the names needed are there, and none but those and the ones allowed."""
        names = set(self.names())
        missing, strange = sorted(set(needed) - names), sorted(names - set(needed) - set(allowed))
        if missing:
            raise self.refuse(f"there is no {quote(missing[0])}")
        if strange:
            raise self.refuse(f"{quote(strange[0])} does not belong there")

    def group(self, name: str) -> Stored:
        """Return a group inside this one."""
        from h5py import h5g

        inner = self._open(name)
        if not isinstance(inner, h5g.GroupID):
            raise self.refuse(f"{quote(name)} is not a group")
        return Stored(self._source, inner, f"{self._where}/{name}".lstrip("/"))

    def array(
        self, name: str, dtype: npt.DTypeLike | Sequence[str], shape: Sequence[int | None]
    ) -> npt.NDArray[Any]:
        """Read a variable of this type, or one of these, and this shape, where None stands for any size."""
        from h5py import h5s

        dataset = self._open(name)
        array = self._allocate(name, dataset, dtype if isinstance(dtype, (list, tuple)) else [dtype], shape)
        with self._suspicion(f"{quote(name)} is damaged"):
            dataset.read(h5s.ALL, h5s.ALL, array)
        if self._attribute(dataset, name, "checksum") != _checksum(array):
            raise self.refuse(f"the checksum of {quote(name)} is wrong, so it is damaged or was changed")
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def text(self, name: str) -> str:
        """Read a text."""
        octets = self.array(name, "S1", (None,)).tobytes()
        try:
            return octets.decode()
        except UnicodeDecodeError as error:
            raise self.refuse(f"{quote(name)} is not a text") from error

    def label(self, name: str, attribute: str, options: Sequence[str] | None = None) -> str:
        """Read an attribute of a variable that is a text, one of the options if there are any."""
        return self._choice(self._attribute(self._open(name), name, attribute), attribute, options)

    def word(self, attribute: str, options: Sequence[str] | None = None) -> str:
        """Read an attribute of this group that is a text, one of the options if there are any."""
        return self._choice(self._attribute(self._group, None, attribute), attribute, options)

    def integer(self, attribute: str, minimum: int, maximum: int = 2**62) -> int:
        """Read an attribute of this group that is an integer between two others."""
        value = self._attribute(self._group, None, attribute)
        if not isinstance(value, int) or not minimum <= value <= maximum:
            raise self.refuse(f"{attribute} is {quote(value)}, not an integer of at least {minimum}")
        return value

    def number(self, attribute: str) -> float:
        """Read an attribute of this group that is a finite number."""
        value = self._attribute(self._group, None, attribute)
        if not isinstance(value, float) or not math.isfinite(value):
            raise self.refuse(f"{attribute} is {quote(value)}, not a finite number")
        return value

    def _choice(self, value: Any, attribute: str, options: Sequence[str] | None) -> str:
        if not isinstance(value, str) or (options is not None and value not in options):
            wanted = "a text" if options is None else " or ".join(options)
            raise self.refuse(f"{attribute} is {quote(value)}, not {wanted}")
        return value

    def _open(self, name: str) -> Any:
        """Open what is inside this group under a name, if it is not a link to somewhere else."""
        from h5py import h5l, h5o

        with self._suspicion(f"{quote(name)} is damaged"):
            if name.encode() not in self._group:
                raise self.refuse(f"there is no {quote(name)}")
            if self._group.links.get_info(name.encode()).type != h5l.TYPE_HARD:
                raise self.refuse(f"{quote(name)} is a link to another place, and links are not followed")
            return h5o.open(self._group, name.encode())

    def _allocate(
        self, name: str, dataset: Any, dtypes: Sequence[npt.DTypeLike], shape: Sequence[int | None]
    ) -> npt.NDArray[Any]:
        """Return room for a variable, once all that it claims to be is found to be so."""
        from h5py import h5d, h5t

        with self._suspicion(f"{quote(name)} is damaged"):
            if not isinstance(dataset, h5d.DatasetID):
                raise self.refuse(f"{quote(name)} is not a variable")
            making = dataset.get_create_plist()  # before anything else: it tells what would leave the file
            if making.get_layout() != h5d.CONTIGUOUS or making.get_nfilters() or making.get_external_count():
                raise self.refuse(f"{quote(name)} is compressed or not stored in one piece")
            stored = dataset.get_type()
            kinds = [np.dtype(dtype).newbyteorder("<") for dtype in dtypes]
            kind = next((kind for kind in kinds if stored.equal(h5t.py_create(kind))), None)
            if kind is None:
                wanted = " or ".join(str(kind) for kind in kinds)
                raise self.refuse(f"{quote(name)} has another type than {wanted}")
            sizes = dataset.shape
            fits = [want in (None, size) for size, want in zip(sizes, shape, strict=False)]
            if len(sizes) != len(shape) or not all(fits):
                wanted = ", ".join("any" if want is None else str(want) for want in shape)
                raise self.refuse(f"{quote(name)} has shape {sizes}, not ({wanted})")
            octets, start = math.prod(sizes) * kind.itemsize, dataset.get_offset()
            if octets and (start is None or dataset.get_storage_size() != octets):
                raise self.refuse(f"{quote(name)} claims {octets:,} bytes, which are not there")
            if octets > self._source.left or (start or 0) + octets > self._source.size:
                raise self.refuse(f"{quote(name)} claims {octets:,} bytes, more than the file has")
            self._source.left -= octets
            return np.empty(sizes, kind)

    def _attribute(self, owner: Any, name: str | None, attribute: str) -> str | int | float:
        from h5py import h5a, h5t

        whose = attribute if name is None else f"{attribute} of {quote(name)}"
        with self._suspicion(f"{whose} is damaged"):
            if not h5a.exists(owner, attribute.encode()):
                raise self.refuse(f"there is no {whose}")
            found = h5a.open(owner, attribute.encode())
            kind = found.get_type()
            plain = kind.get_class() in (h5t.INTEGER, h5t.FLOAT) and kind.get_size() <= 8
            fixed = kind.get_class() == h5t.STRING and not kind.is_variable_str()
            small = kind.get_size() <= LONGEST_ATTRIBUTE and math.prod(found.shape) == 1
            if not (plain or fixed) or not small:
                raise self.refuse(f"{whose} is neither a number nor a short text")
            value = np.empty(found.shape, found.dtype)
            found.read(value)
        item = value.reshape(-1)[0].item()
        return item.decode("utf-8", "replace") if isinstance(item, bytes) else item

    @contextmanager
    def _suspicion(self, otherwise: str) -> Iterator[None]:
        """Turn what the library raises over a damaged file into one sentence."""
        try:
            yield
        except FileError:
            raise
        except (OSError, RuntimeError, LookupError, ValueError, TypeError, ArithmeticError) as error:
            raise self.refuse(otherwise) from error


def quote(value: object) -> str:
    """Return a short and printable form of what a file says, for a message."""
    text = ascii(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _checksum(array: npt.NDArray[Any]) -> str:
    octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return blake2b(octets.data, digest_size=16).hexdigest()


def _fixed(text: str) -> npt.NDArray[np.bytes_]:
    """Return a text as an attribute of a fixed length, which needs no memory of its own to be read."""
    from h5py import string_dtype

    octets = text.encode() or b" "
    return np.array(octets, string_dtype("utf-8", len(octets)))


def _place(path: Path_) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise FileError(f"path is {quote(path)}; give the name of a file.") from None


def _check_signature(path: Path) -> int:
    """Return the size of a file that begins as HDF5 files do."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise FileError(f"{path} cannot be read: it is not a file.")
        with open(path, "rb") as file:
            beginning = file.read(len(SIGNATURE))
            size = os.fstat(file.fileno()).st_size
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        reason = getattr(error, "strerror", None) or "the name is not valid"
        raise FileError(f"{path} cannot be read: {reason}.") from error
    if not size:
        raise FileError(f"{path} cannot be read: it is empty.")
    if beginning != SIGNATURE:
        raise FileError(f"{path} cannot be read: it is not a netCDF-4 (HDF5) file.")
    return size


def _mode(path: Path) -> int:
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
