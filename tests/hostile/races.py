"""Two processes that want the same folder at the same time: one gets it, the other one sentence.

To try many: ``python -m hostile races 200`` in tests/.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import tensorm
from forking import SERVER
from tensorm import datasets
from tensorm.cli import main as tensorm_command
from tensorm.storage.run import open_run

WORDS = ["--components", "2", "--noise", "asymmetric", "--chains", "2"]
WORDS += ["--draws", "20", "--jobs", "1", "--quiet"]
REFUSED = (
    "is in use by another run",
    "already contains a run",
    "already contains a finished fit",
    "contains no finished fit",
    "contains no run",
    "No such file",
    "No such folder",
)
PAIRS = ("fit fit", "resume resume", "fit report", "fit resume", "report report")


def make_cells(seed: int) -> np.ndarray:
    return datasets.simulate((9, 8, 7), rank=2, density=0.3, noise=0.1, random_state=seed).observed


def act(words: list[str], at: float, said: Path) -> None:
    """Give a command at a moment, in a process of its own, and write down what it says."""
    with open(said, "w") as file:
        sys.stdout = sys.stderr = file
        time.sleep(max(0, at - time.time()))
        tensorm_command(words)


def race(pair: str, folder: Path, rng: random.Random) -> list[tuple[int, str]]:
    """Let two commands loose on a folder, and return their exit codes and what they said."""
    run = folder / "run"
    for number in (0, 1):
        np.save(folder / f"cells-{number}.npy", make_cells(number))
    first, second = pair.split()
    if "fit" not in pair:
        command(["fit", str(folder / "cells-0.npy"), "--out", str(run), *WORDS], folder / "before")
        if first == "resume":
            (run / "fit.tensorm").unlink()
            (run / f"chain-{rng.randrange(2)}.tensorm").unlink()
    at, children = time.time() + 0.2, []
    for number, verb in enumerate((first, second)):
        words = {
            "fit": ["fit", str(folder / f"cells-{number}.npy"), "--out", str(run), *WORDS],
            "resume": ["resume", str(run), "--quiet"],
            "report": ["report", str(run), "--quiet"],
        }[verb]
        delay = at + number * rng.choice([0, 0, 0.01, 0.05, 0.2, 0.4])
        said = folder / f"said-{number}"
        children.append((SERVER.Process(target=act, args=(words, delay, said)), said))
    for child, _ in children:
        child.start()
    for child, _ in children:
        child.join()
    return [(child.exitcode, said.read_text()) for child, said in children]


def command(words: list[str], said: Path) -> None:
    child = SERVER.Process(target=act, args=(words, 0.0, said))
    child.start()
    child.join()
    assert child.exitcode == 0, said.read_text()


def judge(pair: str, folder: Path, ends: list[tuple[int, str]]) -> str:
    """Check that the folder is one owner's, and return how the two ended."""
    run = folder / "run"
    for code, said in ends:
        assert code in (0, 2), said
        refused = code == 2 and said.count("\n") == 1 and any(words in said for words in REFUSED)
        assert code == 0 or refused, said
    assert any(code == 0 for code, _ in ends), ends
    given = json.loads((run / "command.json").read_text())["command"][2]
    cells = open_run(run, tensorm.TensOrMachine._get_param_names()).tensor
    assert cells.digest() == tensorm.read(np.load(given)).digest(), "the cells are those of another command"
    if not (run / "fit.tensorm").exists():
        return "unfinished"
    fitted = tensorm.load(run)  # which compares the digests of the run and of the fit
    again = tensorm.TensOrMachine(
        2, n_chains=2, n_draws=20, n_jobs=1, random_state=0, noise="asymmetric", progress=False
    )
    expected = again.fit(np.load(given)).predict_proba()
    np.testing.assert_array_equal(fitted.predict_proba(), expected)
    assert not list(run.glob(".*.part"))
    return f"{pair}: {sum(code == 0 for code, _ in ends)} of 2 went through"


def main(count: int, first: int = 0) -> tuple[int, int]:
    """Race so often, with seeds from the first on, and print how the races ended; raises if one is mixed."""
    found = Counter[str]()
    for number in range(first, first + count):
        folder = Path(tempfile.mkdtemp())
        pair = PAIRS[number % len(PAIRS)]
        found[judge(pair, folder, race(pair, folder, random.Random(number)))] += 1
        shutil.rmtree(folder)
        if number % 20 == 19:
            print(number + 1 - first, dict(found), flush=True)
    return found.total(), 0
