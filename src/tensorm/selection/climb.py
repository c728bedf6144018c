"""Fits along the candidates, each starting from the components of the one before and some found anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tensorm.sampler.burnin import BurnIn
from tensorm.sampler.ground import Ground
from tensorm.sampler.occam import make_room
from tensorm.sampler.seeding import PURITIES, begin, search
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Model, sweep
from tensorm.tensors.bits import Words
from tensorm.tensors.seam import Tensor


def settle(
    tensor: Tensor,
    model: Model,
    before: Sequence[Words] | None,
    n_before: int,
    chain: int,
    stop: Callable[[], bool],
) -> State:
    """Return the state of a chain after burn-in.

    Parameters
    ----------
    tensor, model, chain
        What is sampled.
    before : masks, or None
        The factors of a fit with fewer components.
    n_before : int
        Their number.
    stop : callable
        Once it returns True, burn-in is cut short.
    """
    rng = np.random.default_rng([int(model.seed), chain, model.n_components])
    ground = begin(tensor, model, rng)
    if before is not None:
        old = Ground(tensor, replace(model, n_components=n_before), tuple(before))
        wider = make_room(old, model.n_components - n_before)
        grown = (search(wider, rng, purity) for purity in PURITIES)
        ground = max((ground, *grown), key=lambda one: one.score)
    burn_in = BurnIn(tensor, model, chain, "data", None)
    state = ground.state(sweep=0)
    while not burn_in.over(state) and not stop():
        state, info = sweep(tensor, state, model, chain)
        state = burn_in.after(state, info)
    return state
