"""Ten billion cells: what relational tensors cost, in time and in memory.

    python -m benchmarks.scale                    # everything but the fit: about ten minutes
    python -m benchmarks.scale --quick            # the full sweep, packed cells, and a chain at rest
    python -m benchmarks.scale --fit              # a complete fit as well: one chain, burn-in and 50 draws

Reads TENSORM_DATA/cancer. Two threads, unless told otherwise. Times are by the clock, with the processor's
own in brackets, which do not count what others do on the machine; memory is what a part of the run needed at
its peak beyond the interpreter, the libraries and the compiled kernels.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.console import Console

from benchmarks.sweep import machine, show
from tensorm import DenseTensor, RelationalTensor, TensOrMachine
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.search.seeding import begin
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, sweep
from tensorm.sampler.two_rates import Asymmetric
from tensorm.tensors import Tensor
from tensorm.tensors.cached import CachedCounts

L, THREADS, PACKED = 25, 2, 1000
REST, ROUNDS = 60, 5  # sweeps before the chain counts as at rest, and those then measured
OUT = Path("benchmarks/out")


class Cost(NamedTuple):
    """What something took."""

    seconds: float
    processor: float  # seconds of all threads
    megabytes: float  # at the peak, beyond what was there before

    def __str__(self) -> str:
        return f"{self.seconds:.2f} ({self.processor:.2f})"


@contextmanager
def measured() -> Iterator[list[Cost]]:
    """Append the cost of the block to the list."""
    found: list[Cost] = []
    before, started, spent = reset_peak(), time.perf_counter(), time.process_time()
    yield found
    seconds, processor = time.perf_counter() - started, time.process_time() - spent
    found.append(Cost(seconds, processor, peak() - before))


def reset_peak() -> float:
    """Forget the peak of the resident memory so far, where the system can; return what is in use."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> float:
    """Return the peak of the resident memory in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read(name: str) -> np.ndarray:
    folder = os.environ.get("TENSORM_DATA")
    if folder is None:
        raise click.ClickException("Set TENSORM_DATA to the folder that holds cancer/.")
    return np.load(Path(folder) / "cancer" / name)["expr"]


def make_model(n_components: int) -> Target:
    return Target(n_components, Asymmetric(), LearnedPrior(), np.uint64(0))


def started(tensor: Tensor, n_components: int = L) -> tuple[State, Cost]:
    """Return the state that a chain starts with, found in a part of the data, and what finding it costs."""
    with measured() as cost:
        state = begin(tensor, make_model(n_components), np.random.default_rng(0)).state(sweep=0)
    return state, cost[0]


def time_sweep(tensor: Tensor, state: State, rounds: int = 2) -> Cost:
    """Return the least cost of a sweep from a state."""
    n_components, costs = max(int(masks.max()).bit_length() for masks in state.factors), []
    for _ in range(rounds):
        with measured() as cost:
            sweep(tensor, state, make_model(n_components), chain=0)
        costs.append(cost[0])
    return Cost(*(min(part) for part in list(zip(*costs, strict=True))[:2]), max(c.megabytes for c in costs))


def pack_cells(tensor: RelationalTensor) -> DenseTensor:
    """Return the same cells in memory."""
    cells = np.ma.masked_all(tensor.shape, np.int8)
    for where, ones, observed in tensor.blocks():
        cells.data[where], cells.mask[where] = ones, ~observed
    return DenseTensor(cells)


def part_of(tensor: RelationalTensor, state: State, sizes: Sequence[int]) -> tuple[RelationalTensor, State]:
    """Return a part of a tensor and of a state, indices spread evenly."""
    index = [np.linspace(0, N - 1, size).astype(int) for N, size in zip(tensor.shape, sizes, strict=True)]
    factors = tuple(masks[chosen] for masks, chosen in zip(state.factors, index, strict=True))
    return tensor.take(index), state._replace(factors=factors)


def row(tensor: Tensor, n_components: int, cost: Cost) -> dict[str, Any]:
    cells = float(np.prod(tensor.shape, dtype=float))
    return {
        "shape": tensor.shape,
        "cells": cells,
        "L": n_components,
        **cost._asdict(),
        "ns_per_cell": 1e9 * cost.processor / cells,
    }


def show_rows(title: str, rows: Sequence[dict[str, Any]]) -> None:
    columns = "patients", "attributes", "cells", "L", "s", "processor s", "ns per cell", "MB"
    table = [
        [
            f"{r['shape'][0]:,}",
            f"{r['shape'][1]:,}",
            f"{r['cells']:.2g}",
            f"{r['L']}",
            f"{r['seconds']:.2f}",
            f"{r['processor']:.2f}",
            f"{r['ns_per_cell']:.2f}",
            f"{r['megabytes']:.0f}",
        ]
        for r in rows
    ]
    show(title, columns, table)


def measure_full(tensor: RelationalTensor, state: State) -> list[dict[str, Any]]:
    return [row(tensor, L, time_sweep(tensor, state))]


def measure_packed(tensor: RelationalTensor, state: State, threads: int) -> dict[str, Any]:
    """Compare a sweep with the same one on cells packed in memory, in turns."""
    A = tensor.shape[1]
    part, here = part_of(tensor, state, (PACKED, A, A))
    both = {"relational": part.with_threads(threads), "packed": pack_cells(part).with_threads(threads)}
    best = {name: time_sweep(one, here, 1) for name, one in both.items()}
    for _ in range(4):
        for name, one in both.items():
            best[name] = min(best[name], time_sweep(one, here, 1), key=lambda cost: cost.processor)
    ratio = best["relational"].processor / best["packed"].processor
    return {name: cost._asdict() for name, cost in best.items()} | {"ratio": ratio}


def measure_sizes(tensor: RelationalTensor, state: State) -> list[dict[str, Any]]:
    """Sweeps of parts: fewer attributes, fewer patients, and the first few of the components."""
    O, A, _ = tensor.shape
    rows = []
    for sizes in ((O // 4, A // 4), (O // 4, A // 2), (O // 4, A), (O // 8, A), (O // 2, A)):
        part, here = part_of(tensor, state, (*sizes, sizes[1]))
        rows.append(row(part, L, time_sweep(part, here)))
    part, here = part_of(tensor, state, (O // 8, A, A))
    for n_components in (5, 10, 15):
        first = np.uint64(2**n_components - 1)
        few = here._replace(factors=tuple(masks & first for masks in here.factors))
        rows.append(row(part, n_components, time_sweep(part, few)))
    return rows


def measure_wide(threads: int) -> list[dict[str, Any]]:
    """Sweeps of many attributes; the larger one has some patients twice, a little changed."""
    matrix = read("mrna_7types.npz")
    rng = np.random.default_rng(0)
    more = matrix[rng.choice(len(matrix), 2000 - len(matrix), replace=False)]
    rows = []
    for values in (matrix, np.vstack([matrix, more + rng.normal(0, 0.01, more.shape).astype(np.float32)])):
        before = reset_peak()
        tensor = RelationalTensor(values).with_threads(threads)
        highest = peak()
        state, _ = started(tensor)
        highest = max(highest, peak())
        cost = time_sweep(tensor, state, 1)
        rows.append(row(tensor, L, cost._replace(megabytes=max(highest, peak()) - before)))
    return rows


def measure_events(tensor: RelationalTensor, state: State) -> dict[str, Any]:
    """Sweeps of a chain that has come to rest, with counts kept and plain, in turns; both draw the same."""
    model, keeping = make_model(L), CachedCounts(tensor)
    for _ in range(REST):
        state, _ = sweep(keeping, state, model, chain=0)
    costs: dict[str, list[Cost]] = {"plain": [], "kept": []}
    flips = []
    for _ in range(ROUNDS):
        found = {}
        for name, one in (("plain", tensor), ("kept", keeping)):
            with measured() as cost:
                found[name], _ = sweep(one, state, model, chain=0)
            costs[name] += cost
        for a, b in zip(found["plain"].factors, found["kept"].factors, strict=True):
            np.testing.assert_array_equal(a, b)
        changed = (a ^ b for a, b in zip(state.factors, found["plain"].factors, strict=True))
        flips.append(sum(int(np.bitwise_count(words).sum()) for words in changed))
        state = found["plain"]
    middle = {name: float(np.median([cost.processor for cost in some])) for name, some in costs.items()}
    return {
        "shape": tensor.shape,
        "flips": float(np.mean(flips)),
        **middle,
        "ratio": middle["kept"] / middle["plain"],
        "megabytes": max(cost.megabytes for cost in costs["kept"]),
    }


def show_events(found: dict[str, Any]) -> str:
    return (
        f"After {REST} sweeps {found['flips']:,.0f} entries flip in one: plain {found['plain']:.2f} s of "
        f"processor time, with counts kept {found['kept']:.2f} s, ratio {found['ratio']:.2f}."
    )


def measure_fit(matrix: np.ndarray, threads: int) -> dict[str, Any]:
    with measured() as cost:
        model = TensOrMachine(L, n_chains=1, n_draws=50, n_jobs=threads, random_state=0)
        model.fit(RelationalTensor(matrix))
    trace = model.posterior_.chains[0]
    members = [trace.bits(mode, slice(-1, None))[0].any(axis=0) for mode in range(3)]
    return cost[0]._asdict() | {
        "sweeps": trace.burn_in + len(trace),
        "components": int(np.logical_and.reduce(members).sum()),
        "burn_in": trace.burn_in,
        "settled": trace.settled,
        "accuracy": float(trace.accuracy.mean()),
    }


def warm_up() -> None:
    """Compile, so that neither time nor memory of that is counted."""
    small = RelationalTensor(np.random.default_rng(0).random((130, 300)))
    for tensor in (small, pack_cells(small)):
        time_sweep(tensor, started(tensor)[0], 1)


@click.command(help=__doc__.partition("\n")[0])
@click.option("--quick", is_flag=True, help="Only what has a target and takes little time.")
@click.option("--fit", is_flag=True, help="A complete fit as well.")
@click.option("--threads", default=THREADS, show_default=True)
def main(quick: bool, fit: bool, threads: int) -> None:
    console, found = Console(width=100), {"machine": machine(), "threads": threads}
    console.print(found["machine"])
    matrix = read("mirna_8943x1046.npz")
    warm_up()
    before = reset_peak()
    with measured() as making:
        tensor = RelationalTensor(matrix).with_threads(threads)
    highest = peak()
    state, seeding = started(tensor)
    highest = max(highest, peak())
    found["full"] = measure_full(tensor, state)
    most = max(highest, peak()) - before + matrix.nbytes / 2**20
    found |= {"making": making[0]._asdict(), "seeding": seeding._asdict(), "peak_megabytes": most}
    show_rows("One sweep at burn-in", found["full"])
    console.print(f"Ranks from values: {making[0]} s, {making[0].megabytes:.0f} MB.")
    console.print(f"Where a chain starts: {seeding} s, {seeding.megabytes:.0f} MB.")
    console.print(f"Peak of all of these: {most:.0f} MB, the input included.")
    found["packed"] = measure_packed(tensor, state, threads)
    console.print(
        f"{PACKED:,} patients: relational {Cost(**found['packed']['relational'])} s, packed "
        f"{Cost(**found['packed']['packed'])} s, ratio {found['packed']['ratio']:.2f}."
    )
    found["events"] = measure_events(tensor, state)
    console.print(show_events(found["events"]))
    if not quick:
        found["sizes"] = measure_sizes(tensor, state)
        show_rows("Sizes", found["sizes"])
        found["wide"] = measure_wide(threads)
        show_rows("Many attributes", found["wide"])
    if fit:
        found["fit"] = measure_fit(matrix, threads)
        console.print(found["fit"])
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / "scale.json"
    path.write_text(json.dumps(found, indent=1))
    console.print(f"Figures in {path}.")


if __name__ == "__main__":
    main()
