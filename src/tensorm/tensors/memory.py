"""How much memory this machine has, to reject what cannot fit before anything is allocated."""

from __future__ import annotations

import os
import sys

from tensorm.errors import InputError


def available_memory() -> int:
    """Return the machine's memory in bytes, or the largest possible size if it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return sys.maxsize


def check_fits(what: str, need: int, remedy: str, detail: str = "") -> None:
    """Raise if something ("All cells take") needs more bytes than this machine has; suggest a remedy."""
    room = available_memory()
    if need > room:
        raise InputError(
            f"{what} {need / 2**30:,.1f} GB{detail} and this machine has {room / 2**30:,.1f} GB; {remedy}."
        )
