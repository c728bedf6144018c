"""One chain, sweep by sweep: the generator that fits and all methods of selection use.

``sample`` yields a ``Step`` after each sweep, first those of burn-in and then those that are draws. The
caller owns the loop: it collects draws, shows progress, keeps checkpoints, and stops where it likes. A step's
snapshot is all that the chain needs to continue from there, with the same random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tensorm.data.arrays import Bits
from tensorm.model import Confusion
from tensorm.sampler.burnin import LONGEST_BURN_IN, Memory
from tensorm.sampler.noise_model import Parameters
from tensorm.sampler.search.rounds import choose_rounds
from tensorm.sampler.stages import Stages
from tensorm.sampler.state import MAX_SWEEPS, State, Trace
from tensorm.sampler.sweep import Target, enter, sweep
from tensorm.tensors.protocol import Tensor

BURN_IN, DRAWS = "burn-in", "draws"  # the phases of a chain


@dataclass(frozen=True)
class Plan:
    """How a chain is run.

    Attributes
    ----------
    target : Target
    n_draws : int
    burn_in : int or None
        Sweeps before the first draw; None: until the log-likelihood stops rising.
    init : "data", "random", "coins" or list of Boolean arrays (N_k, L)
        Where chains start, and whether burn-in repairs and heats them.
    effort : float
        How much burn-in heats chains: 1 is the default of fits, 0 nothing.
    move : callable, optional
        Changes a state before each sweep, and may change its number of components.
    noise : Parameters, optional
        The noise of the first state, where it is not what the noise model starts with or estimates.
    held : int
        Sweeps at the beginning of burn-in in which the noise stays as it is.
    """

    target: Target
    n_draws: int
    burn_in: int | None = None
    init: str | Sequence[Bits] = "data"
    effort: float = 0.0
    move: Callable[[State], State] | None = None
    noise: Parameters | None = None
    held: int = 0

    @property
    def start(self) -> tuple[Any, ...]:
        """How chains start, beside the target."""
        return self.init, self.effort, self.noise, self.held

    @property
    def most_burn_in(self) -> int:
        """Sweeps after which burn-in is over in any case; one more leaves the stand-in of the noise."""
        rounds = choose_rounds(self.target)
        auto = LONGEST_BURN_IN + rounds.total(1 + math.ceil(rounds.most * self.effort)) + 1
        return min(max(auto if self.burn_in is None else self.burn_in, self.held), MAX_SWEEPS - self.n_draws)


class Snapshot(NamedTuple):
    """A chain between two sweeps."""

    state: State
    memory: Memory = Memory()  # of its burn-in
    burnt: tuple[int, bool] | None = None  # sweeps of burn-in and whether it settled; None while it lasts
    confusion: Confusion | None = None  # after the last sweep; None before the first
    draws: Trace | None = None  # filled in by whoever collects draws


class Step(NamedTuple):
    """A chain after one more sweep."""

    chain: int
    phase: str  # BURN_IN or DRAWS; callers may show another word
    done: int
    total: int | None  # None while burn-in runs until it converges
    state: State
    confusion: Confusion  # of the sweep
    snapshot: Snapshot


Watch = Callable[[Step], None]
Stop = Callable[[], bool]


def sample(
    tensor: Tensor,
    plan: Plan,
    chain: int,
    saved: Snapshot | None = None,
    watch: Watch = lambda step: None,
    stop: Stop = lambda: False,
) -> Iterator[Step]:
    """Yield after every sweep until all draws are made; the caller owns the loop.

    Parameters
    ----------
    tensor : Tensor
    plan : Plan
    chain : int
        Number of the chain, which its random numbers depend on.
    saved : Snapshot, optional
        Where to go on from; by default the chain starts as the plan says.
    watch : callable, optional
        Is shown each step.
    stop : callable, optional
        Is asked before each sweep whether to end here.
    """
    if stop():  # before the search for a start, which takes long
        return
    burn_in = Stages(tensor, plan, chain)
    state, memory, burnt, confusion, draws = saved or Snapshot(burn_in.start())
    burn_in.enter(memory)
    if saved is None and plan.noise is not None:
        state = state._replace(noise=plan.noise)
    burnt = burnt or burn_in.end(state)
    n_drawn = len(draws) if draws else 0
    while burnt is None or n_drawn < plan.n_draws:
        state = plan.move(state) if plan.move else state
        if burnt is None:
            state, confusion = burn_in.advance(state, confusion)
            burnt = burn_in.end(state) if state.sweep >= plan.held else None
            phase, done, total = BURN_IN, state.sweep, plan.burn_in
        else:
            state = enter(tensor, plan.target, state)
            state, confusion = sweep(burn_in.cached, state, plan.target.suited_to(state), chain)
            n_drawn += 1
            phase, done, total = DRAWS, n_drawn, plan.n_draws
        snapshot = Snapshot(state, burn_in.memory, burnt, confusion if burn_in.is_whole else None)
        step = Step(chain, phase, done, total, state, confusion, snapshot)
        watch(step)
        yield step
        if stop():
            return
