"""Chains side by side: draws collected, checkpoints handed to whoever keeps them, kernels compiled.

Ctrl-C, or an error that concerns all chains, turns ``stop()`` true: every chain ends after its current sweep
and returns what it has. A second Ctrl-C gives up at once. A chain that fails by itself ends alone, and the
others keep their numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from tensorm.data.ending import ENDING
from tensorm.errors import InputError, PlainError
from tensorm.model import Confusion
from tensorm.sampler.factor_draws import FactorRecorder
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.sample import DRAWS, Plan, Snapshot, Stop, Watch, sample
from tensorm.sampler.state import FAILED, INCLUDED, STOPPED, State, Trace
from tensorm.sampler.sweep import Target, enter, log_likelihood, log_posterior, sweep
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

TRACE_COLUMNS = ("noise", "density", "confusion", "log_likelihood", "log_posterior")  # of a trace
NEVER = 1e-22  # density at which an entry is 0 without a random number
DAMAGED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # what odd forms raise
T = TypeVar("T")


class TrialStore(Protocol):
    """Where what chains found while they choose is kept by name, as JSON holds it (storage/trials.py)."""

    def read(self, name: str) -> Any:
        """Return what is kept under a name, or None."""

    def write(self, name: str, form: Any) -> None:
        """Keep something, in place of what was there."""

    def due(self, name: str) -> bool:
        """Whether it is time to keep how far a chain has come."""


class Bookmark:
    """How far a chain that chooses has come: kept from time to time, and when it is stopped."""

    def __init__(self, name: str = "", store: TrialStore | None = None) -> None:
        self._name, self._store = name, store
        self._pack: Callable[[], Any] = lambda: None

    def open(self, decode: Callable[[Any], T]) -> T | None:
        """Return what is to go on from, or None for a chain that begins."""
        form = None if self._store is None else self._store.read(self._name)
        return None if form is None else _decode(self._name, form, decode)

    def put(self, pack: Callable[[], Any]) -> None:
        """Come to a place that the chain can go on from; ``pack`` turns it into lists and numbers."""
        self._pack = pack
        if self._store is not None and self._store.due(self._name):
            self.keep()

    def keep(self) -> None:
        """Keep the last place."""
        if self._store is not None and (form := self._pack()) is not None:
            self._store.write(self._name, form)


def _decode(name: str, form: Any, decode: Callable[[Any], T]) -> T:
    try:
        return decode(form)
    except DAMAGED as error:
        remedy = "delete its file to run it again"
        raise InputError(f"The saved result of {name} in run_dir is damaged; {remedy}.") from error


class ChainPool(NamedTuple):
    """How chains are run: how many, in how many threads, who watches them and who remembers them."""

    n_chains: int
    n_threads: int
    watch: Watch = lambda step: None
    store: TrialStore | None = None

    def share(self, tensor: Tensor) -> Tensor:
        """Return the tensor with the threads that are left for each chain's rows."""
        return tensor.with_threads(max(1, self.n_threads // self.n_chains))

    def run(self, work: Callable[[int, Stop], T | None]) -> tuple[list[T], bool]:
        """Call ``work(chain, stop)`` for every chain.

        Returns what they return, without None, and whether Ctrl-C cut them short.
        """
        stopped, interrupted = threading.Event(), False

        def stop() -> bool:  # the KeyboardInterrupt of SIGTERM may be lost, in a callback of some library
            return stopped.is_set() or ENDING.is_set()

        made: dict[int, T] = {}  # by chain, since Ctrl-C while one is handed over would lose its future

        def keep(chain: int) -> None:
            if (found := work(chain, stop)) is not None:
                made[chain] = found

        futures: list[Future[None]] = []
        with ThreadPoolExecutor(
            min(self.n_chains, self.n_threads), thread_name_prefix="tensorm-chain"
        ) as pool:
            try:
                for chain in range(self.n_chains):
                    futures.append(pool.submit(keep, chain))
                wait(futures, return_when=FIRST_EXCEPTION)
            except KeyboardInterrupt:
                interrupted = True
            finally:
                stopped.set()
        interrupted |= ENDING.is_set()
        for future in futures:
            future.result()  # raises what ended it
        return [made[chain] for chain in sorted(made)], interrupted

    def remember(
        self,
        name: str,
        make: Callable[[Bookmark], T | None],
        stop: Stop,
        encode: Callable[[T], Any] = lambda made: made,
        decode: Callable[[Any], T] = lambda form: form,
    ) -> T | None:
        """Return what is made under a name, now or earlier; of what is cut short, the bookmark is kept.

        ``encode`` turns it into lists and numbers, as JSON holds them, and ``decode`` turns them back.
        """
        form = None if self.store is None else self.store.read(name)
        if form is None:
            bookmark = Bookmark(f"{name}-part", self.store)
            made = make(bookmark)
            if made is None or stop():
                bookmark.keep()
                return made
            form = encode(made)
            if self.store is not None:
                self.store.write(name, form)
        return _decode(name, form, decode)


class Recorder:
    """Collects draws and makes a ``Trace`` of them.

    Parameters
    ----------
    target : Target
    draws : Trace, optional
        Draws to go on from.
    """

    def __init__(self, target: Target, draws: Trace | None = None) -> None:
        self._target = target
        self._factors: list[FactorRecorder] = []
        self._rows: list[Any] = []  # of each draw the columns of a trace
        if draws is not None:
            self._factors = [FactorRecorder(target.n_components, factor) for factor in draws.factors]
            self._rows = list(zip(*(getattr(draws, name) for name in TRACE_COLUMNS), strict=True))

    def __len__(self) -> int:
        return len(self._rows)

    def record(self, state: State, confusion: Confusion, log_likelihood: float) -> None:
        """Keep a draw."""
        self._factors = self._factors or [FactorRecorder(self._target.n_components) for _ in state.factors]
        for recorder, masks in zip(self._factors, state.factors, strict=True):
            recorder.record(masks)
        value = log_posterior(self._target, state, log_likelihood)
        self._rows.append((state.noise.row(), state.density, confusion, log_likelihood, value))

    def trace(self, burn_in: int, settled: bool = True) -> Trace:
        """Return the draws kept so far."""
        columns = zip(TRACE_COLUMNS, zip(*self._rows, strict=True), strict=True)
        return Trace(
            factors=tuple(recorder.draws() for recorder in self._factors),
            **{name: np.array(column) for name, column in columns},
            parameters=self._target.noise.parameters,
            n_components=self._target.n_components,
            burn_in=burn_in,
            settled=settled,
        )


class ChainStore(Protocol):
    """Where chains are kept while they run, so that they can go on later (storage/checkpoints.py)."""

    def due(self, number: int) -> bool:
        """Whether it is time to keep a chain."""

    def write(self, number: int, snapshot: Snapshot) -> None:
        """Keep a chain, in place of an older snapshot."""

    def read(self, number: int) -> Snapshot | None:
        """Return the last snapshot of a chain, or None if there is none."""


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

    def record(state: State, confusion: Confusion) -> None:
        recorder.record(state, confusion, log_likelihood(tensor, plan.target, state, confusion))

    def snapshot(at: Snapshot) -> Snapshot:
        return at._replace(draws=recorder.trace(*at.burnt) if at.burnt and recorder else None)

    for step in sample(tensor, plan, number, last, watch, stop):
        last = step.snapshot
        if step.phase == DRAWS:
            record(step.state, step.confusion)
        if checkpoints and checkpoints.due(number):
            checkpoints.write(number, snapshot(last))
    if last is None or not last.state.sweep:
        return None
    if checkpoints:
        checkpoints.write(number, snapshot(last))
    if not recorder:
        record(*sweep(tensor, enter(tensor, plan.target, last.state), plan.target, number))
    return recorder.trace(*(last.burnt or (last.state.sweep, False)))


class Chains(NamedTuple):
    """Chains that were run: the draws of those that are kept, and for each what became of it."""

    traces: list[Trace]
    outcomes: tuple[str, ...]  # INCLUDED, FAILED or STOPPED
    error: Exception | None  # of the first that failed
    interrupted: bool  # by Ctrl-C


def run_chains(
    tensor: Tensor,
    plan: Plan,
    n_chains: int,
    n_threads: int,
    watch: Watch = lambda step: None,
    checkpoints: ChainStore | None = None,
) -> Chains:
    """Run chains side by side, each with its share of the threads.

    If Ctrl-C cuts them short, only the draws made so far are there, and chains still in burn-in are left out,
    unless all are. So is a chain that fails, unless all do; an error with a message for the user, which any
    chain would meet, is raised.
    """
    pool = ChainPool(n_chains, n_threads)
    shared = pool.share(tensor)

    def work(number: int, stop: Stop) -> tuple[int, Trace | Exception] | None:
        try:
            trace = run_chain(shared, plan, number, watch, stop, checkpoints)
        except PlainError:
            raise
        except Exception as error:
            return number, error
        return None if trace is None else (number, trace)

    found, interrupted = pool.run(work)
    errors = {number: made for number, made in found if isinstance(made, Exception)}
    traces = {number: made for number, made in found if isinstance(made, Trace)}
    if interrupted:
        traces = {number: trace for number, trace in traces.items() if trace.settled} or traces
    first = next(iter(errors.values()), None)
    if not traces:
        raise first or KeyboardInterrupt
    outcomes = (INCLUDED if n in traces else FAILED if n in errors else STOPPED for n in range(n_chains))
    return Chains([*traces.values()], tuple(outcomes), first, interrupted)


def warm_up(tensor: Tensor, target: Target) -> None:
    """Compile what the sampler calls, on factors that are empty and stay so, which takes no time."""
    if target.noise.stand_in != target.noise:
        warm_up(tensor, replace(target, noise=target.noise.stand_in))
    target, K = replace(target, prior=LearnedPrior()), len(tensor.shape)
    empty = Factors.empty(tensor.shape, target.n_components)
    state = State(empty, target.noise.start(tensor.shape, target.n_components), (NEVER,) * K, 0)
    for mode in range(K):
        tensor.counts(mode, empty)
    sweep(tensor, state, target, chain=0)
    small = tensor.cached(target.n_components).miniature()
    if small is not None:
        state = state._replace(factors=Factors.empty(small.shape, target.n_components))
        for _ in range(2):  # the first counts, the second corrects
            sweep(small, state, target, chain=0)
