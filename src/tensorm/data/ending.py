"""Whether this process is to leave: chains ask, and storage/files.py hears SIGTERM."""

from __future__ import annotations

import threading

ENDING = threading.Event()  # set once SIGTERM has come to the owner of a folder, or to a command
