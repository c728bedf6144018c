"""Arrays as netCDF can hold them, and the names of the types they had before."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

STORED_AS = {  # the type an array had: the type it has in a file
    "bool": "i1",
    "int8": "i1",
    "int16": "i2",
    "int32": "i4",
    "int64": "i8",
    "uint8": "u1",
    "uint16": "u2",
    "uint32": "u4",
    "uint64": "u8",
    "float16": "f4",
    "float32": "f4",
    "float64": "f8",
}


def store(array: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], str] | None:
    """Return an array of numbers as it is stored and the name of its type, or None if it holds no numbers."""
    name = array.dtype.name
    return (array.astype(STORED_AS[name]), name) if name in STORED_AS else None


def restore(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Undo ``store``."""
    return array.astype(name)
