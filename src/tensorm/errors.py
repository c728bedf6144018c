"""The exceptions users meet: an argument or a file that cannot be used as it is, a cluster that is gone."""

from __future__ import annotations

import re

STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
OPTIONS = {
    "n_components": "--components",
    "n_chains": "--chains",
    "n_draws": "--draws",
    "burn_in": "--burn-in",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "run_dir": "--out",
    "tensorm.resume": "tensorm resume",
    "tensorm.read a threshold": "a --threshold",
    "wide=True": "--wide",
}


def printable(text: str) -> str:
    """Return a text in which nothing steers a terminal: control characters and the like are written out.

    Also lone surrogates, which cannot be encoded, and marks that change the direction of the text.
    """
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def name_options(text: str) -> str:
    """Replace the names of settings in a message by their command-line options."""
    text = re.sub(r"\b(" + "|".join(map(re.escape, OPTIONS)) + r")\b", lambda name: OPTIONS[name[0]], text)
    text = re.sub(r"\bvalue='([^']*)'", r"--value \1", text)
    return re.sub(
        r"\bmodes=\[('[^\]]*)\]", lambda found: "--modes " + re.sub("'|(?<=,) ", "", found[1]), text
    )


class PlainError(Exception):
    """A message for people, which may quote labels and names of files from strangers."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class InputError(PlainError, ValueError):
    """An argument is wrong; the message names it, shows its value and says what to give instead."""


class FileError(InputError):
    """A file cannot be read or written; the message names it and says what is wrong with it."""


class ClusterError(PlainError, RuntimeError):
    """A cluster does not answer; the message says which and how to continue."""
