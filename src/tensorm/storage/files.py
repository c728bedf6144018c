"""Files as such: written whole or not at all, and opened only if they are ordinary files.

Beside the archives (archive.py), the folder of a run has some files of JSON, read here without trust.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
import time
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from tensorm.data.checks import short
from tensorm.errors import FileError
from tensorm.tensors.memory import available_memory

FilePath = str | os.PathLike[str]
EVERY = 10.0  # seconds between two checkpoints of a chain
EXPANSION = 32  # times that a JSON text may grow when it is parsed


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
        raise FileError(f"{path} cannot be written: {explain(error)}.") from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def open_file(path: Path) -> BufferedReader:
    """Open a file for reading, but nothing else: opening a pipe or a device may do something."""
    try:
        if stat.S_ISREG(path.stat().st_mode):
            return open(path, "rb")
    except FileNotFoundError as error:
        raise FileError(f"No such file: {path}.") from error
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {explain(error)}.") from error
    raise FileError(f"{path} cannot be read: it is not a file.")


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Return what a JSON file says, {} if there is none; the remedy ends the message if it is damaged."""
    if not os.path.lexists(path):
        return {}
    with open_file(path) as file:
        try:
            if EXPANSION * os.fstat(file.fileno()).st_size > available_memory():
                raise ValueError("too long")
            form = json.load(file)
            if isinstance(form, dict):
                return form
        except (OSError, ValueError, RecursionError) as error:
            raise FileError(f"{path} is damaged; {remedy}.") from error
    raise FileError(f"{path} is damaged; {remedy}.")


def make_folder(folder: FilePath) -> Path:
    """Make a folder, and those around it, unless it exists; return its path."""
    path = as_path(folder, "run_dir")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be created: {explain(error)}; give another run_dir.") from error
    return path


class Due:
    """Whether it is time to save a chain again."""

    def __init__(self, every: float = EVERY) -> None:
        self.every = every
        self._saved: dict[object, float] = {}

    def __call__(self, chain: object) -> bool:
        """Return whether a chain was last saved, or first asked about, long enough ago."""
        now = time.monotonic()
        return now - self._saved.setdefault(chain, now) >= self.every

    def reset(self, chain: object) -> None:
        """Note that a chain was saved."""
        self._saved[chain] = time.monotonic()


def as_path(path: Any, name: str = "path") -> Path:
    """Return a path, or raise if it cannot be one."""
    if not isinstance(path, (str, os.PathLike)) or not str(path) or "\0" in str(path):
        raise FileError(f"{name} is {short(path)}; give the name of a file or folder.")
    return Path(path)


def quote(value: object) -> str:
    """Return a short and printable form of what a file says, for a message."""
    text = ascii(value) if not isinstance(value, int) or abs(value) < 2**64 else "a very large number"
    return text if len(text) <= 60 else f"{text[:57]}..."


def explain(error: Exception) -> str:
    """Return in a few words why the system did not do what it was asked to."""
    return (getattr(error, "strerror", None) or "its name is not valid").lower()


def _permissions(path: Path) -> int:
    """Return the permissions of the existing file, or those that a new one gets."""
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
