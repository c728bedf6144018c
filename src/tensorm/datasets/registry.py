"""Public data: checksum, origin, licence and citation of each file, and how it gets onto this machine.

The list itself is in registry.toml. Most files are downloaded by pooch on first use and kept in the user's
cache; a damaged one is downloaded again. If TENSORM_DATA names a folder, data are read from there, and
nothing in it is changed. None of the data is part of the package.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from tensorm.data.opening import need
from tensorm.errors import FileError

DATA_FOLDER = "TENSORM_DATA"  # the environment variable that names one
POOCH = ("pooch", "Public data", '"tensorm[data]"')


class Source(NamedTuple):
    """A data set: title, licence and citation.

    ``build`` says what to do by hand for files that cannot be downloaded as they are.
    """

    title: str
    licence: str
    citation: str
    build: str = ""


class File(NamedTuple):
    """One file, or a folder with files of one pattern.

    Attributes
    ----------
    source : str
        Key of ``SOURCES``.
    sha256 : str
        Checksum; empty for what is built on the user's machine, where the last bits may differ.
    origin : str
        Address of the download, or where else it is from.
    remarks : str
        What to know before comparing numbers.
    pattern : str
        Which files of a folder count.
    """

    source: str
    sha256: str
    origin: str
    remarks: str = ""
    pattern: str = ""


def fetch(*paths: str) -> tuple[Path, dict[str, str]]:
    """Return the first of these files that is on this machine, or else the last, and its attributes.

    Raises
    ------
    FileError
        When there is no intact file and none can be downloaded.
    """
    folder = data_folder()
    name = next((name for name in paths if (folder / name).exists()), paths[-1])
    path, file = folder / name, FILES[name]
    source = SOURCES[file.source]
    if not (source.build or os.environ.get(DATA_FOLDER)):
        _download(folder, name)
    elif not path.exists():
        raise FileError(f"No such file: {path}; {_advice(name)}.")
    elif file.sha256 and checksum(path, file.pattern) != file.sha256:
        raise FileError(f"{path} is damaged or a different version; {_advice(name)}.")
    _cite(file.source)
    known = source._asdict() | file._asdict() | {"source": file.origin}
    return path, {key: known[key] for key in ("title", "source", "citation", "licence", "remarks")}


def data_folder() -> Path:
    """Return the folder TENSORM_DATA, or the user's cache if that is not set."""
    return Path(os.environ.get(DATA_FOLDER) or need(*POOCH).os_cache("tensorm"))


def checksum(path: Path, pattern: str = "") -> str:
    """Return the SHA-256 of a file, or of the names and checksums of the files in a folder."""
    try:
        if not pattern:
            return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise FileError(f"Cannot read {path} ({error.strerror}); check its permissions.") from error
    parts = sorted(part for part in path.glob(pattern) if part.is_file())
    return hashlib.sha256("".join(f"{part.name}\0{checksum(part)}\n" for part in parts).encode()).hexdigest()


def _download(folder: Path, name: str) -> None:
    file, pooch = FILES[name], need(*POOCH)
    try:
        pooch.retrieve(file.origin, f"sha256:{file.sha256}", name, folder)
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        reason = type(error).__name__ if isinstance(error, OSError) else "wrong checksum"
        raise FileError(f"Cannot download {file.source} ({reason}); {_advice(name)}.") from error


def _advice(name: str) -> str:
    source = FILES[name].source
    how = f"download {FILES[name].origin}"
    if SOURCES[source].build:
        how = f"run `python -m experiments.prepare {source}` in a clone of the repository, or "
        how += SOURCES[source].build
    return f"{how}, save it as {name} in a folder, and set {DATA_FOLDER} to that folder"


@cache
def _cite(name: str) -> None:
    source = SOURCES[name]
    print(f"{name}: please cite {source.citation}. Licence: {source.licence}.", file=sys.stderr)


KNOWN = tomllib.loads(files(__package__).joinpath("registry.toml").read_text(encoding="utf-8"))
SOURCES = {name: Source(**fields) for name, fields in KNOWN["sources"].items()}
FILES = {name: File(**fields) for name, fields in KNOWN["files"].items()}
ARCHIVE, PACKAGE = FILES["students/QR_Code"].origin, FILES["cancer/mirna.npz"].origin
