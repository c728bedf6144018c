"""A whole fit: which group of the file holds what, and whether the parts that are read belong together."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.inputs import Labels
from tensorm.errors import FileError, InputError
from tensorm.posterior.contributions import Contribution
from tensorm.posterior.draws import Posterior, check_room
from tensorm.sampler.state import Trace
from tensorm.sampler.sweep import Target
from tensorm.storage.chain import read_target, read_trace, write_target, write_trace
from tensorm.storage.labels import read_labels, write_labels
from tensorm.storage.netcdf import Stored, describe, put, put_text, quote, reading, writing
from tensorm.storage.settings import read_settings, write_settings

FORMAT = "tensorm fit"
FORMAT_VERSION = 1  # any change to the layout adds 1; a reader takes all versions up to its own
COLUMNS = Contribution._fields[1:]  # the first is the number of the row


class Fit(NamedTuple):
    """What is left of a fit once the data are gone."""

    settings: Mapping[str, Any]  # the parameters of the estimator
    target: Target
    posterior: Posterior


def write_fit(path: str | os.PathLike[str], fit: Fit) -> None:
    """Write a fit to a netCDF file, in one step and in place of an older one."""
    posterior = fit.posterior
    with writing(path) as file:
        describe_file(file, FORMAT, FORMAT_VERSION)
        describe(
            file,
            n_chains=np.int64(len(posterior.chains)),
            n_components=np.int64(posterior.n_components),
        )
        write_modes(file, posterior.shape, posterior.modes, posterior.labels)
        file.dimensions["component"] = posterior.n_components
        put(file, "kept", ("chain",), np.array(posterior.kept, np.int8), long_name="whether a chain counts")
        write_settings(file.create_group("settings"), fit.settings)
        write_target(file.create_group("model"), fit.target)
        _write_contributions(file.create_group("contributions"), posterior)
        for number, trace in enumerate(posterior.chains):
            write_trace(file.create_group(f"chain_{number}"), trace)


def read_fit(path: str | os.PathLike[str], parameters: Sequence[str]) -> Fit:
    """Read a fit of an estimator with these parameters, from a file that may be damaged or not be one.

    Raises
    ------
    FileError
        When the file cannot be read; one sentence says what is wrong with it.
    """
    with reading(path) as file:
        check_format(file, FORMAT, FORMAT_VERSION)
        n_chains, L = file.integer("n_chains", 1, len(file.names())), file.integer("n_components", 1)
        modes = read_modes(file)
        chains = [f"chain_{number}" for number in range(n_chains)]
        dimensions = [f"mode_{k}" for k in range(len(modes))]
        labelled = [name for name, mode in zip(dimensions, modes, strict=True) if mode["labels"] is not None]
        file.expect(["modes", "kept", "settings", "model", "contributions", *labelled, *chains])
        traces: list[Trace] = []
        for name in chains:
            sizes = _shape(traces[0]) if traces else (None,) * len(modes)
            traces.append(read_trace(file.group(name), sizes, L))
        shape = _shape(traces[0])
        _check_chains(file, traces)
        posterior = Posterior(
            chains=tuple(traces),
            shape=shape,
            modes=tuple(mode["name"] for mode in modes),
            labels=tuple(
                read_labels(file, name, mode["labels"], size)
                for name, mode, size in zip(dimensions, modes, shape, strict=True)
            ),
            kept=_read_kept(file, n_chains),
            contributions=_read_contributions(file.group("contributions"), L, traces[0]),
        )
        model = read_target(file.group("model"), shape)
        if model.n_components != L:
            raise file.refuse(f"there are {model.n_components:,} components in the model and {L:,} in draws")
        _check_memory(file, posterior)
        return Fit(read_settings(file.group("settings"), parameters), model, posterior)


def describe_file(file: Any, kind: str, number: int) -> None:
    """Say what a file is, in which version of its format, and who wrote it."""
    try:
        writer = version("tensorm")
    except PackageNotFoundError:
        writer = "unknown"
    describe(file, format=kind, format_version=np.int64(number), tensorm_version=writer)


def check_format(file: Stored, kind: str, newest: int) -> None:
    """Raise unless a file is what it should be, in a version of its format that is known here."""
    file.word("format", [kind])
    found = file.integer("format_version", 1)
    if found > newest:
        writer = quote(file.word("tensorm_version"))
        raise file.refuse(
            f"tensorm {writer} wrote it in format {found}, and this version reads formats up to {newest}: "
            "install a newer tensorm"
        )


def write_modes(file: Any, shape: Sequence[int], modes: Sequence[str], labels: Labels) -> None:
    """Write the names of the modes and the labels of their indices, and make their dimensions."""
    file.dimensions = {f"mode_{k}": size for k, size in enumerate(shape)}
    known = [
        {"name": name, "labels": write_labels(file, f"mode_{k}", name, values)}
        for k, (name, values) in enumerate(zip(modes, labels, strict=True))
    ]
    put_text(file, "modes", json.dumps(known), long_name="names of the modes, and kinds of their labels")


def read_modes(file: Stored) -> list[dict[str, Any]]:
    """Read the names of the modes and the kinds of their labels."""
    try:
        modes = json.loads(file.text("modes"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, FileError):
            raise
        raise file.refuse("the names of the modes are damaged") from error
    if not isinstance(modes, list) or not 2 <= len(modes) <= 64 or not all(_is_mode(mode) for mode in modes):
        raise file.refuse("the names of the modes are not a list of 2 to 64 names")
    return modes


def _is_mode(mode: Any) -> bool:
    return (
        isinstance(mode, dict)
        and mode.keys() == {"name", "labels"}
        and isinstance(mode["name"], str)
        and isinstance(mode["labels"], (str, type(None)))
    )


def _shape(trace: Trace) -> tuple[int, ...]:
    return tuple(octets.shape[1] for octets in trace.factors)


def _check_chains(file: Stored, traces: list[Trace]) -> None:
    """Raise unless all chains saw the same data."""
    observed = {tuple(_observed(trace)) for trace in traces}
    if len(observed) > 1:
        raise file.refuse("the chains were not sampled from the same cells")


def _observed(trace: Trace) -> tuple[int, int]:
    tp, fp, fn, tn = trace.confusion[0].tolist()
    return tp + fn, fp + tn


def _read_kept(file: Stored, n_chains: int) -> tuple[bool, ...]:
    kept = file.array("kept", "i1", (n_chains,))
    if not set(kept.tolist()) <= {0, 1} or not kept.any():
        raise file.refuse("kept does not say which chains count")
    return tuple(bool(keep) for keep in kept)


def _write_contributions(group: Any, posterior: Posterior) -> None:
    """Write a variable for each column of the table of contributions, if there is one."""
    for name in COLUMNS if posterior.contributions else ():
        column = [getattr(row, name) for row in posterior.contributions]
        put(group, name, ("component",), np.array(column, _column_type(name)))


def _read_contributions(group: Stored, n_components: int, trace: Trace) -> tuple[Contribution, ...]:
    if not group.names():
        return ()
    group.expect(COLUMNS)
    cells, columns = math.prod(_shape(trace)), []
    for name in COLUMNS:
        column = group.array(name, _column_type(name), (n_components,))
        counts = column.dtype.kind == "i"
        if not np.isfinite(column).all() or (counts and not 0 <= column.min() <= column.max() <= cells):
            raise group.refuse(f"{name} holds numbers that cannot be")
        columns.append(column.tolist())
    return tuple(Contribution(*row) for row in zip(range(n_components), *columns, strict=True))


def _column_type(name: str) -> str:
    return "f8" if name in ("accuracy_lost", "log_likelihood_lost") else "i8"


def _check_memory(file: Stored, posterior: Posterior) -> None:
    try:
        longest = max(len(trace) for trace in posterior.chains)
        check_room(posterior.shape, posterior.n_components, len(posterior.chains), longest)
    except InputError as error:
        raise file.refuse("its draws need more memory than this machine has") from error
