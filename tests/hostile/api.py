"""Bad values for every parameter of every public name: each call must end in a result or in one sentence.

``list_cases()`` finds the public names by itself (``hostile.good``), their public methods, and every option
of every command. A method without parameters is called as it is.

    PYTHONPATH=src:tests python -m hostile.api            # all calls, some minutes
    PYTHONPATH=src:tests python -m hostile.api plot       # those whose text matches
"""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import os
import platform
import random
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import distributed
import matplotlib.pyplot
import numpy as np
from click.testing import CliRunner

import tensorm
from hostile import child
from hostile.good import (
    GOOD,
    MADE,
    QUICK,
    STRONG,
    cells,
    folder,
    list_public,
    list_verbs,
    run_folder,
    strong,
)
from tensorm import baselines
from tensorm.cli import main as tensorm_command

matplotlib.pyplot.switch_backend("Agg")  # its first import looks for fonts, with another program
platform.processor()  # a cluster asks for this and that, which starts a program and opens a socket at first
distributed.utils.get_ip()
BAD: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-1": lambda: -1,
    "0": lambda: 0,
    "10**9": lambda: 10**9,
    "10**30": lambda: 10**30,
    "10**400": lambda: 10**400,
    "1e308": lambda: 1e308,
    "2.5": lambda: 2.5,
    "''": lambda: "",
    "'nix'": lambda: "nix",
    "lone surrogate": lambda: "\udc80",
    "escape": lambda: "\x1b[31mred\n",
    "zero byte": lambda: "a\0b",
    "b'x'": lambda: b"x",
    "[]": lambda: [],
    "{}": lambda: {},
    "[None]": lambda: [None],
    "{0: 5}": lambda: {0: 5},
    "{'nix': []}": lambda: {"nix": []},
    "(1e308, 1e308)": lambda: (1e308, 1e308),
    "object": object,
    "function": lambda: len,
    "folder": lambda: Path(tempfile.mkdtemp(dir=folder())),
    "range(10**12)": lambda: range(10**12),
    "endless": itertools.count,
    "[1] * 100": lambda: [1] * 100,
    "[[1], [2, 3]]": lambda: [[1], [2, 3]],
    "flat array": lambda: np.array(5),
    "small array": lambda: np.zeros((3, 1, 2)),
    "array of objects": lambda: np.array([None, "a", object()], object),
    "huge array": lambda: np.broadcast_to(np.int8(0), (10**6,) * 3),
}
TEXTS = {
    **{
        name: name
        for name in ("nan", "inf", "-1", "0", "1000000000", "1" + "0" * 30, "1e308", "nix", "1,2", "=x")
    },
    "empty": "",
    "lone surrogate": "\udc80",
    "escape": "\x1b[31mred",
    "folder": tempfile.gettempdir(),
    "long": "x" * 300,
    "mode=nix": "i=nix.csv",
}
SENSELESS = {"self", "y"}  # of no consequence
MORE = {  # parameters that a signature does not name
    "DaskTensor.from_array": ("modes", "labels", "timeout"),
    "DaskTensor.from_zarr": ("modes", "labels", "timeout"),
    "DaskTensor.from_table": ("labels", "timeout"),
    "TensOrMachine.fit": ("modes", "value", "bins", "nothing"),
    "TensOrMachine.plot": ("groups", "order"),
    "select_components": ("modes", "threshold", "nothing"),
}


class Case(NamedTuple):
    """One call: a function with good arguments, and one bad value among them."""

    door: str
    parameter: str
    bad: str
    call: Callable[[], Any]

    def __str__(self) -> str:
        return f"{self.door}({self.parameter}={self.bad})"


def list_cases() -> list[Case]:
    """Return every case, always in the same order."""
    return [case for door, call, wrong in _doors() for case in _cases(door, call, wrong)] + list(_commands())


def _cases(door: str, call: Callable[..., Any], wrong: dict[str, Callable[[], Any]]) -> Iterator[Case]:
    parameters = inspect.signature(call).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    named += [inspect.Parameter(name, named[0].KEYWORD_ONLY, default=None) for name in MORE.get(door, ())]
    needed = {p.name for p in named if p.default is p.empty}
    values = {name: GOOD.get(f"{door} {name}") or GOOD[name] for name in needed}
    tried = [parameter for parameter in named if parameter.name not in SENSELESS]
    if not tried:
        yield Case(door, "", "", partial(_call, call, values))
    for parameter in tried:
        for bad in wrong:
            yield Case(door, parameter.name, bad, partial(_call, call, values | {parameter.name: wrong[bad]}))


def _call(call: Callable[..., Any], values: dict[str, Callable[[], Any]]) -> Any:
    return call(**{name: make() for name, make in values.items()})


def _doors() -> Iterator[tuple[str, Callable[..., Any], dict[str, Callable[[], Any]]]]:
    """Yield the name of each door, the function, and the bad values."""
    for name, thing in list_public().items():
        if inspect.isclass(thing):
            yield from ((f"{name}.{verb}", call, BAD) for verb, call in _verbs(thing, MADE[thing.__name__]))
        else:
            yield name, thing, BAD
    for kind, made in ((tensorm.TensOrMachine, strong), (tensorm.Posterior, lambda: strong().posterior_)):
        for verb, call in _verbs(kind, made):
            yield f"{kind.__name__}.{verb} with strengths", call, BAD
    for name, kind, settings in (
        ("TensOrMachine", tensorm.TensOrMachine, QUICK),
        ("TensOrMachine with strengths", tensorm.TensOrMachine, STRONG),
        ("TensOrMachine until it settles", tensorm.TensOrMachine, QUICK | {"burn_in": "auto"}),
        ("TensOrMachine that chooses", tensorm.TensOrMachine, QUICK | {"n_components": "auto"}),
        ("BooleanALS", baselines.BooleanALS, {"n_components": 2, "n_init": 1, "random_state": 0}),
        ("WalkNMerge", baselines.WalkNMerge, {"random_state": 0}),
    ):
        yield name, _with_signature(kind, partial(_fit, kind, settings)), BAD


