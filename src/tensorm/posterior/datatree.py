"""Draws as an ``xarray.DataTree`` with the groups and names that ArviZ expects."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Array
from tensorm.data.checks import check_flag
from tensorm.data.memory import check_fits
from tensorm.data.version import __version__
from tensorm.errors import InputError
from tensorm.posterior.draws import Posterior
from tensorm.sampler.noise_model import INDEX, ONCE
from tensorm.sampler.state import Trace
from tensorm.tensors.protocol import MISSING, Tensor

if TYPE_CHECKING:
    import xarray

Variables = dict[str, tuple[tuple[str, ...], Array]]
PER_DRAW = ("chain", "draw")
STATS = {"lp": "log_posterior", "log_likelihood": "log_likelihood", "accuracy": "accuracy"}
ARVIZ_COPIES = 2  # ArviZ makes copies, so that arrays take twice their size

# Names of dimensions and variables in any group, so that a mode has the same name whichever groups exist.
TAKEN = {"chain", "draw", "component", "mode", "cell", "sample", "x", "density"}


def to_datatree(
    posterior: Posterior,
    settings: Mapping[str, Any],
    tensor: Tensor | None = None,
    log_likelihood: bool = False,
    all_chains: bool = True,
) -> xarray.DataTree:
    """Return the draws and the estimator's settings for ArviZ; see ``TensOrMachine.to_datatree``."""
    import xarray

    check_flag("all_chains", all_chains)
    if check_flag("log_likelihood", log_likelihood) and tensor is None:
        raise InputError("log_likelihood is True, but a fit keeps no data; give X, the data of the fit.")
    parts = _gather(posterior, all_chains)
    groups: dict[str, Variables] = {
        "posterior": _posterior(parts),
        "sample_stats": {name: (PER_DRAW, _stack(parts, attrgetter(read))) for name, read in STATS.items()},
        "constant_data": _constants(parts),
    }
    if tensor is not None:
        groups["observed_data"] = {"x": (parts.names, _observed(tensor))}
    known, tree = _coordinates(parts), {}
    for group, variables in groups.items():
        used = set().union(*(dimensions for dimensions, _ in variables.values()))
        tree[group] = xarray.Dataset(variables, {name: known[name] for name in known if name in used})
    if tensor is not None and log_likelihood:
        tree["log_likelihood"] = _log_likelihood(parts, tensor)
    tree["constant_data"].attrs.update({name: _attribute(value) for name, value in settings.items()})
    about = {"inference_library": "tensorm", "inference_library_version": __version__}
    for dataset in tree.values():
        dataset.attrs.update(about)
    tree["posterior"].attrs["draws_left_out"] = parts.left_out
    return xarray.DataTree.from_dict(tree)


def _constants(parts: _Parts) -> Variables:
    """Return what a chain has one number of."""
    posterior, traces = parts.posterior, list(parts.chains.values())
    return {
        "burn_in": (("chain",), np.array([trace.burn_in for trace in traces])),
        "settled": (("chain",), np.array([trace.settled for trace in traces])),
        "weight": (("chain",), np.array([posterior.weights[number] for number in parts.chains])),
        "explanation": (("chain",), np.array([posterior.explanations[n] for n in parts.chains])),
        "n_observed": ((), np.array(posterior.n_observed)),
    }


def _coordinates(parts: _Parts) -> dict[str, Any]:
    """Return the numbers or labels along each dimension."""
    posterior = parts.posterior
    known: dict[str, Any] = {
        "chain": [posterior.numbers[index] for index in parts.chains],
        "draw": np.arange(parts.n_draws),
        "component": np.arange(posterior.n_components),
        "mode": list(parts.names),
    }
    for name, labels, size in zip(parts.names, posterior.labels, posterior.shape, strict=True):
        known[name] = np.arange(size) if labels is None else _as_coordinate(labels)
    return known


def _as_coordinate(labels: Array) -> Array:
    """Return labels as files hold them: those of mixed types, and times out of all bounds, as text."""
    import xarray

    try:
        plain = labels.dtype != object or all(isinstance(label, str) for label in labels)
        if plain:
            xarray.Variable("label", labels)
    except ValueError:
        plain = False
    return labels if plain else np.array([str(label) for label in labels], object)


class _Parts(NamedTuple):
    """The chains to export, and the names of the modes."""

    posterior: Posterior
    chains: dict[int, Trace]
    n_draws: int
    left_out: int  # draws cut from longer chains
    names: tuple[str, ...]  # for each mode, the name of its dimension


