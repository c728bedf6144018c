"""Trials that run once and are kept; tables, figures and sections of the page."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

OUT = Path(__file__).parent / "out"
SAMPLES = "quick"  # the folder in it for results of --quick
SETTINGS = ("noise", "density", "value", "flipped")  # columns of round numbers
Row = dict[str, Any]
Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]


def options(command: Callable[..., None]) -> click.Command:
    """Make a command with the options that all experiments share; samples never replace full tables."""

    @wraps(command)
    def run(quick: bool, **given: Any) -> None:
        with results_in(SAMPLES if quick else ""):
            command(quick=quick, **given)

    run = click.option("--jobs", default=2, help="Number of processes.")(run)
    run = click.option("--fresh", is_flag=True, help="Delete earlier trials.")(run)
    run = click.option("--quick/--full", default=True, help="Run a sample, or everything.")(run)
    return click.command()(run)


@contextmanager
def results_in(folder: str) -> Iterator[None]:
    """Let results go to another folder in the usual one, which the pages in docs are not made from."""
    global OUT
    usual = OUT
    if folder:
        OUT = usual / folder
        click.echo(f"Results go to {OUT}, not to the pages in docs.", err=True)
    OUT.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        OUT = usual


def run(
    name: str, measure: Callable[..., Row], jobs: Sequence[Row], processes: int, fresh: bool
) -> list[Row]:
    """Call ``measure(**job)`` for jobs not done yet; return every job with its result.

    Processes have a thread each, so seconds measured by ``time.process_time`` are those of one core.
    """
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{name}.jsonl"
    if fresh:
        path.unlink(missing_ok=True)
    known: dict[str, Row] = {}
    if path.exists():
        known = dict(map(json.loads, path.read_text().splitlines()))
    missing = [job for job in jobs if identify(job) not in known]
    with path.open("a") as file:
        for key, found in Parallel(
            processes, return_as="generator_unordered", verbose=int(len(missing) > 20)
        )(delayed(_measure)(measure, job) for job in missing):
            known[key] = found
            file.write(json.dumps([key, found]) + "\n")
            file.flush()
    return [{**job, **known[identify(job)]} for job in jobs]


def identify(job: Row) -> str:
    """Return a name for a job."""
    return json.dumps(job, sort_keys=True)


def _measure(measure: Callable[..., Row], job: Row) -> tuple[str, Row]:
    return identify(job), measure(**job)


def average(rows: Sequence[Row], by: Sequence[str], columns: Sequence[str]) -> list[Row]:
    """Return the means of some columns for every combination of the values of others."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return [
        {**dict(zip(by, key, strict=True)), **{name: mean(groups[key], name) for name in columns}}
        for key in sorted(groups)
    ]


def mean(rows: Sequence[Row], column: str) -> float:
    """Return the mean of a column."""
    return float(np.mean([row[column] for row in rows]))


def spread(rows: Sequence[Row], column: str) -> float:
    """Return the standard error of the mean of a column."""
    values = [row[column] for row in rows]
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def show(name: str, rows: Sequence[Row]) -> None:
    """Print a table and write it as CSV."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    table = Table(title=name)
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(tell(row.get(column, ""), column) for column in columns))
    Console(width=180).print(table)
    with (OUT / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def markdown(rows: Sequence[Row]) -> str:
    """Return a table as markdown."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, ["---"] * len(columns)]
    lines += [[tell(row.get(column, ""), column) for column in columns] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tell(value: Any, column: str) -> str:
    """Return a value as text for a table."""
    if column in SETTINGS and isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (float, np.floating)):
        return f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"
    return str(value)


def write_section(name: str, *parts: str) -> None:
    """Write a section of the page: paragraphs, tables and figures."""
    (OUT / f"{name}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


@contextmanager
def drawing(name: str, columns: int, width: float = 11, height: float = 3.4) -> Iterator[Any]:
    """Yield axes side by side, then save the figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, columns, figsize=(width, height), layout="constrained", squeeze=False)
    yield axes[0]
    figure.savefig(OUT / f"{name}.png", dpi=120)
    plt.close(figure)
