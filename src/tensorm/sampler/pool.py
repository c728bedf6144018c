"""Chains side by side in threads, with one rule for Ctrl-C and a memory for what is done.

Ctrl-C, or an error in one chain, turns ``stop()`` true: every chain ends after its current sweep and returns
what it has. A second Ctrl-C gives up at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, TypeVar

from tensorm.sampler.sample import Stop, Watch
from tensorm.tensors.protocol import Tensor

T = TypeVar("T")
Memo = Callable[[str, Callable[[], Any]], Any]  # (name, make) -> what was made under the name, now or earlier


class CutShortError(Exception):
    """A result is not whole, so it must not be remembered."""


class ChainPool(NamedTuple):
    """How chains are run: how many, in how many threads, who watches them and who remembers them."""

    n_chains: int
    n_threads: int
    watch: Watch = lambda step: None
    memo: Memo = lambda name, make: make()

    @property
    def at_once(self) -> int:
        """Chains that run at the same time."""
        return min(self.n_chains, self.n_threads)

    def share(self, tensor: Tensor) -> Tensor:
        """Return the tensor with the threads that are left for each chain's rows."""
        return tensor.with_threads(max(1, self.n_threads // self.at_once))

    def run(self, work: Callable[[int, Stop], T | None]) -> tuple[list[T], bool]:
        """Call ``work(chain, stop)`` for every chain.

        Returns what they return, without None, and whether Ctrl-C cut them short.
        """
        stopped, interrupted = threading.Event(), False
        futures: list[Future[T | None]] = []
        with ThreadPoolExecutor(self.at_once, thread_name_prefix="tensorm-chain") as pool:
            try:
                for chain in range(self.n_chains):
                    futures.append(pool.submit(work, chain, stopped.is_set))
                wait(futures, return_when=FIRST_EXCEPTION)
            except KeyboardInterrupt:
                interrupted = True
            finally:
                stopped.set()
        return [made for future in futures if (made := future.result()) is not None], interrupted

    def remember(
        self,
        name: str,
        make: Callable[[], T | None],
        stop: Stop,
        encode: Callable[[T], Any] = lambda made: made,
        decode: Callable[[Any], T] = lambda form: form,
    ) -> T | None:
        """Return what is made under a name, now or earlier; what was cut short is returned, but not kept.

        ``encode`` turns it into lists and numbers, as JSON holds them, and ``decode`` turns them back.
        """
        made: T | None = None

        def finish() -> Any:
            nonlocal made
            made = make()
            if made is None or stop():
                raise CutShortError
            return encode(made)

        try:
            return decode(self.memo(name, finish))
        except CutShortError:
            return made
