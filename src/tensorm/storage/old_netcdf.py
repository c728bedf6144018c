"""Reads the fits and runs of tensorm 0.1: netCDF files that end with an index and a checksum.

The index says where in the file each array lies, so the HDF5 library is not needed and never sees the file.
All arrays together are no larger than the file: they are read at once, and given the form in which archives
have them today. Nothing here writes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from tensorm.storage.archive import MOST_JSON, refusal, refusing
from tensorm.tensors.sparse import OTHERS

SEAL, DIGEST = b"tensorm\n", 32  # the end of a file: index, its length in 8 bytes, checksum, SEAL
TYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8", "|S1")
TIMES = re.compile(r"(datetime64|timedelta64)(\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?")
NUMBERS = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)")
TEXTS = ("text", "text objects", "bytes", "json")  # kinds of labels


class OldFile:
    """A file of the first edition in the form of an archive."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self.path = path
        file.seek(0)
        content = memoryview(file.read())
        index = self._find_index(content)
        with refusing(path, "its index is damaged"):
            form = json.loads(bytes(index))
            self._left = size  # bytes that are in no array yet
            self._arrays = dict(self._list_arrays(form, content))
            self.about = _attributes(form)
        with refusing(path, "its labels or settings are damaged"):
            self._translate()
        self.names: Collection[str] = self._arrays.keys()

    def header(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Return the type and the shape of an array."""
        return self._arrays[name].dtype, self._arrays[name].shape

    def read(self, name: str) -> npt.NDArray[Any]:
        """Return an array."""
        return self._arrays[name]

    def _find_index(self, content: memoryview) -> memoryview:
        ending = 8 + DIGEST + len(SEAL)
        if len(content) < ending or content[-len(SEAL) :] != SEAL:
            raise refusal(self.path, "tensorm did not write it, or it is incomplete or was changed since")
        last = len(content) - ending
        length = int.from_bytes(content[last : last + 8], "little")
        if length > min(MOST_JSON, last):
            raise refusal(self.path, "its index has an impossible length")
        digest = blake2b(content[: last + 8], digest_size=DIGEST).digest()
        if digest != content[last + 8 : -len(SEAL)]:
            raise refusal(self.path, "its checksum is wrong, so it is damaged or was changed")
        return content[last - length : last]

    def _list_arrays(
        self, group: Any, content: memoryview, where: str = ""
    ) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Yield the arrays of a group and of those inside it, with their paths."""
        for name, entry in group["variables"].items():
            dtype, shape, offset = entry["dtype"], entry["shape"], entry["offset"]
            if dtype not in TYPES or not all(type(n) is int and 0 <= n < 2**62 for n in (*shape, offset)):
                raise ValueError("no array")
            count = math.prod(shape)
            self._left -= count * np.dtype(dtype).itemsize
            if self._left < 0:
                raise ValueError("larger than the file")
            yield where + name, np.frombuffer(content, dtype, count, offset).reshape(shape).copy()
        for name, inner in group["groups"].items():
            yield from self._list_arrays(inner, content, f"{where}{name}/")

    def _translate(self) -> None:
        """Put labels, settings, cells and the shape into the form that they have in archives."""
        self.about["modes"] = json.loads(self._take_text("modes"))
        for k, mode in enumerate(self.about["modes"]):
            if mode["labels"] is not None:
                mode["labels"], labels = _read_labels(mode["labels"], self._arrays[f"mode_{k}"])
                self._arrays[f"mode_{k}"] = labels
        text = self._take_text("settings/settings")
        self.about["settings"]["parameters"] = json.loads(text, object_hook=self._read_setting)
        for name in ("cells/one_cells", "cells/other_cells"):
            if name in self._arrays:
                self._arrays[name] = self._arrays[name][:-1]  # the last marked the end
        if "cells/other_cells" in self._arrays:
            listed = OTHERS[self.about["cells"]["unlisted"]]
            self._arrays[f"cells/{listed}"] = self._arrays.pop("cells/other_cells")
        K, cells = len(self.about["modes"]), self.about.get("cells")
        if cells is None:
            self.about["shape"] = [self._arrays[f"chain_0/factor_{k}"].shape[1] for k in range(K)]
        else:
            self.about["shape"] = [cells[f"size_{k}"] for k in range(K)]

    def _read_setting(self, form: dict[str, Any]) -> dict[str, Any]:
        """Give an array among the settings its type again."""
        if form.keys() != {"array", "axes", "dtype"}:
            return form
        name = f"settings/array_{form['array']}"
        self._arrays[name] = _as_numbers(self._arrays[name], form["dtype"])
        return {"array": form["array"]}

    def _take_text(self, name: str) -> str:
        characters = self._arrays.pop(name)
        if characters.nbytes > MOST_JSON:
            raise ValueError("too long")
        return characters.tobytes().decode()


def _attributes(group: Any) -> dict[str, Any]:
    return {**group["attributes"], **{name: _attributes(inner) for name, inner in group["groups"].items()}}


def _read_labels(kind: str, stored: npt.NDArray[Any]) -> tuple[str, npt.NDArray[Any]]:
    """Return the kind of some labels as archives name it, and what they hold of it."""
    if TIMES.fullmatch(kind):
        return "array", stored.view(np.dtype(kind))
    if kind not in TEXTS:
        return "array", _as_numbers(stored, kind)
    rows = stored.view(f"S{stored.shape[1]}").reshape(len(stored))
    if kind == "bytes":
        return "array", rows
    texts = [row.decode() for row in rows.tolist()]
    if kind == "text":
        return "array", np.array(texts)
    text = json.dumps(texts) if kind == "text objects" else f"[{','.join(texts)}]"
    return "json", np.frombuffer(text.encode(), np.uint8)


def _as_numbers(stored: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    if not NUMBERS.fullmatch(kind) or stored.dtype.kind == "S":
        raise ValueError("no numbers")
    return stored.astype(kind)
