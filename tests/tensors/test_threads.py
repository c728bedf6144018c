"""Rows shared out over threads: each row once, in order, at the same time, and also after a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from tensorm.tensors.threads import share_rows


@pytest.mark.parametrize("n_rows", [1, 2, 3, 10, 101])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_every_row_once_and_in_order(n_rows: int, n_threads: int) -> None:
    shares = share_rows(lambda start, stop: list(range(start, stop)), n_rows, n_threads)
    assert [row for share in shares for row in share] == list(range(n_rows))
    assert len(shares) == min(n_rows, n_threads)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_shares_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=60)  # breaks, and raises, unless three get here together
    assert sorted(share_rows(lambda *_: meeting.wait(), 3, 3)) == [0, 1, 2]


@pytest.mark.parametrize("where", [0, 2])
def test_errors_come_through(where: int) -> None:
    def work(start: int, stop: int) -> None:
        if start == where:
            raise RuntimeError(f"row {start}")

    with pytest.raises(RuntimeError, match=f"row {where}"):
        share_rows(work, 3, 3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_gets_threads_of_its_own() -> None:
    """The parent's threads do not exist in the child; waiting for them would hang."""
    script = """
import os, signal
from tensorm.tensors.threads import share_rows
work = lambda start, stop: stop - start
share_rows(work, 2, 2)
child = os.fork()
if child == 0:
    signal.alarm(60)  # a child that hangs is killed
    os._exit(0 if share_rows(work, 5, 2) == [2, 3] else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    assert subprocess.run(command, timeout=180, check=False).returncode == 0
