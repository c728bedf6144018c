"""Draws as an ``xarray.DataTree`` with the groups and names that ArviZ expects."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.errors import InputError
from tensorm.posterior.draws import Posterior
from tensorm.sampler.state import Trace
from tensorm.tensors.memory import check_fits
from tensorm.tensors.protocol import Tensor

if TYPE_CHECKING:
    import xarray

Variables = dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]]
COPIES = 2  # ArviZ makes copies, so that arrays take twice their size

# Names of dimensions and variables in any group, so that a mode has the same name whichever groups exist.
TAKEN = {"chain", "draw", "component", "mode", "cell", "sample", "x", "hit", "false_alarm", "density"}


def to_datatree(
    posterior: Posterior,
    settings: Mapping[str, Any],
    tensor: Tensor | None = None,
    log_likelihood: bool = False,
    all_chains: bool = False,
) -> xarray.DataTree:
    """Return the draws and the estimator's settings for ArviZ; see ``TensOrMachine.to_datatree``."""
    import xarray

    if log_likelihood and tensor is None:
        raise InputError("log_likelihood is True, but a fit keeps no data; give X, the data of the fit.")
    parts = _gather(posterior, all_chains)
    groups = {"posterior": _posterior(parts), "sample_stats": _sample_stats(parts)}
    if tensor is not None:
        groups["observed_data"] = {"x": (parts.names, _observed(tensor))}
    groups["constant_data"] = _constant_data(parts)
    tree = {
        name: xarray.Dataset(variables, _coordinates(parts, variables)) for name, variables in groups.items()
    }
    if tensor is not None and log_likelihood:
        tree["log_likelihood"] = _log_likelihood(parts, tensor)
    tree["constant_data"].attrs.update({name: _attribute(value) for name, value in settings.items()})
    about = {"inference_library": "tensorm", "inference_library_version": version("tensorm")}
    for dataset in tree.values():
        dataset.attrs.update(about)
    tree["posterior"].attrs["draws_left_out"] = parts.left_out
    return xarray.DataTree.from_dict(tree)


class _Parts(NamedTuple):
    """The chains to export, and the names of the modes."""

    posterior: Posterior
    chains: dict[int, Trace]
    n_draws: int
    left_out: int  # draws cut from longer chains
    names: tuple[str, ...]  # for each mode, the name of its dimension


def _gather(posterior: Posterior, all_chains: bool) -> _Parts:
    """Choose the chains and cut them to one length."""
    every = zip(posterior.chains, posterior.kept, strict=True)
    chains = {number: trace for number, (trace, kept) in enumerate(every) if kept or all_chains}
    n_draws = min(len(trace) for trace in chains.values())
    left_out = sum(len(trace) - n_draws for trace in chains.values())
    if left_out:
        warnings.warn(
            f"The chains differ in length; all were cut to the shortest, {n_draws} draws.", stacklevel=4
        )
    entries = len(chains) * n_draws * posterior.n_components * sum(posterior.shape)
    check_fits("The draws take", COPIES * entries, "use the packed draws in posterior_, or fit fewer")
    return _Parts(posterior, chains, n_draws, left_out, name_dimensions(posterior.modes))


