"""A run in a folder: what it samples and from which cells, so that it can be taken up again without either.

``run.nc`` is written once, before the first sweep; the chains' checkpoints lie beside it
(sampler/checkpoint.py), and in the end the fit itself (fit.nc). Of cells on a cluster only counts are
written, by which they are known again when somebody brings them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensorm.errors import FileError, InputError
from tensorm.sampler.sweep import Target
from tensorm.storage.chain import read_target, write_target
from tensorm.storage.fit import describe_file, read_modes, write_modes
from tensorm.storage.labels import read_labels
from tensorm.storage.netcdf import Stored, describe, put, reading, writing
from tensorm.storage.settings import read_settings, write_settings
from tensorm.tensors.arrays import from_arrays
from tensorm.tensors.protocol import Tensor

FORMAT, FORMAT_VERSION = "tensorm run", 1
RUN, FIT = "run.nc", "fit.nc"
FINGERPRINT = "fingerprint"
LISTS, UNLISTED = ("one_cells", "other_cells"), {"missing_cells": "zero", "zero_cells": "missing"}
PART = ("part", "object_keys", "keys", "other_keys")
TYPES = {"ones": "u1", "observed": "u1"} | dict.fromkeys(LISTS, "i8") | dict.fromkeys(PART, "u2")
AXES = dict.fromkeys(("ones", "observed", "ranks", "object_keys"), 2)  # 1 of all other arrays


class Run(NamedTuple):
    """What a run samples, and from which cells."""

    settings: Mapping[str, Any]  # the parameters of the estimator
    target: Target
    tensor: Tensor


def start_run(folder: str | os.PathLike[str], run: Run) -> Path:
    """Write down what a run samples, in a folder that is made for it; return the folder."""
    path, tensor = check_folder(folder), run.tensor
    with writing(path / RUN) as file:
        describe_file(file, FORMAT, FORMAT_VERSION)
        write_modes(file, tensor.shape, tensor.modes, tensor.labels)
        write_settings(file.create_group("settings"), run.settings)
        write_target(file.create_group("model"), run.target)
        _write_cells(file.create_group("cells"), tensor)
    return path


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """Make a folder for a new run, or raise if that cannot be or it holds a run already."""
    path = Path(folder)
    if (path / RUN).exists():
        raise FileError(f"{path} holds a run already; go on with tensorm.resume, or give another run_dir.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path} cannot be made: {error.strerror}; give another run_dir.") from error
    return path


def open_run(folder: str | os.PathLike[str], parameters: Sequence[str], given: Tensor | None = None) -> Run:
    """Read what a run of an estimator with these parameters samples; its cells may be given by hand."""
    path = Path(folder) / RUN
    if not path.exists():
        raise FileError(f"{folder} holds no run; give the run_dir of an earlier fit.")
    with reading(path) as file:
        file.word("format", [FORMAT])
        file.integer("format_version", 1, FORMAT_VERSION)
        modes = read_modes(file)
        cells = file.group("cells")
        shape = tuple(cells.integer(f"size_{k}", 1) for k in range(len(modes)))
        labels = tuple(
            read_labels(file, f"mode_{k}", mode["labels"], size)
            for k, (mode, size) in enumerate(zip(modes, shape, strict=True))
        )
        if given is not None or FINGERPRINT in cells.names():
            tensor = _check_cells(cells, shape, given)
        else:
            tensor = _read_cells(cells, shape)
        tensor.modes, tensor.labels = tuple(mode["name"] for mode in modes), labels
        settings = read_settings(file.group("settings"), parameters)
        return Run(settings, read_target(file.group("model"), shape), tensor)


def _write_cells(group: Any, tensor: Tensor) -> None:
    """Write the arrays that the cells follow from."""
    arrays, sizes = tensor.arrays(), {f"size_{k}": np.int64(size) for k, size in enumerate(tensor.shape)}
    describe(group, missing=np.int8(tensor.n_observed < math.prod(tensor.shape)), **sizes)
    if "ranks" in arrays:
        describe(group, wide=np.int8(arrays["ranks"].dtype == np.uint32), in_parts=np.int8("part" in arrays))
    for name, array in arrays.items():
        if name in UNLISTED:
            describe(group, unlisted=UNLISTED[name])
            name = "other_cells"
        if name in LISTS:
            array = np.append(array, math.prod(tensor.shape))  # a netCDF dimension cannot be 0
        put(group, name, tuple(f"{name}_{k}" for k in range(array.ndim)), array)


def _check_cells(group: Stored, shape: tuple[int, ...], given: Tensor | None) -> Tensor:
    """Return the cells that were given, or raise if they are not those of the run."""
    if given is None:
        raise FileError("The cells of this run are on a cluster; give them again, as in resume(run_dir, X).")
    known = FINGERPRINT in group.names()
    counts = (
        group.array(FINGERPRINT, "i8", (sum(shape), 2)) if known else _read_cells(group, shape).fingerprint()
    )
    if given.shape != shape or not np.array_equal(counts, given.fingerprint()):
        raise InputError("X has other cells than the run in this folder; give those that it began with.")
    return given


def _read_cells(group: Stored, shape: tuple[int, ...]) -> Tensor:
    """Return the tensor whose arrays are in a group."""
    found, types = group.names(), dict(TYPES)
    if "ranks" in found:
        types["ranks"] = "u4" if group.integer("wide", 0, 1) else "u2"
        names = ["ranks", *(PART if group.integer("in_parts", 0, 1) else ())]
    elif "one_cells" in found:
        names = list(LISTS)
    else:
        names = ["ones", "observed"] if group.integer("missing", 0, 1) else ["ones"]
    group.expect(names)
    arrays = {name: group.array(name, types[name], (None,) * AXES.get(name, 1)) for name in names}
    for name in set(LISTS) & set(arrays):
        if not len(arrays[name]) or arrays[name][-1] != math.prod(shape):
            raise group.refuse(f"{name} is no list of cells in order")
        arrays[name] = arrays[name][:-1]
    if "other_cells" in arrays:
        unlisted = group.word("unlisted", tuple(UNLISTED.values()))
        arrays[next(name for name in UNLISTED if UNLISTED[name] == unlisted)] = arrays.pop("other_cells")
    try:
        return from_arrays(arrays, shape)
    except InputError as error:
        raise group.refuse(str(error)) from error