def _gather(posterior: Posterior, all_chains: bool) -> _Parts:
    """Choose the chains and cut them to one length."""
    chains = {
        number: trace
        for number, trace in enumerate(posterior.chains)
        if all_chains or posterior.explanations[number] == 0
    }
    n_draws = min(len(trace) for trace in chains.values())
    left_out = sum(len(trace) - n_draws for trace in chains.values())
    if left_out:
        warnings.warn(
            f"The chains differ in length; all were cut to the shortest, {n_draws} draws.", stacklevel=4
        )
    entries = len(chains) * n_draws * posterior.n_components * sum(posterior.shape)
    check_fits("The draws take", ARVIZ_COPIES * entries, "use the packed draws in posterior_, or fit fewer")
    return _Parts(
        posterior,
        chains,
        n_draws,
        left_out,
        name_dimensions(posterior.modes, posterior.parameters.AXES),
    )


def name_dimensions(modes: Sequence[str], noise: Iterable[str] = ()) -> tuple[str, ...]:
    """Return a name for each mode, like its own but different from all other names in the tree.

    Some of these are names of noise parameters, and begin those of parameters that a mode's indices have.
    """
    taken, parts = TAKEN.union(noise), ("factor", *noise)
    names: list[str] = []
    for k, mode in enumerate(modes):
        name = re.sub(r"[\s/]+", "_", mode.strip()) or f"mode_{k}"
        if name in taken or name in names or name.startswith(tuple(f"{part}_" for part in parts)):
            name = f"{name}_{k}"
        while name in names:
            name += "_"
        names.append(name)
    return tuple(names)


def _posterior(parts: _Parts) -> Variables:
    """Return each mode's factor as int8, the noise, and the densities if they are learned."""
    variables: Variables = {}
    for k, name in enumerate(parts.names):
        entries = _stack(parts, lambda trace, k=k: trace.bits(k, slice(parts.n_draws)).view(np.int8))
        variables[f"factor_{name}"] = ((*PER_DRAW, name, "component"), entries)
    for field, axis in parts.posterior.parameters.AXES.items():
        draws = _stack(parts, lambda trace, field=field: trace.noise_fields[field])
        if axis != INDEX:
            variables[field] = (PER_DRAW if axis == ONCE else (*PER_DRAW, axis), draws)
            continue
        pieces = np.split(draws, np.cumsum(parts.posterior.shape)[:-1], axis=-1)
        for name, piece in zip(parts.names, pieces, strict=True):
            variables[f"{field}_{name}"] = ((*PER_DRAW, name), piece)
    density = _stack(parts, attrgetter("density"))
    if not np.isnan(density).any():
        variables["density"] = ((*PER_DRAW, "mode"), density)
    return variables


def _stack(parts: _Parts, read: Any) -> Array:
    """Return what is read from each chain as one array (chain, draw, ...)."""
    return np.stack([read(trace)[: parts.n_draws] for trace in parts.chains.values()])


def _observed(tensor: Tensor) -> Array:
    """Return the cells: int8, or float32 with NaN if some are missing."""
    missing = tensor.n_observed < math.prod(tensor.shape)
    kind = np.dtype(np.float32 if missing else np.int8)
    check_fits("X takes", ARVIZ_COPIES * kind.itemsize * math.prod(tensor.shape), "leave X out")
    cells = tensor.read_cells([np.arange(size) for size in tensor.shape]).astype(kind, copy=False)
    if missing:
        cells[cells == MISSING] = np.nan
    return cells


def _log_likelihood(parts: _Parts, tensor: Tensor) -> xarray.Dataset:
    """Return the log-likelihood of each observed cell (chain, draw, cell), with its place in each mode."""
    import xarray

    shape = (len(parts.chains), parts.n_draws, tensor.n_observed)
    remedy = "leave log_likelihood out, or fit fewer draws"
    check_fits("The log-likelihood takes", ARVIZ_COPIES * 8 * math.prod(shape), remedy)
    listed, zeros = tensor.listed_keys()
    keys = np.sort(np.concatenate([listed, zeros]))
    indices, ones = np.unravel_index(keys, tensor.shape), np.isin(keys, listed)
    values = np.empty(shape)
    for trace, rows in zip(parts.chains.values(), values, strict=True):
        for draw, row in enumerate(rows):
            rate = trace.noise_at(draw).predict(trace.factors_at(draw), indices)
            row[...] = np.log(np.where(ones, rate, 1 - rate))
    known = _coordinates(parts)
    coordinates: dict[str, Any] = {name: known[name] for name in ("chain", "draw")}
    for name, labels, index in zip(parts.names, parts.posterior.labels, indices, strict=True):
        coordinates[name] = ("cell", index if labels is None else _as_coordinate(labels)[index])
    return xarray.Dataset({"x": ((*PER_DRAW, "cell"), values)}, coordinates)


def _attribute(value: Any) -> str | int | float:
    """Return a setting as an attribute that every file format supports."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return value
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"of type {type(value).__name__}"
