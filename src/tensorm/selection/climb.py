"""Fits along the candidates, each starting from the components of the one before and some new ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorm.sampler.sample import Plan, Snapshot, Stop, Watch, follow, sample
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.search.seeding import PURITIES, begin, search
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target
from tensorm.selection.occam import add_empty
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor


def burn_in_from(
    before: Factors | None, tensor: Tensor, target: Target, chain: int, watch: Watch, stop: Stop
) -> State:
    """Return the state of a chain after burn-in, or where it was at ``stop()``.

    It starts from the components of a fit with fewer, if there is one, and others found in the data, or
    from the data alone if that is better.
    """
    rng = np.random.default_rng([int(target.seed), chain, target.n_components])
    explanation = begin(tensor, target, rng)
    if before is not None:
        old = Explanation(tensor, replace(target, n_components=before.n_components), before)
        wider = add_empty(old, target.n_components - before.n_components)
        grown = (search(wider, rng, purity) for purity in PURITIES)
        explanation = max((explanation, *grown), key=lambda one: one.score)
    state = explanation.state(sweep=0)
    for step in follow(sample(tensor, Plan(target, n_draws=0), chain, Snapshot(state)), watch, stop):
        state = step.state
    return state
