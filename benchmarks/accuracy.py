"""How often is it right? The paper's grid of simulated tensors, beside a chain that was told the answer.

For every tensor: the defaults, a chain started from the planted factors, plain Gibbs sampling from a random
start as in the paper, and the constant predictor; accuracy against the noise-free tensor.

    python -m benchmarks.accuracy                # 45 cells of 20^3, 10 tensors each
    python -m benchmarks.accuracy --table ways   # K = 2 and K = 4, smaller
    python -m benchmarks.accuracy --table large  # 100^3 and 200^3: are the planted factors recovered?
    python -m benchmarks.accuracy --table asymmetric  # 1% false ones, 40% false zeros

Each prints a table and writes a CSV; the first also draws a figure like the paper's Fig. 2a.
"""

from __future__ import annotations

import csv
import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from tensorm import TensOrMachine, datasets
from tensorm.posterior.align import similarity

OUT = Path(__file__).parent / "out"
RANKS, DENSITIES, NOISES = (3, 5, 10), (0.1, 0.3, 0.5), (0.0, 0.1, 0.2, 0.3, 0.4)


class Cell(NamedTuple):
    """One configuration of simulated tensors."""

    shape: tuple[int, ...]
    rank: int
    density: float
    noise: float

    def simulate(self, number: int, **kind: Any) -> datasets.Simulation:
        """Return tensor `number` of this configuration."""
        settings = np.random.SeedSequence([number, self.rank, *(int(100 * x) for x in self[2:]), *self.shape])
        seed = int(settings.generate_state(1)[0])
        return datasets.simulate(self.shape, self.rank, self.density, self.noise, random_state=seed, **kind)


METHODS = {  # what is compared, by its settings beside the defaults
    "told": {"init": "truth"},
    "plain": {"init": "random", "factor_prior": 0.5, "noise": "symmetric", "noise_update": "map"},
    "symmetric": {"noise": "symmetric"},
}


def measure(cell: Cell, number: int, others: Sequence[str], **kind: Any) -> dict[str, float]:
    """Fit one tensor in every way, and return accuracies, recovery of the factors and seconds."""
    sim = cell.simulate(number, **kind)
    common = {"n_components": cell.rank, "n_jobs": 1, "random_state": number, "progress": False}

    def fit(**settings: Any) -> TensOrMachine:
        if settings.get("init") == "truth":
            settings["init"] = sim.factors
        return TensOrMachine(**common | settings).fit(sim.observed)

    fit(n_draws=1, n_chains=1, burn_in=0)  # nothing is compiled on the clock
    started = time.perf_counter()
    model = fit()
    found = {"seconds": time.perf_counter() - started}
    for method in ("predictive", "mean", "map"):
        found[method] = float((model.predict(method=method) == sim.noise_free).mean())
    found["recovered"] = float(recovered(model, sim.factors))
    found["constant"] = float(max(sim.noise_free.mean(), 1 - sim.noise_free.mean()))
    for name in others:
        other = fit(**METHODS[name])
        found[name] = float((other.predict() == sim.noise_free).mean())
        found[f"{name} recovered"] = float(recovered(other, sim.factors))
    return found


def recovered(model: TensOrMachine, factors: list[np.ndarray]) -> bool:
    """Whether the rounded posterior means are the planted factors, up to order and empty components."""
    found = in_use([np.rint(mean) for mean in model.factors_])
    planted = in_use([np.asarray(factor, dtype=float) for factor in factors])
    same = similarity(planted, found) > 1 - 1e-9
    return bool(same.any(axis=0).all() and same.any(axis=1).all())


def in_use(factors: list[np.ndarray]) -> list[np.ndarray]:
    """Leave out components that are empty in some mode."""
    used = np.logical_and.reduce([factor.any(axis=0) for factor in factors])
    return [factor[:, used] for factor in factors]


def run(cells: Sequence[Cell], tensors: int, others: Sequence[str], **kind: Any) -> list[dict[str, Any]]:
    """Measure every tensor of every cell, in two processes; return the means of each cell."""
    jobs = [(cell, number) for cell in cells for number in range(tensors)]
    results = Parallel(n_jobs=2, verbose=1)(delayed(measure)(*job, others, **kind) for job in jobs)
    rows = []
    for i, cell in enumerate(cells):
        mine = results[i * tensors : (i + 1) * tensors]
        means = {name: float(np.mean([result[name] for result in mine])) for name in mine[0]}
        rows.append({**cell._asdict(), **means})
    return rows


