"""Shards on the workers of a Dask cluster: placed, called, and loaded elsewhere when a worker is lost.

Every shard is an actor, an object that stays on one worker: a call costs one message there and one back, and
its cells are neither moved nor spilled to disk. Dask forgets actors whose worker dies, so the client
remembers how to load each part and does so again. A result depends only on the cells and the arguments, so a
call that was lost can be repeated.
"""

from __future__ import annotations

import copy
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tensorm.errors import ClusterError, FileError, InputError
from tensorm.tensors.sharded import Shard

PAUSE = 0.2  # seconds before looking for a worker again
ANSWER_SECONDS = 1.0  # seconds before checking whether a worker that has not answered is still there


class ShardActor(Shard):
    """A shard on a worker. It returns errors and does not raise them: what is raised is Dask's."""

    def __init__(self, part: Any, number: int) -> None:
        from distributed import get_worker

        from tensorm.tensors.read import read

        self._failure: Exception | None = None
        try:
            tensor = read(part() if callable(part) else part)
            super().__init__(tensor.with_threads(get_worker().state.nthreads))
        except Exception as error:
            self._failure = _in_one_sentence(error, number)

    def answer(self, verb: str, call: tuple[Any, ...]) -> tuple[bool, Any]:
        """Return (True, what a method returns) or (False, what it raises)."""
        if self._failure is not None:
            return False, self._failure
        try:
            return True, getattr(self, verb)(*call)
        except Exception as error:
            return False, error


class Place(NamedTuple):
    """Where a shard is."""

    worker: str
    future: Any  # holds the actor there
    actor: Any


