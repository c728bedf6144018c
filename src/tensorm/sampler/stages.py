"""Burn-in of a large tensor in stages: with some indices of a mode first, and then with all of them.

Where a mode has thousands of indices, such as the objects of comparisons, a few hundred say as well which
components there are. A chain is repaired and heated with these until it settles; then all of them take part.
Draws are made with all cells, and no draw before the chain has settled with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tensorm.data.arrays import Indices
from tensorm.model import Confusion
from tensorm.sampler.burnin import BurnIn, Memory
from tensorm.sampler.state import State
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor, every

if TYPE_CHECKING:
    from tensorm.sampler.sample import Plan

FIRST_STAGE = 2**30  # cells of the first stage
MOST_STAGES = 2
LAST_TREND = 10  # sweeps of a window with all cells: they take long, and components have settled before


@dataclass(eq=False)
class BurnInStage:
    """A burn-in, and which indices take part in it."""

    burn_in: BurnIn
    indices: list[Indices] | None  # of each mode; None for all

    @cached_property
    def cached(self) -> Tensor:
        """The tensor of these indices, with counts that are kept."""
        return self.burn_in.tensor.cached(self.burn_in.target.n_components)

    def cut(self, state: State) -> State:
        """Return the state of these indices."""
        return state if self.indices is None else state._replace(factors=state.factors.take(self.indices))

    def spread(self, state: State, whole: Factors) -> State:
        """Return a state of these indices with the others as they are."""
        if self.indices is None:
            return state
        masks = [masks.copy() for masks in whole]
        for all_rows, index, rows in zip(masks, self.indices, state.factors, strict=True):
            all_rows[index] = rows
        return state._replace(factors=Factors(tuple(masks), whole.n_components))


def map_heated(memory: Memory, change: Callable[[State], State]) -> Memory:
    """Return a memory with the states that are heated changed."""
    base, hot = (state and change(state) for state in (memory.heat.base, memory.heat.hot))
    return memory._replace(heat=memory.heat._replace(base=base, hot=hot))


class Stages:
    """The burn-in of one chain, with some indices of a mode first where there are many.

    Parameters
    ----------
    tensor : Tensor
    plan : Plan
    chain : int
    """

    def __init__(self, tensor: Tensor, plan: Plan, chain: int) -> None:
        parts = [] if plan.init != "data" or plan.move or plan.held else choose_parts(tensor, plan, chain)
        init = None if parts else plan.init
        effort = 0.0 if parts else plan.effort
        trend = LAST_TREND if parts else None
        whole = BurnIn(tensor, plan.target, chain, init, plan.burn_in, effort, plan.held, trend=trend)
        self._stages = [*(_begin_with(whole, part, plan) for part in parts), BurnInStage(whole, None)]
        self._at, self._shape = 0, tensor.shape

    def start(self) -> State:
        """Return the chain's first state."""
        return self._widen(self._stage.burn_in.start())

    def enter(self, memory: Memory) -> None:
        """Go on where a chain was."""
        self._at = min(memory.stage, len(self._stages) - 1)  # a file may say anything
        self._stage.burn_in.memory = map_heated(memory, self._stage.cut)

    def advance(self, state: State, confusion: Confusion | None) -> tuple[State, Confusion]:
        """Make one sweep with the indices whose turn it is."""
        stage = self._stage
        new, confusion = stage.burn_in.advance(stage.cached, stage.cut(state), confusion)
        return stage.spread(new, state.factors), confusion

    def end(self, state: State) -> tuple[int, bool] | None:
        """Return the sweeps of burn-in and whether it settled, or None while it goes on."""
        ended = self._stage.burn_in.end(self._stage.cut(state))
        if ended is None or self.is_whole:
            return ended
        self.enter(Memory(stage=self._at + 1))
        return self._stage.burn_in.end(state)

    @property
    def memory(self) -> Memory:
        """What burn-in remembers, with states of all indices."""
        memory = self._stage.burn_in.memory
        return memory if self.is_whole else map_heated(memory, self._widen)

    @property
    def is_whole(self) -> bool:
        """Whether all indices take part."""
        return self._stage.indices is None

    @property
    def cached(self) -> Tensor:
        """The whole tensor, with counts that are kept."""
        return self._stages[-1].cached

    def _widen(self, state: State) -> State:
        """Return a state of the indices whose turn it is with the others in no component."""
        if self.is_whole:
            return state
        return self._stage.spread(state, Factors.empty(self._shape, state.factors.n_components))

    @property
    def _stage(self) -> BurnInStage:
        return self._stages[self._at]


def choose_parts(tensor: Tensor, plan: Plan, chain: int) -> list[list[Indices]]:
    """Choose the indices of each mode that take part in each stage but the last; none in a small tensor."""
    mode = tensor.crowd
    if mode is None:
        return []
    N = tensor.shape[mode]
    size = FIRST_STAGE // (math.prod(tensor.shape) // max(1, N))
    if 2 * size > N:
        return []
    key = np.array([plan.target.seed, chain], np.uint64)
    rng = np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 1, 0]))
    indices = [every(n) for n in tensor.shape]
    indices[mode] = np.sort(rng.permutation(N)[:size])
    return [indices]


def _begin_with(whole: BurnIn, part: list[Indices], plan: Plan) -> BurnInStage:
    """Return the burn-in of some indices, of at most half the sweeps."""
    prior = whole.target.prior.searched(part, whole.tensor.shape)
    target, length = replace(whole.target, prior=prior), plan.burn_in and plan.burn_in // 2
    return BurnInStage(
        BurnIn(whole.tensor.take(part), target, whole.chain, "data", length, plan.effort, weak=True), part
    )
