"""The paper's Bayesian Occam's razor: start with many components and take out those that do not contribute.

A chain with many components runs to convergence. Then components that do not contribute are taken out, the
worst first; better ones are looked for with the moves of burn-in (seeding.py) and the rest is done again,
until nothing is taken out and nothing better is found.

What a component contributes, its *worth*, is the fall of the log evidence when it is taken out, averaged
over a few sweeps. The *evidence* of a set of n components is their posterior with noise rates and densities
integrated out, times n! for the orders in which they can be listed: so different numbers can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.sampler.burnin import BurnIn
from tensorm.sampler.chains import Step
from tensorm.sampler.ground import Ground, losses
from tensorm.sampler.seeding import PURITIES, search
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Model, sweep
from tensorm.tensors.bits import Words, pack
from tensorm.tensors.seam import Tensor

Floats = npt.NDArray[np.float64]

AVERAGED = 5  # sweeps over which a component's worth is averaged
BETWEEN = 3  # sweeps between two looks for better components
PATIENCE, MOST_LOOKS = 8, 60  # looks in vain, and looks at all
EXTRA = 2  # components that a look may add
REMEMBERED = 20  # sweeps over which the members of components are averaged in the end
BURN_IN, SHAVING = "burn-in", "shaving"


class Stage(NamedTuple):
    """A number of components on the way down from many to one, the weakest taken out at each step."""

    n_components: int
    evidence: float
    least: float  # worth of the component that contributes least


class Found(NamedTuple):
    """What one chain found.

    Attributes
    ----------
    factors : tuple of masks
        The components that contribute.
    n_components : int
        Their number; 0 if none contributes, and then the factors are one empty component.
    evidence : float
        Log evidence of the factors, each entry at its more probable value.
    least : float
        Worth of the component that contributes least, averaged over sweeps; 0 if none contributes.
    stages : tuple of Stage
        From the many components of the start, and from those that contribute, down to one.
    seen : tuple of ndarray (J, N_k)
        For each mode how often its indices were members of J components, kept ones and others.
    """

    factors: tuple[Words, ...]
    n_components: int
    evidence: float
    least: float
    stages: tuple[Stage, ...]
    seen: tuple[Floats, ...]


class Followed(NamedTuple):
    """Components over a few sweeps."""

    state: State
    worth: Floats  # (L,)
    shares: list[Floats]  # for each mode (L, N_k), how often an index was a member


def log_evidence(ground: Ground) -> float:
    """Return the log evidence of a set of components, up to a constant that all sets share."""
    return ground.score + math.lgamma(ground.used + 1)


def worths(ground: Ground) -> Floats:
    """Return by how much the log evidence would fall if a component was taken out; -inf for unused ones."""
    worth = losses(ground) + math.log(max(ground.used, 1))
    worth[ground.unused] = -np.inf
    return worth


def shave(
    tensor: Tensor,
    model: Model,
    chain: int,
    watch: Callable[[Step], None] = lambda step: None,
    stop: Callable[[], bool] = lambda: False,
) -> Found:
    """Find components that contribute, of at most ``model.n_components``; cut short once ``stop()``."""
    most, rng = model.n_components, np.random.default_rng([int(model.seed), chain, 1])
    razor = Razor(tensor, chain, watch, stop)
    state, model = razor.remove(*razor.settle(model))
    in_vain = looks = 0
    while in_vain < PATIENCE and looks < MOST_LOOKS and not stop():
        looks += 1
        for _ in range(BETWEEN):
            state = razor.sweep(state, model, SHAVING, looks, MOST_LOOKS)
        ground = Ground(tensor, model, state.factors)
        better = look(ground, rng, n_out=looks % 3, most=most)
        in_vain = in_vain + 1 if better is None else 0
        if better is not None:
            state, model = razor.remove(better.state(state.sweep), better.model)
    return razor.sum_up(*razor.remove(state, model))


class Razor:
    """Takes components out of one chain, and remembers what it saw."""

    def __init__(
        self, tensor: Tensor, chain: int, watch: Callable[[Step], None], stop: Callable[[], bool]
    ) -> None:
        self.tensor, self.chain, self.watch, self.stop = tensor, chain, watch, stop
        self.high: list[Stage] = []  # on the way down from where the chain settled
        self.seen: list[list[Floats]] = []

    def sweep(self, state: State, model: Model, phase: str, done: int, total: int | None) -> State:
        """Make one sweep and tell of it."""
        state, info = sweep(self.tensor, state, model, self.chain)
        self.watch(Step(self.chain, phase, done, total, info))
        return state

    def settle(self, model: Model) -> tuple[State, Model]:
        """Run burn-in with all components."""
        burn_in = BurnIn(self.tensor, model, self.chain, "data", None)
        state = burn_in.start()
        while not burn_in.over(state) and not self.stop():
            state, info = sweep(self.tensor, state, model, self.chain)
            state = burn_in.after(state, info)
            self.watch(Step(self.chain, BURN_IN, state.sweep, None, info))
        self.high = go_down(Ground(self.tensor, model, state.factors))
        return state, model

    def follow(self, state: State, model: Model, sweeps: int = AVERAGED) -> Followed:
        """Average what components contribute, and their members, over a few sweeps."""
        worth = np.zeros(model.n_components)
        shares = [np.zeros((model.n_components, size)) for size in self.tensor.shape]
        for number in range(sweeps):
            ground = Ground(self.tensor, model, state.factors)
            worth += worths(ground) / sweeps
            for share, bits in zip(shares, ground.bits, strict=True):
                share += bits.T / sweeps
            state = self.sweep(state, model, SHAVING, number + 1, sweeps)
        return Followed(state, worth, shares)

    def remove(self, state: State, model: Model) -> tuple[State, Model]:
        """Take components out until each that is left contributes; one always stays."""
        while True:
            followed = self.follow(state, model)
            idle = np.flatnonzero(followed.worth < 0)
            ground = Ground(self.tensor, model, followed.state.factors)
            kept = drop(ground, idle[np.argsort(followed.worth[idle])])
            if len(kept) == model.n_components:
                return followed.state, model
            gone = np.setdiff1d(np.arange(model.n_components), kept)
            self.seen.append([share[gone] for share in followed.shares])
            ground = keep(ground, kept)
            state, model = followed.state._replace(factors=ground.factors), ground.model

    def sum_up(self, state: State, model: Model) -> Found:
        """Return the components that contribute, and all that were seen."""
        followed = self.follow(state, model, REMEMBERED)
        best = Ground(self.tensor, model, state.factors).polished()
        shares = zip(*self.seen, followed.shares, strict=True)
        seen = tuple(np.concatenate(parts) for parts in shares)
        n_components, least, low = model.n_components, float(followed.worth.min()), go_down(best)
        stages = (*(stage for stage in self.high if stage.n_components > n_components), *low)
        if n_components == 1 and least < 0:  # the rate of ones alone says as much
            best, n_components, least = best.emptied([0]), 0, 0.0
        return Found(best.factors, n_components, log_evidence(best), least, stages, seen)


def keep(ground: Ground, components: npt.NDArray[np.intp]) -> Ground:
    """Return the ground with these components only."""
    model = replace(ground.model, n_components=len(components))
    return Ground(ground.tensor, model, tuple(pack(bits[:, components]) for bits in ground.bits))


def drop(ground: Ground, candidates: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Take candidates out in their order, where that still raises the evidence; return what is left.

    Two that explain the same cells contribute nothing each, but one does as soon as the other is gone.
    """
    kept = np.arange(ground.model.n_components)
    for component in candidates:
        here = np.flatnonzero(kept == component)[0]
        if len(kept) > 1 and worths(ground)[here] < 0:
            rest = np.delete(np.arange(len(kept)), here)
            ground, kept = keep(ground, rest), kept[rest]
    return kept


