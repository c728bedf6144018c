"""Progress on a terminal: one bar per chain with sweep, accuracy, noise and time left.

Quiet when the output is no terminal. Also says so when kernels are being compiled, which happens once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from tensorm.sampler.chains import Step

LONG = 60.0  # seconds beyond which a run is announced
COMPILING = "Compiling for this processor, once: the next run starts at once."


class Forecast(NamedTuple):
    """What is known of a run before it is long under way."""

    sweeps: int  # of a chain, at least
    at_once: int  # chains side by side
    n_chains: int
    megabytes: float  # held by the cells and the draws

    def tell(self, seconds: float) -> str | None:
        """Say what to expect if a sweep takes so many seconds, or nothing if that is soon over."""
        left = seconds * self.sweeps * -(-self.n_chains // self.at_once)
        if left < LONG:
            return None
        chains = f"{self.n_chains} chain{'s' * (self.n_chains != 1)} of {self.sweeps} sweeps"
        return (
            f"A sweep takes about {seconds:.1f} s: at least {left / 60:.0f} min for {chains}, and "
            f"{self.megabytes:,.0f} MB for cells and draws."
        )


@contextmanager
def watching(
    n_chains: int, shown: bool, forecast: Forecast | None = None
) -> Iterator[Callable[[Step], None]]:
    """Show one bar per chain while the block runs; yields the function that chains report to.

    With a forecast, a run that will take long is announced after its second sweep.
    """
    console = _terminal() if shown else None
    if console is None:
        yield lambda step: None
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
        bars: list[TaskID] = [
            progress.add_task("", total=None, chain=chain, phase="waiting", of="?", found="")
            for chain in range(n_chains)
        ]
        shown_at = [0.0] * n_chains
        begun: list[float] = []

        def show(step: Step) -> None:
            now = time.monotonic()
            if step.chain == 0 and forecast is not None and len(begun) < 2:
                begun.append(now)
                told = forecast.tell(now - begun[0]) if len(begun) == 2 else None
                if told is not None:
                    console.print(told, highlight=False)
            if now - shown_at[step.chain] < 0.1 and step.done != step.total:
                return
            shown_at[step.chain] = now
            noise = f"noise {step.info.noise.hit:.2f}/{step.info.noise.false_alarm:.2f}"
            progress.update(
                bars[step.chain],
                completed=step.done,
                total=step.total,
                phase=step.phase,
                of=step.total or "?",
                found=f"accuracy {step.info.accuracy:.3f}  {noise}",
            )

        yield show


@contextmanager
def ticking(what: str, total: int, shown: bool) -> Iterator[Callable[[], None]]:
    """Show one bar for so many things to do while the block runs; yields the function to call after each."""
    console = _terminal() if shown else None
    if console is None:
        yield lambda: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, refresh_per_second=5) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda: progress.advance(bar)


@contextmanager
def announcing_compilation(shown: bool, after: float = 1.0) -> Iterator[None]:
    """Say that kernels are being compiled if the block takes longer than so many seconds."""
    timer = threading.Timer(after, say, args=(COMPILING, shown))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def say(what: str, shown: bool) -> None:
    """Say something on the terminal if there is one, and else in the log."""
    console = _terminal() if shown else None
    (console.print if console else logging.getLogger("tensorm").info)(what)


def _terminal() -> Console | None:
    """Return where to write if that is a terminal; rich calls it one as well where FORCE_COLOR is set."""
    console = Console(stderr=True)
    return console if console.is_terminal and console.file.isatty() else None
