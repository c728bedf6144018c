"""Rows in parallel: kernels let go of the interpreter lock, so ordinary threads are enough.

Kernels start no threads of their own. That leaves nothing to clash with a fork, with several chains in
several threads, or with another library's thread pool.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="tensorm-rows")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def share_rows(work: Callable[[int, int], T], n_rows: int, n_threads: int) -> list[T]:
    """Call ``work(start, stop)`` on consecutive shares of the rows; the results come in order."""
    n_shares = min(n_threads, n_rows)
    if n_shares <= 1:
        return [work(0, n_rows)]
    edges = [n_rows * i // n_shares for i in range(n_shares + 1)]
    futures = [_pool(n_threads - 1).submit(work, *edges[i : i + 2]) for i in range(1, n_shares)]
    first = work(0, edges[1])
    return [first, *(future.result() for future in futures)]
