"""Settings of an estimator and labels of a mode: arrays as they are, the rest as JSON, there and back."""

from __future__ import annotations

import datetime
import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.errors import InputError
from tensorm.storage.archive import Stored
from tensorm.storage.files import quote
from tensorm.tensors.memory import available_memory

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = ("bool", "float16", "float32", "float64", *INTEGERS)
ARRAY, JSON = "array", "json"  # kinds of labels: as they are, or a list as the bytes of a JSON text
LAST_CHARACTER = 0x10FFFF
EXPANSION = 32  # times that a JSON text may grow when it is parsed


def pack_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as a tree for an archive.

    Raises
    ------
    InputError
        When a setting is neither text, number, array nor a list of such.
    """
    arrays: list[npt.NDArray[Any]] = []
    forms = {name: _pack_setting(name, value, arrays) for name, value in settings.items()}
    return {"parameters": forms, **{f"array_{number}": array for number, array in enumerate(arrays)}}


def read_settings(tree: Stored, known: Sequence[str]) -> dict[str, Any]:
    """Read settings with these names; a random generator comes back as None, because it was not kept."""
    forms = tree.value("parameters")
    if not isinstance(forms, dict):
        raise tree.refuse("the settings are damaged")
    for strange in sorted(forms.keys() - set(known)):
        raise tree.refuse(f"{quote(strange)} is not a setting")
    try:
        return {name: _read_setting(form, tree) for name, form in forms.items()}
    except RecursionError as error:
        raise tree.refuse("the settings are damaged") from error


def _pack_setting(name: str, value: Any, arrays: list[npt.NDArray[Any]]) -> Any:
    """Return what JSON holds of a setting; arrays are put into the list and replaced by their number."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        parts = [_pack_setting(name, part, arrays) for part in value]
        return {"tuple": parts} if isinstance(value, tuple) else parts
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return {"generator": type(value).__name__}
    array = np.asarray(value)
    if array.dtype.name not in NUMBERS:
        kind = type(value).__name__
        raise InputError(f"{name} is of type {kind}; only numbers, texts and arrays can be saved.")
    arrays.append(array)
    return {"array": len(arrays) - 1}


def _read_setting(form: Any, tree: Stored) -> Any:
    """Undo ``_pack_setting``."""
    if isinstance(form, list):
        return [_read_setting(part, tree) for part in form]
    if not isinstance(form, dict):
        return form
    if form.keys() == {"tuple"} and isinstance(form["tuple"], list):
        return tuple(_read_setting(part, tree) for part in form["tuple"])
    if form.keys() == {"generator"}:
        return None
    if form.keys() == {"array"} and type(form["array"]) is int:
        array = tree.array(f"array_{form['array']}", None, None)
        if array.dtype.name in NUMBERS:
            return array
    raise tree.refuse("the settings are damaged")


def pack_labels(mode: str, labels: npt.NDArray[Any]) -> tuple[str, npt.NDArray[Any]]:
    """Return the kind of some labels, and an array without objects that stands for them."""
    if labels.dtype.name in NUMBERS or labels.dtype.kind in "MmSU":
        return ARRAY, labels
    items = labels.tolist()
    forms = [_pack_label(item) for item in items]
    strange = [n for n, form in enumerate(forms) if form == {}]
    for n in strange:
        forms[n] = str(items[n])
    if strange:
        example = forms[strange[0]][:40]
        warnings.warn(f"Labels of {mode!r} such as {example!r} are saved as text.", UserWarning, stacklevel=2)
    return JSON, np.frombuffer(json.dumps(forms).encode(), np.uint8)


def read_labels(file: Stored, name: str, kind: str | None, size: int) -> npt.NDArray[Any] | None:
    """Read the labels of a mode with so many indices, or return None if it has none."""
    if kind is None:
        return None
    if kind == JSON:
        return _as_objects(file, name, size)
    labels = file.array(name, None, (size,))
    if kind != ARRAY or (labels.dtype.kind == "U" and labels.view(np.uint32).max() > LAST_CHARACTER):
        raise file.refuse(f"the labels {name} are damaged or of an unknown kind")
    return labels


def _as_objects(file: Stored, name: str, size: int) -> npt.NDArray[np.object_]:
    text = file.array(name, "u1", (None,))
    if EXPANSION * len(text) > available_memory():
        raise file.refuse(f"the labels {name} are too long for this machine's memory")
    try:
        items, array = json.loads(text.tobytes()), np.empty(size, object)
        if not isinstance(items, list) or len(items) != size:
            raise ValueError("no list")
        for n, item in enumerate(items):
            array[n] = _read_label(item)
        return array
    except (ValueError, RecursionError) as error:
        raise file.refuse(f"the labels {name} are damaged") from error


def _pack_label(item: Any) -> Any:
    """Return what JSON holds of a label, or {} where it could not be told from another."""
    item = item.item() if isinstance(item, np.generic) else item
    if isinstance(item, tuple):
        parts = [_pack_label(part) for part in item]
        return {} if {} in parts else {"tuple": parts}
    if isinstance(item, datetime.datetime):
        return {} if getattr(item, "nanosecond", 0) else {"datetime": item.isoformat()}
    if isinstance(item, datetime.date):
        return {"date": item.isoformat()}
    return item if item is None or type(item) in (str, int, float, bool) else {}


def _read_label(form: Any) -> Any:
    """Undo ``_pack_label``, or raise ValueError."""
    if not isinstance(form, (dict, list)):
        return form
    if isinstance(form, dict) and len(form) == 1:
        (kind, value), *_ = form.items()
        if kind == "tuple" and isinstance(value, list):
            return tuple(_read_label(part) for part in value)
        if kind == "datetime" and isinstance(value, str):
            return datetime.datetime.fromisoformat(value)
        if kind == "date" and isinstance(value, str):
            return datetime.date.fromisoformat(value)
    raise ValueError("no label")
