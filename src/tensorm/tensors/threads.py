"""Rows in parallel: kernels release the interpreter lock, so ordinary threads are enough.

Kernels start no threads of their own. That leaves nothing to clash with a fork, with several chains in
several threads, or with another library's thread pool.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from tensorm.data.checks import check_count

T = TypeVar("T")
MOST_JOBS = 4096


def count_threads(n_jobs: Any) -> int:
    """Return a number of threads: the one given, or for None or -1 the processor cores that may be used."""
    if n_jobs is not None and not (np.isscalar(n_jobs) and n_jobs == -1):
        return check_count("n_jobs", n_jobs, 1, ", or None for all cores", MOST_JOBS)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_rows(work: Callable[[int, int], T], n_rows: int, n_threads: int) -> list[T]:
    """Call ``work(start, stop)`` on consecutive shares of the rows; the results come in order."""
    n_shares = min(n_threads, n_rows)
    if n_shares <= 1:
        return [work(0, n_rows)]
    edges = [n_rows * i // n_shares for i in range(n_shares + 1)]
    helpers = _helpers(n_threads - 1)
    others = [helpers.submit(work, start, stop) for start, stop in pairwise(edges[1:])]
    return [work(0, edges[1]), *(other.result() for other in others)]


@cache
def _helpers(number: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(number, thread_name_prefix="tensorm-rows")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)
