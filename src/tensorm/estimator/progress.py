"""Progress on a terminal: one bar per chain with sweep, ones explained, noise and time left.

Quiet when the output is not a terminal. Also announces long runs, and the first compilation of the kernels.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn, track

from tensorm.errors import printable
from tensorm.sampler.sample import Plan, Step, Watch
from tensorm.sampler.search.rounds import choose_rounds
from tensorm.tensors import Tensor
from tensorm.tensors.cached import memory_for_counts

LOG = logging.getLogger("tensorm")
LONG = 60.0  # seconds beyond which a run is announced
Forecast = Callable[[float], str | None]  # what to expect if a sweep takes this many seconds
COMPILING = "Compiling for this processor. This takes a while, but only the first time for this kind of data."


def forecast_run(tensor: Tensor, plan: Plan, n_chains: int, threads: int, seconds: float) -> str | None:
    """Return what to expect of a run if a sweep takes this many seconds, or None if it is short."""
    heated = isinstance(plan.init, str) and plan.init == "data" and plan.effort > 0
    rounds, least = choose_rounds(plan.target)(tensor, plan.target, 0), 2 * plan.target.noise.trend
    if heated:  # and more where rounds find something
        least += rounds.total(max(1, round(rounds.certain * plan.effort)))
    sweeps = plan.n_draws + (least if plan.burn_in is None else plan.burn_in)
    L, at_once = plan.target.n_components, min(n_chains, threads)
    left = seconds * sweeps * -(-n_chains // at_once)
    if left < LONG:
        return None
    draws = n_chains * plan.n_draws * sum(tensor.shape) * L / 8
    peak = tensor.nbytes + draws + at_once * memory_for_counts(tensor, L)
    chains, take = ("1 chain", "takes") if n_chains == 1 else (f"{n_chains} chains", "take")
    return (
        f"{chains} of at least {sweeps} sweeps {take} about {left / 60:.0f} min ({seconds:.1f} s per sweep), "
        f"or less if sweeps get faster as chains settle; peak memory about {peak / 2**20:,.0f} MB."
    )


@contextmanager
def watching(n_chains: int, shown: bool, forecast: Forecast | None = None) -> Iterator[Watch]:
    """Show one bar per chain while the block runs; yields the function that chains report to.

    With a forecast, a long run is announced after its second sweep, on the terminal if there is one, and
    otherwise in the log.
    """
    console = _terminal() if shown else None
    if console is None:
        yield _announcing(forecast, LOG.info)
        return
    columns = (
        TextColumn("chain {task.fields[chain]}"),
        TextColumn("{task.fields[phase]:7}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.fields[of]}"),
        TextColumn("{task.fields[found]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, refresh_per_second=5) as progress:
        waiting: dict[str, Any] = {"total": None, "phase": "waiting", "of": "?", "found": ""}
        bars = [progress.add_task("", chain=chain, **waiting) for chain in range(n_chains)]
        shown_at = [0.0] * n_chains
        announce = _announcing(forecast, lambda told: console.print(told, highlight=False))

        def show(step: Step) -> None:
            now = time.monotonic()
            announce(step)
            if now - shown_at[step.chain] < 0.1 and step.done != step.total:
                return
            shown_at[step.chain] = now
            progress.update(
                bars[step.chain],
                completed=step.done,
                total=step.total,
                phase=step.phase,
                of=step.total or "?",
                found=f"explains {step.confusion.explained:.0%} of the ones  noise {step.state.noise}",
            )

        yield show


def counting(what: str, total: int, shown: bool) -> Iterable[int]:
    """Return the numbers below a total, to go through with a bar on the terminal."""
    console = _terminal() if shown else None
    return track(range(total), what, console=console, transient=True, disable=console is None)


@contextmanager
def announcing_compilation(shown: bool, after: float = 1.0) -> Iterator[None]:
    """Announce that kernels are being compiled if the block takes longer than this many seconds."""
    timer = threading.Timer(after, announce, args=(COMPILING, shown))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def announce(what: str, shown: bool) -> None:
    """Print something on the terminal if there is one, and otherwise write it to the log."""
    console = _terminal() if shown else None
    (console.print if console else LOG.info)(printable(what))


def _announcing(forecast: Forecast | None, tell: Callable[[str], None]) -> Watch:
    """Return a watcher that waits for the second sweep of any chain, and then says what to expect.

    In a resumed run the first chains may be finished already.
    """
    begun: dict[int, float] = {}
    lock = threading.Lock()

    def watch(step: Step) -> None:
        nonlocal forecast
        with lock:
            now = time.monotonic()
            seconds = now - begun.setdefault(step.chain, now)
            if forecast is None or not seconds:
                return
            told, forecast = forecast(seconds), None
        if told is not None:
            tell(told)

    return watch


def _terminal() -> Console | None:
    """Return the terminal, or None; rich calls anything a terminal if FORCE_COLOR is set."""
    console = Console(stderr=True)
    return console if console.is_terminal and console.file.isatty() else None
