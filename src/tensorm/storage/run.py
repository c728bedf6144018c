"""A run in a folder: what it samples and from which cells, so that it can continue after a stop.

``run.tensorm`` is written once, before the first sweep; the checkpoints of the chains are beside it
(checkpoints.py), and at the end the fit itself. Of cells on a cluster only a digest is written, which tells
whether cells given later are the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

from tensorm.errors import FileError, InputError
from tensorm.storage.archive import Stored, open_archive, write_archive
from tensorm.storage.chain import pack_settings, read_settings
from tensorm.storage.files import FilePath, as_path, check_links, make_folder, open_file
from tensorm.storage.fit import check_format, describe_file, pack_modes, read_modes
from tensorm.tensors.pick import ARRAY_NAMES, from_arrays
from tensorm.tensors.protocol import Tensor

RUN_FORMAT = "tensorm run"
RUN, FIT = "run.tensorm", "fit.tensorm"
OLD_NAMES = {RUN: "run.nc", FIT: "fit.nc"}  # names in version 0.1
CHOICE = "choice"  # the folder for trials of the noise model and of the number of components
RUN_FILES = re.compile(r"(run|fit|chain-\d+)\.(tensorm|nc)|(command|metadata|selection)\.json|report\.html")
CELLS_DIGEST = "digest"  # of cells that are elsewhere


class Run(NamedTuple):
    """What a run samples, and from which cells."""

    settings: Mapping[str, Any]  # the parameters of the estimator
    seed: int  # drawn, if the settings have none
    tensor: Tensor


def start_run(folder: Path, run: Run) -> None:
    """Write down what a run samples, in a folder that holds no other."""
    tensor = run.tensor
    tree = {
        **describe_file(RUN_FORMAT),
        **pack_modes(tensor.shape, tensor.names),
        "settings": pack_settings(run.settings),
        "model": {"seed": run.seed},
        "cells": tensor.arrays(),
    }
    write_archive(check_folder(folder) / RUN, tree)


def check_folder(folder: FilePath) -> Path:
    """Make a folder for a new run, or raise if that fails or it already contains a run."""
    folder = as_path(folder, "run_dir")
    if find_file(folder, RUN) is not None:
        if find_file(folder, FIT) is not None:
            raise FileError(f"{folder} already contains a finished fit; give another run_dir.")
        raise FileError(
            f"{folder} already contains a run; continue it with tensorm.resume, or give another run_dir."
        )
    return make_folder(folder)


def delete_run(folder: Path) -> None:
    """Delete the run in a folder, if there is one, with its fit and report; other files stay."""
    if find_file(folder, RUN) is None:
        return
    check_links(folder)
    trials = [*(folder / CHOICE).iterdir()] if (folder / CHOICE).is_dir() else []
    for path in [*folder.iterdir(), *trials]:
        if path.is_file() and (path.parent.name == CHOICE or RUN_FILES.fullmatch(path.name)):
            path.unlink()
    with suppress(OSError):  # somebody else may have put something there
        (folder / CHOICE).rmdir()


def find_file(folder: FilePath, name: str) -> Path | None:
    """Return the path of a folder's RUN or FIT, also under its name in version 0.1; None without it."""
    paths = (as_path(folder) / name, as_path(folder) / OLD_NAMES[name])
    return next((path for path in paths if path.exists()), None)


def digest_run(folder: FilePath) -> str:
    """Return the SHA-256 of the file that holds a run's cells, settings and seed, to recognise the run."""
    with open_file(find_run(folder)) as file:
        return file_digest(file, "sha256").hexdigest()


def open_run(folder: FilePath, parameters: Sequence[str], given: Tensor | None = None) -> Run:
    """Read what a run of an estimator with these parameters samples; its cells may be given by hand."""
    with open_archive(find_run(folder)) as file:
        check_format(file, RUN_FORMAT)
        shape, names = read_modes(file)
        tensor = _read_cells(file.tree("cells"), shape, given)
        tensor.names = names
        settings = read_settings(file.tree("settings"), parameters)
        return Run(settings, file.tree("model").integer("seed", 0, 2**64 - 1), tensor)


def find_run(folder: FilePath) -> Path:
    """Return the path of a folder's RUN, or raise if there is none."""
    path = find_file(folder, RUN)
    if path is None and not os.path.lexists(folder):
        raise FileError(f"No such folder: {folder}.")
    if path is None:
        raise FileError(f"{folder} contains no run; give the run_dir of an earlier fit.")
    return path


def _read_cells(tree: Stored, shape: tuple[int, ...], given: Tensor | None) -> Tensor:
    """Return the cells of a run, or those given in their place; raise if these are others."""
    if tree.has(CELLS_DIGEST):
        known = tree.array(CELLS_DIGEST, "u1", (16,)).tobytes().hex()
        if given is None:
            raise FileError("The cells of this run are on a cluster; use Python: resume(run_dir, X).")
    else:
        arrays = {name: tree.array(name, None, None) for name in ARRAY_NAMES if tree.has(name)}
        try:
            tensor = from_arrays(arrays, shape)
        except InputError as error:
            raise tree.refuse(str(error)) from error
        if given is None:
            return tensor
        known = tensor.digest()
    if given.shape != shape or given.digest() != known:
        raise InputError("X differs from the cells of this run; give the cells that the run started with.")
    return given
