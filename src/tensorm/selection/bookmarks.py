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
from tensorm.sampler.burnin import CHECK_EVERY, MOST_REPAIRS, REPAIRS_IN_VAIN, Memory
from tensorm.sampler.chains import Bookmark
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.sample import Snapshot
from tensorm.sampler.stages import MOST_STAGES
from tensorm.sampler.state import LARGEST_LOG, State
from tensorm.sampler.sweep import Target
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

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
        "memory": at.memory[:5],
        "burnt": at.burnt,
        "confusion": at.confusion,
    }


def mark_place(bookmark: Bookmark, at: Snapshot, target: Target, **more: Any) -> None:
    """Mark where a chain is; what else it needs to go on must not change afterwards."""

    def pack() -> dict[str, Any]:
        lists = {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in more.items()}
        return pack_snapshot(at, target) | lists

    bookmark.put(pack)


def read_snapshot(form: Any, tensor: Tensor, target: Target, most_sweeps: int) -> Snapshot:
    """Return the chain that ``pack_snapshot`` packed, if it can have been there after so many sweeps at most.

    It may have fewer components than the target.
    """
    sweep = read_count(form["sweep"], most_sweeps)
    burnt, counts = form["burnt"], form["confusion"]
    if burnt is not None:
        burnt = read_count(burnt[0], sweep), bool(read_count(burnt[1], 1, bool))
    confusion = None if counts is None else Confusion(*(read_count(n, tensor.n_observed) for n in counts))
    cells = confusion and (confusion.tp + confusion.fn, confusion.observed)
    if confusion and cells != (tensor.n_ones, tensor.n_observed):
        raise ValueError("other cells")
    state = _read_state(form, tensor.shape, target, sweep)
    return Snapshot(state, _read_memory(form["memory"], sweep, 2 * target.noise.trend), burnt, confusion)


def read_count(form: Any, most: int, kind: type[int] = int) -> int:
    """Return a whole number from 0 to ``most``; raises ValueError otherwise."""
    if type(form) is not kind or not 0 <= form <= most:
        raise ValueError("no count")
    return int(form)


def _read_state(form: Any, shape: Sequence[int], target: Target, sweep: int) -> State:
    factors = to_factors(form["members"], shape, target.n_components)
    model, L = target.noise.stand_in if form["searching"] else target.noise, factors.n_components
    row, density = (np.array(form[name], np.float64) for name in ("noise", "density"))
    right = row.shape == (model.parameters.width(L, shape),) and density.shape == (len(shape),)
    right = right and not model.find_fault(model.parameters.by_name(row, L, shape))
    first, second = target.tied or (0, 0)
    right &= np.array_equal(factors[first], factors[second])
    # A repair leaves shares of ones, also where no density is learned.
    right &= target.prior.could_draw(density) or LearnedPrior().could_draw(density)
    if not right:
        raise ValueError("no chain was here")
    return State(factors, model.parameters.from_row(row, L, shape), tuple(density.tolist()), sweep)


def _read_memory(form: Any, sweep: int, longest: int) -> Memory:
    past, sweeps, repairs, in_vain, stage = form
    history, sweeps = np.array(past, np.float64), read_count(sweeps, sweep)
    repairs = read_count(repairs, min(MOST_REPAIRS, sweep // CHECK_EVERY))
    most = min(sweeps, longest)
    if history.ndim != 1 or len(history) > most or not (np.abs(history) < LARGEST_LOG).all():
        raise ValueError("no log-likelihoods")
    in_vain = read_count(in_vain, min(REPAIRS_IN_VAIN, repairs))
    return Memory(tuple(history.tolist()), sweeps, repairs, in_vain, read_count(stage, MOST_STAGES - 1))
