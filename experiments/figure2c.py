"""Fig. 2c: training accuracy when entries of the factors are flipped at random, at 40% noise and 10% density.

    python -m experiments.figure2c --quick | --full

The MAP factors of our fit and those of Boolean ALS, each entry flipped with a given probability; accuracy on
the noisy training cells, mean of ten random sets of flips. The paper does not give the rank: 5 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.grid import DBTF, LABELS, plant
from experiments.record import (
    Row,
    average,
    claims,
    drawing,
    markdown,
    mean,
    options,
    run,
    show,
    write_section,
)
from tensorm import TensOrMachine, baselines
from tensorm.model import boolean_product

FLIPS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
RANKS = (5, 10)


def measure(rank: int, number: int) -> Row:
    """Return the training accuracy of each method's factors for every share of flips."""
    sim = plant(rank, 0.1, 0.4, number)
    common = {"n_jobs": 1, "random_state": number, "progress": False}
    ours = TensOrMachine(rank, **common).fit(sim.observed)
    factors = {"ours": [mean > 0.5 for mean in ours.factors_]}
    for name, settings in (("als", {}), ("dbtf", DBTF)):
        factors[name] = baselines.BooleanALS(rank, **common, **settings).fit(sim.observed).factors_
    rng = np.random.default_rng(number)
    found: Row = {"truth": float((sim.noise_free == sim.observed).mean())}
    for name, own in factors.items():
        found[f"{name} entries"] = float(np.mean([factor.mean() for factor in own]))
        for share in FLIPS:
            flipped = ([factor ^ (rng.random(factor.shape) < share) for factor in own] for _ in range(10))
            correct = [(boolean_product(factors) == sim.observed).mean() for factors in flipped]
            found[f"{name} {share}"] = float(np.mean(correct))
    return found


def tabulate(trials: Sequence[Row]) -> list[Row]:
    """Return the mean training accuracy for each rank and share of flips."""
    table = []
    for rank in sorted({row["rank"] for row in trials}):
        mine = [row for row in trials if row["rank"] == rank]
        for share in FLIPS:
            line: Row = {"rank": rank, "flipped": share}
            table.append(line | {LABELS[name]: mean(mine, f"{name} {share}") for name in LABELS})
    return table


def compare(table: Sequence[Row]) -> list[tuple[str, str, bool]]:
    """Return the paper's statements about the figure and our measurements."""
    said = []
    for rank in sorted({row["rank"] for row in table}):
        mine = [row for row in table if row["rank"] == rank and row["flipped"] <= 0.1]
        start = mine[0]["tensorm"]
        falls = {name: mine[0][name] - mine[-1][name] for name in LABELS.values()}
        said.append(
            ("ours: 60%, as expected from the noise", f"rank {rank}: {start:.1%}", abs(start - 0.6) < 0.025)
        )
        text = ", ".join(f"{name} {fall:+.3f}" for name, fall in falls.items())
        ahead = falls["tensorm"] < min(falls["ALS, our start"], falls["ALS, DBTF start"])
        said.append(("ours is stable, dbtf falls fast", f"rank {rank}, lost with 10% flipped: {text}", ahead))
        higher = min(mine[0]["ALS, our start"], mine[0]["ALS, DBTF start"])
        said.append(("dbtf's training accuracy is higher", f"rank {rank}: {higher:.1%}", higher > start))
    return said


def draw(table: Sequence[Row]) -> None:
    """Draw training accuracy over the share of flips."""
    ranks = sorted({row["rank"] for row in table})
    with drawing("figure2c", len(ranks), width=4.5 * len(ranks)) as axes:
        for ax, rank in zip(axes, ranks, strict=True):
            mine = [row for row in table if row["rank"] == rank]
            for name in LABELS.values():
                ax.plot([row["flipped"] for row in mine], [row[name] for row in mine], "o-", label=name)
            ax.set(xlabel="share of entries flipped", title=f"rank {rank}")
        axes[0].set_ylabel("training accuracy")
        axes[0].legend(frameon=False, fontsize=8)


@options
def main(quick: bool, fresh: bool, jobs: int) -> None:
    """Training accuracy under flips of factor entries."""
    tensors = 3 if quick else 10
    work = [{"rank": rank, "number": number} for rank in RANKS for number in range(tensors)]
    trials = run("figure2c", measure, work, jobs, fresh)
    table = tabulate(trials)
    show("figure2c", table)
    draw(table)
    entries = average(trials, ["rank"], [f"{name} entries" for name in LABELS])
    filled = "; ".join(
        f"rank {row['rank']}: " + ", ".join(f"{LABELS[name]} {row[f'{name} entries']:.1%}" for name in LABELS)
        for row in entries
    )
    write_section(
        "figure2c",
        f"{tensors} tensors for each rank.",
        "![training accuracy under flips](figures/figure2c.png)",
        markdown(table),
        f"Share of factor entries that are 1 before any flip: {filled}.",
        claims(compare(table)),
    )


if __name__ == "__main__":
    main()