def _verbs(kind: type, made: Callable[[], Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the constructor of a tensor, and the public methods of an object of a class."""
    if issubclass(kind, tensorm.tensors.Tensor):
        yield "__init__", kind
    for verb in list_verbs(kind):
        yield verb, _with_signature(getattr(kind, verb), partial(_bound, made, verb))


def _bound(made: Callable[[], Any], verb: str, /, **arguments: Any) -> Any:
    arguments.pop("self", None)
    return getattr(made(), verb)(**arguments)


def _fit(kind: type, settings: dict[str, Any], /, **given: Any) -> Any:
    return kind(**settings | given).fit(cells())


def _with_signature(like: Callable[..., Any], call: partial[Any]) -> Callable[..., Any]:
    call.__signature__ = inspect.signature(like)  # type: ignore[attr-defined]
    return call


def _commands() -> Iterator[Case]:
    """Yield a bad text for every option and argument of every command."""
    for words, command in _walk((), tensorm_command):
        for part in command.params:
            for bad, text in TEXTS.items() if not getattr(part, "is_flag", False) else ():
                name = f"tensorm {' '.join(words)}"
                yield Case(name, part.opts[0], bad, partial(_invoke, words, command, part, text))


def _walk(words: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _walk((*words, name), command.get_command(context, name))
    elif words != ("demo",):  # it draws and writes a report, with no argument of interest
        yield words, command


def _good_word(name: str | None) -> Any:
    if name == "file":
        return run_folder().parent / "cells.csv"
    if name == "name":
        return "ward"
    return run_folder() if name == "folder" else "out.npz"


def _invoke(words: Sequence[str], command: click.Command, bad: click.Parameter, text: str) -> None:
    """Run a command with one bad word; its arguments come first, then its options."""
    line = list(words)
    for part in sorted(command.params, key=lambda part: isinstance(part, click.Option)):
        if part is bad or part.required:
            line += [part.opts[0]] * isinstance(part, click.Option)
            line += [text] * part.nargs if part is bad else [str(_good_word(part.name))]
    if words == ("predict",) and bad.name not in ("of", "cells"):  # one of them is required
        line += ["--of", "i", "0"]
    found = CliRunner().invoke(tensorm_command, line)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    if found.exit_code == 2 and "Error: " in found.output:
        raise tensorm.InputError(found.output.partition("Error: ")[2].strip())
    if found.exit_code:
        raise AssertionError(f"exit code {found.exit_code}: {found.output[-300:]}")


@cache
def _numbered() -> list[Case]:
    return list_cases()


def call(argument: str) -> None:
    """Make the call of a case, given as "case/number", and read what it returns."""
    os.environ["TENSORM_DATA"] = "/no/such/folder"  # nothing is downloaded
    case = _numbered()[int(argument.rpartition("/")[2])]
    place = tempfile.mkdtemp(dir=folder())
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(place):
        warnings.simplefilter("ignore")
        result = case.call()
        for part in itertools.islice(result, 3) if inspect.isgenerator(result) else [result]:
            repr(part)
            str(part)


def pick(n: int, seed: int = 0) -> list[int]:
    """Return the numbers of some cases: at least one for every parameter, if there are as many."""
    cases = _numbered()
    order = random.Random(seed).sample(range(len(cases)), len(cases))
    first: dict[tuple[str, str], int] = {}
    for number in order:
        first.setdefault((cases[number].door, cases[number].parameter), number)
    rest = [number for number in order if number not in set(first.values())]
    return [*first.values(), *rest][:n]


def try_cases(numbers: list[int], outside: Path) -> Iterator[tuple[Case, child.Outcome]]:
    """Make calls in a child process, and yield how each ended."""
    strong()  # compiles what would take the child too long
    outcomes = child.run("hostile.api:call", [f"case/{number}" for number in numbers], outside)
    yield from zip((_numbered()[number] for number in numbers), outcomes, strict=True)


def main(first: int = 0, step: int = 1) -> tuple[int, int]:
    """Make every so many-th call; return how many there were, and how many ended badly."""
    numbers = list(range(first, len(_numbered()), step))
    return len(numbers), report(numbers)


def report(numbers: list[int]) -> int:
    """Make some calls, print those that end badly, and count them."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as outside:
        for case, outcome in try_cases(numbers, Path(outside)):
            counts[outcome.kind] += 1
            if not outcome.accepted:
                print(f"{outcome.kind:9}  {case}\n           {outcome.message}", flush=True)
    print(f"{len(numbers):,} calls:", ", ".join(f"{n:,} {kind}" for kind, n in counts.most_common()))
    return sum(n for kind, n in counts.items() if kind not in ("result", "error"))


if __name__ == "__main__":
    pattern = "".join(sys.argv[1:])
    sys.exit(bool(report([n for n, case in enumerate(_numbered()) if re.search(pattern, str(case))])))
