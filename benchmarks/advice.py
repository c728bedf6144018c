"""Whether the advice of the diagnostics helps.

    TENSORM_DATA=... python -m benchmarks.advice --part trust  # components found by all, and predictions
    TENSORM_DATA=... python -m benchmarks.advice --part draws  # more draws, on invented and real data

*trust*: four default fits of the same cells, with other seeds. Of the components found by 1, 2, 3 and all 4
chains of one fit, the share that another fit found, too; and how alike the predictions of two fits are, as
the correlation between the log-odds of all cells. *draws*: of fits whose conclusion asks for so many draws,
how many do so no more after doing what it says, once or several times.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import permutations
from typing import Any

import click
import numpy as np
from scipy.special import logit

from benchmarks.real import DATA, Data, show
from tensorm import TensOrMachine, datasets
from tensorm.posterior.align import pair_components
from tensorm.tensors import read

FITS = 4
ASKED = re.compile(r"use at least ([\d,]+) draws")
MOST = 4  # fits of the same cells, after which the advice counts as not helpful
DRAWS = 50  # of the first fit, so that there is advice to follow


def fit(data: Data, seed: int, **settings: Any) -> TensOrMachine:
    given = {"symmetric": data.pair, "n_jobs": 1, "progress": False, "random_state": seed} | settings
    return TensOrMachine(**given).fit(data.tensor)


def measure_trust(data: Data, components: int) -> dict[str, Any]:
    """Return how often components are found again, by their finders, and how alike predictions are."""
    models = [fit(data, seed, n_components=components) for seed in range(FITS)]
    again = defaultdict[int, list[bool]](list)
    for one, other in permutations(models, 2):
        found = pair_components(one.factors_, other.factors_)
        for component, finders in enumerate(one.diagnostics_.finders):
            again[finders].append(component in found)
    row: dict[str, Any] = {
        f"by {n}": f"{np.mean(again[n]):.2f} of {len(again[n]) // (FITS - 1)}" if again[n] else ""
        for n in range(1, 5)
    }
    odds = [logit(model.predict_proba().ravel()) for model in models]
    row["correlation"] = float(np.corrcoef(odds)[np.triu_indices(FITS, 1)].min())
    return row


def measure_draws(data: Data, components: int, seeds: int) -> Counter[str]:
    """Make as many draws as conclusions ask for, up to three times; count when that is no longer asked."""
    counts = Counter[str]()
    for seed in range(seeds):
        draws, given = DRAWS, 0
        while given < MOST:
            problems = fit(data, seed, n_components=components, n_draws=draws).diagnostics_.problems
            asked = ASKED.search(" ".join(problems))
            if asked is None:
                break
            given, draws = given + 1, int(asked[1].replace(",", ""))
        if given:
            counts["still there" if given == MOST else f"gone after {given}"] += 1
    return counts


def planted() -> dict[str, Data]:
    """Return invented data that are hard to mix: much noise, or components that overlap."""
    grid = {
        "20^3, noise .4": (20, 5, 0.3, 0.4),
        "12^3, noise .3": (12, 3, 0.3, 0.3),
        "20^3, rank 10": (20, 10, 0.3, 0.4),
    }
    made = {}
    for name, (size, rank, density, noise) in grid.items():
        made[name] = Data(read(datasets.simulate((size,) * 3, rank, density, noise, random_state=7).observed))
    return made


@click.command()
@click.option("--part", type=click.Choice(["trust", "draws"]), default="trust")
@click.option("--data", default="nations,hospital-symmetric,un,students,senate", help="Real data.")
@click.option("--components", default=8)
@click.option("--seeds", default=8, help="Fits of the second part.")
def main(part: str, data: str, components: int, seeds: int) -> None:
    """Follow the advice, and see."""
    rows: list[dict[str, Any]] = []
    chosen = {one: DATA[one]() for one in data.split(",")}
    for name, cells in (chosen if part == "trust" else planted() | chosen).items():
        if part == "trust":
            rows.append({"data": name} | measure_trust(cells, components))
        else:
            counts = measure_draws(cells, components, seeds)
            told = ", ".join(f"{n} {when}" for when, n in sorted(counts.items()))
            rows.append({"data": name, "asked for more draws": f"{counts.total()} of {seeds}", "then": told})
        show(rows[-1:])
    show(rows)


if __name__ == "__main__":
    main()
