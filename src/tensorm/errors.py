"""The exceptions that users see: a wrong argument, an unreadable file, a cluster that does not answer.

A message names a parameter as its first word ("bins is 0; ...") or as in a call ("give wide=True"), so that
the command line can put its options in their place (cli/groups.py).
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence

STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return a text that cannot control a terminal: control characters are escaped.

    So are lone surrogates, which cannot be encoded, and marks that change the direction of the text.
    """
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def note(told: str) -> None:
    """Warn whoever called the package; the warning names their line, not one of ours."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("tensorm."):
        level, frame = level + 1, frame.f_back
    warnings.warn(told, UserWarning, stacklevel=level)


class PlainError(Exception):
    """A message for people, which may quote labels and file names from untrusted sources."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class InputError(PlainError, ValueError):
    """An argument is wrong; the message names it, shows its value and says what to give instead."""


class BadValuesError(InputError):
    """Some values of a column cannot be read; ``values`` are their numbers, -1 for empty fields."""

    def __init__(self, message: str, values: Sequence[int]) -> None:
        super().__init__(message)
        self.values = values


class FileError(InputError):
    """A file cannot be read or written; the message names it and says what is wrong with it."""


class PackageError(PlainError, ImportError):
    """A package is missing or too old; the message says how to install it."""


class ClusterError(PlainError, RuntimeError):
    """A cluster does not answer; the message says which and how to continue."""
