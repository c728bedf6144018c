"""Ctrl-C at a chosen step of a chain, as the main thread would hear it, SIGTERM, and a chain that fails."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from tensorm.sampler.sample import Step


def terminate() -> None:
    """Send SIGTERM to this process, unless nobody listens: that would end the tests, not fail one."""
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL, "nothing handles SIGTERM"
    os.kill(os.getpid(), signal.SIGTERM)


def let_chain_fail(monkeypatch: pytest.MonkeyPatch, chain: int = 1) -> None:
    """Raise an error in one chain of a fit while it draws."""

    def watch(step: Step) -> None:
        if (step.chain, step.phase, step.done) == (chain, "draws", 3):
            raise MemoryError("no room")

    monkeypatch.setattr("tensorm.estimator.machine.watching", lambda *_: nullcontext(watch))


class CtrlC:
    """Comes once, when a chain has made a step of which ``when(step)`` is true."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, when: Callable[[Step], bool]) -> None:
        self.monkeypatch, self.when = monkeypatch, when
        self.pressed, self.heard = threading.Event(), threading.Event()
        monkeypatch.setattr("tensorm.sampler.chains.wait", self._wait)

    def watch_in(self, module: str) -> None:
        """Take the place of the bars that a module of the estimator shows."""
        self.monkeypatch.setattr(f"{module}.watching", self._watching)

    @contextmanager
    def _watching(self, *args: Any) -> Iterator[Callable[[Step], None]]:
        yield self.watch

    def watch(self, step: Step) -> None:
        if self.when(step) and not self.pressed.is_set():
            self.pressed.set()
            self.heard.wait(60)
            time.sleep(0.2)  # until the chains are told

    def _wait(self, futures: Sequence[Future[Any]], return_when: str) -> None:
        """Wait until all are done or one failed, as ``concurrent.futures.wait`` does."""
        while not all(future.done() for future in futures):
            if any(future.done() and future.exception() for future in futures):
                return
            if self.pressed.is_set() and not self.heard.is_set():
                self.heard.set()
                raise KeyboardInterrupt
            time.sleep(0.005)
