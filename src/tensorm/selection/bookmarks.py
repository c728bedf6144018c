"""How far a chain that chooses has come, as lists and numbers, so that Ctrl-C costs it no more than a sweep.

``ChainPool.remember`` keeps these bookmarks beside the results of finished chains. What is read back may come
from anywhere: whatever no chain can have left raises ValueError or such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorm.data.arrays import Floats
from tensorm.model import Confusion
from tensorm.sampler.chains import Bookmark
from tensorm.sampler.sample import TREND_SWEEPS, Memory, Snapshot
from tensorm.sampler.state import MAX_SWEEPS, State
from tensorm.sampler.sweep import Target
from tensorm.tensors.factors import Factors

Members = list[list[list[int]]]  # for each mode, for each component, its indices, as JSON holds them


def to_members(factors: Factors) -> Members:
    """Return the members of each component in each mode."""
    return [[np.flatnonzero(column).tolist() for column in bits.T] for bits in factors.bits()]


def to_factors(members: Members, shape: Sequence[int], most: int) -> Factors:
    """Undo ``to_members``, for at most so many components; raises ValueError or such if they cannot be."""
    factors, n_components = [], len(members[0])
    if n_components > most:
        raise ValueError("too many components")
    for columns, size in zip(members, shape, strict=True):
        bits = np.zeros((size, n_components), np.bool_)
        if len(columns) != n_components or any(not 0 <= n < size for column in columns for n in column):
            raise ValueError("no members")
        for column, indices in enumerate(columns):
            bits[indices, column] = True
        factors.append(bits)
    return Factors.from_bits(factors)


def read_shares(form: Any, shape: Sequence[int]) -> tuple[Floats, ...]:
    """Return how often indices were members, (J, N_k) for each mode; raises ValueError or such otherwise."""
    shares = tuple(np.array(part, np.float64) for part in form)
    fits = [share.shape == (len(shares[0]), size) for share, size in zip(shares, shape, strict=True)]
    if not all(fits) or not all(((share >= 0) & (share < 1.01)).all() for share in shares):
        raise ValueError("no shares")
    return shares


def pack_snapshot(at: Snapshot, target: Target) -> dict[str, Any]:
    """Return a chain as lists and numbers."""
    state = at.state
    return {
        "members": to_members(state.factors),
        "noise": state.noise.row().tolist(),
        "searching": target.noise.searching(state.noise),
        "density": state.density,
        "sweep": state.sweep,
        "memory": at.memory[:4],
        "burnt": at.burnt,
        "confusion": at.confusion,
    }


def mark_place(bookmark: Bookmark, at: Snapshot, target: Target, **more: Any) -> None:
    """Mark where a chain is; what else it needs to go on must not change afterwards."""

    def pack() -> dict[str, Any]:
        lists = {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in more.items()}
        return pack_snapshot(at, target) | lists

    bookmark.put(pack)


def read_snapshot(form: Any, shape: Sequence[int], target: Target) -> Snapshot:
    """Return the chain that ``pack_snapshot`` packed, with at most as many components as the target has."""
    factors, model = to_factors(form["members"], shape, target.n_components), target.noise
    parameters = (model.stand_in if form["searching"] else model).parameters
    row, L = np.array(form["noise"], np.float64), factors.n_components
    past, *counts = form["memory"]
    history = np.array(past, np.float64)
    density, confusion, burnt = tuple(form["density"]), form["confusion"], form["burnt"]
    numbers = [form["sweep"], *counts, *(confusion or ()), *(burnt or (0, False))[:1]]
    right = row.shape == (parameters.width(L, shape),) and not parameters.find_fault(
        parameters.by_name(row, L, shape)
    )
    right &= len(counts) == 3 and len(density) == len(shape)
    first, second = target.tied or (0, 0)
    right &= np.array_equal(factors[first], factors[second])
    right &= all(type(n) is int and 0 <= n <= MAX_SWEEPS for n in [form["sweep"], *counts])
    right &= all(type(n) is int and 0 <= n < 2**60 for n in numbers)
    right &= all(p != p or 0 < p < 1 for p in density) and len(history) <= 2 * TREND_SWEEPS
    right &= history.ndim == 1 and bool(np.isfinite(history).all())
    if not right:
        raise ValueError("no chain was here")
    return Snapshot(
        State(factors, parameters.from_row(row, L, shape), density, form["sweep"]),
        Memory(tuple(history.tolist()), *counts),
        None if burnt is None else (burnt[0], bool(burnt[1])),
        None if confusion is None else Confusion(*confusion),
    )
