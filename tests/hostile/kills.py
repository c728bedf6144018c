"""A run that is killed again and again, at random and at the moments of writing, ends as if never killed.

To kill more often: ``python -m hostile kills 100`` in tests/.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import killable
import tensorm
from forking import SERVER
from hostile import races

MOMENTS = ("replace", "fsync", "chmod")  # of the functions of os that write a file
ENDS = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 143}


def run(folder: Path, aim: tuple[str, int, bool] | None, end: int) -> None:
    """Begin or go on with the run, and die at a moment."""
    if aim is not None:
        take_aim(*aim, end)
    killable.run(folder)


def command(words: list[str], aim: tuple[str, int, bool], said: Path) -> None:
    """Give a command that is told to leave at a moment, and write down what it says."""
    take_aim(*aim, signal.SIGTERM)
    races.act(words, 0.0, said)


def take_aim(moment: str, left: int, before: bool, end: int) -> None:
    """Send oneself a signal at the nth call of a function of os, before or after it."""
    really = getattr(os, moment)

    def shoot(*given: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0 and before:
            os.kill(os.getpid(), end)
        result = really(*given, **named)
        if left == 0 and not before:
            os.kill(os.getpid(), end)
        return result

    setattr(os, moment, shoot)


def kill_until_it_ends(folder: Path, rng: random.Random) -> Counter[str]:
    """Kill the run again and again, later and later, until it ends; count the kills by their kind."""
    kills, seconds = Counter[str](), 0.1
    while True:
        end = rng.choice([signal.SIGKILL, signal.SIGTERM])
        aimed = rng.random() < 0.6 and kills.total() < 12
        aim = (rng.choice(MOMENTS), rng.randint(1, 5), rng.random() < 0.5) if aimed else None
        child = SERVER.Process(target=run, args=(folder, aim, end))
        child.start()
        child.join(60 if aimed else seconds * (0.5 + rng.random()))
        if child.is_alive():
            os.kill(child.pid, end)
        child.join()
        seconds *= 1.15
        if child.exitcode == 0:
            return kills
        early = child.exitcode in (-signal.SIGTERM, 1)  # before the run owned its folder
        assert child.exitcode == ENDS[end] or (end == signal.SIGTERM and early), child.exitcode
        kills[f"{signal.Signals(end).name} {'aimed' if aimed else 'at random'}"] += 1


def check(folder: Path, whole: tensorm.TensOrMachine) -> None:
    """Compare the fit in a folder with one that was never killed, bit by bit."""
    found = tensorm.load(folder)
    for one, other in zip(found.posterior_.chains, whole.posterior_.chains, strict=True):
        for a, b in zip(one.factors, other.factors, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(one.noise, other.noise)
        np.testing.assert_array_equal(one.log_posterior, other.log_posterior)
        assert one.burn_in == other.burn_in
    assert not list(folder.glob(".*.part"))


def main(count: int, first: int = 0) -> tuple[int, int]:
    """Kill at least so often, with seeds from the first on, and print how; raises if a run ends otherwise."""
    whole = tensorm.TensOrMachine(**killable.SETTINGS).fit(killable.X)
    kills, runs = Counter[str](), 0
    while kills.total() < count:
        folder = Path(tempfile.mkdtemp())
        kills += kill_until_it_ends(folder / "run", random.Random(first + runs))
        check(folder / "run", whole)
        shutil.rmtree(folder)
        runs += 1
        print(f"{runs} runs, {kills.total()} kills: {dict(kills)}", flush=True)
    return kills.total(), 0
