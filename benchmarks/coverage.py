"""How often 90% intervals of strengths and activities hold the true values.

    python -m benchmarks.coverage                 # 60 tensors, some minutes

Tensors are simulated from the model with strengths: four components whose strengths lie between .2 and .9,
and people who are active without any component, some ten times as much as others. Prints how often intervals
hold the truth, with the standard error over tensors, and how many planted members were found.
"""

from __future__ import annotations

from typing import NamedTuple

import click
import numpy as np
from joblib import Parallel, delayed

from tensorm import TensOrMachine
from tensorm.posterior.align import match

SHAPE, L = (20, 24, 24), 4
STRENGTHS, EVENNESS, RATE, DENSITY = (0.2, 0.9), 2.0, 0.08, 0.4


class Truth(NamedTuple):
    """What cells are drawn from."""

    factors: list[np.ndarray]
    strengths: np.ndarray
    activities: list[np.ndarray]
    cells: np.ndarray


def simulate(number: int) -> Truth:
    """Draw members, strengths, activities and cells."""
    rng = np.random.default_rng(number)
    factors = [rng.random((size, L)) < DENSITY for size in SHAPE]
    strengths = rng.uniform(*STRENGTHS, L)
    activities = [rng.gamma(EVENNESS, 1 / EVENNESS, size) for size in SHAPE]
    holds = np.einsum("al,bl,cl->abcl", *(factor.astype(float) for factor in factors))
    zero = np.exp(-RATE * np.einsum("a,b,c->abc", *activities)) * (1 - (holds * strengths).max(axis=-1))
    return Truth(factors, strengths, activities, rng.random(SHAPE) >= zero)


def measure(number: int) -> dict[str, np.ndarray]:
    """Fit one tensor; return which intervals hold the truth, and which members are right."""
    truth = simulate(number)
    settings = {"noise": "strengths", "random_state": number, "n_chains": 2, "n_jobs": 1, "progress": False}
    model = TensOrMachine(L, **settings).fit(truth.cells)
    order = match([factor.astype(float) for factor in truth.factors], model.factors_)
    found, table = model.strengths_.iloc[order], model.activity_
    table = table.sort_values(["mode", "label"], kind="stable")
    active = np.concatenate(truth.activities)
    members = [
        np.rint(mean[:, order]) == true for mean, true in zip(model.factors_, truth.factors, strict=True)
    ]
    return {
        "strengths": _holds(found, truth.strengths),
        "activities": _holds(table, active),
        "members found": np.concatenate([part.ravel() for part in members]),
    }


def _holds(table: object, truth: np.ndarray) -> np.ndarray:
    low, high = (np.asarray(table[name]) for name in ("low", "high"))  # type: ignore[index]
    return (low <= truth) & (truth <= high)


@click.command()
@click.option("--first", default=0, help="Number of the first tensor.")
@click.option("--tensors", default=60)
@click.option("--jobs", default=2)
def main(first: int, tensors: int, jobs: int) -> None:
    """Measure how often intervals hold the truth."""
    rows = Parallel(n_jobs=jobs)(delayed(measure)(number) for number in range(first, first + tensors))
    for name in rows[0]:
        means = np.array([row[name].mean() for row in rows])
        print(f"{name}: {means.mean():.3f} ± {means.std() / np.sqrt(tensors):.3f}")


if __name__ == "__main__":
    main()
