"""How what a chain leaves behind, and what it was sampled from, are laid out in a file (docs/files.md).

The two halves of each pair sit side by side: ``write_trace`` and ``read_trace``, ``write_target`` and
``read_target``. Writers are given a group of ``netcdf.writing``, readers one of ``netcdf.reading``, and they
trust nothing in it: what they return could have come from a sampler.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tensorm.sampler.noise import MODELS
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.state import Trace
from tensorm.sampler.sweep import FLIPS, Target
from tensorm.storage.netcdf import Stored, describe, put

ORDERS = {"random": True, "fixed": False}
MOST_COMPONENTS = 2**24


def write_trace(group: Any, trace: Trace) -> None:
    """Write the draws of a chain to an empty group."""
    describe(
        group,
        n_components=np.int64(trace.n_components),
        burn_in=np.int64(trace.burn_in),
        settled=np.int8(trace.settled),
    )
    for k, octets in enumerate(trace.factors):
        name = f"factor of mode {k}, eight components to an octet, the first in its lowest bit"
        put(group, f"factor_{k}", ("draw", f"mode_{k}", "octet"), octets, long_name=name)
    put(group, "noise", ("draw", "rate"), trace.noise, long_name="rate of ones where the product is 1, 0")
    put(group, "density", ("draw", "mode"), trace.density, long_name="density of each mode's factor")
    counts = trace.confusion.astype(np.int64, copy=False)
    name = "observed cells: true positives, false positives, false negatives, true negatives"
    put(group, "confusion", ("draw", "outcome"), counts, long_name=name)
    put(group, "log_posterior", ("draw",), trace.log_posterior, long_name="log posterior of the factors")


def read_trace(
    group: Stored, shape: Sequence[int | None] | None = None, n_components: int | None = None
) -> Trace:
    """Read the draws of a chain, of a tensor of this shape and with so many components if they are given.

    Raises
    ------
    FileError
        When something is missing, has another type or size, or could not have come from a sampler.
    """
    names = group.names()
    K = sum(re.fullmatch(r"factor_\d+", name) is not None for name in names) if shape is None else len(shape)
    modes = [f"factor_{k}" for k in range(K)]
    group.expect([*modes, "noise", "density", "confusion", "log_posterior"])
    L = group.integer("n_components", 1, MOST_COMPONENTS)
    if n_components is not None and n_components != L:
        raise group.refuse(f"there are {L:,} components instead of {n_components:,}")
    log_posterior = group.array("log_posterior", "f8", (None,))
    S = len(log_posterior)
    if S == 0 or K < 2:
        raise group.refuse("there are no draws" if S == 0 else f"there are {K} modes instead of 2 or more")
    factors = tuple(
        _read_factor(group, name, (S, None if shape is None else shape[k], -(-L // 8)), L)
        for k, name in enumerate(modes)
    )
    trace = Trace(
        factors=factors,
        noise=group.array("noise", "f8", (S, 2)),
        density=group.array("density", "f8", (S, K)),
        confusion=group.array("confusion", "i8", (S, 4)),
        log_posterior=log_posterior,
        n_components=L,
        burn_in=group.integer("burn_in", 0),
        settled=bool(group.integer("settled", 0, 1)),
    )
    _check_draws(group, trace)
    return trace


def write_target(group: Any, target: Target) -> None:
    """Write what is sampled, and from which random numbers, to an empty group."""
    names = {kind: name for name, kind in MODELS.items()}
    noise, update = names[type(target.noise)]
    a, b = cast(tuple[float, float], target.noise)  # as all noise models are
    flips = {code: name for name, code in FLIPS.items()}
    describe(
        group,
        n_components=np.int64(target.n_components),
        seed=np.uint64(target.seed),
        noise=noise,
        noise_update=update,
        noise_a=np.float64(a),
        noise_b=np.float64(b),
        flips=flips[target.flips],
        order="random" if target.shuffle else "fixed",
        prior="learned" if isinstance(target.prior, LearnedPrior) else "fixed",
        tied_first=np.int64(target.tied[0] if target.tied else -1),
        tied_second=np.int64(target.tied[1] if target.tied else -1),
    )
    if isinstance(target.prior, LearnedPrior):
        describe(group, prior_a=np.float64(target.prior.a), prior_b=np.float64(target.prior.b))
    for k, table in enumerate(target.prior.tables if isinstance(target.prior, FixedPrior) else ()):
        rows = f"mode_{k}" if len(table) > 1 else "one_row"
        columns = "component" if table.shape[1] > 1 else "one_column"
        name = f"prior log-odds of the entries of mode {k}"
        put(group, f"prior_{k}", (rows, columns), table, long_name=name)


def read_target(group: Stored, shape: Sequence[int]) -> Target:
    """Read what is sampled, for a tensor of this shape."""
    L = group.integer("n_components", 1, MOST_COMPONENTS)
    choices = [list(dict.fromkeys(names)) for names in zip(*MODELS, strict=True)]
    noise = MODELS[group.word("noise", choices[0]), group.word("noise_update", choices[1])]
    prior: LearnedPrior | FixedPrior
    if group.word("prior", ("learned", "fixed")) == "learned":
        group.expect(())
        prior = LearnedPrior(_positive(group, "prior_a"), _positive(group, "prior_b"))
    else:
        tables = [f"prior_{k}" for k in range(len(shape))]
        group.expect(tables)
        sizes = zip(tables, shape, strict=True)
        prior = FixedPrior(tuple(_read_table(group, name, size, L) for name, size in sizes))
    first, second = (group.integer(f"tied_{name}", -1, len(shape) - 1) for name in ("first", "second"))
    if (first, second) != (-1, -1) and not (0 <= first < second and shape[first] == shape[second]):
        raise group.refuse(f"modes {first} and {second} cannot share a factor")
    return Target(
        n_components=L,
        tied=(first, second) if second > 0 else None,
        noise=noise(_positive(group, "noise_a"), _positive(group, "noise_b")),
        prior=prior,
        seed=np.uint64(group.integer("seed", 0, 2**64 - 1)),
        flips=FLIPS[group.word("flips", tuple(FLIPS))],
        shuffle=ORDERS[group.word("order", tuple(ORDERS))],
    )


def _read_factor(
    group: Stored, name: str, shape: tuple[int, int | None, int], n_components: int
) -> npt.NDArray[np.uint8]:
    """Read a mode's draws, in which bits past the last component must be 0."""
    octets = group.array(name, "u1", shape)
    if not octets.size:
        raise group.refuse(f"{name} is empty")
    unused = 0xFF & (0xFF << (n_components - 8 * (shape[2] - 1)))
    if np.any(octets[..., -1] & np.uint8(unused)):
        raise group.refuse(f"{name} has members of a component past the last")
    return octets


