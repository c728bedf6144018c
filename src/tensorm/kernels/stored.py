"""Compiled code on disk: a file for each signature of a kernel, so that the next process need not compile it.

A file begins with a seal, a digest of its code and of everything the code depends on: the sources of all
kernels, the processor, numba. A file with another seal is stale or damaged and is never unpickled; the kernel
is compiled again and the file overwritten. Unpickling runs code, so nobody else may write to the folder.
Without such a folder, or with a full disk, every process compiles for itself, after one warning.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

SOURCE = Path(__file__).resolve().parent
SEAL = hashlib.sha256().digest_size


class StoredCode(NullCache):
    """Where numba looks for the compiled code of a function."""

    def __init__(self, function):
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self.made_for = [cell.cell_contents.__name__ for cell in function.__closure__ or ()]

    @property
    def cache_path(self):
        return find_folder()

    def load_overload(self, sig, target_context):
        target_context.refresh()
        if find_folder() is None:
            return None
        path, about = self.locate(sig, target_context.codegen())
        try:
            content = path.read_bytes()
        except OSError:  # mostly not stored yet
            return None
        code = content[SEAL:]
        if content[:SEAL] != seal(about, code):
            return None
        return CompileResult._rebuild(target_context, *pickle.loads(code))

    def save_overload(self, sig, data):
        if find_folder() is None or data.library.has_dynamic_globals:
            return
        path, about = self.locate(sig, data.codegen)
        try:
            code = dumps(data._reduce())
        except RuntimeError:  # Ctrl-C came while it was compiled: the code works, but numba lost its bytes
            return
        try:
            write_whole(path, seal(about, code) + code)
        except OSError as error:
            if sys.platform == "win32" and isinstance(error, PermissionError) and path.is_file():
                return  # another process reads what was just stored, and Windows does not replace that
            warn_once(f"{error.strerror or error}: {path.parent}")

    def locate(self, sig, codegen):
        """Return the path of a signature's file, and what its code depends on beside the sources."""
        versions = numba.__version__, sys.implementation.cache_tag
        about = repr((self.name, self.made_for, str(sig), codegen.magic_tuple(), versions))
        number = hashlib.sha256(about.encode()).hexdigest()[:16]
        return find_folder() / f"{self.name}-{number}.nbc", about


def seal(about: str, code: bytes) -> bytes:
    """Return what a file with this code must begin with."""
    return hashlib.sha256(DIGEST + about.encode() + code).digest()


def digest_sources() -> bytes:
    """Return a digest of all modules of this folder, be it on disk or in a zip archive."""
    found = hashlib.sha256()
    for file in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if file.name.endswith((".py", ".pyc")):
            content = file.read_bytes()
            found.update(f"{file.name} {len(content)} ".encode() + content)
    return found.digest()


DIGEST = digest_sources()  # now: an edit from here on must not be taken for what was imported


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that others see whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


@cache
def find_folder() -> Path | None:
    """Return the first folder that this user alone can write to; warn and return None without one."""
    why = "No folder for compiled code can be written to"
    for folder in list_folders():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            if is_private(folder):
                return folder
            why = f"Other users can write to {folder}, or to a folder above it"
        except OSError:
            continue
    warn_once(why)
    return None


def list_folders() -> Iterator[Path]:
    """Yield the folders to try: where numba is told to store code, beside the sources, the user's caches."""
    own = f"tensorm_{hashlib.sha256(str(SOURCE).encode()).hexdigest()[:16]}"
    if numba.config.CACHE_DIR:
        yield Path(numba.config.CACHE_DIR).absolute() / own
    yield SOURCE / "__pycache__"
    caches = AppDirs("tensorm", appauthor=False).user_cache_dir
    if not caches.startswith("~"):  # a user without a home
        yield Path(caches).absolute() / own


def is_private(folder: Path) -> bool:
    """Whether nobody can put files into a folder but this user, root, and who can change the sources anyway.

    In a folder above, others may write if it is sticky, which protects what belongs to somebody else.
    """
    if not hasattr(os, "getuid"):
        return True  # Windows keeps a user's folders to the user
    trusted = {os.getuid(), 0, *(path.stat().st_uid for path in (SOURCE, Path(__file__)) if path.exists())}
    for path in (folder.resolve(), *folder.resolve().parents):
        if path == SOURCE or path in SOURCE.parents:
            continue
        found = path.stat()
        others = found.st_mode & (0o002 if found.st_gid == os.getgid() else 0o022)
        sticky = path != folder.resolve() and found.st_mode & 0o1000
        if found.st_uid not in trusted or (others and not sticky):
            return False
    return True


@cache
def warn_once(why: str) -> None:
    """Warn that code is not stored."""
    warnings.warn(
        f"{why}; every process compiles its kernels again, unless NUMBA_CACHE_DIR names a folder "
        "that only you can write to.",
        RuntimeWarning,
        stacklevel=2,
    )
