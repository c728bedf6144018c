"""Progress on a terminal: one bar per chain with sweep, accuracy, noise and time left.

Quiet when the output is no terminal. Also says so when kernels are being compiled, which happens once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from tensorm.sampler.chains import Step

COMPILING = "Compiling for this processor, once: the next run starts at once."


@contextmanager
def watching(n_chains: int, shown: bool) -> Iterator[Callable[[Step], None]]:
    """Show one bar per chain while the block runs; yields the function that chains report to."""
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

        def show(step: Step) -> None:
            now = time.monotonic()
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
