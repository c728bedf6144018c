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
from tensorm.sampler.search.explanation import Explanation, losses
from tensorm.sampler.search.seeding import PURITIES, search
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, sweep
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

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
    factors : Factors
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

    factors: Factors
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


def log_evidence(explanation: Explanation) -> float:
    """Return the log evidence of a set of components, up to a constant that all sets share."""
    return explanation.score + math.lgamma(explanation.used + 1)


def worths(explanation: Explanation) -> Floats:
    """Return by how much the log evidence would fall if a component was taken out; -inf for unused ones."""
    worth = losses(explanation) + math.log(max(explanation.used, 1))
    worth[explanation.unused] = -np.inf
    return worth


def shave(
    tensor: Tensor,
    target: Target,
    chain: int,
    watch: Callable[[Step], None] = lambda step: None,
    stop: Callable[[], bool] = lambda: False,
) -> Found:
    """Find components that contribute, of at most ``target.n_components``; cut short once ``stop()``."""
    most, rng = target.n_components, np.random.default_rng([int(target.seed), chain, 1])
    razor = Razor(tensor, chain, watch, stop)
    state, target = razor.remove(*razor.settle(target))
    in_vain = looks = 0
    while in_vain < PATIENCE and looks < MOST_LOOKS and not stop():
        looks += 1
        for _ in range(BETWEEN):
            state = razor.sweep(state, target, SHAVING, looks, MOST_LOOKS)
        explanation = Explanation(tensor, target, state.factors)
        better = look(explanation, rng, n_out=looks % 3, most=most)
        in_vain = in_vain + 1 if better is None else 0
        if better is not None:
            state, target = razor.remove(better.state(state.sweep), better.target)
    return razor.sum_up(*razor.remove(state, target))


class Razor:
    """Takes components out of one chain, and remembers what it saw."""

    def __init__(
        self, tensor: Tensor, chain: int, watch: Callable[[Step], None], stop: Callable[[], bool]
    ) -> None:
        self.tensor, self.chain, self.watch, self.stop = tensor, chain, watch, stop
        self.high: list[Stage] = []  # on the way down from where the chain settled
        self.seen: list[list[Floats]] = []

    def sweep(self, state: State, target: Target, phase: str, done: int, total: int | None) -> State:
        """Make one sweep and tell of it."""
        state, info = sweep(self.tensor, state, target, self.chain)
        self.watch(Step(self.chain, phase, done, total, info))
        return state

    def settle(self, target: Target) -> tuple[State, Target]:
        """Run burn-in with all components."""
        burn_in = BurnIn(self.tensor, target, self.chain, "data", None)
        state = burn_in.start()
        while not burn_in.over(state) and not self.stop():
            state, info = sweep(self.tensor, state, target, self.chain)
            state = burn_in.after(state, info)
            self.watch(Step(self.chain, BURN_IN, state.sweep, None, info))
        self.high = go_down(Explanation(self.tensor, target, state.factors))
        return state, target

    def follow(self, state: State, target: Target, sweeps: int = AVERAGED) -> Followed:
        """Average what components contribute, and their members, over a few sweeps."""
        worth = np.zeros(target.n_components)
        shares = [np.zeros((target.n_components, size)) for size in self.tensor.shape]
        for number in range(sweeps):
            explanation = Explanation(self.tensor, target, state.factors)
            worth += worths(explanation) / sweeps
            for share, bits in zip(shares, explanation.bits, strict=True):
                share += bits.T / sweeps
            state = self.sweep(state, target, SHAVING, number + 1, sweeps)
        return Followed(state, worth, shares)

    def remove(self, state: State, target: Target) -> tuple[State, Target]:
        """Take components out until each that is left contributes; one always stays."""
        while True:
            followed = self.follow(state, target)
            idle = np.flatnonzero(followed.worth < 0)
            explanation = Explanation(self.tensor, target, followed.state.factors)
            kept = drop(explanation, idle[np.argsort(followed.worth[idle])])
            if len(kept) == target.n_components:
                return followed.state, target
            gone = np.setdiff1d(np.arange(target.n_components), kept)
            self.seen.append([share[gone] for share in followed.shares])
            explanation = keep(explanation, kept)
            state, target = followed.state._replace(factors=explanation.factors), explanation.target

    def sum_up(self, state: State, target: Target) -> Found:
        """Return the components that contribute, and all that were seen."""
        followed = self.follow(state, target, REMEMBERED)
        best = Explanation(self.tensor, target, state.factors).polished()
        shares = zip(*self.seen, followed.shares, strict=True)
        seen = tuple(np.concatenate(parts) for parts in shares)
        n_components, least, low = target.n_components, float(followed.worth.min()), go_down(best)
        stages = (*(stage for stage in self.high if stage.n_components > n_components), *low)
        if n_components == 1 and least < 0:  # the rate of ones alone says as much
            best, n_components, least = best.emptied([0]), 0, 0.0
        return Found(best.factors, n_components, log_evidence(best), least, stages, seen)