def show(rows: list[dict[str, Any]], name: str) -> None:
    """Print the table with the means of all its rows, and write it as CSV."""
    table = Table(title=name)
    for column in rows[0]:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(f"{value:.4f}" if isinstance(value, float) else str(value) for value in row.values()))
    averages = [
        f"{np.mean([row[column] for row in rows]):.4f}" if isinstance(rows[0][column], float) else ""
        for column in rows[0]
    ]
    table.add_section()
    table.add_row(*averages)
    Console(width=200).print(table)
    OUT.mkdir(exist_ok=True)
    with (OUT / f"accuracy-{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def verdict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Sum the table up in the figures that matter."""
    worst = min(rows, key=lambda row: row["predictive"] - row["told"])
    against_constant = min(row["predictive"] - row["constant"] for row in rows)
    return {
        "mean": float(np.mean([row["predictive"] for row in rows])),
        "mean, told the answer": float(np.mean([row["told"] for row in rows])),
        "worst cell against told": worst["predictive"] - worst["told"],
        "worst cell": f"rank {worst['rank']}, density {worst['density']}, noise {worst['noise']}",
        "worst cell against the constant predictor": against_constant,
        "symmetric noise, mean": float(np.mean([row["symmetric"] for row in rows])),
        "worst cell against symmetric noise": min(row["predictive"] - row["symmetric"] for row in rows),
        "plain Gibbs, mean": float(np.mean([row["plain"] for row in rows])),
        "worst cell against plain Gibbs": min(row["predictive"] - row["plain"] for row in rows),
    }


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw accuracy over noise, density and rank, each averaged over the other two, as in Fig. 2a."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, layout="constrained")
    lines = {
        "told": "told the answer",
        "predictive": "tensorm",
        "plain": "plain Gibbs",
        "constant": "constant",
    }
    for ax, over in zip(axes, ("noise", "density", "rank"), strict=True):
        values = sorted({row[over] for row in rows})
        for name, label in lines.items():
            means = [np.mean([row[name] for row in rows if row[over] == value]) for value in values]
            ax.plot(values, means, marker="o", label=label, ls="--" if name == "told" else "-")
        ax.set_xlabel(over)
    axes[0].set_ylabel("accuracy on noise-free cells")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=150)


TABLES: dict[str, tuple[list[Cell], tuple[str, ...], dict[str, float]]] = {
    "grid": ([Cell((20,) * 3, *x) for x in itertools.product(RANKS, DENSITIES, NOISES)], tuple(METHODS), {}),
    "ways": (
        [
            Cell(s, *x)
            for s in ((40, 40), (10,) * 4)
            for x in itertools.product((3, 5), (0.1, 0.3), (0.0, 0.1, 0.2, 0.3))
        ],
        tuple(METHODS),
        {},
    ),
    "large": (
        [Cell((n,) * 3, rank, 0.2, noise) for n in (100, 200) for rank in (20, 40) for noise in (0.1, 0.3)],
        (),
        {},
    ),
    "asymmetric": (
        [Cell((20,) * 3, rank, density, 0.0) for rank in (3, 5) for density in (0.1, 0.3)]
        + [Cell((50,) * 3, 10, 0.2, 0.0)],
        ("told", "symmetric"),
        {"false_ones": 0.01, "false_zeros": 0.4},
    ),
}


@click.command()
@click.option("--table", type=click.Choice(list(TABLES)), default="grid")
@click.option("--tensors", default=10, help="Tensors for each configuration.")
def main(table: str, tensors: int) -> None:
    """Measure accuracy on simulated tensors."""
    cells, others, kind = TABLES[table]
    rows = run(cells, tensors, others, **kind)
    show(rows, table)
    if table in ("grid", "ways"):
        print(json.dumps(verdict(rows), indent=2))
    if table == "grid":
        draw(rows, OUT / "accuracy-grid.png")


if __name__ == "__main__":
    main()
