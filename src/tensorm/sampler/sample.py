"""One chain, sweep by sweep: the generator that fits and every way to choose components run through.

``sample`` yields a ``Step`` after each sweep, first those of burn-in and then those that are draws. The
caller owns the loop: it collects draws, shows progress, keeps checkpoints, and stops where it likes. A step's
snapshot is all that the chain needs to continue from there, with the same random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tensorm.model import Confusion
from tensorm.sampler.burnin import BurnIn, Memory
from tensorm.sampler.state import State, Trace
from tensorm.sampler.sweep import Target, sweep
from tensorm.tensors.bits import Bits
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
        Sweeps before the first draw; None: until the log-likelihood stops rising (burnin.py).
    init : "data", "random" or list of Boolean arrays (N_k, L)
        Where chains start, and whether burn-in repairs them (burnin.py).
    move : callable, optional
        Changes a state before each sweep, and may change its number of components.
    """

    target: Target
    n_draws: int
    burn_in: int | None = None
    init: str | Sequence[Bits] = "data"
    move: Callable[[State], State] | None = None


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
    burn_in = BurnIn(tensor, plan.target, chain, plan.init, plan.burn_in)
    state, burn_in.memory, burnt, _, draws = saved or Snapshot(burn_in.start())
    cached = tensor.cached(plan.target.n_components)
    burnt = burnt or burn_in.end(state)
    n_drawn = len(draws) if draws else 0
    while burnt is None or n_drawn < plan.n_draws:
        state = plan.move(state) if plan.move else state
        target = replace(plan.target, n_components=state.factors.n_components)
        state, confusion = sweep(cached, state, target, chain)
        if burnt is None:
            state = burn_in.after(state, confusion)
            burnt = burn_in.end(state)
            phase, done, total = BURN_IN, state.sweep, plan.burn_in
        else:
            n_drawn += 1
            phase, done, total = DRAWS, n_drawn, plan.n_draws
        snapshot = Snapshot(state, burn_in.memory, burnt, confusion)
        step = Step(chain, phase, done, total, state, confusion, snapshot)
        watch(step)
        yield step
        if stop():
            return
