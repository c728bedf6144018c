"""Fits along the candidates, each starting from the components of the one before and some found anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tensorm.sampler.burnin import BurnIn
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.search.seeding import PURITIES, begin, search
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, sweep
from tensorm.selection.occam import make_room
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor


def settle(
    tensor: Tensor,
    target: Target,
    before: Factors | None,
    chain: int,
    stop: Callable[[], bool],
) -> State:
    """Return the state of a chain after burn-in.

    Parameters
    ----------
    tensor, target, chain
        What is sampled.
    before : Factors or None
        Those of a fit with fewer components.
    stop : callable
        Once it returns True, burn-in is cut short.
    """
    rng = np.random.default_rng([int(target.seed), chain, target.n_components])
    explanation = begin(tensor, target, rng)
    if before is not None:
        old = Explanation(tensor, replace(target, n_components=before.n_components), before)
        wider = make_room(old, target.n_components - before.n_components)
        grown = (search(wider, rng, purity) for purity in PURITIES)
        explanation = max((explanation, *grown), key=lambda one: one.score)
    burn_in = BurnIn(tensor, target, chain, "data", None)
    state = explanation.state(sweep=0)
    while not burn_in.over(state) and not stop():
        state, info = sweep(tensor, state, target, chain)
        state = burn_in.after(state, info)
    return state
