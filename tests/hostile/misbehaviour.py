"""What the harness must notice: each function of the table does one thing that tensorm must never do."""

from __future__ import annotations

import ctypes
import os
import warnings
from pathlib import Path

import numpy as np

from tensorm.errors import FileError


def _loop() -> None:
    while True:
        pass


def _complain(text: str) -> None:
    raise FileError(text)


def misbehave(argument: str) -> None:
    """Do what is asked for, in a folder."""
    what, folder = argument.split(":")
    outside = Path(folder)
    deeds = {
        "nothing": lambda: None,
        "refuse": lambda: _complain("x.csv contains no data; give a table."),
        "chatter": lambda: _complain("x.csv is bad. Give another. Or none."),
        "raise": lambda: [][0],
        "exit": lambda: os._exit(3),
        "crash": lambda: ctypes.string_at(0),
        "loop": _loop,
        "hog": lambda: np.ones(2**28),
        "gobble": lambda: (np.ones(2**26), _complain("x.csv is too large; give another."))[1],
        "peek": lambda: (outside / "secret").read_text(),
        "start": lambda: os.system("true"),
        "sing": lambda: (outside / "canary").write_text(""),
        "warn": lambda: warnings.warn("careful", stacklevel=1),
    }
    deeds[what]()
