"""How much memory is available, to refuse what cannot fit before anything is allocated."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tensorm.errors import FileError, InputError

LIMITING = threading.Lock()


def available_memory() -> int:
    """Return the memory in bytes of the machine, or what the process may still ask for if that is less."""
    try:
        room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        room = sys.maxsize
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            room = max(0, min(room, limit - _address_space()))
    except (ImportError, OSError, ValueError):  # not on every system
        pass
    return room


@contextmanager
def at_most(more: int) -> Iterator[None]:
    """Let this process ask for so many more bytes at most, on systems with such a limit (Linux).

    For libraries that believe any size they read. It holds for all threads, so keep it short.
    """
    try:
        import resource

        most = _address_space() + more
    except (ImportError, OSError):
        yield
        return
    with LIMITING:  # else two threads might restore each other's limit
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(
            resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(soft, most), hard)
        )
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def gigabytes(size: int) -> str:
    """Return a size as text; what no machine has ever had is not told in full."""
    return f"{size / 2**30:,.1f} GB" if size < 2**60 else "more than a billion GB"


def check_room(file: Any, need: int) -> None:
    """Raise if what a file holds takes more bytes than there are."""
    if need > (room := available_memory()):
        problem = f"it needs {gigabytes(need)} of memory, and {gigabytes(room)} are available"
        raise FileError(f"{file} cannot be read: {problem}; give a smaller file.")


def check_fits(what: str, need: int, remedy: str, detail: str = "") -> None:
    """Raise if something ("All cells take") needs more bytes than this machine has; suggest a remedy."""
    if need > (room := available_memory()):
        sizes = f"{gigabytes(need)}{detail} and this machine has {gigabytes(room)}"
        raise InputError(f"{what} {sizes}; {remedy}.")
