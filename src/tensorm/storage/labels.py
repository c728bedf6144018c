"""Names of a mode's indices: texts, numbers and times as arrays, anything else as JSON, there and back."""

from __future__ import annotations

import datetime
import json
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.storage.archive import Stored
from tensorm.storage.settings import NUMBERS
from tensorm.tensors.memory import available_memory

ARRAY, JSON = "array", "json"  # kinds of labels: as they are, or a list as the bytes of a JSON text
LAST_CHARACTER = 0x10FFFF
EXPANSION = 32  # times that a JSON text may grow when it is parsed


def pack_labels(mode: str, labels: npt.NDArray[Any]) -> tuple[str, npt.NDArray[Any]]:
    """Return the kind of some labels, and an array without objects that stands for them."""
    if labels.dtype.name in NUMBERS or labels.dtype.kind in "MmSU":
        return ARRAY, labels
    items = labels.tolist()
    forms = [_to_json(item) for item in items]
    strange = [item for item, form in zip(items, forms, strict=True) if form == {}]
    if strange:
        example = str(strange[0])[:40]
        warnings.warn(f"Labels of {mode!r} such as {example!r} are saved as text.", UserWarning, stacklevel=2)
    texts = [str(item) if form == {} else form for item, form in zip(items, forms, strict=True)]
    return JSON, np.frombuffer(json.dumps(texts).encode(), np.uint8)


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
            array[n] = _from_json(item)
        return array
    except (ValueError, RecursionError) as error:
        raise file.refuse(f"the labels {name} are damaged") from error


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