def _read_table(group: Stored, name: str, size: int, n_components: int) -> npt.NDArray[np.float64]:
    """Read a mode's prior log-odds: one for all entries, for each row, column or entry."""
    table = group.array(name, "f8", (None, None))
    if table.shape[0] not in (1, size) or table.shape[1] not in (1, n_components):
        raise group.refuse(f"{name} has shape {table.shape}, not ({size}, {n_components})")
    if np.isnan(table).any():
        raise group.refuse(f"{name} holds nan")
    return table


def _check_draws(group: Stored, trace: Trace) -> None:
    """Raise if the numbers could not have come from a sampler."""
    hit, false_alarm = trace.noise.T
    if not np.all((false_alarm > 0) & (false_alarm < hit) & (hit < 1)):
        raise group.refuse("noise holds rates that are not ordered numbers between 0 and 1")
    fixed = np.isnan(trace.density).all()
    if not fixed and not np.all((trace.density > 0) & (trace.density < 1)):
        raise group.refuse("density holds numbers that do not lie between 0 and 1")
    if not np.isfinite(trace.log_posterior).all():
        raise group.refuse("log_posterior holds numbers that are not finite")
    cells = math.prod(octets.shape[1] for octets in trace.factors)
    if trace.confusion.min() < 0 or trace.confusion.max() > min(cells, 2**60):
        raise group.refuse("confusion holds counts below 0 or above the number of cells")
    tp, fp, fn, tn = trace.confusion.T
    observed, ones = tp + fp + fn + tn, tp + fn
    if not 1 <= observed[0] <= cells or np.ptp(observed) or np.ptp(ones):
        raise group.refuse("confusion holds counts that do not add up to the same data in all draws")


def _positive(group: Stored, attribute: str) -> float:
    value = group.number(attribute)
    if value <= 0:
        raise group.refuse(f"{attribute} is {value}, not a positive number")
    return value
