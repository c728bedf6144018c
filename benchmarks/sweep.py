"""What does a sweep cost? One update of all factors and the noise, beside the paper's Algorithm 1.

    python -m benchmarks.sweep                    # every size and rank: about ten minutes
    python -m benchmarks.sweep --quick            # the sizes and the rank that have a target: about a minute
    python -m benchmarks.sweep --json sweep.json  # the figures to a file rather than below the tables

Both start from the planted factors of a tensor of density 0.2 with a tenth of the cells flipped. Rounds
alternate between them and the best of each counts, so that what else the machine does falls on both alike.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numba
import numpy as np
from llvmlite.binding import get_host_cpu_name
from rich.console import Console
from rich.table import Table

from benchmarks.algorithm1 import Algorithm1
from tensorm import DenseTensor, datasets
from tensorm.model import Noise, factor_density
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, sweep
from tensorm.sampler.two_rates import Asymmetric
from tensorm.tensors.factors import Factors

DENSITY, NOISE = 0.2, 0.1
THREADS = (1, 2)
ROUNDS = 100
TURN = 0.01  # seconds that each gets in a round, if one sweep takes no longer
PATIENCE = 5.0  # seconds after which a slow one sits out
PROCESSES = 3  # fresh ones, of which the best counts

FIRST_FIT = """
import json, time
started = time.perf_counter()
import tensorm
imported = time.perf_counter()
tensorm.TensOrMachine(n_components=7, random_state=0, progress=False).fit(tensorm.datasets.ward())
print(json.dumps({"import": imported - started, "fit": time.perf_counter() - imported}))
"""
IMPORT = """
import time
import numba, sklearn.base
started = time.perf_counter()
import tensorm
print(time.perf_counter() - started)
"""


def sweeps(tensor: DenseTensor, factors: list[Any]) -> Iterator[Any]:
    """Yield sweep after sweep with the defaults of the estimator, begun at these factors."""
    rank = factors[0].shape[1]
    model = Target(rank, Asymmetric(), LearnedPrior(), np.uint64(0))
    density = factor_density(DENSITY, rank, len(factors))
    masks = Factors.from_bits(factors)
    state = State(masks, Noise.symmetric(1 - NOISE), (density,) * len(factors), 0)
    while True:
        state, confusion = sweep(tensor, state, model, 0)
        yield state, confusion


def alternate(steps: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, float]]:
    """Time steps in turn, each for a while; return the best of each, by the clock and of processor time."""
    turns: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for step in steps.values():
        step()  # compiles
    for _ in range(ROUNDS):
        for name, step in steps.items():
            if sum(clock for clock, _ in turns[name]) < PATIENCE:
                turns[name].append(repeat(step))
    return {name: (min(x[0] for x in taken), min(x[1] for x in taken)) for name, taken in turns.items()}


def repeat(step: Callable[[], Any]) -> tuple[float, float]:
    """Return the mean times of a step, repeated for as long as caches take to forget what ran before."""
    started, spent, count = time.perf_counter(), time.process_time(), 0
    while count == 0 or time.perf_counter() < started + TURN:
        step()
        count += 1
    return (time.perf_counter() - started) / count, (time.process_time() - spent) / count


def measure_sweep(size: int, rank: int) -> dict[str, Any]:
    """Time a sweep of a cube, for each number of threads and for Algorithm 1.

    What one thread does is compared by processor time, for the clock also runs while others compute.
    """
    sim = datasets.simulate((size,) * 3, rank, DENSITY, NOISE, random_state=0)
    tensor, loops = DenseTensor(sim.observed), Algorithm1(sim.observed, sim.factors, 1 - NOISE)
    chains = {str(n): sweeps(tensor.with_threads(n), sim.factors) for n in THREADS}
    best = alternate({name: chain.__next__ for name, chain in chains.items()} | {"loops": loops.sweep})
    return {
        "size": size,
        "rank": rank,
        "seconds": {name: clock for name, (clock, _) in best.items()},
        "ns_per_cell": {name: 1e9 * best[name][1] / size**3 for name in ("1", "loops")},
        "times_faster": best["loops"][1] / best["1"][1],
        "thread_scaling": best["1"][0] / best["2"][0],
    }


def measure_memory(size: int, missing: float) -> dict[str, Any]:
    """Weigh a tensor, and what making it takes beside itself, in bytes per cell."""
    draws = np.random.default_rng(0).random((size,) * 3, np.float32)
    cells = (draws < DENSITY).astype(np.float32 if missing else np.int8)
    if missing:
        cells[draws > 1 - missing] = np.nan
    del draws
    tracemalloc.start()
    tensor = DenseTensor(cells)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "size": size,
        "missing": missing,
        "input": cells.nbytes / cells.size,
        "held": tensor.nbytes / cells.size,
        "peak_beside": (peak - tensor.nbytes) / cells.size,
    }


def run_python(code: str, **environment: str) -> tuple[str, float]:
    """Run code in a fresh process; return what it printed and the seconds from start to end."""
    started = time.perf_counter()
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, env=os.environ | environment, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[-1], time.perf_counter() - started


def measure_first_fit() -> dict[str, Any]:
    """Time fits of the ward in fresh processes, the first of them with nothing compiled."""
    with tempfile.TemporaryDirectory() as cache:
        runs = []
        for _ in range(1 + PROCESSES):
            printed, seconds = run_python(FIRST_FIT, NUMBA_CACHE_DIR=cache)
            runs.append(json.loads(printed) | {"process": seconds})
    cold, *warm = runs
    return {"cold": cold, "warm": min(warm, key=lambda run: run["process"])}


def measure_import() -> float:
    """Return the seconds that `import tensorm` adds to importing numba and sklearn.base."""
    return min(float(run_python(IMPORT)[0]) for _ in range(PROCESSES))


def machine() -> dict[str, Any]:
    """Return what the figures depend on; `load` above 0 means that others were at work."""
    cpuinfo = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(":")[2].strip() for line in cpuinfo.splitlines() if "model name" in line]
    return {
        "cpu": names[0] if names else platform.processor(),
        "llvm_cpu": get_host_cpu_name(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row)
    Console(width=100).print(table)


def show_sweeps(found: Sequence[dict[str, Any]]) -> None:
    columns = "cells", "L", "1 thread", "2 threads", "loops", "ns/cell", "loops", "faster", "scaling"
    rows = []
    for row in found:
        times = (f"{1e3 * row['seconds'][name]:.3f}" for name in ("1", "2", "loops"))
        per_cell = (f"{row['ns_per_cell'][name]:.3f}" for name in ("1", "loops"))
        ratios = f"{row['times_faster']:.1f}", f"{row['thread_scaling']:.2f}"
        rows.append([f"{row['size']}^3", f"{row['rank']}", *times, *per_cell, *ratios])
    show("One sweep: ms, and ns per cell of one thread, beside the loops of Algorithm 1", columns, rows)


def show_memory(found: Sequence[dict[str, Any]]) -> None:
    parts = "input", "held", "peak_beside"
    rows = [
        [f"{row['size']}^3", f"{row['missing']:.0%}", *(f"{row[name]:.3f}" for name in parts)]
        for row in found
    ]
    show("Memory, bytes per cell", ("cells", "missing", "input", "held", "peak beside both"), rows)


def show_first_fit(found: dict[str, dict[str, float]]) -> None:
    rows = [
        [name, *(f"{run[part]:.2f}" for part in ("import", "fit", "process"))] for name, run in found.items()
    ]
    show("A fresh process fits the ward, seconds", ("numba's cache", "import", "fit", "all of it"), rows)


@click.command(help=__doc__.partition("\n")[0])
@click.option("--quick", is_flag=True, help="Only the sizes and the rank that have a target.")
@click.option("--json", "path", type=click.Path(path_type=Path), help="Write the figures here.")
def main(quick: bool, path: Path | None) -> None:
    sizes, ranks = ((20, 100, 300), (10,)) if quick else ((20, 100, 300, 500, 600), (10, 25, 70))
    found: dict[str, Any] = {"machine": machine()}
    Console().print(found["machine"])
    found["sweep"] = [measure_sweep(size, rank) for rank in ranks for size in sizes]
    show_sweeps(found["sweep"])
    found["memory"] = [measure_memory(300 if quick else 500, missing) for missing in (0.0, 0.1)]
    show_memory(found["memory"])
    found["first_fit"] = measure_first_fit()
    show_first_fit(found["first_fit"])
    found["import"] = measure_import()
    Console().print(f"import tensorm adds {found['import']:.2f} s to importing numba and sklearn.base")
    if path is None:
        Console().print_json(data=found)
    else:
        path.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
