"""The owner of a run's folder: one at a time, and on SIGTERM it leaves as it does on Ctrl-C.

The lock on ``.lock`` is the operating system's. It ends with its process, however that dies, so no lock is
ever stale, and NFS hands it on to other machines. On file systems without such locks, filelock leaves a file
that names the process and its machine.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from tensorm.errors import FileError
from tensorm.storage.files import explain

LOCK = ".lock"
ENDING = threading.Event()  # set once SIGTERM has come to the owner of a folder
TERMINATED = 128 + signal.SIGTERM  # what a process says that SIGTERM ended


@contextmanager
def owning(folder: Path) -> Iterator[Path]:
    """Own a folder while the block runs, or raise if somebody else does; one thread may own it twice."""
    path = os.path.join(os.path.realpath(folder), LOCK)
    try:
        lock = FileLock(path, timeout=0, is_singleton=True).acquire()
    except Timeout as error:
        told = f"{folder} is in use by another run; wait until it ends, or give another run_dir."
        raise FileError(told) from error
    except (OSError, ValueError, NotImplementedError) as error:
        raise FileError(f"{path} cannot be locked: {explain(error)}.") from error
    with lock, _leaving_on_sigterm():
        yield folder


def name_stop() -> str:
    """Return what stopped the run, for a message."""
    return "SIGTERM" if ENDING.is_set() else "Ctrl-C"


@contextmanager
def _leaving_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, and then the process; somebody else's handler stays."""

    def stop(*_: Any) -> None:
        if not ENDING.is_set():  # once: what follows writes the last checkpoints
            ENDING.set()
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if ENDING.is_set():
            ENDING.clear()
            raise SystemExit(TERMINATED)
