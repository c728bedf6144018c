"""Runs killed while they write, or asked to leave: they end as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import numpy as np

import killable
import tensorm
from hostile import kills, races


def test_a_run_killed_while_it_writes_ends_as_if_never_killed(tmp_path: Path) -> None:
    whole = tensorm.TensOrMachine(**killable.SETTINGS).fit(killable.X)
    found = kills.kill_until_it_ends(tmp_path / "run", random.Random(1))
    assert {"SIGKILL aimed", "SIGTERM aimed"} <= set(found)
    kills.check(tmp_path / "run", whole)


def test_a_command_that_is_told_to_leave_says_how_to_go_on(tmp_path: Path) -> None:
    np.save(tmp_path / "cells.npy", races.make_cells(0))
    run, said = tmp_path / "run", tmp_path / "said"
    words = ["fit", str(tmp_path / "cells.npy"), "--out", str(run)]
    words += ["--components", "2", "--noise", "asymmetric", "--draws", "1000000"]  # chains begin at once
    child = races.SERVER.Process(target=races.act, args=(words, 0.0, said))
    child.start()
    while child.is_alive() and not (run / "run.tensorm").exists():
        time.sleep(0.05)
    time.sleep(1.0)
    os.kill(child.pid, signal.SIGTERM)
    child.join()
    assert child.exitcode == 143
    assert f"Stopped. To continue:  tensorm resume {run}" in said.read_text()
    assert sorted(path.name for path in run.glob("*.json")) == ["command.json"]
    assert list(run.glob("chain-*.tensorm"))
    assert json.loads((run / "command.json").read_text())["command"][1:] == words
