"""The settings of an estimator: one JSON text for all, and a variable for each array in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.errors import FileError, InputError
from tensorm.storage.arrays import STORED_AS, restore, store
from tensorm.storage.netcdf import Stored, put, put_text, quote

MOST_ARRAYS = 1000
MOST_AXES = 8


def write_settings(group: Any, settings: Mapping[str, Any]) -> None:
    """Write settings to an empty group.

    Raises
    ------
    InputError
        When a setting is neither text, number, array nor a list of such.
    """
    arrays: list[npt.NDArray[Any]] = []
    forms = {name: _to_json(name, value, arrays) for name, value in settings.items()}
    put_text(group, "settings", json.dumps(forms), long_name="parameters of the estimator")
    for number, array in enumerate(arrays):
        name = f"array_{number}"
        put(group, name, [f"{name}_axis_{axis}" for axis in range(array.ndim)], array)


def read_settings(group: Stored, known: Sequence[str]) -> dict[str, Any]:
    """Read settings with these names; a random generator comes back as None, for it was not kept."""
    names = group.names()
    arrays = [name for name in (f"array_{number}" for number in range(MOST_ARRAYS)) if name in names]
    group.expect(["settings", *arrays])
    try:
        forms = json.loads(group.text("settings"))
        if not isinstance(forms, dict):
            raise ValueError("no settings")
        strange = sorted(set(forms) - set(known))
        if strange:
            raise group.refuse(f"{quote(strange[0])} is no setting")
        return {name: _from_json(form, group) for name, form in forms.items()}
    except (ValueError, RecursionError) as error:
        if isinstance(error, FileError):
            raise
        raise group.refuse("the settings are damaged") from error


def _to_json(name: str, value: Any, arrays: list[npt.NDArray[Any]]) -> Any:
    """Return what JSON holds of a setting; arrays are put into the list and told by their number."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        parts = [_to_json(name, part, arrays) for part in value]
        return {"tuple": parts} if isinstance(value, tuple) else parts
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return {"generator": type(value).__name__}
    stored = store(np.asarray(value))
    if stored is None or stored[0].ndim > MOST_AXES or len(arrays) == MOST_ARRAYS:
        raise InputError(
            f"{name} is of type {type(value).__name__}; only numbers, texts and arrays are saved."
        )
    if not stored[0].size:
        return stored[0].tolist()  # netCDF has no dimensions of 0
    arrays.append(stored[0])
    return {"array": len(arrays) - 1, "axes": stored[0].ndim, "dtype": stored[1]}


def _from_json(form: Any, group: Stored) -> Any:
    """Undo ``_to_json``, or raise ValueError or FileError."""
    if isinstance(form, list):
        return [_from_json(part, group) for part in form]
    if not isinstance(form, dict):
        return form
    if form.keys() == {"tuple"} and isinstance(form["tuple"], list):
        return tuple(_from_json(part, group) for part in form["tuple"])
    if form.keys() == {"generator"}:
        return None
    number, axes, dtype = (form.get(key) for key in ("array", "axes", "dtype"))
    if type(number) is int and type(axes) is int and 0 <= axes <= MOST_AXES and str(dtype) in STORED_AS:
        return restore(group.array(f"array_{number}", STORED_AS[str(dtype)], (None,) * axes), str(dtype))
    raise ValueError("no setting")
