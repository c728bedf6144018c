"""How much memory this machine has, for refusing what cannot fit before anything is allocated."""

from __future__ import annotations

import os
import sys


def available_memory() -> int:
    """Return the machine's memory in bytes, or the largest size there is where it cannot be told."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return sys.maxsize
