"""Run a function on hostile files in a child process with limits, and say how each call ended.

``run("hostile.inputs:read", arguments, outside)`` calls the function on each argument (a text, such as a
path) and yields an ``Outcome`` for each, in order. One child runs many cases; when it dies or hangs, the case
at work is to blame and another child goes on with the rest. An outcome is one of

result      the function returned
error       it raised one of tensorm's errors, with one sentence
traceback   it raised anything else, or several sentences
crash       the child died of a signal
hang        the case took more than ``SECONDS`` of processor time, or ``PATIENCE`` by the clock, and then,
            alone in a new child, ``AGAIN`` times as long: a busy machine is not to blame
memory      it asked for more than ``MEMORY`` bytes, a MemoryError, or took more than ``TAKEN``
outside     a file in the folder ``outside`` was opened, or a socket was
code        a program was started, or ``CANARY`` in the folder ``outside`` was written: by a forged pickle
warning     a warning of Python, which a user would see as well

Only the first two are accepted (``Outcome.accepted``). Run as a program, this file is the child.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import re
import resource
import select
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = int(os.environ.get("TENSORM_HOSTILE_SECONDS", "20"))
PATIENCE = 6 * SECONDS
AGAIN = 3
MEMORY, TAKEN = 2**30, 2**28
CANARY = "canary"
LONGEST = 600  # characters of one sentence, paths included
TESTS = Path(__file__).parents[1]
OPENED = 0x20  # inotify's IN_OPEN
PLAIN = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}  # others reserve gigabytes
PROGRAMS = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork")


class Outcome(NamedTuple):
    """How a case ended, and what it said."""

    kind: str
    message: str = ""

    @property
    def accepted(self) -> bool:
        """Whether a user may meet this."""
        return self.kind in ("result", "error")


def run(function: str, arguments: Sequence[str], outside: Path) -> Iterator[Outcome]:
    """Call a function, named as ``module:name`` with modules of tests/ too, on each argument."""
    child = None
    with tempfile.TemporaryFile("w+") as complaints:
        for argument in arguments:
            child = child or _start(function, outside, complaints)
            outcome = _ask(child, argument, complaints)
            if outcome.kind == "hang":
                child = _start(function, outside, complaints, AGAIN)
                outcome = _ask(child, argument, complaints, AGAIN)
                child.communicate()
                child = None
            elif outcome.kind == "crash":
                child = None
            yield outcome
        if child is not None:
            child.communicate()


def _start(function: str, outside: Path, complaints: Any, times: int = 1) -> Any:
    paths = [str(TESTS), os.environ.get("PYTHONPATH", ""), str(TESTS.parent / "src")]
    child = subprocess.Popen(
        [sys.executable, "-W", "always", __file__, function, str(outside), str(times)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,  # a pipe might fill up
        text=True,
        env=os.environ | PLAIN | {"PYTHONPATH": os.pathsep.join(paths)},
    )
    if child.stdout.readline() != "ready\n":
        child.communicate()
        complaints.seek(0)
        raise RuntimeError(f"The child cannot start: {complaints.read()}")
    return child


def _ask(child: Any, argument: str, complaints: Any, times: int = 1) -> Outcome:
    try:
        child.stdin.write(json.dumps(argument) + "\n")
        child.stdin.flush()
        late = not select.select([child.stdout], [], [], PATIENCE * times)[0]
        line = "" if late else child.stdout.readline()
    except BrokenPipeError:
        late, line = False, ""
    if line:
        return Outcome(*json.loads(line))
    if late:
        child.kill()
    with contextlib.suppress(BrokenPipeError):
        child.communicate()
    complaints.seek(0)
    if late or child.returncode == -24:  # SIGXCPU: the limit of processor time
        return Outcome("hang")
    return Outcome("crash", f"ended with {child.returncode}: {complaints.read()[-LONGEST:]}")


def serve(function: str, outside: Path, times: int) -> None:
    """Answer each argument on standard input with an outcome, as the child."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed
    module, _, name = function.partition(":")
    work = getattr(importlib.import_module(module), name)
    seen: list[tuple[str, str]] = []
    sys.addaudithook(lambda event, given: _watch(event, given, seen))
    watch = _watch_folder(outside)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        seen.clear()
        _limit(resource.RLIMIT_AS, _address_space() + MEMORY)  # beside what earlier cases left behind
        usage = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime) + SECONDS * times)
        before = _measure_memory(anew=True)
        outcome = _judge(work, json.loads(line))
        if outcome.kind in ("result", "error") and (taken := _measure_memory() - before) > TAKEN:
            outcome = Outcome("memory", f"took {taken / 2**20:,.0f} MB; {outcome.message}")
        if _has_news(watch):
            seen.append(("outside", str(outside)))
        if (outside / CANARY).exists():
            (outside / CANARY).unlink()
            seen.append(("code", "the canary sang"))
        print(json.dumps(seen[-1] if seen else outcome), file=answers, flush=True)


def _judge(work: Any, argument: str) -> Outcome:
    from tensorm.errors import ClusterError, InputError

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            work(argument)
    except (InputError, ClusterError) as error:
        text = str(error).replace(argument, "FILE").replace(str(Path(argument).parent), "FOLDER")
        plain = len(text) <= LONGEST and "\n" not in text and re.search(r"[\w'\")\]}|]\.$", text)
        sentences = len(re.findall(r"[a-z]\. [A-Z]", text)) + 1
        return Outcome("error" if plain and sentences == 1 else "traceback", text)
    except MemoryError as error:
        return Outcome("memory", repr(error))
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Outcome("traceback", f"{error!r:.300} in {where.filename}:{where.lineno}")
    return Outcome("warning", str(caught[0].message)) if caught else Outcome("result")


def _watch(event: str, given: Any, seen: list[tuple[str, str]]) -> None:
    if event in PROGRAMS:
        seen.append(("code", f"{event} {given!r:.200}"))
    elif event == "socket.connect":
        seen.append(("outside", f"{event} {given!r:.200}"))


def _watch_folder(folder: Path) -> int:
    """Return a descriptor that has news when a file of a folder is opened, by C libraries too."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = int(libc.inotify_init1(os.O_NONBLOCK))
    if descriptor < 0 or libc.inotify_add_watch(descriptor, os.fsencode(folder), OPENED) < 0:
        raise OSError(ctypes.get_errno(), f"cannot watch {folder}")
    return descriptor


def _has_news(descriptor: int) -> bool:
    try:
        return bool(os.read(descriptor, 65536))
    except BlockingIOError:
        return False


def _measure_memory(anew: bool = False) -> int:
    """Return the most bytes of memory that this process has had, since the count began anew."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]


def _limit(which: int, amount: int) -> None:
    resource.setrlimit(which, (amount, resource.getrlimit(which)[1]))


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
