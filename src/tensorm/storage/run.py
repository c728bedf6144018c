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
import numpy.typing as npt

from tensorm.data.coordinates import MOST_CELLS, Cells
from tensorm.errors import FileError, InputError
from tensorm.sampler.sweep import Target
from tensorm.storage.chain import read_target, write_target
from tensorm.storage.fit import describe_file, read_modes, write_modes
from tensorm.storage.labels import read_labels
from tensorm.storage.netcdf import Stored, describe, put, reading, writing
from tensorm.storage.settings import read_settings, write_settings
from tensorm.tensors import DenseTensor, RelationalTensor, SparseTensor, Tensor
from tensorm.tensors.bits import Bits
from tensorm.tensors.sharded import ShardedTensor, fingerprint

FORMAT, FORMAT_VERSION = "tensorm run", 1
RUN, FIT = "run.nc", "fit.nc"
FINGERPRINT = "fingerprint"


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
        cells = file.create_group("cells")
        if isinstance(tensor, RelationalTensor):
            _write_ranks(cells, tensor)
        else:
            _write_cells(cells, tensor)
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
            tensor = _read_tensor(cells, shape)
        tensor.modes, tensor.labels = tuple(mode["name"] for mode in modes), labels
        settings = read_settings(file.group("settings"), parameters)
        return Run(settings, read_target(file.group("model"), shape), tensor)


def _write_cells(group: Any, tensor: Tensor) -> None:
    """Write the ones, and the observed cells if any is missing: as bits, or listed if sparse."""
    missing = tensor.n_observed < math.prod(tensor.shape)
    sizes = {f"size_{k}": np.int64(size) for k, size in enumerate(tensor.shape)}
    describe(group, missing=np.int8(missing), **sizes)
    if isinstance(tensor, ShardedTensor):
        put(group, FINGERPRINT, ("row", "count"), _fingerprint(tensor))
        return
    if isinstance(tensor, SparseTensor):
        describe(group, unlisted=tensor.unlisted)
        for kind, keys in zip(("one", "other"), tensor.listed(), strict=True):
            end = np.append(keys, math.prod(tensor.shape))  # a netCDF dimension cannot be 0
            put(group, f"{kind}_cells", (f"{kind}_cell",), end)
        return
    planes = zip(*((_octets(ones), _octets(observed)) for _, ones, observed in tensor.blocks()), strict=True)
    ones, observed = (np.concatenate(plane) for plane in planes)
    put(group, "ones", ("slice", "octet"), ones)
    if missing:
        put(group, "observed", ("slice", "octet"), observed)


def _fingerprint(tensor: Tensor) -> npt.NDArray[np.int64]:
    return np.concatenate([np.hstack(counts) for counts in fingerprint(tensor)])


def _check_cells(group: Stored, shape: tuple[int, ...], given: Tensor | None) -> Tensor:
    """Return the cells that were given, or raise if they are not those of the run."""
    if given is None:
        raise FileError("The cells of this run are on a cluster; give them again, as in resume(run_dir, X).")
    known = FINGERPRINT in group.names()
    counts = (
        group.array(FINGERPRINT, "i8", (sum(shape), 2)) if known else _fingerprint(_read_tensor(group, shape))
    )
    if given.shape != shape or not np.array_equal(counts, _fingerprint(given)):
        raise InputError("X has other cells than the run in this folder; give those that it began with.")
    return given


def _read_tensor(group: Stored, shape: tuple[int, ...]) -> Tensor:
    return _read_ranks(group, shape) if "ranks" in group.names() else _read_cells(group, shape)


def _write_ranks(group: Any, tensor: RelationalTensor) -> None:
    """Write what a relational tensor is made of."""
    arrays = tensor.arrays()
    sizes = {f"size_{k}": np.int64(size) for k, size in enumerate(tensor.shape)}
    wide, in_parts = arrays["ranks"].dtype == np.uint32, len(arrays) > 1
    describe(group, wide=np.int8(wide), in_parts=np.int8(in_parts), **sizes)
    for name, array in arrays.items():
        put(group, name, tuple(f"{name}_{k}" for k in range(array.ndim)), array)


def _read_ranks(group: Stored, shape: tuple[int, ...]) -> RelationalTensor:
    wide, in_parts = group.integer("wide", 0, 1), group.integer("in_parts", 0, 1)
    if len(shape) != 3:
        raise group.refuse(f"ranks belong to 3 modes, not {len(shape)}")
    O, A, B = shape
    known = {"part": (2,), "object_keys": (O, 2), "keys": (A,), "other_keys": (B,)} if in_parts else {}
    group.expect(["ranks", *known])
    ranks = group.array("ranks", "u4" if wide else "u2", (O, None))
    if ranks.shape[1] not in ((A, A + B) if A == B else (A + B,)):
        raise group.refuse("there are not as many ranks as attributes")
    arrays = {name: group.array(name, "u2", sizes) for name, sizes in known.items()}
    return RelationalTensor.from_arrays({"ranks": ranks, **arrays}, shape)


def _octets(bits: Bits) -> npt.NDArray[np.uint8]:
    return np.packbits(bits.reshape(len(bits), -1), axis=1, bitorder="little")


def _read_cells(group: Stored, shape: tuple[int, ...]) -> Tensor:
    if "one_cells" in group.names():
        return _read_listed(group, shape)
    inner = math.prod(shape[1:])
    stored = (shape[0], -(-inner // 8))
    ones = group.array("ones", "u1", stored)
    missing = group.integer("missing", 0, 1)
    observed = group.array("observed", "u1", stored) if missing else None
    cells = np.unpackbits(ones, axis=1, count=inner, bitorder="little").reshape(shape).astype(np.int8)
    if observed is None:
        return DenseTensor(cells)
    seen = np.unpackbits(observed, axis=1, count=inner, bitorder="little").reshape(shape)
    return DenseTensor(np.ma.array(cells, mask=seen == 0))


def _read_listed(group: Stored, shape: tuple[int, ...]) -> SparseTensor:
    unlisted, lists = group.word("unlisted", ("zero", "missing")), []
    if math.prod(shape) >= MOST_CELLS:
        raise group.refuse("it has too many cells")
    for name in ("one_cells", "other_cells"):
        keys = group.array(name, "i8", (None,))
        if not len(keys) or keys[0] < 0 or keys[-1] != math.prod(shape) or not (keys[1:] > keys[:-1]).all():
            raise group.refuse(f"{name} is no list of cells in order")
        lists.append(keys[:-1])
    ones, others = lists
    if np.intersect1d(ones, others, assume_unique=True).size:
        raise group.refuse("a cell has two values")
    cells = Cells.of(unlisted, ones, others)
    names = tuple(f"mode {k}" for k in range(len(shape)))
    return SparseTensor.from_cells(cells, shape, unlisted, names, (None,) * len(shape))
