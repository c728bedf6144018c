"""Whether something fits in memory, to reject what cannot before anything is allocated."""

from __future__ import annotations

from tensorm.data.memory import available_memory
from tensorm.errors import InputError

__all__ = ["available_memory", "check_fits"]


def check_fits(what: str, need: int, remedy: str, detail: str = "") -> None:
    """Raise if something ("All cells take") needs more bytes than this machine has; suggest a remedy."""
    room = available_memory()
    if need > room:
        raise InputError(
            f"{what} {need / 2**30:,.1f} GB{detail} and this machine has {room / 2**30:,.1f} GB; {remedy}."
        )
