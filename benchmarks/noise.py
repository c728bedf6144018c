"""What ``noise="auto"`` chooses, beside what either choice gives.

    TENSORM_DATA=... python -m benchmarks.noise --part real   # log-loss of a hidden fifth of the cells
    python -m benchmarks.noise --part grid --seeds 0,1        # accuracy on the paper's grid, 36 cells of 20^3
    python -m benchmarks.noise --part large --seeds 0,1       # and on 100^3

Fits of four chains with two rates and with strengths, and what the trial chose, with processor seconds of
all. Pairs of the hospital are hidden together.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from sklearn.metrics import log_loss

from benchmarks.accuracy import DENSITIES, NOISES, RANKS, Cell
from benchmarks.real import DATA, HIDDEN
from tensorm import TensOrMachine
from tensorm.estimator.plan import make_plan, make_tensor
from tensorm.selection.noise import choose_noise

COMPONENTS = {
    "hospital": 16,
    "nations": 16,
    "senate": 8,
    "un": 8,
    "students": 5,
    "school": 16,
    "groceries": 16,
}
MIRRORED = {"hospital": (1, 2)}  # without a shared factor, so that only the split knows
WAYS = {
    "two rates": {"noise": "asymmetric"},
    "activity": {"noise": "strengths"},
    "constant": {"noise": "strengths", "background": "constant"},
}
Score = Callable[[TensOrMachine], float]


def measure(cells: Any, score: Score, n_components: int, pair: Any, seed: int) -> dict[str, float]:
    """Fit in all ways, and try what the cells choose."""
    found: dict[str, float] = {}
    settings = {"symmetric": pair, "random_state": seed, "n_jobs": 1, "progress": False}
    for name, way in WAYS.items():
        started = time.process_time()
        model = TensOrMachine(n_components, **settings | way).fit(cells)
        found |= {name: score(model), f"{name} s": time.process_time() - started}
    tensor, started = make_tensor(cells, pair), time.process_time()
    target = make_plan(TensOrMachine(n_components, noise="auto", **settings), tensor).target
    strong, reason = choose_noise(tensor, target)
    found |= {"strong": float(strong), "trial s": time.process_time() - started}
    print(reason)
    return found | {"auto": found["activity" if strong else "two rates"]}


def measure_real(name: str, seed: int) -> dict[str, float]:
    data = DATA[name]()
    pair = data.pair or MIRRORED.get(name)
    train, cells, values = data.tensor.split(HIDDEN, np.random.default_rng(seed), pair)

    def score(model: TensOrMachine) -> float:
        return float(log_loss(values, model.predict_proba(cells), labels=[False, True]))

    return measure(train, score, COMPONENTS[name], data.pair, seed)


def measure_planted(cell: Cell, seed: int) -> dict[str, float]:
    sim = cell.simulate(seed)
    return measure(
        sim.observed, lambda model: float((model.predict() == sim.noise_free).mean()), cell.rank, None, seed
    )


@click.command()
@click.option("--part", type=click.Choice(["real", "grid", "large"]), default="real")
@click.option("--data", default=",".join(COMPONENTS))
@click.option("--seeds", default="1,2,3", help="Of splits, tensors and fits.")
def main(part: str, data: str, seeds: str) -> None:
    """Measure what is chosen, and what that costs or gains."""
    grid = [Cell((20,) * 3, *x) for x in itertools.product(RANKS, DENSITIES, NOISES[1:])]
    large = [Cell((100,) * 3, 20, 0.2, noise) for noise in (0.1, 0.3)]
    cases = {"grid": grid, "large": large}.get(part, data.split(","))
    rows = []
    for case in cases:
        run = measure_real if part == "real" else measure_planted
        mine = [run(case, seed) for seed in map(int, seeds.split(","))]
        rows.append({name: float(np.mean([row[name] for row in mine])) for name in mine[0]})
        print(case, {name: round(value, 4) for name, value in rows[-1].items()}, flush=True)
    print("mean", {name: round(float(np.mean([row[name] for row in rows])), 4) for name in rows[0]})


if __name__ == "__main__":
    main()
