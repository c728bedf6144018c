"""The settings of an estimator: JSON for all of them, and an array for each array among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.errors import InputError
from tensorm.storage.archive import Stored
from tensorm.storage.files import quote

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = ("bool", "float16", "float32", "float64", *INTEGERS)


def pack_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as a tree for an archive.

    Raises
    ------
    InputError
        When a setting is neither text, number, array nor a list of such.
    """
    arrays: list[npt.NDArray[Any]] = []
    forms = {name: _to_json(name, value, arrays) for name, value in settings.items()}
    return {"parameters": forms, **{f"array_{number}": array for number, array in enumerate(arrays)}}


def read_settings(tree: Stored, known: Sequence[str]) -> dict[str, Any]:
    """Read settings with these names; a random generator comes back as None, because it was not kept."""
    forms = tree.value("parameters")
    if not isinstance(forms, dict):
        raise tree.refuse("the settings are damaged")
    for strange in sorted(forms.keys() - set(known)):
        raise tree.refuse(f"{quote(strange)} is not a setting")
    try:
        return {name: _from_json(form, tree) for name, form in forms.items()}
    except RecursionError as error:
        raise tree.refuse("the settings are damaged") from error


def _to_json(name: str, value: Any, arrays: list[npt.NDArray[Any]]) -> Any:
    """Return what JSON holds of a setting; arrays are put into the list and replaced by their number."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        parts = [_to_json(name, part, arrays) for part in value]
        return {"tuple": parts} if isinstance(value, tuple) else parts
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return {"generator": type(value).__name__}
    array = np.asarray(value)
    if array.dtype.name not in NUMBERS:
        raise InputError(
            f"{name} is of type {type(value).__name__}; only numbers, texts and arrays can be saved."
        )
    arrays.append(array)
    return {"array": len(arrays) - 1}


def _from_json(form: Any, tree: Stored) -> Any:
    """Undo ``_to_json``."""
    if isinstance(form, list):
        return [_from_json(part, tree) for part in form]
    if not isinstance(form, dict):
        return form
    if form.keys() == {"tuple"} and isinstance(form["tuple"], list):
        return tuple(_from_json(part, tree) for part in form["tuple"])
    if form.keys() == {"generator"}:
        return None
    if form.keys() == {"array"} and type(form["array"]) is int:
        array = tree.array(f"array_{form['array']}", None, None)
        if array.dtype.name in NUMBERS:
            return array
    raise tree.refuse("the settings are damaged")
