"""A run in a folder: what it samples and from which cells, so that it can go on after a stop.

``run.tensorm`` is written once, before the first sweep; the checkpoints of the chains are beside it
(checkpoints.py), and at the end the fit itself. Of cells on a cluster only counts are written, which tell
whether cells given later are the same.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.coordinates.cells import Cells
from tensorm.errors import FileError, InputError
from tensorm.sampler.sweep import Target
from tensorm.storage.archive import Stored, reading, write_archive
from tensorm.storage.chain import pack_target, read_target
from tensorm.storage.files import open_file
from tensorm.storage.fit import check_format, describe_file, pack_modes, read_modes
from tensorm.storage.settings import pack_settings, read_settings
from tensorm.tensors import DenseTensor, RelationalTensor, SparseTensor, Tensor
from tensorm.tensors.bits import Bits
from tensorm.tensors.sharded import ShardedTensor, fingerprint

FORMAT, FORMAT_VERSION = "tensorm run", 2
RUN, FIT = "run.tensorm", "fit.tensorm"
OLD = {RUN: "run.nc", FIT: "fit.nc"}  # names in the first edition
FINGERPRINT = "fingerprint"


class Run(NamedTuple):
    """What a run samples, and from which cells."""

    settings: Mapping[str, Any]  # the parameters of the estimator
    target: Target
    tensor: Tensor


def start_run(folder: str | os.PathLike[str], run: Run) -> Path:
    """Write down what a run samples, in a folder that is made for it; return the folder."""
    path, tensor = check_folder(folder), run.tensor
    tree = {
        **describe_file(FORMAT, FORMAT_VERSION),
        **pack_modes(tensor.shape, tensor.modes, tensor.labels),
        "settings": pack_settings(run.settings),
        "model": pack_target(run.target),
        "cells": tensor.arrays() if isinstance(tensor, RelationalTensor) else _pack_cells(tensor),
    }
    write_archive(path / RUN, tree)
    return path


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """Make a folder for a new run, or raise if that fails or it already holds a run."""
    path = Path(folder)
    if find_file(path, RUN) is not None:
        raise FileError(f"{path} already holds a run; go on with tensorm.resume, or give another run_dir.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path} cannot be created: {error.strerror}; give another run_dir.") from error
    return path


def find_file(folder: str | os.PathLike[str], name: str) -> Path | None:
    """Return the path of a folder's RUN or FIT, also under its name in the first edition; None without it."""
    paths = (Path(folder) / name, Path(folder) / OLD[name])
    return next((path for path in paths if path.exists()), None)