class Workers:
    """A host of Dask workers.

    Parameters
    ----------
    client : distributed.Client
    parts : sequence
        What workers read: a path, a function that returns an array or a tensor, or one of these. A Dask
        collection is computed there, too.
    timeout : float
        Seconds that a call may take, including loading a lost part again.
    """

    def __init__(self, client: Any, parts: Sequence[Any], timeout: float) -> None:
        self._client, self._parts, self._timeout = client, parts, timeout
        self._places: list[Place | None] = [None] * len(parts)
        self._moving = threading.Lock()
        with self._deadline() as end:
            self._settle(list(range(len(parts))), end)

    def ask(self, verb: str, calls: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Call a method of every shard, side by side; one whose arguments are None is left out."""
        answers: list[Any] = [None] * len(calls)
        left = [number for number, call in enumerate(calls) if call is not None]
        with self._deadline() as end:
            while left:
                places = {number: self._places[number] for number in left}
                sent = {number: _send(place, verb, calls[number]) for number, place in places.items()}
                left = []
                for number, place in places.items():
                    good, value = _receive(sent[number], place, end)
                    if good is None:
                        left.append(number)
                    elif good:
                        answers[number] = value
                    else:
                        raise value
                if left:
                    with self._moving:  # another chain may have loaded a lost part again already
                        self._settle(
                            [number for number in left if self._places[number] is places[number]], end
                        )
        return answers

    def _settle(self, numbers: list[int], end: float) -> None:
        """Load parts, side by side, each where there are fewest."""
        for number in numbers:
            self._places[number] = None
        while numbers:
            load = Counter(place.worker for place in self._places if place is not None)
            workers, begun = self._wait_for_workers(end), []
            for number in numbers:
                worker = min(workers, key=lambda address: load[address])
                load[worker] += 1
                begun.append((number, worker, self._begin(number, worker)))
            for number, worker, future in begun:
                actor = self._finish(number, worker, future, end)
                self._places[number] = None if actor is None else Place(worker, future, actor)
            numbers = [number for number in numbers if self._places[number] is None]

    def _begin(self, number: int, worker: str) -> Any:
        """Let a worker load a part; None if it was lost before."""
        from dask.base import is_dask_collection

        part = self._parts[number]
        if is_dask_collection(part):
            part = self._client.compute(part)
        elif not (callable(part) or isinstance(part, (str, os.PathLike))):
            try:
                part = self._client.scatter(part, workers=[worker], hash=False)  # cells that the client holds
            except OSError:  # the worker is gone, and Dask does not know it yet
                return None
        key = f"tensorm-shard-{number}-{uuid.uuid4().hex}"
        return self._client.submit(ShardActor, part, number, actor=True, key=key, workers=[worker])

    def _finish(self, number: int, worker: str, future: Any, end: float) -> Any:
        """Return the actor, or None if its worker was lost meanwhile."""
        from distributed import KilledWorker

        if future is None:
            time.sleep(PAUSE)
            return None
        while True:
            try:
                actor = future.result(timeout=_patience(end))
                with self._client.as_current():  # an actor speaks through the client it is made under
                    return copy.copy(actor)
            except KilledWorker as error:
                told = f"Part {number} crashed every worker that loaded it"
                raise ClusterError(f"{told}; give the workers more memory.") from error
            except TimeoutError:
                if worker not in self._wait_for_workers(end):
                    return None
            except Exception as error:
                if future.status == "error" and not isinstance(error, OSError | RuntimeError):
                    raise InputError(f"Part {number} cannot be loaded: {_brief(error)}.") from error
                time.sleep(PAUSE)
                return None

    def _wait_for_workers(self, end: float) -> list[str]:
        while True:
            if self._client.status not in ("running", "connecting"):
                raise ConnectionError("the client is closed")
            workers = list(self._client.scheduler_info()["workers"])
            if time.monotonic() >= end:
                raise TimeoutError if workers else LookupError
            if workers:
                return workers
            time.sleep(PAUSE)

    @contextmanager
    def _deadline(self) -> Iterator[float]:
        """Yield the time by which something must be done; raise one sentence if it is not."""
        resume = "continue with tensorm.resume if the fit had a run_dir"
        where = f"the cluster at {getattr(self._client.scheduler, 'address', 'an unknown address')}"
        try:
            yield time.monotonic() + self._timeout
        except LookupError as error:
            raise ClusterError(
                f"No worker was available on {where} for {self._timeout:g} s; start workers, then {resume}."
            ) from error
        except TimeoutError as error:
            raise ClusterError(
                f"No answer from {where} within {self._timeout:g} s; check its dashboard, give a larger "
                f"timeout, and {resume}."
            ) from error
        except (OSError, RuntimeError) as error:
            if isinstance(error, ClusterError | NotImplementedError | RecursionError):
                raise
            raise ClusterError(f"The connection to {where} was lost; restart it, and {resume}.") from error


def _send(place: Place | None, verb: str, call: Any) -> Any:
    try:
        return None if place is None else place.actor.answer(verb, call)
    except Exception:  # Dask already knows that the worker is gone
        return None


def _receive(answer: Any, place: Place | None, end: float) -> tuple[bool | None, Any]:
    """Return what a shard answered; None for its success if the worker was lost."""
    while place is not None and answer is not None:
        try:
            good, value = answer.result(timeout=_patience(end))
            return good, value
        except TimeoutError:
            if time.monotonic() >= end:
                raise
            if place.future.status != "finished":  # the scheduler knows that the worker is gone
                break
        except Exception:
            break
    return None, None


def _patience(end: float) -> float:
    return min(ANSWER_SECONDS, max(0.0, end - time.monotonic()))


def _in_one_sentence(error: Exception, number: int) -> Exception:
    """Return what went wrong while loading a part as an exception that any process can unpickle."""
    if isinstance(error, InputError):
        return (FileError if isinstance(error, FileError) else InputError)(f"Part {number}: {error}")
    if isinstance(error, MemoryError):
        return InputError(f"Part {number} does not fit in the memory of its worker; give more parts.")
    if isinstance(error, OSError):
        return FileError(
            f"Part {number} cannot be read: {_brief(error)}; give a path that every worker can read."
        )
    return InputError(f"Part {number} cannot be loaded: {_brief(error)}.")


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split())[:200].rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
