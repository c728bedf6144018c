"""The chains of a fit: draws collected, checkpoints handed to whoever keeps them, kernels compiled."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from tensorm.sampler.pool import ChainPool
from tensorm.sampler.prior import FixedPrior
from tensorm.sampler.recorder import Recorder
from tensorm.sampler.sample import DRAWS, Plan, Snapshot, Stop, Watch, follow, sample
from tensorm.sampler.state import Trace
from tensorm.sampler.sweep import Target, start, sweep
from tensorm.tensors.protocol import Tensor

NEVER = -50.0  # log-odds at which an entry is 0 without a random number


class ChainStore(Protocol):
    """Where chains are kept while they run, so that they can go on later (storage/checkpoints.py)."""

    def due(self, number: int) -> bool:
        """Whether it is time to keep a chain."""
        ...

    def write(self, number: int, snapshot: Snapshot) -> None:
        """Keep a chain, in place of an older snapshot."""
        ...

    def read(self, number: int) -> Snapshot | None:
        """Return the last snapshot of a chain, or None if there is none."""
        ...


def run_chain(
    tensor: Tensor,
    plan: Plan,
    number: int,
    watch: Watch = lambda step: None,
    stop: Stop = lambda: False,
    checkpoints: ChainStore | None = None,
) -> Trace | None:
    """Run one chain to its end, or until ``stop()``, from its last checkpoint if there is one.

    A chain that is stopped in burn-in leaves one draw, made by the next sweep; one without time for a sweep
    leaves None.
    """
    last = checkpoints.read(number) if checkpoints else None
    recorder = Recorder(plan.target, last.draws if last else None)

    def snapshot(at: Snapshot) -> Snapshot:
        return at._replace(draws=recorder.trace(*at.burnt) if at.burnt and len(recorder) else None)

    for step in follow(sample(tensor, plan, number, last), watch, stop):
        last = step.snapshot
        if step.phase == DRAWS:
            recorder.record(step.state, step.info)
        if checkpoints and checkpoints.due(number):
            checkpoints.write(number, snapshot(last))
    if last is None or not last.state.sweep:
        return None
    if checkpoints:
        checkpoints.write(number, snapshot(last))
    if not len(recorder):
        recorder.record(*sweep(tensor, last.state, plan.target, number))
    return recorder.trace(*(last.burnt or (last.state.sweep, False)))


def run_chains(
    tensor: Tensor,
    plan: Plan,
    n_chains: int,
    n_threads: int,
    watch: Watch = lambda step: None,
    checkpoints: ChainStore | None = None,
) -> tuple[list[Trace], bool]:
    """Run chains side by side, each with its share of the threads.

    Returns their traces, and whether Ctrl-C cut them short. Then only the draws made so far are there; chains
    still in burn-in are left out, unless all are.
    """
    pool = ChainPool(n_chains, n_threads)
    shared = pool.share(tensor)
    traces, interrupted = pool.run(
        lambda number, stop: run_chain(shared, plan, number, watch, stop, checkpoints)
    )
    if interrupted:
        traces = [trace for trace in traces if trace.settled] or traces
        if not traces:
            raise KeyboardInterrupt
    return traces, interrupted


def warm_up(tensor: Tensor, target: Target) -> None:
    """Compile what the sampler calls, on factors that are empty and stay so, which takes no time."""
    never = FixedPrior((np.full((1, 1), NEVER),) * len(tensor.shape))
    target = replace(target, prior=never)
    nothing = [np.zeros((size, target.n_components), np.bool_) for size in tensor.shape]
    state = start(target, nothing)
    for mode in range(len(tensor.shape)):
        tensor.counts(mode, state.factors)
    sweep(tensor, state, target, chain=0)
    small = tensor.cached(target.n_components).miniature()
    if small is not None:
        state = start(target, [np.zeros((size, target.n_components), np.bool_) for size in small.shape])
        for _ in range(2):  # the first counts, the second corrects
            state, _ = sweep(small, state, target, chain=0)
