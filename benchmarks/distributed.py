"""What does a cluster cost? A sweep on Dask workers beside one process with the same processor cores.

    python -m benchmarks.distributed                # 2,000 x 500 x 500 on two workers, and a plan for 64
    python -m benchmarks.distributed --quick        # a tenth of that
    python -m benchmarks.distributed --json out/distributed.json

Both start from the planted factors with a tenth of the cells flipped. Turns alternate between them and the
best of each counts, so that what else the machine does falls on both alike. Rounds and octets are counted in
sweeps of their own: at rest, and the first ones from fair coins, where most entries flip.
"""

from __future__ import annotations

import itertools
import json
import math
import pickle
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from benchmarks.sweep import machine, show
from tensorm import DaskTensor, DenseTensor
from tensorm.kernels.sharded import decide_counted, find_company
from tensorm.model import Noise, factor_density
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, random_factors, start, sweep
from tensorm.sampler.two_rates import Asymmetric
from tensorm.tensors import METROPOLIS, Rule, Stream, Weights
from tensorm.tensors.distributed import connect
from tensorm.tensors.factors import Factors
from tensorm.tensors.sharded import ShardedTensor

RANK, DENSITY, NOISE = 20, 0.2, 0.1
WORKERS = 2
TURNS = 15
SWEEPS = 5  # whose rounds are counted
PLAN, PLAN_WORKERS = (10_000, 10_000, 10_000), 64
SLAB = (4, 10_000, 10_000)  # a few slices of the plan
NETWORK = 1e9  # octets per second that the plan takes for granted: ten gigabit


def plant(shape: Sequence[int]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    share = factor_density(DENSITY, RANK, len(shape))
    return [rng.random((N, RANK)) < share for N in shape]


def make_part(shape: Sequence[int], begin: int, end: int) -> np.ndarray:
    """Return slices of the planted tensor; each has its own random numbers, whoever makes it."""
    first, *others = plant(shape)
    cells = np.empty((end - begin, *shape[1:]), np.bool_)
    for n in range(begin, end):
        noise = np.random.default_rng(n).random(shape[1:], np.float32) < NOISE
        product = (others[0] & first[n]).astype(np.float32) @ others[1].T.astype(np.float32)
        cells[n - begin] = (product > 0) ^ noise
    return cells


def chain(tensor: Any, factors: Sequence[np.ndarray]) -> Iterator[Any]:
    """Return an endless chain with the defaults of the estimator, begun at these factors."""
    density = factor_density(DENSITY, RANK, len(factors))
    state = State(Factors.from_bits(factors), Noise.symmetric(1 - NOISE), (density,) * len(factors), 0)
    return sweeps_from(tensor, state)


def sweeps_from(tensor: Any, state: State) -> Iterator[Any]:
    """Yield sweep after sweep, without the counts that a chain may keep."""
    while True:
        state, confusion = sweep(tensor, state, make_model(), 0)
        yield state, confusion


def make_model() -> Target:
    return Target(RANK, Asymmetric(), LearnedPrior(), np.uint64(0))


class Counting:
    """A host that writes down what it carries."""

    def __init__(self, host: Any) -> None:
        self.host, self.octets = host, []

    def ask(self, verb: str, calls: Sequence[Any]) -> list[Any]:
        """Carry on, and weigh questions and answers."""
        answers = self.host.ask(verb, calls)
        self.octets.append(sum(len(pickle.dumps(thing)) for thing in (*calls, *answers)))
        return answers


def count_rounds(tensor: ShardedTensor, sweeps: Iterator[Any]) -> dict[str, Any]:
    plain = tensor._host
    tensor._host = counting = Counting(plain)
    for _ in range(SWEEPS):
        next(sweeps)
    tensor._host = plain
    return {
        "rounds_per_sweep": len(counting.octets) / SWEEPS,
        "kB_per_round": np.mean(counting.octets) / 1e3,
        "kB_largest_round": max(counting.octets) / 1e3,
        "kB_per_sweep": sum(counting.octets) / SWEEPS / 1e3,
    }


def measure_overhead(shape: Sequence[int]) -> dict[str, Any]:
    """Time sweeps in one process with as many threads as there are workers of one thread."""
    edges = np.linspace(0, shape[0], WORKERS + 1).astype(int)
    parts = [partial(make_part, shape, int(a), int(b)) for a, b in itertools.pairwise(edges)]
    one = DenseTensor(np.concatenate([part() for part in parts])).with_threads(WORKERS)
    factors = plant(shape)
    with connect(workers=WORKERS) as client:
        threads = {info["nthreads"] for info in client.scheduler_info()["workers"].values()}
        tensor = DaskTensor(parts)
        chains = {"one process": chain(one, factors), "cluster": chain(tensor, factors)}
        times: dict[str, list[float]] = {name: [] for name in chains}
        for turn in range(TURNS + 1):
            for name, sweeps in chains.items():
                began = time.perf_counter()
                next(sweeps)
                if turn:  # the first compiles
                    times[name].append(time.perf_counter() - began)
        empty = [np.zeros((N, 1), np.uint64) for N in shape]
        waits = []
        for _ in range(50):
            began = time.perf_counter()
            tensor.confusion(empty)
            waits.append(time.perf_counter() - began)
        at_rest = count_rounds(tensor, chains["cluster"])
        coins = start(make_model(), random_factors(tensor, make_model(), 0))
        at_first = count_rounds(tensor, sweeps_from(tensor, coins))
    best = {name: min(found) for name, found in times.items()}
    return {
        "shape": list(shape),
        "threads_per_worker": sorted(threads),
        "seconds": best,
        "median": {name: float(np.median(found)) for name, found in times.items()},
        "ratio": best["cluster"] / best["one process"],
        "ms_empty_round": 1e3 * float(np.median(waits)),
        "at_rest": at_rest,
        "from_coins": at_first,
    }


def best_of(work: Any, times: int = 3) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)