def digest_run(folder: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of the file that holds a run's cells, settings and seed, to know the run again."""
    with open_file(_find_run(folder)) as file:
        return file_digest(file, "sha256").hexdigest()


def open_run(folder: str | os.PathLike[str], parameters: Sequence[str], given: Tensor | None = None) -> Run:
    """Read what a run of an estimator with these parameters samples; its cells may be given by hand."""
    with reading(_find_run(folder)) as file:
        check_format(file, FORMAT, FORMAT_VERSION)
        shape, modes, labels = read_modes(file)
        cells = file.tree("cells")
        if given is not None or cells.has(FINGERPRINT):
            tensor = _check_cells(cells, shape, given)
        else:
            tensor = _read_tensor(cells, shape)
        tensor.modes, tensor.labels = modes, labels
        settings = read_settings(file.tree("settings"), parameters)
        return Run(settings, read_target(file.tree("model"), shape), tensor)


def _find_run(folder: str | os.PathLike[str]) -> Path:
    path = find_file(folder, RUN)
    if path is None:
        raise FileError(f"{folder} holds no run; give the run_dir of an earlier fit.")
    return path


def _pack_cells(tensor: Tensor) -> dict[str, Any]:
    """Return the ones, and the observed cells if any is missing: as bits, or listed if sparse."""
    if isinstance(tensor, ShardedTensor):
        return {FINGERPRINT: _fingerprint(tensor)}
    if isinstance(tensor, SparseTensor):
        ones, others = tensor.listed()
        return {"unlisted": tensor.unlisted, "one_cells": ones, "other_cells": others}
    planes = zip(*((_pack(ones), _pack(observed)) for _, ones, observed in tensor.blocks()), strict=True)
    ones, observed = (np.concatenate(plane) for plane in planes)
    missing = tensor.n_observed < math.prod(tensor.shape)
    return {"ones": ones, "observed": observed} if missing else {"ones": ones}


def _fingerprint(tensor: Tensor) -> npt.NDArray[np.int64]:
    return np.concatenate([np.hstack(counts) for counts in fingerprint(tensor)])


def _check_cells(tree: Stored, shape: tuple[int, ...], given: Tensor | None) -> Tensor:
    """Return the cells that were given, or raise if they are not those of the run."""
    if given is None:
        raise FileError("The cells of this run are on a cluster; give them again, as in resume(run_dir, X).")
    known = tree.has(FINGERPRINT)
    counts = (
        tree.array(FINGERPRINT, "i8", (sum(shape), 2)) if known else _fingerprint(_read_tensor(tree, shape))
    )
    if given.shape != shape or not np.array_equal(counts, _fingerprint(given)):
        raise InputError(
            "X has other cells than the run in this folder; give the cells that the run started with."
        )
    return given


def _read_tensor(tree: Stored, shape: tuple[int, ...]) -> Tensor:
    return _read_ranks(tree, shape) if tree.has("ranks") else _read_cells(tree, shape)


def _read_ranks(tree: Stored, shape: tuple[int, ...]) -> RelationalTensor:
    if len(shape) != 3:
        raise tree.refuse(f"ranks belong to 3 modes, not {len(shape)}")
    O, A, B = shape
    known = {"part": (2,), "object_keys": (O, 2), "keys": (A,), "other_keys": (B,)}
    known = known if tree.has("part") else {}
    ranks = tree.array("ranks", None, (O, None))
    if ranks.dtype not in (np.uint16, np.uint32) or ranks.shape[1] not in {A if A == B else A + B, A + B}:
        raise tree.refuse("there are not as many ranks as attributes")
    arrays = {name: tree.array(name, "u2", sizes) for name, sizes in known.items()}
    return RelationalTensor.from_arrays({"ranks": ranks, **arrays}, shape)


def _pack(bits: Bits) -> npt.NDArray[np.uint8]:
    return np.packbits(bits.reshape(len(bits), -1), axis=1, bitorder="little")


def _read_cells(tree: Stored, shape: tuple[int, ...]) -> Tensor:
    if tree.has("one_cells"):
        return _read_listed(tree, shape)
    inner = math.prod(shape[1:])
    stored = (shape[0], -(-inner // 8))
    ones = tree.array("ones", "u1", stored)
    observed = tree.array("observed", "u1", stored) if tree.has("observed") else None
    cells = np.unpackbits(ones, axis=1, count=inner, bitorder="little").reshape(shape).astype(np.int8)
    if observed is None:
        return DenseTensor(cells)
    seen = np.unpackbits(observed, axis=1, count=inner, bitorder="little").reshape(shape)
    return DenseTensor(np.ma.array(cells, mask=seen == 0))


def _read_listed(tree: Stored, shape: tuple[int, ...]) -> SparseTensor:
    unlisted, lists = tree.word("unlisted", ("zero", "missing")), []
    for name in ("one_cells", "other_cells"):
        keys = tree.array(name, "i8", (None,))
        if len(keys) and not (keys[0] >= 0 and keys[-1] < math.prod(shape) and (keys[1:] > keys[:-1]).all()):
            raise tree.refuse(f"{name} is not a list of cells in order")
        lists.append(keys)
    ones, others = lists
    if np.intersect1d(ones, others, assume_unique=True).size:
        raise tree.refuse("a cell has two values")
    cells = Cells.of(unlisted, ones, others)
    names = tuple(f"mode {k}" for k in range(len(shape)))
    return SparseTensor.from_cells(cells, shape, unlisted, names, (None,) * len(shape))
