"""Names of a mode's indices: texts, numbers, times and mixtures of them, there and back.

Texts are written as netCDF has them, rows of single characters; times as numbers since 1970 with the
attributes by which xarray knows them; objects as JSON, one text for each.
"""

from __future__ import annotations

import datetime
import json
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.storage.arrays import STORED_AS, restore, store
from tensorm.storage.netcdf import Stored, put

TEXT, TEXTS, OCTETS, JSON = "text", "text objects", "bytes", "json"
TIMES = re.compile(r"(datetime64|timedelta64)(\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?")
UNITS = {
    "datetime64[D]": "days",
    "datetime64[h]": "hours",
    "datetime64[m]": "minutes",
    "datetime64[s]": "seconds",
    "datetime64[ms]": "milliseconds",
    "datetime64[us]": "microseconds",
    "datetime64[ns]": "nanoseconds",
}


def write_labels(group: Any, name: str, mode: str, labels: npt.NDArray[Any] | None) -> str | None:
    """Write the labels of a mode to a variable, and return their kind; None if there are no labels."""
    if labels is None:
        return None
    attributes: dict[str, Any] = {"long_name": mode[:200].encode("utf-8", "replace").decode()}
    kind, array = _encode(mode, np.asarray(labels))
    if array.dtype.kind == "S":
        characters = array.view("S1").reshape(len(array), -1)
        if kind != OCTETS:
            attributes["_Encoding"] = "utf-8"
        put(group, name, (name, f"{name}_width"), characters, **attributes)
        return kind
    if kind in UNITS:
        attributes |= {"units": f"{UNITS[kind]} since 1970-01-01", "calendar": "proleptic_gregorian"}
    if np.issubdtype(array.dtype, np.int64) and TIMES.fullmatch(kind):
        attributes["_FillValue"] = np.int64(np.iinfo(np.int64).min)  # what NumPy means by "not a time"
    put(group, name, (name,), array, **attributes)
    return kind


def read_labels(group: Stored, name: str, kind: str | None, size: int) -> npt.NDArray[Any] | None:
    """Read the labels of a mode with so many indices."""
    if kind is None:
        return None
    if kind in STORED_AS:
        return restore(group.array(name, STORED_AS[kind], (size,)), kind)
    if TIMES.fullmatch(kind):
        return _as_times(group, name, group.array(name, "i8", (size,)), kind)
    if kind not in (TEXT, TEXTS, OCTETS, JSON):
        raise group.refuse(f"the labels {name} are of an unknown kind")
    characters = group.array(name, "S1", (size, None))
    if characters.shape[1] == 0:
        raise group.refuse(f"the labels {name} have no characters")
    octets = characters.view(f"S{characters.shape[1]}").reshape(size)
    if kind == OCTETS:
        return octets
    try:
        texts = [row.decode() for row in octets.tolist()]
        items = [_from_json(json.loads(text)) for text in texts] if kind == JSON else texts
    except (ValueError, RecursionError) as error:
        raise group.refuse(f"the labels {name} are damaged") from error
    return np.array(texts) if kind == TEXT else _as_objects(items)


def _encode(mode: str, labels: npt.NDArray[Any]) -> tuple[str, npt.NDArray[Any]]:
    """Return the kind of some labels, and the numbers or rows of octets that stand for them."""
    stored = store(labels)
    if stored is not None:
        return stored[1], stored[0]
    if labels.dtype.kind in "Mm":
        return labels.dtype.name, labels.astype(labels.dtype.newbyteorder("=")).view(np.int64)
    if labels.dtype.kind == "S":
        return OCTETS, labels.astype(f"S{max(1, labels.dtype.itemsize)}")
    items = labels.tolist()
    if all(isinstance(item, str) and _is_plain(item) for item in items):
        return TEXT if labels.dtype.kind == "U" else TEXTS, _as_octets([str(item) for item in items])
    told = [_to_json(item) for item in items]
    strange = [item for item, form in zip(items, told, strict=True) if form == {}]
    if strange:
        example = str(strange[0])[:40]
        warnings.warn(f"Labels of {mode!r} such as {example!r} are saved as text.", UserWarning, stacklevel=2)
    forms = [str(item) if form == {} else form for item, form in zip(items, told, strict=True)]
    return JSON, _as_octets([json.dumps(form) for form in forms])


def _is_plain(text: str) -> bool:
    """Whether a text comes back as it was from characters padded with zeros."""
    return not text.endswith("\0") and not any("\ud800" <= character <= "\udfff" for character in text)


def _as_octets(texts: Sequence[str]) -> npt.NDArray[np.bytes_]:
    octets = [text.encode() for text in texts]
    return np.array(octets, f"S{max(1, *map(len, octets))}")


def _as_objects(items: Sequence[Any]) -> npt.NDArray[np.object_]:
    array = np.empty(len(items), object)
    for n, item in enumerate(items):
        array[n] = item
    return array


def _as_times(group: Stored, name: str, numbers: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    try:
        return numbers.view(np.dtype(kind))
    except TypeError as error:
        raise group.refuse(f"the labels {name} are of an unknown kind") from error


def _to_json(item: Any) -> Any:
    """Return what JSON holds of a label, or {} where it could not be told from another."""
    item = item.item() if isinstance(item, np.generic) else item
    if isinstance(item, tuple):
        parts = [_to_json(part) for part in item]
        return {} if {} in parts else {"tuple": parts}
    if isinstance(item, datetime.datetime):
        return {} if getattr(item, "nanosecond", 0) else {"datetime": item.isoformat()}
    if isinstance(item, datetime.date):
        return {"date": item.isoformat()}
    return item if item is None or type(item) in (str, int, float, bool) else {}


def _from_json(form: Any) -> Any:
    """Undo ``_to_json``, or raise ValueError."""
    if not isinstance(form, (dict, list)):
        return form
    if isinstance(form, dict) and len(form) == 1:
        (kind, value), *_ = form.items()
        if kind == "tuple" and isinstance(value, list):
            return tuple(_from_json(part) for part in value)
        if kind == "datetime" and isinstance(value, str):
            return datetime.datetime.fromisoformat(value)
        if kind == "date" and isinstance(value, str):
            return datetime.date.fromisoformat(value)
    raise ValueError("no label")