def keep(explanation: Explanation, components: npt.NDArray[np.intp]) -> Explanation:
    """Return the explanation with these components only."""
    target = replace(explanation.target, n_components=len(components))
    return Explanation(
        explanation.tensor, target, Factors.from_bits([bits[:, components] for bits in explanation.bits])
    )


def drop(explanation: Explanation, candidates: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Take candidates out in their order, where that still raises the evidence; return what is left.

    Two that explain the same cells contribute nothing each, but one does as soon as the other is gone.
    """
    kept = np.arange(explanation.target.n_components)
    for component in candidates:
        here = np.flatnonzero(kept == component)[0]
        if len(kept) > 1 and worths(explanation)[here] < 0:
            rest = np.delete(np.arange(len(kept)), here)
            explanation, kept = keep(explanation, rest), kept[rest]
    return kept


def go_down(explanation: Explanation) -> list[Stage]:
    """Return the stages from the components that are used down to the last one."""
    explanation = keep(
        explanation, np.setdiff1d(np.arange(explanation.target.n_components), explanation.unused)
    )
    stages = []
    while n := explanation.target.n_components:
        worth = worths(explanation)
        stages.append(Stage(n, log_evidence(explanation), float(worth.min())))
        if n == 1:
            break
        explanation = keep(explanation, np.delete(np.arange(n), worth.argmin()))
    return stages


def prune(explanation: Explanation) -> Explanation:
    """Take out the component that contributes least, as long as there is one that does not contribute."""
    return keep(explanation, drop(explanation, np.argsort(worths(explanation))))


def look(explanation: Explanation, rng: np.random.Generator, n_out: int, most: int) -> Explanation | None:
    """Look for a better set of components, with a few taken out and a few more than before."""
    out = rng.permutation(explanation.target.n_components)[:n_out]
    wider = make_room(
        explanation.emptied([int(l) for l in out]), min(EXTRA, most - explanation.target.n_components)
    )
    hit, false_alarm = explanation.noise
    purity = rng.choice([*PURITIES, (hit - false_alarm) / (1 - false_alarm)])
    new = prune(search(wider, rng, purity))
    return new if log_evidence(new) > log_evidence(prune(explanation.polished())) + 1e-6 else None


def make_room(explanation: Explanation, extra: int) -> Explanation:
    """Return the explanation with so many more components, all empty."""
    target = replace(explanation.target, n_components=explanation.target.n_components + extra)
    wider = [np.pad(bits, ((0, 0), (0, extra))) for bits in explanation.bits]
    return Explanation(explanation.tensor, target, Factors.from_bits(wider))


def join(seen: Sequence[Sequence[Floats]]) -> tuple[Floats, ...]:
    """Bring together what several chains saw."""
    return tuple(np.concatenate(parts) for parts in zip(*seen, strict=True))