def name_dimensions(modes: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each mode, like its own but different from all other names in the tree."""
    names: list[str] = []
    for k, mode in enumerate(modes):
        name = re.sub(r"[\s/]+", "_", mode.strip()) or f"mode_{k}"
        if name in TAKEN or name in names or name.startswith("factor_"):
            name = f"{name}_{k}"
        while name in names:
            name += "_"
        names.append(name)
    return tuple(names)


def _posterior(parts: _Parts) -> Variables:
    """Return each mode's factor as int8, the rates, and the densities if they are learned."""
    per_draw = ("chain", "draw")
    variables: Variables = {}
    for k, name in enumerate(parts.names):
        entries = _stack(parts, lambda trace, k=k: trace.bits(k, slice(parts.n_draws)).view(np.int8))
        variables[f"factor_{name}"] = ((*per_draw, name, "component"), entries)
    hit, false_alarm = np.moveaxis(_stack(parts, lambda trace: trace.noise), -1, 0)
    variables |= {"hit": (per_draw, hit), "false_alarm": (per_draw, false_alarm)}
    density = _stack(parts, lambda trace: trace.density)
    if not np.isnan(density).any():
        variables["density"] = ((*per_draw, "mode"), density)
    return variables


def _sample_stats(parts: _Parts) -> Variables:
    per_draw = ("chain", "draw")
    return {
        "lp": (per_draw, _stack(parts, lambda trace: trace.log_posterior)),
        "log_likelihood": (per_draw, _stack(parts, lambda trace: trace.log_likelihood)),
        "accuracy": (per_draw, _stack(parts, lambda trace: trace.accuracy)),
    }


def _constant_data(parts: _Parts) -> Variables:
    return {
        "burn_in": (("chain",), np.array([trace.burn_in for trace in parts.chains.values()])),
        "settled": (("chain",), np.array([trace.settled for trace in parts.chains.values()])),
        "kept": (("chain",), np.array([parts.posterior.kept[number] for number in parts.chains])),
        "n_observed": ((), np.array(next(iter(parts.chains.values())).confusion[0].sum())),
    }


def _stack(parts: _Parts, read: Any) -> npt.NDArray[Any]:
    """Return what is read from each chain as one array (chain, draw, ...)."""
    return np.stack([read(trace)[: parts.n_draws] for trace in parts.chains.values()])


def _coordinates(parts: _Parts, variables: Variables) -> dict[str, Any]:
    """Return the coordinates of the dimensions that some variables have."""
    posterior = parts.posterior
    known: dict[str, Any] = {
        "chain": list(parts.chains),
        "draw": np.arange(parts.n_draws),
        "component": np.arange(posterior.n_components),
        "mode": list(parts.names),
    }
    for name, labels, size in zip(parts.names, posterior.labels, posterior.shape, strict=True):
        known[name] = np.arange(size) if labels is None else labels
    used = {dimension for dimensions, _ in variables.values() for dimension in dimensions}
    return {name: values for name, values in known.items() if name in used}


def _observed(tensor: Tensor) -> npt.NDArray[Any]:
    """Return the cells: int8, or float32 with NaN if some are missing."""
    missing = tensor.n_observed < math.prod(tensor.shape)
    kind = np.dtype(np.float32 if missing else np.int8)
    check_fits("X takes", COPIES * kind.itemsize * math.prod(tensor.shape), "leave X out")
    cells = np.empty(tensor.shape, kind)
    for where, ones, observed in tensor.blocks():
        cells[where] = np.where(observed, ones, np.nan) if missing else ones
    return cells


def _log_likelihood(parts: _Parts, tensor: Tensor) -> xarray.Dataset:
    """Return the log-likelihood of each observed cell (chain, draw, cell), with its place in each mode."""
    import xarray

    shape = (len(parts.chains), parts.n_draws, tensor.n_observed)
    remedy = "leave log_likelihood out, or fit fewer draws"
    check_fits("The log-likelihood takes", COPIES * 8 * math.prod(shape), remedy)
    indices, ones = _observed_cells(tensor)
    values = np.empty(shape)
    for trace, rows in zip(parts.chains.values(), values, strict=True):
        for draw, row in enumerate(rows):
            rate = trace.noise_at(draw).cell_probability(trace.factors_at(draw).covers(indices))
            row[...] = np.log(np.where(ones, rate, 1 - rate))
    coordinates: dict[str, Any] = {"chain": list(parts.chains), "draw": np.arange(parts.n_draws)}
    for name, labels, index in zip(parts.names, parts.posterior.labels, indices, strict=True):
        coordinates[name] = ("cell", index if labels is None else labels[index])
    return xarray.Dataset({"x": (("chain", "draw", "cell"), values)}, coordinates)


def _observed_cells(tensor: Tensor) -> tuple[list[npt.NDArray[np.intp]], npt.NDArray[np.bool_]]:
    """Return the observed cells as K index arrays, and which of them are 1."""
    places, values = [], []
    for where, ones, observed in tensor.blocks():
        place = np.argwhere(observed)
        place[:, 0] += where.start
        places.append(place)
        values.append(ones[observed])
    return list(np.concatenate(places).T), np.concatenate(values)


def _attribute(value: Any) -> str | int | float:
    """Return a setting as an attribute that every file format supports."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return value
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"of type {type(value).__name__}"
