"""How much memory this machine has, so that what cannot fit is refused before it is allocated."""

from __future__ import annotations

import os
import sys


def available_memory() -> int:
    """Return the machine's memory in bytes, or the largest possible size where it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return sys.maxsize
