"""Getting public data onto this machine: from the folder TENSORM_DATA if that is set, else by download.

What is downloaded, and what is made of it, is kept in the user's cache (pooch). Nothing is ever half written
there: a file is moved to its name when it is whole. What is damaged there is replaced; in the user's own
folder nothing is touched.
"""

from __future__ import annotations

import errno
import hashlib
import lzma
import os
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tensorm.datasets.sources import MIRROR, SOURCES, Copy, Download, Source
from tensorm.errors import FileError

LARGE = 100e6  # bytes; a larger download is deleted once its data are made
DAMAGED = "is damaged or another version than expected"

# No network (requests' errors are OSErrors), a full disk, a wrong checksum, an archive that is not whole.
ERRORS = (OSError, ValueError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError)

_told: set[tuple[str, str]] = set()


class Located(NamedTuple):
    """Where data lie on this machine, and what is known of them, for the attributes of an array."""

    path: Path
    attrs: dict[str, str]


def locate(name: str) -> Located:
    """Return where public data lie on this machine, downloaded and made if need be; the checksum holds.

    Raises
    ------
    FileError
        When they are not there and cannot be downloaded, or are others than expected.
    """
    source = SOURCES[name]
    path, copy = _find(name, source)
    if (source.citation, source.licence) not in _told:
        _told.add((source.citation, source.licence))
        _say(f"{name.split()[0]}: please cite {source.citation}. Licence: {source.licence}.")
    attrs = {
        "title": source.title,
        "source": copy.source or " and ".join(download.address for download in source.downloads),
        "citation": source.citation,
        "licence": source.licence,
        "remarks": copy.remarks,
    }
    return Located(path, attrs)


def _find(name: str, source: Source) -> tuple[Path, Copy]:
    """Return what there is to read, in the mirror if one is set, else in the cache, put there if need be."""
    mirror = os.environ.get(MIRROR)
    if mirror:
        for copy in source.copies:
            if (path := Path(mirror) / copy.path).exists():
                if not _holds(path, copy):
                    raise FileError(f"{path} {DAMAGED}; {_advice(source)}.")
                return path, copy
        if not all((Path(mirror) / download.path).exists() for download in source.downloads):
            raise FileError(f"{Path(mirror) / source.copies[0].path} is not there; {_advice(source)}.")
    for module in ("pooch", source.needs):
        if module and find_spec(module) is None:
            raise FileError(f"{name} needs {module}; get it by: pip install 'tensorm[data]'.")
    import pooch

    cache, copy = Path(pooch.os_cache("tensorm")), source.copies[-1]
    path = cache / copy.path
    if _holds(path, copy):
        return path, copy
    if damaged := path.exists():
        _say(f"{name}: {path} {DAMAGED}; it is replaced.")
    try:
        if mirror:
            _make(name, source, [Path(mirror) / download.path for download in source.downloads], path)
        elif source.make is None:
            _fetch(name, source, source.downloads[0], path)
        else:
            _fetch_and_make(name, source, cache, path)
    except FileError as error:
        if not damaged:
            raise
        raise FileError(f"{path} {DAMAGED}, and {error}") from error
    return path, copy


def _fetch_and_make(name: str, source: Source, cache: Path, path: Path) -> None:
    """Download, make, and delete what is not worth its place, or not to be trusted another time."""
    files = []
    try:
        for download in source.downloads:
            files.append(cache / download.path)
            _fetch(name, source, download, files[-1])
        _make(name, source, files, path)
    finally:
        for file, download in zip(files, source.downloads, strict=False):
            large = path.exists() and file.exists() and file.stat().st_size > LARGE
            if large or not download.checksum:
                file.unlink(missing_ok=True)


def _fetch(name: str, source: Source, download: Download, path: Path) -> Path:
    """Download a file into the cache unless it is there."""
    import pooch

    if download.megabytes and not path.exists():
        _say(f"{name}: downloading {download.address}, about {download.megabytes:,} MB.")
    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            download.address,
            download.checksum or None,
            path.name,
            path.parent,
            downloader=download.downloader,
            progressbar=sys.stderr.isatty() and find_spec("tqdm") is not None,
        )
    except ERRORS as error:
        raise FileError(f"{name} cannot be downloaded ({_reason(error)}); {_advice(source)}.") from error
    return path


def _make(name: str, source: Source, files: Sequence[Path], path: Path) -> None:
    """Make what is read of what was downloaded, and check it; it gets its name when it is whole."""
    assert source.make is not None
    copy = source.copies[-1]
    try:
        for file, download in zip(files, source.downloads, strict=True):
            if not _holds(file, download):
                raise FileError(f"{file} has another checksum than expected")
        _say(f"{name}: making {path} of {files[0].name}; this may take some minutes.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".making-") as folder:
            made = Path(folder) / path.name
            source.make(files, made)
            if not _holds(made, copy):
                raise FileError("what is in it is another version than expected")
            if path.exists() and not _holds(path, copy):  # a folder takes the place of an empty one only
                os.replace(path, Path(folder) / "damaged")
            os.replace(made, path)
    except ERRORS as error:
        if not _holds(path, copy):  # another process may have been faster
            raise FileError(
                f"{name} cannot be made of {files[0].name} ({_reason(error)}); {_advice(source)}."
            ) from error


def _holds(path: Path, what: Copy | Download) -> bool:
    """Return whether a file or folder is there and has its checksum, if one is known.

    A folder's is over names and checksums of those of its files that count.
    """
    if not (path.exists() and what.checksum):
        return path.exists()
    kind, expected = what.checksum.split(":")
    if path.is_file():
        return _digest(path, kind) == expected
    total, pattern = hashlib.new(kind), what.files if isinstance(what, Copy) else "*"
    for part in sorted(part for part in path.glob(pattern) if part.is_file()):
        total.update(f"{part.name}\0{_digest(part, kind)}\n".encode())
    return total.hexdigest() == expected


def _digest(path: Path, kind: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, kind).hexdigest()
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror}); see that you may read it.") from error


def _reason(error: BaseException) -> str:
    if isinstance(error, FileError):
        return str(error)
    if isinstance(error, OSError):
        return "the disk is full" if error.errno == errno.ENOSPC else type(error).__name__
    if isinstance(error, ValueError) and "hash" in str(error):  # pooch's only sign of it
        return "its checksum is not the one expected"
    return "it is not whole, or not of the form expected"


def _advice(source: Source) -> str:
    addresses = " and ".join(download.address for download in source.downloads)
    paths = " and ".join(download.path for download in source.downloads)
    them = "it" if len(source.downloads) == 1 else "them"
    return (
        f"download {addresses}, save {them} as {paths} in a folder of yours, and set {MIRROR} to that folder"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr)
