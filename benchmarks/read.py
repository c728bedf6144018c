"""How long does it take to read a table? ``tensorm.read`` beside ``pandas.read_csv`` in the same run.

The first call of a process also imports what it needs, so it is measured in processes of its own, each of
which calls pandas first, as most scripts do, or tensorm first.

python -m benchmarks.read                     # a million rows of each kind: three minutes
python -m benchmarks.read --rows 100000
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import tensorm

REPEATS = 3
FIRST_CALL = """
import json, sys, time
import pandas, tensorm
file, options, pandas_first = json.loads(sys.argv[1])
calls = [("tensorm", lambda: tensorm.read(file, **options)), ("pandas", lambda: pandas.read_csv(file))]
times = {}
for name, call in reversed(calls) if pandas_first else calls:
    started = time.process_time()
    call()
    times[name] = time.process_time() - started
print(json.dumps(times))
"""


def write_tables(folder: Path, n: int) -> dict[str, dict[str, Any]]:
    """Write tables of contacts, and return how each is to be read."""
    rng = np.random.default_rng(0)
    people = np.array([f"person {i}" for i in range(2000)])
    seconds = rng.integers(0, 10**7, n)
    pairs = {"person": people[rng.integers(0, 2000, n)], "met": people[rng.integers(0, 2000, n)]}
    hours = np.array([f"{hour:02d}-{hour + 1:02d}" for hour in range(24)])[rng.integers(0, 24, n)]
    ids = np.array([f"{i:05d}" for i in range(5000)])
    stamps = pd.Timestamp("2024-01-01") + pd.to_timedelta(seconds, "s")
    tables: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "texts": ({"hour": hours, **pairs}, {}),
        "integers": ({"t": seconds, "i": rng.integers(0, 5000, n), "j": rng.integers(0, 5000, n)}, {}),
        "times": ({"t": stamps, **pairs}, {"time": "t", "bins": "1h"}),
        "undirected": ({"hour": hours, **pairs}, {"pair": ["person", "met"], "undirected": True}),
        "padded": ({"hour": hours, **{name: ids[rng.integers(0, 5000, n)] for name in ("i", "j")}}, {}),
        "signed": (
            {**{name: rng.integers(0, 5000, n) for name in ("i", "j", "k")}, "x": rng.choice([-0.5, 1.5], n)},
            {"value": "x", "threshold": 0},
        ),
        "floats": ({"level": rng.integers(0, 5000, n) / 8, **pairs}, {"modes": ["level", "person", "met"]}),
        "wide": ({"id": np.arange(n), **{f"item {k}": rng.integers(0, 2, n) for k in range(8)}}, {}),
        "values": ({**pairs, "x": rng.random(n).round(4)}, {"value": "x", "threshold": 0.5}),
    }
    for name, (columns, _) in tables.items():
        table = pd.DataFrame(columns)
        if name == "values":
            table = table.drop_duplicates(["person", "met"])
        if name == "signed":
            table = table.drop_duplicates(["i", "j", "k"])
        table.to_csv(folder / f"{name}.csv", index=False)
    return {name: options for name, (_, options) in tables.items()}


def best(work: Callable[[], Any]) -> float:
    """Return the shortest of a few times, in seconds."""
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def time_first(file: Path, options: dict[str, Any], pandas_first: bool) -> dict[str, float]:
    """Return the shortest times of the first calls of a few processes, in seconds."""
    given = json.dumps([str(file), options, pandas_first])
    runs = (
        subprocess.run([sys.executable, "-c", FIRST_CALL, given], capture_output=True, check=True)
        for _ in range(REPEATS)
    )
    times = [json.loads(run.stdout) for run in runs]
    return {name: min(run[name] for run in times) for name in times[0]}


@click.command()
@click.option("--rows", default=10**6, show_default=True)
def main(rows: int) -> None:
    """Print the times and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        for name, options in write_tables(Path(folder), 100).items():
            tensorm.read(Path(folder) / f"{name}.csv", **options)  # kernels are compiled
        for name, options in write_tables(Path(folder), rows).items():
            file = Path(folder) / f"{name}.csv"
            plain = best(lambda file=file: pd.read_csv(file))  # type: ignore[misc]
            ours = best(lambda file=file, options=options: tensorm.read(file, **options))  # type: ignore[misc]
            firsts = [time_first(file, options, pandas_first) for pandas_first in (True, False)]
            ratios = " and ".join(f"{first['tensorm'] / first['pandas']:.1f}" for first in firsts)
            print(
                f"{name:12} pandas {plain:.2f} s   tensorm {ours:.2f} s   ratio {ours / plain:.1f}   "
                f"first call, after pandas and before it: {ratios}",
                flush=True,
            )


if __name__ == "__main__":
    main()
