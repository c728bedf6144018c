"""Burn-in of one chain: from its start to its first draw.

Chains that start from the data (search/seeding.py) are repaired every CHECK_EVERY sweeps until
REPAIRS_IN_VAIN in a row found nothing better. "auto" burn-in ends once that is so and the log-likelihood has
stopped rising: the mean of the last TREND_SWEEPS sweeps exceeds that of as many before by no more than half
the spread of the last ones, so that what is left of the rise is smaller than the chain's own fluctuations. A
noise model may have a stand-in; chains are sampled with that while they are repaired, and heated with the
model itself, in half of a burn-in of given length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tensorm.data.arrays import Bits
from tensorm.model import Confusion
from tensorm.sampler.noise_model import TREND_SWEEPS
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.search.heating import Heat, Rounds, heat_once
from tensorm.sampler.search.region import coin_density
from tensorm.sampler.search.rounds import choose_rounds
from tensorm.sampler.search.seeding import begin, repair
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, enter, log_likelihood, random_factors, start, sweep
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

CHECK_EVERY, LONGEST_BURN_IN = 5, 2000  # sweeps; LONGEST_BURN_IN is where "auto" gives up
REPAIRS_IN_VAIN, MOST_REPAIRS = 4, 40  # after which repairs end


class Memory(NamedTuple):
    """What burn-in remembers from sweep to sweep, beside the state of the chain."""

    history: tuple[float, ...] = ()  # the last log-likelihoods since the chain was repaired
    sweeps: int = 0  # sweeps since then
    repairs: int = 0  # repairs tried
    in_vain: int = 0  # the last of them that found nothing better
    stage: int = 0  # of a large tensor's burn-in (stages.py)
    heat: Heat = Heat()


@dataclass
class BurnIn:
    """Follows one chain from its start to its first draw.

    Parameters
    ----------
    tensor, target, chain
        What is sampled.
    init : "data", "random", "coins", Boolean arrays (N_k, L) or None
        Where the chain starts; None if it has started. Only chains that start from the data are repaired.
    length : int or None
        Sweeps to make; None: until the rule above holds, at most LONGEST_BURN_IN and those of heating.
    effort : float
        How much to heat, see heating.py.
    held : int
        Sweeps at the beginning in which the noise stays as it is.
    weak : bool
        Whether repairs remove components that explain little more often.
    trend : int or None
        Sweeps of each of the two windows that tell whether it has settled; None: as the noise model says.
    memory : Memory
        What it remembers so far.
    """

    tensor: Tensor
    target: Target
    chain: int
    init: str | Sequence[Bits] | None
    length: int | None
    effort: float = 0.0
    held: int = 0
    weak: bool = False
    trend: int | None = None
    memory: Memory = field(default_factory=Memory)

    def start(self) -> State:
        """Return the chain's first state."""
        if isinstance(self.init, str):
            if self.init == "data":
                return begin(self.tensor, self._searched, self._rng(0)).state(sweep=0)
            coins = self.init == "coins"
            density = 0.5 if coins else coin_density(self.tensor, self.target.n_components)
            factors = random_factors(self.tensor, self.target, self.chain, density)
            return start(self.target, factors, density)
        assert self.init is not None
        return Explanation(self.tensor, self.target, Factors.from_bits(self.init)).state(sweep=0)

    def advance(self, cached: Tensor, state: State, confusion: Confusion | None) -> tuple[State, Confusion]:
        """Make one sweep, of sampling or of heating, on the same tensor with counts that are kept."""
        if self.heats(state):
            known = confusion or self.tensor.confusion(state.factors)
            return self.heat(cached, state, known)
        target, before = self.enter(state)
        state, confusion = sweep(cached, before, target.suited_to(before), self.chain)
        state = state._replace(noise=before.noise) if before.sweep < self.held else state
        return self.after(state, confusion), confusion

    def end(self, state: State) -> tuple[int, bool] | None:
        """Return the sweeps of burn-in and whether it settled by its own rule, or None while it goes on."""
        if self.length is not None:
            return (state.sweep, True) if state.sweep >= self.length else None
        if self.heats(state) or self._target_of(state) is not self.target:
            return None
        history, sweeps, *_ = self.memory
        settled = not self._repairing and steady(history, sweeps, self.trend or self.target.noise.trend)
        most = LONGEST_BURN_IN + self._rounds.total(self.memory.heat.rounds)
        return (state.sweep, settled) if settled or state.sweep >= most else None

    def enter(self, state: State) -> tuple[Target, State]:
        """Return what the next sweep samples, and the state with such noise."""
        target = self._searched if self._mends(state) else self.target
        entered = enter(self.tensor, target, state)
        if entered is not state:  # log-likelihoods of two noise models do not compare
            self.memory = self.memory._replace(history=(), sweeps=0)
        return target, entered

    def after(self, state: State, confusion: Confusion) -> State:
        """Take note of a sweep, and repair the chain where that is due."""
        history, sweeps, repairs, in_vain, stage, heat = self.memory
        target = self._target_of(state)
        kept = history[-2 * target.noise.trend + 1 :]
        history = (*kept, log_likelihood(self.tensor, target, state, confusion))
        self.memory = Memory(history, sweeps + 1, repairs, in_vain, stage, heat)
        last = self.length is not None and state.sweep + CHECK_EVERY > self.length
        if not self._mends(state) or state.sweep % CHECK_EVERY or last:
            return state
        explanation = Explanation(self.tensor, target, state.factors)
        n_out = 1 + (repairs + 1) % 2
        repaired, better = repair(explanation, self._rng(state.sweep), n_out, self.weak)
        if better:
            self.memory = Memory(repairs=repairs + 1, stage=stage)
            return repaired.state(state.sweep)
        self.memory = self.memory._replace(repairs=repairs + 1, in_vain=in_vain + 1)
        return state

    def heats(self, state: State) -> bool:
        """Whether the next sweep is one of heating."""
        heat = self.memory.heat
        if not self._from_data or self._repairing or self._rounds.is_over(heat, self.effort):
            return False
        end = state.sweep - heat.sweeps + self._rounds.length(heat.rounds) + CHECK_EVERY
        return self._limit is None or end <= self._limit

    def heat(self, tensor: Tensor, state: State, confusion: Confusion) -> tuple[State, Confusion]:
        """Make a sweep of heating; the chain itself stays where it is until something better is found."""
        _, state = self.enter(state)
        rounds = replace(self._rounds, tensor=tensor)
        heat, found = heat_once(rounds, state, self.memory.heat, lambda: self._rng(state.sweep))
        if found is None:
            self.memory = self.memory._replace(heat=heat)
            return state._replace(sweep=state.sweep + 1), confusion
        self.memory = self.memory._replace(history=(), sweeps=0, heat=heat)
        return found._replace(sweep=state.sweep + 1), tensor.confusion(found.factors)

    @property
    def _from_data(self) -> bool:
        return isinstance(self.init, str) and self.init == "data"

    @cached_property
    def _rounds(self) -> Rounds:
        """How the chain is heated."""
        return choose_rounds(self.target)(self.tensor, self.target, self.chain)

    @cached_property
    def _searched(self) -> Target:
        """What is sampled while components are searched for."""
        return replace(self.target, noise=self.target.noise.stand_in)

    def _target_of(self, state: State) -> Target:
        """Return what the last sweep has sampled."""
        return self._searched if self.target.noise.searching(state.noise) else self.target

    @property
    def _limit(self) -> int | None:
        """Sweeps after which searches end."""
        halved = self.length is not None and self.target.noise.stand_in != self.target.noise
        return self.length // 2 if self.length is not None and halved else self.length

    def _mends(self, state: State) -> bool:
        """Whether the chain is repaired from time to time."""
        return self._repairing and (self._limit is None or state.sweep < max(self._limit, 1))

    @property
    def _repairing(self) -> bool:
        return (
            self._from_data and self.memory.in_vain < REPAIRS_IN_VAIN and self.memory.repairs < MOST_REPAIRS
        )

    def _rng(self, sweep: int) -> np.random.Generator:
        key = np.array([self.target.seed, self.chain], np.uint64)
        return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, sweep]))


def steady(history: Sequence[float], sweeps: int, trend: int = TREND_SWEEPS) -> bool:
    """Whether the log-likelihood has stopped rising, by its last values; checked every CHECK_EVERY sweeps."""
    if len(history) < 2 * trend or sweeps % CHECK_EVERY:
        return False
    before, last = np.array(history[-2 * trend :]).reshape(2, trend)
    return bool(last.mean() - before.mean() <= 0.5 * last.std())
