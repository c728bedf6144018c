"""Runs killed while they write, or asked to leave: they end as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

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


def test_a_command_that_is_told_to_leave_again_and_again_ends_as_if_told_once(tmp_path: Path) -> None:
    np.save(tmp_path / "cells.npy", races.make_cells(0))
    run = tmp_path / "run"
    words = [sys.executable, "-m", "tensorm", "fit", str(tmp_path / "cells.npy"), "--out", str(run)]
    words += ["--components", "2", "--noise", "asymmetric", "--draws", "1000000"]
    child = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    while child.poll() is None and not (run / "run.tensorm").exists():
        time.sleep(0.05)
    time.sleep(1.0)
    while child.poll() is None:
        child.send_signal(signal.SIGTERM)
        time.sleep(0.002)
    _, said = child.communicate()
    assert child.returncode == 143
    assert said.endswith(f"Stopped. To continue:  tensorm resume {run}\n")


def tell_to_leave(words: list[str], aim: tuple[str, int, bool], folder: Path) -> str:
    """Send SIGTERM to a command at a moment of writing; return what it says."""
    said = folder / "said"
    child = races.SERVER.Process(target=kills.command, args=(words, aim, said))
    child.start()
    child.join()
    assert child.exitcode == 143
    return said.read_text()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished fit in a file, and the folder of its run beside it."""
    folder = tmp_path_factory.mktemp("saved")
    model = tensorm.TensOrMachine(**killable.SETTINGS | {"n_draws": 5, "burn_in": 5})
    model.fit(killable.X, run_dir=folder / "run").save(folder / "fit.tensorm")
    np.save(folder / "cells.npy", races.make_cells(0))
    return folder


@pytest.mark.parametrize("moment", kills.MOMENTS)
@pytest.mark.parametrize("words", [["run"], ["run", "--out", "page.html"], ["fit.tensorm"]], ids=" ".join)
def test_a_report_that_is_told_to_leave_writes_no_half_page(
    saved: Path, tmp_path: Path, words: list[str], moment: str
) -> None:
    shutil.copytree(saved, tmp_path / "here")
    before = sorted(path.name for path in (tmp_path / "here").rglob("*"))
    words = ["report", *(str(tmp_path / "here" / word) if word[0] != "-" else word for word in words)]
    assert tell_to_leave(words, (moment, 1, True), tmp_path) == "Stopped by SIGTERM.\n"
    assert sorted(path.name for path in (tmp_path / "here").rglob("*")) in (
        before,
        sorted([*before, ".lock"]),
    )


def test_the_next_report_deletes_what_a_killed_one_left(saved: Path, tmp_path: Path) -> None:
    run = shutil.copytree(saved / "run", tmp_path / "run")
    for name in (".report.html.x1.part", ".other.html.x1.part"):
        (run / name).write_text("half a page")
    races.command(["report", str(run)], tmp_path / "said")
    assert [path.name for path in run.glob(".*.part")] == [".other.html.x1.part"]
    assert (run / "report.html").exists()


@pytest.mark.parametrize("number", [1, 3])
def test_a_choice_that_is_told_to_leave_goes_on_when_the_command_is_repeated(
    saved: Path, tmp_path: Path, number: int
) -> None:
    words = ["select", str(saved / "cells.npy"), "--candidates", "1-3", "--json", "--quiet"]
    chosen, whole = tmp_path / "chosen", tmp_path / "whole"
    said = tell_to_leave([*words, "--run-dir", str(chosen)], ("replace", number, False), tmp_path)
    assert said == "Stopped by SIGTERM.\n"
    assert not list(chosen.rglob("*.part"))
    races.command([*words, "--run-dir", str(chosen)], tmp_path / "again")
    races.command([*words, "--run-dir", str(whole)], tmp_path / "at once")
    assert json.loads((tmp_path / "again").read_text()) == json.loads((tmp_path / "at once").read_text())