def go_down(ground: Ground) -> list[Stage]:
    """Return the stages from the components that are used down to the last one."""
    ground = keep(ground, np.setdiff1d(np.arange(ground.model.n_components), ground.unused))
    stages = []
    while n := ground.model.n_components:
        worth = worths(ground)
        stages.append(Stage(n, log_evidence(ground), float(worth.min())))
        if n == 1:
            break
        ground = keep(ground, np.delete(np.arange(n), worth.argmin()))
    return stages


def prune(ground: Ground) -> Ground:
    """Take out the component that contributes least, as long as there is one that does not contribute."""
    return keep(ground, drop(ground, np.argsort(worths(ground))))


def look(ground: Ground, rng: np.random.Generator, n_out: int, most: int) -> Ground | None:
    """Look for a better set of components, with a few taken out and a few more than before."""
    out = rng.permutation(ground.model.n_components)[:n_out]
    wider = make_room(ground.emptied([int(l) for l in out]), min(EXTRA, most - ground.model.n_components))
    hit, false_alarm = ground.noise
    purity = rng.choice([*PURITIES, (hit - false_alarm) / (1 - false_alarm)])
    new = prune(search(wider, rng, purity))
    return new if log_evidence(new) > log_evidence(prune(ground.polished())) + 1e-6 else None


def make_room(ground: Ground, extra: int) -> Ground:
    """Return the ground with so many more components, all empty."""
    model = replace(ground.model, n_components=ground.model.n_components + extra)
    factors = (np.pad(bits, ((0, 0), (0, extra))) for bits in ground.bits)
    return Ground(ground.tensor, model, tuple(pack(bits) for bits in factors))


def join(seen: Sequence[Sequence[Floats]]) -> tuple[Floats, ...]:
    """Bring together what several chains saw."""
    return tuple(np.concatenate(parts) for parts in zip(*seen, strict=True))
