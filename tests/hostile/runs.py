"""Folders of runs, and what may happen to their files between a stop and the next start.

``make_samples`` writes one folder for each kind of run; ``mutate`` damages or forges one file of a copy, by a
seed; ``use`` then does with the folder what a user would do. To try many:
``python -m hostile runs 5000 0`` in tests/, with the number of cases and the first seed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from click.testing import CliRunner

import forge
import tensorm
from hostile import child
from interrupting import CtrlC
from tensorm import RelationalTensor, SparseTensor, TensOrMachine, datasets, select_components
from tensorm.cli import main as main_command
from tensorm.estimator import load
from tensorm.sampler.chains import run_chain
from tensorm.sampler.sample import Step
from tensorm.selection.counting import COUNTING
from tensorm.selection.occam import PRUNING
from tensorm.storage.checkpoints import Checkpoints
from tensorm.storage.run import digest_run

X = datasets.simulate((7, 6, 5), rank=2, density=0.4, noise=0.1, random_state=0).observed
PAIRS = np.where(np.eye(6), np.nan, (X[:, :, :1] == 1) | (X[:, :, :1] == 1).swapaxes(1, 2))
SETTINGS: Any = {"n_chains": 2, "n_draws": 6, "burn_in": 6, "random_state": 3, "n_jobs": 1, "progress": False}
NAMED = xarray.DataArray(
    X,
    dims=("gene", "day", "who"),
    coords={
        "gene": [*"abcdef", "\u00d6sterreich"],
        "day": np.array(
            ["2020-01-01", "NaT", "1969-12-31", "2020-01-02", "2021-05-05", "2022-01-01"], "M8[D]"
        ),
        "who": np.array([1, "x", None, (1, "y"), 2.5], object),
    },
)
TIED = SETTINGS | {"noise": "asymmetric", "symmetric": (1, 2), "n_jobs": 2}
REPEATS: Any = {"n_repeats": 2, "n_jobs": 2}
CHOICES = {  # stopped selections by their methods; None for a fit that chooses
    "choice-fit": None,
    "choice-occam": "occam",
    "choice-pruning": "occam",
    "choice-counting": "posterior",
    "choice-cv": "cv",
    "choice-published": "occam-published",
}
LATE: dict[str, Callable[[Step], bool]] = {  # where those are stopped that have more than burn-in
    "choice-pruning": lambda step: step.phase == PRUNING and step.done > 2,
    "choice-counting": lambda step: step.phase == COUNTING and step.state.sweep > 200,
}
METADATA = {"mode 1": {"mode 1": [0, 1, 2, 3, 4, 5], "age": [1, 2, None, 4, 5, 6]}}
PATIENCE = 4.0  # seconds of processor time after which the user of a run that goes on and on presses Ctrl-C
PLACES = (
    *(
        ".lock",
        ".chain-0.tensorm.x.part",
        ".fit.tensorm.x.part",
        "chain-0.tensorm",
        "chain-7.tensorm",
        "choice",
    ),
    *("fit.tensorm", "run.nc", "fit.nc", "report.html", "selection.json", "metadata.json", "command.json"),
)


def make_samples(folder: Path) -> list[Path]:
    """Write a run of each kind: stopped ones, with and without a choice, and finished ones."""
    rng = np.random.default_rng(0)
    init = [rng.random((size, 3)) < 0.5 for size in X.shape]
    kinds: dict[str, Callable[[Path], Any]] = {
        "dense": lambda path: TensOrMachine(3, noise="asymmetric", **SETTINGS).fit(X, run_dir=path),
        "given": lambda path: TensOrMachine(
            3, noise="asymmetric", init=init, factor_prior=0.3, **SETTINGS
        ).fit(X, run_dir=path),
        "sparse": lambda path: TensOrMachine(2, noise="symmetric", **SETTINGS).fit(
            SparseTensor(np.argwhere(X == 1), X.shape), run_dir=path
        ),
        "relational": lambda path: TensOrMachine(2, **SETTINGS).fit(
            RelationalTensor(rng.integers(4, size=(6, 5)).astype(float)), run_dir=path
        ),
        "active": lambda path: TensOrMachine(3, noise="strengths", **SETTINGS).fit(X, run_dir=path),
        "tied": lambda path: TensOrMachine(3, noise="strengths", symmetric=(1, 2), **SETTINGS).fit(
            PAIRS, run_dir=path
        ),
        "hot": lambda path: TensOrMachine(
            3, noise="strengths", **SETTINGS | {"burn_in": "auto", "effort": 0.1}
        ).fit(X, run_dir=path),
        "constant": lambda path: TensOrMachine(
            2, noise="strengths", background="constant", symmetric=(1, 2), **SETTINGS
        ).fit(PAIRS, run_dir=path),
        "listed": lambda path: TensOrMachine(2, noise="strengths", **SETTINGS).fit(
            SparseTensor(np.argwhere(X == 1), X.shape), run_dir=path
        ),
        "named": lambda path: TensOrMachine(2, noise="auto", **SETTINGS).fit(NAMED, run_dir=path),
        "auto": lambda path: TensOrMachine("auto", noise="asymmetric", **SETTINGS).fit(X, run_dir=path),
    }
    for name, make in kinds.items():
        make(folder / name)
    copies = {"choosing": "auto", "done": "auto", "done-active": "active", "done-tied": "tied"}
    copies |= {"done-named": "named", "done-relational": "relational"}
    for copy, name in copies.items():
        shutil.copytree(folder / name, folder / copy)
    for name in kinds:
        (folder / name / "fit.tensorm").unlink()
    for name, sweeps in {"dense": 4, "active": 9, "tied": 8, "hot": 215}.items():
        stop_after(sweeps, folder / name)
    for path in (folder / "choosing").glob("*"):
        if path.name not in ("run.tensorm", "choice"):
            path.unlink()
    next((folder / "choosing" / "choice").glob("counts-*")).unlink()
    (folder / "done" / "metadata.json").write_text(json.dumps(METADATA))
    command = {"command": ["tensorm", "fit", "x.csv"]}
    (folder / "done" / "command.json").write_text(json.dumps(command))
    begin_choices(folder)
    samples = [folder / name for name in (*kinds, *copies, *CHOICES)]
    for sample in samples:  # compiles what resuming needs, so that no user loses patience with that
        shutil.copytree(sample, folder / "tried")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            go_on(folder / "tried", sample.name)
        shutil.rmtree(folder / "tried")
    return samples


def begin_choices(folder: Path) -> None:
    """Stop choices of every kind, so that chains leave bookmarks."""
    for name, method in CHOICES.items():
        with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
            press = CtrlC(patch, LATE.get(name, lambda step: step.state.sweep >= 4))
            if method is None:
                press.watch_in("tensorm.estimator.machine")
                TensOrMachine("auto", **TIED).fit(PAIRS, run_dir=folder / name)
            else:
                press.watch_in("tensorm.estimator.select")
                select_components(X, method, [2, 4], **REPEATS, run_dir=folder / name)
        assert list((folder / name).rglob("*-part.json")), name


def go_on(folder: Path, name: str) -> None:
    """Resume what is in a folder, which has the name of a sample."""
    if CHOICES.get(name) is None:
        tensorm.resume(folder, progress=False)
    else:
        select_components(X, CHOICES[name], [2, 4], **REPEATS, run_dir=folder, progress=False)


def stop_after(sweeps: int, folder: Path) -> None:
    """Write the checkpoints of a run anew, as if it had been stopped after so many sweeps."""
    _, tensor, plan = load._reopen(folder, None)
    for number in range(SETTINGS["n_chains"]):
        checkpoints = Checkpoints(folder, digest_run(folder), tensor, plan)
        (folder / f"chain-{number}.tensorm").unlink()
        left = iter([False] * sweeps)
        run_chain(tensor, plan, number, stop=partial(next, left, True), checkpoints=checkpoints)


def use(argument: str) -> None:
    """Resume the run in a folder, load it and report it; a user with little patience presses Ctrl-C."""
    folder = Path(argument)
    name = folder.name.rpartition("-")[0]

    def lose_patience(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGPROF, lose_patience)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        with suppress(KeyboardInterrupt), warnings.catch_warnings():
            for own in ("Stopped by Ctrl-C", "The log-likelihood of"):  # of one sentence
                warnings.filterwarnings("ignore", own)
            go_on(folder, name)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if folder.name.startswith("done"):
            model = tensorm.load(folder)
            for method in ("predictive", "mean", "map", "best"):
                model.predict(method=method)
            repr(model.to_datatree())
            for words in (["show"], ["members"], ["report"], ["predict", "--of", model.modes_[0], "0"]):
                command(words[0], str(folder), *words[1:])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def command(*words: str) -> None:
    """Give a command that may refuse in one sentence."""
    found = CliRunner().invoke(main_command, words)
    if found.exit_code not in (0, 2) or found.output.count("Error: ") != (found.exit_code == 2):
        raise found.exception or AssertionError(found.output[-300:])


def mutate(folder: Path, samples: list[Path], rng: random.Random) -> str:
    """Damage or forge one file of a folder, and say what was done."""
    path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"))
    ways = [_flip, _cut, _splice, _other, _strange, _add] + [_forge] * 5
    way = rng.choice(ways)
    what = way(path, samples, rng)
    return f"{way.__name__} {path.relative_to(folder)} {what}"


def _flip(path: Path, _: Any, rng: random.Random) -> str:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 3, 30])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    sealed = path.suffix == ".tensorm" and rng.random() < 0.6
    path.write_bytes(forge.seal(bytes(content)) if sealed else bytes(content))
    return "sealed" * sealed


def _cut(path: Path, _: Any, rng: random.Random) -> str:
    content = path.read_bytes()
    start = rng.randrange(len(content))
    path.write_bytes(content[start:] if rng.random() < 0.3 else content[:start])
    return str(start)


def _splice(path: Path, samples: list[Path], rng: random.Random) -> str:
    ours, theirs = path.read_bytes(), rng.choice(_alike(path, samples)).read_bytes()
    at, to = rng.randrange(len(ours)), rng.randrange(len(theirs))
    both = ours[:at] + theirs[to:]
    path.write_bytes(forge.seal(both) if path.suffix == ".tensorm" and len(both) > 64 else both)
    return f"{at} {to}"


def _other(path: Path, samples: list[Path], rng: random.Random) -> str:
    """Put a file of another run, or of another chain, in its place."""
    other = rng.choice(_alike(path, samples))
    content = other.read_bytes()
    if path.suffix == ".tensorm" and rng.random() < 0.5:  # and say that it belongs here
        parts, mine = forge.Parts(content), forge.Parts(path.read_bytes())
        for name in ("run", "chain", "format"):
            if name in mine.about:
                parts.about[name] = mine.about[name]
        content = parts.join()
    path.write_bytes(content)
    return str(other)


def _strange(path: Path, _: Any, rng: random.Random) -> str:
    """Put something else than a file in its place, or a file of something else."""
    outside = next(folder for folder in (parent / "outside" for parent in path.parents) if folder.is_dir())
    away = outside / f"{path.parent.name}-{path.name}"
    content = path.read_bytes()
    path.unlink()
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    things: dict[str, Callable[[], Any]] = {
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "loop": lambda: path.symlink_to(path),
        "link": lambda: path.symlink_to(away),
        "moved": lambda: (away.write_bytes(content), path.symlink_to(away)),
        "device": lambda: path.symlink_to("/dev/zero"),
        "empty": lambda: path.write_bytes(b""),
        "deep": lambda: path.write_bytes(deep),
        "latin": lambda: path.write_bytes(b'{"a": "\xe9\xff"}'),
        "text": lambda: path.write_bytes(b"[1, 2]"),
        "number": lambda: path.write_bytes(b"9" * 10_000),
    }
    name = rng.choice(sorted(things))
    things[name]()
    return name


def _add(path: Path, samples: list[Path], rng: random.Random) -> str:
    """Put something strange where a run looks for a file, or will write one."""
    place = path.parent / rng.choice(PLACES)
    if place.is_dir():
        shutil.rmtree(place)
    if not place.exists():
        place.write_bytes(b"{}")
    return f"{place.name} {_strange(place, samples, rng)}"


def _forge(path: Path, samples: list[Path], rng: random.Random) -> str:
    """Change what a file says, with every checksum put right."""
    if path.suffix != ".tensorm":
        form = json.loads(path.read_bytes())
        said = forge.say_something_odd(form, rng)
        path.write_text(json.dumps(form))
        return said
    parts = forge.Parts(path.read_bytes())
    said = ""
    for _ in range(rng.choice([1, 1, 2])):
        way = rng.random()
        name = rng.choice(sorted(parts.members)).removesuffix(".npy")
        if name.startswith("mode_") and way < 0.8:
            labels = forge.strange_labels(parts.about["shape"][int(name[5:])])
            label = rng.choice(sorted(labels))
            forge.relabel(parts, int(name[5:]), *labels[label])
            said += f"{name} {label} "
            break
        if way < 0.4:
            said += forge.say_something_odd(parts.about, rng)
        elif way < 0.75:
            said += f"{name} {_change_numbers(parts, name, rng)} "
        elif way < 0.9:
            array = parts.read(name)
            shape = [size + rng.choice([-1, 0, 1, 0, 10**6, 2**40]) for size in array.shape]
            parts.say(name, shape=tuple(shape), descr=rng.choice([array.dtype.str, "<i8", "|O", "<U1"]))
            said += f"header {name} {shape} "
            break
        elif len(parts.members) > 1:
            other = rng.choice(sorted(parts.members))
            parts.members[f"{name}.npy"] = parts.members[other]
            if rng.random() < 0.3:
                del parts.members[other]
            said += f"{name} from {other} "
            break
    path.write_bytes(parts.join())
    return said


def _change_numbers(parts: forge.Parts, name: str, rng: random.Random) -> str:
    array = parts.read(name)
    if array.size == 0 or array.dtype.kind not in "iufb" or rng.random() < 0.2:
        array = np.resize(array, [max(0, size + rng.choice([-1, 0, 1, 3])) for size in array.shape])
        parts.write(name, array)
        return f"shape {array.shape}"
    small = [5e-324, 1e-12, 0.5, 1 - 1e-12, 1e3]
    value = rng.choice([0, 1, -1, 2, *small, np.nan, np.inf, -np.inf, 1e308, 2**62, 255, 2**64 - 1])
    where = rng.randrange(array.size) if rng.random() < 0.7 else slice(None)
    with np.errstate(all="ignore"):
        array.reshape(-1)[where] = np.array([value]).astype(array.dtype)[0]
    parts.write(name, np.flip(array, -1).copy() if array.ndim and rng.random() < 0.15 else array)
    return f"[{where}]={value}"


def _alike(path: Path, samples: list[Path]) -> list[Path]:
    """Return the files with this ending in all samples."""
    return sorted(other for sample in samples for other in sample.rglob(f"*{path.suffix}"))


def make_cases(folder: Path, samples: list[Path], seeds: range) -> tuple[list[str], list[str]]:
    """Return the folders of mutated runs, and what was done to each."""
    made, told = [], []
    (folder.parent / "outside").mkdir(exist_ok=True)
    for seed in seeds:
        rng = random.Random(seed)
        sample = rng.choice(samples)
        copy = folder / f"{sample.name}-{seed}"
        shutil.copytree(sample, copy)
        told.append(mutate(copy, samples, rng))
        made.append(str(copy))
    return made, told


def main(count: int, first: int = 0) -> tuple[int, int]:
    """Try so many cases, print those that no user may meet, and return how many there were of both."""
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples, kinds = make_samples(folder / "samples"), Counter[str]()
        for start in range(first, first + count, 200):
            seeds = range(start, min(start + 200, first + count))
            cases, told = make_cases(folder / f"cases-{start}", samples, seeds)
            for case, what, outcome in zip(
                cases, told, child.run("hostile.runs:use", cases, folder / "outside"), strict=True
            ):
                kinds[outcome.kind] += 1
                if not outcome.accepted:
                    bad += 1
                    print(Path(case).name, what, outcome.kind, outcome.message, flush=True)
            shutil.rmtree(folder / f"cases-{start}")
            print(start + 200, dict(kinds), flush=True)
    return kinds.total(), bad
