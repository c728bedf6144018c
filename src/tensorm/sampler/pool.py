"""Work side by side: chains or splits of the cells, in threads, with Ctrl-C and a memory for what is done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, TypeVar

from tensorm.tensors.protocol import Tensor

T = TypeVar("T")
Stop = Callable[[], bool]
Memo = Callable[[str, Callable[[], Any]], Any]  # (name, make) -> what was made under the name, now or earlier


class ChainPool(NamedTuple):
    """How repeats are run: how many, in how many threads, whether bars are shown, and who remembers."""

    n_repeats: int
    n_threads: int
    progress: bool
    memo: Memo = lambda name, make: make()

    @property
    def at_once(self) -> int:
        """Repeats that run at the same time."""
        return min(self.n_repeats, self.n_threads)

    def share(self, tensor: Tensor) -> Tensor:
        """Return the tensor with the threads that are left for each repeat's rows."""
        return tensor.with_threads(max(1, self.n_threads // self.at_once))

    def remember(self, name: str, make: Callable[[], T], encode: Callable[[T], Any], stop: Stop) -> Any:
        """Return what ``encode`` makes of a result, now or earlier; what was cut short is not remembered."""

        def finish() -> Any:
            result = make()
            if stop():
                raise KeyboardInterrupt
            return encode(result)

        return self.memo(name, finish)

    def run(self, work: Callable[[int, Stop], T]) -> list[T]:
        """Call ``work(repeat, stop)`` for every repeat; ``stop()`` turns true on Ctrl-C or an error."""
        stopped = threading.Event()
        with ThreadPoolExecutor(self.at_once, thread_name_prefix="tensorm-choice") as pool:
            try:
                futures = [pool.submit(work, repeat, stopped.is_set) for repeat in range(self.n_repeats)]
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            except KeyboardInterrupt:
                stopped.set()
                raise
            failed = [error for future in done if (error := future.exception()) is not None]
            if failed:
                stopped.set()
                raise failed[0]
        return [future.result() for future in futures]
