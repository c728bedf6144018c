"""Whether the advice of the diagnostics helps.

    TENSORM_DATA=... python -m benchmarks.advice --part trust  # components found by all, and predictions
    python -m benchmarks.advice --part draws                   # more draws, and a longer burn-in

*trust*: four default fits of the same cells, with other seeds. Of the components found by 1, 2, 3 and all 4
chains of one fit, the share that another fit found, too; and how alike the predictions of two fits are, as
the correlation between the log-odds of all cells. *draws*: of short fits whose conclusion asks for more
draws or a longer burn-in, how many do so no more after doing what it says, once or several times.
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
from tensorm.posterior.align import MIN_SIMILARITY, similarity
from tensorm.tensors import read

FITS = 4
ADVICE = {  # by words of the conclusion
    "more draws": "effective sample size|have not mixed|disagree on",
    "longer burn-in": "still improving",
}
MOST = 4  # fits of the same cells, after which the advice counts as not helpful
SHORT = {"n_draws": 50, "burn_in": 100}


def fit(data: Data, seed: int, **settings: Any) -> TensOrMachine:
    given = {"symmetric": data.pair, "n_jobs": 1, "progress": False, "random_state": seed} | settings
    return TensOrMachine(**given).fit(data.tensor)


def measure_trust(data: Data, components: int) -> dict[str, Any]:
    """Return how often components are found again, by their finders, and how alike predictions are."""
    models = [fit(data, seed, n_components=components) for seed in range(FITS)]
    again = defaultdict[int, list[bool]](list)
    for one, other in permutations(models, 2):
        found = similarity(one.factors_, other.factors_).max(axis=1) > MIN_SIMILARITY
        for finders, seen in zip(one.diagnostics_.finders, found, strict=True):
            again[finders].append(bool(seen))
    row: dict[str, Any] = {
        f"by {n}": f"{np.mean(again[n]):.2f} of {len(again[n]) // (FITS - 1)}" if again[n] else ""
        for n in range(1, 5)
    }
    odds = [logit(model.predict_proba().ravel()) for model in models]
    row["correlation"] = float(np.corrcoef(odds)[np.triu_indices(FITS, 1)].min())
    return row


def measure_draws(data: Data, components: int, seeds: int) -> dict[str, Counter[str]]:
    """Do what conclusions of short fits say, up to three times; count by advice when it is gone."""
    counts = {advice: Counter[str]() for advice in ADVICE}
    for seed in range(seeds):
        settings: dict[str, Any] = SHORT
        given: list[str] = []
        while len(given) < MOST:
            problems = fit(data, seed, n_components=components, **settings).diagnostics_.problems
            said = problems[0] if problems else ""  # the gravest
            advice = next((name for name, words in ADVICE.items() if re.search(words, said)), None)
            if advice is None:
                break
            given.append(advice)
            settings = settings | follow(said, settings)
        if given:
            counts[given[0]]["still there" if len(given) == MOST else f"gone after {len(given)}"] += 1
    return counts


def follow(said: str, settings: dict[str, Any]) -> dict[str, int]:
    """Return the settings that a conclusion asks for."""
    if "burn-in" in said:
        return {"burn_in": 4 * settings["burn_in"]}
    asked = re.search(r"at least ([\d,]+) draws", said)
    return {"n_draws": int(asked[1].replace(",", "")) if asked else 4 * settings["n_draws"]}


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
@click.option("--data", default="nations,hospital-symmetric,un,students,senate", help="Of the first part.")
@click.option("--components", default=8)
@click.option("--seeds", default=8, help="Fits of the second part.")
def main(part: str, data: str, components: int, seeds: int) -> None:
    """Follow the advice, and see."""
    rows: list[dict[str, Any]] = []
    for name, cells in (
        {one: DATA[one]() for one in data.split(",")} if part == "trust" else planted()
    ).items():
        if part == "trust":
            rows.append({"data": name} | measure_trust(cells, components))
        else:
            counts = measure_draws(cells, components, seeds)
            row = {
                name: ", ".join(f"{n} {when}" for when, n in sorted(c.items())) for name, c in counts.items()
            }
            rows.append({"data": name} | row)
        show(rows[-1:])
    show(rows)


if __name__ == "__main__":
    main()