def make_plan(rounds: float, empty_round: float) -> dict[str, Any]:
    """Work out a sweep of a large tensor from what a few of its slices take on one thread of one worker."""
    factors = Factors.from_bits(list(plant(SLAB)))
    slab, slices = DenseTensor(make_part(SLAB, 0, SLAB[0])), PLAN[0] / PLAN_WORKERS
    rule = Rule(np.arange(RANK), METROPOLIS, Weights(2.0, 2.0), np.zeros((1, 1)))
    streams = [Stream(np.uint64(0), 0, 0, mode) for mode in range(3)]
    cells, scale = math.prod(SLAB), slices * math.prod(PLAN[1:]) / math.prod(SLAB)
    verbs = {
        "update mode 0": lambda: slab.update_factor(0, factors, rule, streams[0]),
        "count mode 1": lambda: slab.counts(1, factors),
        "count mode 2": lambda: slab.counts(2, factors),
        "confusion": lambda: slab.confusion(factors),
    }
    for verb in verbs.values():
        verb()
    seconds = {name: best_of(verb) for name, verb in verbs.items()}
    rows = np.arange(PLAN[1])
    counts = np.zeros((2, PLAN[1], RANK), np.int64)
    counts[1] = 1000
    answer = counts.astype(np.uint32)
    masks = [np.zeros((N, 1), np.uint64) for N in PLAN]
    known = counts, find_company(masks[0], RANK)

    def ask() -> None:
        decide_counted(masks[1], np.zeros(len(rows), np.int64), rows, known, tuple(rule), tuple(streams[1]))

    ask()
    decide = best_of(ask)

    def add() -> None:
        for _ in range(PLAN_WORKERS):
            np.add(counts, answer, out=counts)

    octets_back = 2 * 4 * PLAN[1] * RANK * PLAN_WORKERS
    octets_there = 8 * (PLAN[0] + (PLAN[1] + PLAN[2]) * PLAN_WORKERS)
    travel = (octets_there + octets_back) / NETWORK
    compute = scale * sum(seconds.values())
    here = best_of(add) + decide
    wait = empty_round * PLAN_WORKERS / WORKERS
    total = compute + rounds * wait + 2 * (travel + here) + octets_there / NETWORK
    return {
        "cells_per_worker": slices * math.prod(PLAN[1:]),
        "GB_per_worker": 2 * slices * math.prod(PLAN[1:]) / 8e9,
        "ns_per_cell": {name: 1e9 * taken / cells for name, taken in seconds.items()},
        "compute_s": compute,
        "MB_full_round": (octets_there + octets_back) / 1e6,
        "travel_s": travel,
        "client_s": here,
        "wait_s": wait,
        "rounds": rounds,
        "sweep_s": total,
        "sweep_s_8_threads": total - compute * 7 / 8,
    }


@click.command(help=__doc__.partition("\n")[0])
@click.option("--quick", is_flag=True, help="A tenth of the cells.")
@click.option("--json", "path", type=click.Path(path_type=Path), help="Write the figures here.")
def main(quick: bool, path: Path | None) -> None:
    found: dict[str, Any] = {"machine": machine()}
    Console().print(found["machine"])
    found["overhead"] = row = measure_overhead((200, 500, 500) if quick else (2_000, 500, 500))
    show(
        f"A sweep of {' x '.join(map(str, row['shape']))}, L = {RANK}, {WORKERS} workers: ms",
        ("", "one process", "cluster", "ratio"),
        [
            [name, *(f"{1e3 * row[key][who]:.0f}" for who in ("one process", "cluster")), ratio]
            for name, key, ratio in (("best", "seconds", f"{row['ratio']:.2f}"), ("median", "median", ""))
        ],
    )
    show(
        f"Rounds; one that asks for nothing takes {row['ms_empty_round']:.1f} ms",
        ("", "rounds per sweep", "kB per round", "largest", "kB per sweep"),
        [[name, *(f"{number:.1f}" for number in row[key].values())] for name, key in PHASES],
    )
    found["plan"] = plan = make_plan(row["at_rest"]["rounds_per_sweep"], row["ms_empty_round"] / 1e3)
    show(
        f"A plan: {math.prod(PLAN):.0e} cells on {PLAN_WORKERS} workers",
        ("", "figure"),
        [[name, f"{value:,.3g}"] for name, value in plan.items() if not isinstance(value, dict)]
        + [[f"{name}, ns per cell", f"{value:.3f}"] for name, value in plan["ns_per_cell"].items()],
    )
    if path is None:
        Console().print_json(data=found)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1))


PHASES = (("at rest", "at_rest"), ("first sweeps from fair coins", "from_coins"))


if __name__ == "__main__":
    main()
