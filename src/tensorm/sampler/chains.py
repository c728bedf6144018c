"""Chains: burn-in, draws, and several of them side by side in threads or processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tensorm.sampler.burnin import BurnIn
from tensorm.sampler.state import Recorder, State, SweepInfo, Trace
from tensorm.sampler.sweep import Model, log_posterior, start, sweep
from tensorm.tensors.bits import Bits
from tensorm.tensors.seam import Tensor


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
    model : Model
    n_draws : int
    burn_in : int or None
        Sweeps before the first draw; None: until the log-likelihood stops rising (burnin.py).
    init : "data", "random" or list of Boolean arrays (N_k, L)
        Where chains start (burnin.py).
    """

    model: Model
    n_draws: int
    burn_in: int | None = None
    init: str | Sequence[Bits] = "data"


def run_chain(
    tensor: Tensor,
    plan: Plan,
    chain: int,
    watch: Callable[[Step], None] = lambda step: None,
    stop: Callable[[], bool] = lambda: False,
) -> Trace | None:
    """Run one chain to its end, or until ``stop()``; a chain stopped in burn-in leaves its last state.

    Returns None if there was no time for a single sweep.
    """
    burn_in = BurnIn(tensor, plan.model, chain, plan.init, plan.burn_in)
    state, info = burn_in.start(), None
    while not burn_in.over(state) and not stop():
        state, info = sweep(tensor, state, plan.model, chain)
        state = burn_in.after(state, info)
        watch(Step(chain, "burn-in", state.sweep, plan.burn_in, info))
    settled, sweeps = burn_in.settled(state), state.sweep
    recorder = Recorder(plan.model.n_components)

    def record(state: State, info: SweepInfo) -> None:
        recorder.record(state, info, log_posterior(plan.model, state.factors, info.confusion))

    while len(recorder) < plan.n_draws and not stop():
        state, info = sweep(tensor, state, plan.model, chain)
        record(state, info)
        watch(Step(chain, "draws", len(recorder), plan.n_draws, info))
    if info is None:
        return None
    if not len(recorder):
        record(state, info)
    return recorder.trace(sweeps, settled)


def warm_up(tensor: Tensor, model: Model) -> None:
    """Compile what the sampler calls, on factors that are empty and so cost no time."""
    nothing = [np.zeros((size, model.n_components), np.bool_) for size in tensor.shape]
    sweep(tensor, start(nothing), model, chain=0)


def run_chains(
    tensor: Tensor,
    plan: Plan,
    n_chains: int,
    n_threads: int,
    watch: Callable[[Step], None] = lambda step: None,
) -> tuple[list[Trace], bool]:
    """Run chains side by side, each with its share of the threads.

    Returns their traces, and whether Ctrl-C cut them short. Then only the draws made so far are there; chains
    still in burn-in are left out, unless all are.
    """
    at_once = min(n_chains, n_threads)
    shared = tensor.with_threads(max(1, n_threads // at_once))
    stopped = threading.Event()
    interrupted = False
    with ThreadPoolExecutor(at_once, thread_name_prefix="tensorm-chain") as pool:
        futures = [
            pool.submit(run_chain, shared, plan, chain, watch, stopped.is_set) for chain in range(n_chains)
        ]
        try:
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
