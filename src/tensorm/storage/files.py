"""Files as such: written whole or not at all, opened only if they are ordinary files; one owner per folder.

Beside the archives (archive.py), the folder of a run has some files of JSON, read here without trust. Its
owner holds a lock on ``.lock``, the operating system's, which ends with its process, however that dies: no
lock is ever stale, and NFS hands it on to other machines. On file systems without such locks, filelock leaves
a file that names the process and its machine. On SIGTERM the owner leaves as it does on Ctrl-C.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from tensorm.data.checks import short
from tensorm.data.ending import ENDING
from tensorm.data.memory import available_memory
from tensorm.errors import FileError

FilePath = str | os.PathLike[str]
CHECKPOINT_SECONDS = 10.0  # seconds between two checkpoints of a chain
OURS = re.compile(r".*\.(tensorm|json)|(run|fit)\.nc|choice|report\.html")  # names in the folder of a run
REMEDIES: dict[int | None, str] = {
    errno.ENOSPC: "free some space, or choose another folder",
    errno.EACCES: "choose another folder, or change its permissions",
}
JSON_EXPANSION = 32  # times that a JSON text may grow when it is parsed


def replace_file(path: Path, content: Any) -> None:
    """Put a file in the place of ``path``, whole and on the disk, or raise and leave what was there."""
    temporary = None
    try:
        target = Path(os.path.realpath(path))  # a link stays one
        if target.exists() and not (target.is_file() or target.is_dir()):  # root could replace /dev/null
            raise OSError(errno.EEXIST, "it is not a plain file")
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
        remedy = REMEDIES.get(getattr(error, "errno", None), "choose another path")
        raise FileError(f"{path} cannot be written: {explain(error)}; {remedy}.") from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def delete_parts(folder: Path, name: str) -> None:
    """Delete what processes left that were killed while they wrote such files; needs the folder's lock."""
    for cut_short in folder.glob(f".{name}.*.part"):
        with suppress(OSError):
            cut_short.unlink()


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
            if JSON_EXPANSION * os.fstat(file.fileno()).st_size > available_memory():
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

    def __init__(self, every: float = CHECKPOINT_SECONDS) -> None:
        self.every = every
        self._saved: dict[object, float] = {}

    def __call__(self, chain: object) -> bool:
        """Return whether a chain was last saved, or first asked about, long enough ago."""
        now = time.monotonic()
        return now - self._saved.setdefault(chain, now) >= self.every

    def reset(self, chain: object) -> None:
        """Note that a chain was saved."""
        self._saved[chain] = time.monotonic()


def check_links(folder: Path) -> None:
    """Raise if a name that a run uses is a link: an untrusted folder must not lead out of itself."""
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for entry in entries if entry.is_symlink() and OURS.fullmatch(entry.name)]
    except OSError:  # it is no folder, or cannot be read, which others say
        return
    if links:
        raise FileError(f"{links[0]} is a link; replace it with the file itself, or delete it.")


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


LOCK = ".lock"
TERMINATED = 128 + signal.SIGTERM  # what a process says that SIGTERM ended


@contextmanager
def owning(folder: Path) -> Iterator[Path]:
    """Own a folder while the block runs, or raise if somebody else does; one thread may own it twice."""
    check_links(folder)
    path = os.path.join(os.path.realpath(folder), LOCK)
    try:
        lock = FileLock(path, timeout=0, is_singleton=True).acquire()
    except Timeout as error:
        told = f"{folder} is in use by another run; wait until it ends, or give another run_dir."
        raise FileError(told) from error
    except (OSError, ValueError, NotImplementedError) as error:
        remedy = "use a folder in which you may write files"
        if os.path.islink(path) or (os.path.exists(path) and not os.path.isfile(path)):
            remedy = f"delete {LOCK} in it, which is not a plain file"
        raise FileError(f"{folder} cannot be locked: {explain(error)}; {remedy}.") from error
    with lock, leaving_on_sigterm():
        yield folder


def name_stop() -> str:
    """Return what stopped the run, for a message."""
    return "SIGTERM" if ENDING.is_set() else "Ctrl-C"


@contextmanager
def leaving_on_sigterm(for_good: bool = False) -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, and then the process; somebody else's handler stays.

    An error on the way out is raised: the last checkpoint may not have been written. If the process leaves
    ``for_good``, nobody catching SystemExit, it ignores further signals while Python shuts down.
    """
    before = signal.getsignal(signal.SIGTERM)
    main = threading.current_thread() is threading.main_thread()
    if not main or before not in (signal.SIG_DFL, _stop):
        yield
        return
    signal.signal(signal.SIGTERM, _stop)
    try:
        try:
            yield
        except KeyboardInterrupt:
            if not ENDING.is_set():
                raise
        if ENDING.is_set():
            raise SystemExit(TERMINATED)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN if for_good and ENDING.is_set() else before)
        if before is not _stop:
            ENDING.clear()


def _stop(*_: Any) -> None:
    if not ENDING.is_set():  # once: what follows writes the last checkpoints
        ENDING.set()
        raise KeyboardInterrupt
