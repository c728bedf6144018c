"""All rivals on 18 configurations of random tensors: accuracy against the noise-free tensor, and time.

    python -m experiments.rivals --quick    # one tensor each
    python -m experiments.rivals --full     # ten

Defaults everywhere, with the planted rank as the number of components. Walk'n'Merge is run at three density
thresholds, and the shortest description is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments.grid import DBTF, plant, score, timed, warm_up
from experiments.real import bernoulli_gcp, nonnegative_cp
from experiments.record import Row, drawing, markdown, mean, options, run, show, spread, write_section
from tensorm import TensOrMachine, baselines

CONFIGURATIONS = (
    *((rank, density, noise) for rank in (5, 10) for density in (0.1, 0.3) for noise in (0.0, 0.1, 0.2)),
    *((10, 0.5, 0.1), (10, 0.7, 0.1), (10, 0.3, 0.3), (10, 0.3, 0.4), (5, 0.5, 0.3), (5, 0.7, 0.1)),
)
LABELS = {
    "ours": "tensorm",
    "als": "ALS, our start",
    "dbtf": "ALS, DBTF start",
    "walk": "Walk'n'Merge",
    "nncp": "nnCP > 0.5",
    "gcp": "GCP odds",
}


def fit_walks(rank: int, X: np.ndarray, seed: int) -> Any:
    """Fit Walk'n'Merge at several thresholds, and return the one with the shortest description."""
    fits = [baselines.WalkNMerge(rank, density=d, random_state=seed).fit(X) for d in (0.6, 0.7, 0.8)]
    return min(fits, key=lambda fit: fit.length_)


FITS: dict[str, Callable[[int, np.ndarray, int], Any]] = {
    "ours": lambda L, X, seed: TensOrMachine(L, n_jobs=1, random_state=seed, progress=False).fit(X),
    "als": lambda L, X, seed: baselines.BooleanALS(L, random_state=seed).fit(X),
    "dbtf": lambda L, X, seed: baselines.BooleanALS(L, random_state=seed, **DBTF).fit(X),
    "walk": fit_walks,
    "nncp": lambda L, X, seed: nonnegative_cp(X, L, seed),
    "gcp": lambda L, X, seed: bernoulli_gcp(X, L, seed),
}


def measure(rank: int, density: float, noise: float, number: int, method: str) -> Row:
    """Fit one tensor by one method."""
    sim = plant(rank, density, noise, number)
    warm_up()
    model, seconds = timed(lambda: FITS[method](rank, sim.observed, number))
    test, train = score(model.predict(), sim)
    return {"test": test, "train": train, "seconds": seconds}


def gather(trials: Sequence[Row]) -> list[Row]:
    """Return a row for each tensor with the accuracy and the time of every method."""
    tensors: dict[tuple[Any, ...], Row] = {}
    for row in trials:
        names = ("rank", "density", "noise", "number")
        mine = tensors.setdefault(tuple(row[name] for name in names), {name: row[name] for name in names})
        mine[row["method"]], mine[f"{row['method']} seconds"] = row["test"], row["seconds"]
    return list(tensors.values())


def tabulate(tensors: Sequence[Row], methods: Sequence[str]) -> list[Row]:
    """Return mean accuracies of each configuration, the best rival, and our lead."""
    table = []
    for rank, density, noise in CONFIGURATIONS:
        mine = [
            row for row in tensors if (row["rank"], row["density"], row["noise"]) == (rank, density, noise)
        ]
        if not mine:
            continue
        line: Row = {"configuration": f"L{rank} d{density} n{noise:g}"}
        line |= {LABELS[name]: mean(mine, name) for name in methods}
        best = max((name for name in methods if name != "ours"), key=lambda name: mean(mine, name))
        ahead = [{"ahead": row["ours"] - row[best]} for row in mine]
        line |= {"best rival": LABELS[best], "ahead": mean(ahead, "ahead"), "±": spread(ahead, "ahead")}
        table.append(line)
    return table


def judge(table: Sequence[Row], tensors: Sequence[Row], methods: Sequence[str]) -> list[str]:
    """Return sentences on where we are ahead, level or behind."""
    behind = [row for row in table if row["ahead"] < -max(2 * row["±"], 0.001)]
    said = [
        f"{len(table) - len(behind)} of {len(table)} configurations: ahead of every rival, or level with the "
        "best within two standard errors of the paired difference (or 0.001)."
    ]
    said += [
        f"Behind in {row['configuration']}: {row['ahead']:+.4f} ± {row['±']:.4f} to {row['best rival']}."
        for row in behind
    ]
    noisy = [row for row in tensors if row["noise"] >= 0.2]
    if noisy:
        means = ", ".join(f"{LABELS[name]} {mean(noisy, name):.4f}" for name in methods)
        said.append(f"Mean accuracy at 20% noise or more: {means}.")
    seconds = ", ".join(f"{LABELS[name]} {mean(tensors, f'{name} seconds'):.2f}" for name in methods)
    said.append(f"Mean processor seconds per tensor: {seconds}. Ours runs four chains with 250 draws each.")
    return said


def draw(table: Sequence[Row], methods: Sequence[str]) -> None:
    """Draw the accuracy of every method in every configuration."""
    with drawing("rivals", 1, height=4) as (ax,):
        for name in methods:
            style = {"color": "k", "zorder": 3} if name == "ours" else {}
            values = [row[LABELS[name]] for row in table]
            ax.plot(range(len(table)), values, "o-", ms=4, lw=1, label=LABELS[name], **style)
        ax.set_xticks(range(len(table)), [row["configuration"] for row in table], rotation=60, ha="right")
        ax.set_ylabel("accuracy on noise-free cells")
        ax.legend(frameon=False, fontsize=8)


@options
def main(quick: bool, fresh: bool, jobs: int) -> None:
    """Every rival on every configuration."""
    tensors, methods = 1 if quick else 10, list(FITS)
    work = [
        {"rank": rank, "density": density, "noise": noise, "number": number, "method": method}
        for number in range(tensors)
        for rank, density, noise in CONFIGURATIONS
        for method in methods
    ]
    found = gather(run("rivals", measure, work, jobs, fresh))
    table = tabulate(found, methods)
    show("rivals", table)
    draw(table, methods)
    said = judge(table, found, methods)
    print("\n".join(said))
    write_section(
        "rivals",
        f"Tensors per configuration: {tensors}. L: rank, d: density, n: noise.",
        "![accuracy of all methods](figures/rivals.png)",
        markdown(table),
        "\n".join(f"- {sentence}" for sentence in said),
    )


if __name__ == "__main__":
    main()
