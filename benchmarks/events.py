"""What does a sweep cost once little flips? Counts kept between sweeps, beside a plain sweep.

    python -m benchmarks.events                   # every size: about two minutes
    python -m benchmarks.events --json events.json

Both chains start from the planted factors, with the defaults of the estimator, make the same draws (which is
checked) and take turns. The middle of the processor times counts, for the clock also runs while others
compute. `spare` components are planted nowhere: they are empty in some mode, and their entries in the others
flip without end. Then whole fits, with the choice that `fit` makes by itself and with plain sweeps only.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from benchmarks.sweep import DENSITY, machine, show, sweeps
from tensorm import DenseTensor, TensOrMachine, datasets
from tensorm.tensors import cached as keeping
from tensorm.tensors.cached import CachedCounts

RANK, REST, SWEEPS = 20, 30, 60
CASES: list[tuple[tuple[int, ...], float, int]] = [
    ((20, 20, 20), 0.1, 0),
    ((100, 100, 100), 0.1, 0),
    ((100, 100, 100), 0.4, 0),
    ((200, 200, 200), 0.1, 0),
    ((200, 200, 200), 0.45, 0),
    ((300, 300, 300), 0.1, 0),
    ((300, 300, 300), 0.4, 0),
    ((300, 300, 300), 0.1, 3),
    ((500, 300, 300), 0.1, 0),
    ((500, 500, 500), 0.1, 0),
    ((10_000, 60, 60), 0.2, 0),
    ((10_000, 60, 60), 0.3, 0),
    ((10_000, 60, 60), 0.35, 0),
    ((10_000, 60, 60), 0.4, 0),
    ((100_000, 500), 0.2, 0),
]


def measure(shape: tuple[int, ...], noise: float, spare: int) -> dict[str, Any]:
    """Time sweeps of two chains in turn, and count the entries and rows that flip."""
    sim = datasets.simulate(shape, RANK, DENSITY, noise, random_state=0)
    factors = [np.pad(factor, ((0, 0), (0, spare))) for factor in sim.factors]
    tensor = DenseTensor(sim.observed)
    plain, kept = sweeps(tensor, factors), sweeps(CachedCounts(tensor), factors)
    times: dict[str, list[float]] = {"plain": [], "kept": []}
    flips, rows, old = [], [], None
    for i in range(REST + SWEEPS):
        started = time.process_time()
        state, _ = next(plain)
        between = time.process_time()
        same, _ = next(kept)
        ended = time.process_time()
        for a, b in zip(state.factors, same.factors, strict=True):
            np.testing.assert_array_equal(a, b)
        if i >= REST:
            times["plain"].append(between - started)
            times["kept"].append(ended - between)
            different = [a ^ b for a, b in zip(state.factors, old, strict=True)]
            flips.append(sum(int(np.bitwise_count(words).sum()) for words in different))
            rows.append(sum(int(words.any(axis=1).sum()) for words in different) / sum(shape))
        old = state.factors
    seconds = {name: float(np.median(taken)) for name, taken in times.items()}
    return {
        "shape": shape,
        "noise": noise,
        "rank": RANK,
        "spare": spare,
        "flips": float(np.mean(flips)),
        "rows": float(np.mean(rows)),
        "seconds": seconds,
        "ratio": seconds["kept"] / seconds["plain"],
    }


def measure_fit(size: int, rank: int) -> dict[str, Any]:
    """Time whole fits of a cube, two chains with the defaults, the better of two."""
    X = datasets.simulate((size,) * 3, rank, DENSITY, 0.1, random_state=0).observed
    seconds, chosen = {"plain": np.inf, "kept": np.inf}, keeping.WORTH_KEEPING
    for name in (*seconds, *seconds):
        keeping.WORTH_KEEPING = chosen if name == "kept" else np.inf
        started = time.process_time()
        TensOrMachine(rank, n_chains=2, random_state=0, progress=False).fit(X)
        seconds[name] = min(seconds[name], time.process_time() - started)
    keeping.WORTH_KEEPING = chosen
    return {"size": size, "rank": rank, "seconds": seconds}


def show_fits(found: Sequence[dict[str, Any]]) -> None:
    rows = [
        [f"{row['size']}^3", str(row["rank"]), *(f"{row['seconds'][name]:.2f}" for name in ("plain", "kept"))]
        for row in found
    ]
    show("A whole fit, two chains, seconds of processor time", ("cells", "L", "plain", "as chosen"), rows)


def show_events(found: Sequence[dict[str, Any]]) -> None:
    columns = "cells", "noise", "spare", "flips", "rows that flip", "plain, ms", "kept, ms", "kept / plain"
    rows = [
        [
            "x".join(str(size) for size in row["shape"]),
            f"{row['noise']:.0%}",
            f"{row['spare']}",
            f"{row['flips']:,.1f}",
            f"{row['rows']:.2%}",
            *(f"{1e3 * row['seconds'][name]:.2f}" for name in ("plain", "kept")),
            f"{row['ratio']:.2f}",
        ]
        for row in found
    ]
    show(f"One sweep at rest, {RANK} components, one thread", columns, rows)


@click.command(help=__doc__.partition("\n")[0])
@click.option("--json", "path", type=click.Path(path_type=Path), help="Write the figures here.")
def main(path: Path | None) -> None:
    found: dict[str, Any] = {"machine": machine()}
    Console().print(found["machine"])
    found["events"] = [measure(*case) for case in CASES]
    show_events(found["events"])
    found["fits"] = [measure_fit(size, rank) for size, rank in ((20, 5), (100, 10), (300, 20))]
    show_fits(found["fits"])
    if path is not None:
        path.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
