"""Runs killed while they write, or asked to leave: they end as if nothing had happened."""

from __future__ import annotations

import random
from pathlib import Path

import killable
import tensorm
from hostile import kills


def test_a_run_killed_while_it_writes_ends_as_if_never_killed(tmp_path: Path) -> None:
    whole = tensorm.TensOrMachine(**killable.SETTINGS).fit(killable.X)
    found = kills.kill_until_it_ends(tmp_path / "run", random.Random(1))
    assert {"SIGKILL aimed", "SIGTERM aimed"} <= set(found)
    kills.check(tmp_path / "run", whole)
