"""Chains: burn-in, draws, and several of them side by side in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from tensorm.model import Confusion
from tensorm.sampler.burnin import BurnIn, Memory
from tensorm.sampler.prior import FixedPrior
from tensorm.sampler.recorder import Recorder
from tensorm.sampler.state import State, SweepInfo, Trace
from tensorm.sampler.sweep import Target, start, sweep
from tensorm.tensors.bits import Bits
from tensorm.tensors.protocol import Tensor

NEVER = -50.0  # log-odds at which an entry is 0 without a random number


class Step(NamedTuple):
    """Where a chain is, told to whoever watches it."""

    chain: int
    phase: str  # "burn-in" or "draws"
    done: int
    total: int | None  # None while burn-in runs until it converges
    info: SweepInfo


@dataclass(frozen=True)
class Plan:
    """How chains are run.

    Attributes
    ----------
    target : Target
    n_draws : int
    burn_in : int or None
        Sweeps before the first draw; None: until the log-likelihood stops rising (burnin.py).
    init : "data", "random" or list of Boolean arrays (N_k, L)
        Where chains start (burnin.py).
    """

    target: Target
    n_draws: int
    burn_in: int | None = None
    init: str | Sequence[Bits] = "data"


class Snapshot(NamedTuple):
    """A chain between two sweeps."""

    state: State
    memory: Memory  # of its burn-in
    burnt: tuple[int, bool] | None  # sweeps of burn-in and whether it settled; None while it lasts
    confusion: Confusion | None  # after the last sweep; None before the first
    draws: Trace | None


class ChainStore(Protocol):
    """Where chains are written down while they run, so that they can go on later (storage/checkpoints.py)."""

    def due(self, number: int) -> bool:
        """Whether it is time to write a chain down."""
        ...

    def write(self, number: int, snapshot: Snapshot) -> None:
        """Write a chain down, in place of an older snapshot."""
        ...

    def read(self, number: int) -> Snapshot | None:
        """Return the last snapshot of a chain, or None if there is none."""
        ...


class Chain:
    """One chain, sweep by sweep; between two sweeps it can be written down and taken up again."""

    def __init__(self, tensor: Tensor, plan: Plan, number: int, saved: Snapshot | None = None) -> None:
        self.tensor, self.plan, self.number = tensor.cached(plan.target.n_components), plan, number
        self.burn_in = BurnIn(tensor, plan.target, number, plan.init, plan.burn_in)
        self.recorder = Recorder(plan.target)
        self.info: SweepInfo | None = None
        self._burnt: tuple[int, bool] | None = None  # sweeps of burn-in, and whether it settled
        if saved is None:
            self.state = self.burn_in.start()
            return
        self.state, self.burn_in.memory, self._burnt = saved.state, saved.memory, saved.burnt
        self.info = None if saved.confusion is None else SweepInfo(saved.confusion, saved.state.noise)
        if saved.draws is not None:
            self.recorder = Recorder.continuing(plan.target, saved.draws)

    @property
    def done(self) -> bool:
        """Whether all draws are made."""
        return len(self.recorder) >= self.plan.n_draws

    def step(self) -> Step:
        """Make one sweep, of burn-in or for a draw."""
        plan, drawing = self.plan, self._drawing()
        self.state, self.info = sweep(self.tensor, self.state, plan.target, self.number)
        if drawing:
            self.recorder.record(self.state, self.info)
            return Step(self.number, "draws", len(self.recorder), plan.n_draws, self.info)
        self.state = self.burn_in.after(self.state, self.info)
        return Step(self.number, "burn-in", self.state.sweep, plan.burn_in, self.info)

    def trace(self) -> Trace | None:
        """Return the draws so far, in burn-in one from the next sweep, and None before the first."""
        if self.info is None:
            return None
        burnt = self._burnt or (self.state.sweep, self.burn_in.settled(self.state))
        if not len(self.recorder):
            self.recorder.record(*sweep(self.tensor, self.state, self.plan.target, self.number))
        return self.recorder.trace(*burnt)

    def snapshot(self) -> Snapshot:
        """Return all that is needed to go on from here."""
        confusion = None if self.info is None else self.info.confusion
        draws = self.recorder.trace(*self._burnt) if self._burnt and len(self.recorder) else None
        return Snapshot(self.state, self.burn_in.memory, self._burnt, confusion, draws)

    def _drawing(self) -> bool:
        if self._burnt is None and self.burn_in.over(self.state):
            self._burnt = self.state.sweep, self.burn_in.settled(self.state)
        return self._burnt is not None


def run_chain(
    tensor: Tensor,
    plan: Plan,
    number: int,
    watch: Callable[[Step], None] = lambda step: None,
    stop: Callable[[], bool] = lambda: False,
    checkpoints: ChainStore | None = None,
) -> Trace | None:
    """Run one chain to its end, or until ``stop()``; a chain stopped in burn-in leaves its last state.

    With checkpoints it begins where the last one was made. Returns None if there was no time for a sweep.
    """
    chain = Chain(tensor, plan, number, checkpoints.read(number) if checkpoints else None)
    while not chain.done and not stop():
        watch(chain.step())
        if checkpoints and checkpoints.due(number):
            checkpoints.write(number, chain.snapshot())
    if checkpoints:
        checkpoints.write(number, chain.snapshot())
    return chain.trace()


def warm_up(tensor: Tensor, target: Target) -> None:
    """Compile what the sampler calls, on factors that are empty and stay so, and cost no time."""
    never = FixedPrior((np.full((1, 1), NEVER),) * len(tensor.shape))
    target = replace(target, prior=never)
    nothing = [np.zeros((size, target.n_components), np.bool_) for size in tensor.shape]
    state = start(nothing)
    for mode in range(len(tensor.shape)):
        tensor.counts(mode, state.factors)
    sweep(tensor, state, target, chain=0)
    small = tensor.cached(target.n_components).miniature()
    if small is not None:
        state = start([np.zeros((size, target.n_components), np.bool_) for size in small.shape])
        for _ in range(2):  # the first counts, the second corrects
            state, _ = sweep(small, state, target, chain=0)


def run_chains(
    tensor: Tensor,
    plan: Plan,
    n_chains: int,
    n_threads: int,
    watch: Callable[[Step], None] = lambda step: None,
    checkpoints: ChainStore | None = None,
) -> tuple[list[Trace], bool]:
    """Run chains side by side, each with its share of the threads.

    Returns their traces, and whether Ctrl-C cut them short. Then only the draws made so far are there; chains
    still in burn-in are left out, unless all are.
    """
    at_once = min(n_chains, n_threads)
    shared = tensor.with_threads(max(1, n_threads // at_once))
    stopped = threading.Event()
    interrupted = False
    futures: list[Future[Trace | None]] = []
    with ThreadPoolExecutor(at_once, thread_name_prefix="tensorm-chain") as pool:
        try:
            for number in range(n_chains):
                futures.append(
                    pool.submit(run_chain, shared, plan, number, watch, stopped.is_set, checkpoints)
                )
            wait(futures, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt:
            interrupted = True
        finally:  # an interrupt, or an error in one chain, ends the others
            stopped.set()
        traces = [trace for future in futures if (trace := future.result()) is not None]
    if interrupted:
        traces = [trace for trace in traces if trace.settled] or traces
        if not traces:
            raise KeyboardInterrupt
    return traces, interrupted
