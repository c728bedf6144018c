"""The paper's grid of random tensors, fitted by us and by Boolean ALS: Figs. 2a and 2b."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.record import Row, run
from tensorm import TensOrMachine, baselines, datasets

RANKS, DENSITIES, NOISES = (3, 5, 10), (0.1, 0.3, 0.5, 0.7), (0.0, 0.1, 0.2, 0.3, 0.4)
SIDE = 20
LABELS = {"ours": "tensorm", "als": "ALS, our start", "dbtf": "ALS, DBTF start"}
DBTF = {"init": "fibres", "n_init": 20}  # the start of Park, Oh and Kang


def plant(rank: int, density: float, noise: float, number: int, side: int = SIDE) -> datasets.Simulation:
    """Return random tensor `number` of a configuration."""
    key = [number, rank, round(100 * density), round(100 * noise), side]
    seed = int(np.random.SeedSequence(key).generate_state(1)[0])
    return datasets.simulate((side,) * 3, rank, density, noise, random_state=seed)


def timed(fit: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and the processor seconds it took."""
    started = time.process_time()
    return fit(), time.process_time() - started


def warm_up() -> None:
    """Compile before anything is timed."""
    X = np.eye(3)[None] * np.ones((3, 1, 1))
    TensOrMachine(2, n_chains=1, n_draws=1, burn_in=0, n_jobs=1, progress=False).fit(X)


def measure(rank: int, density: float, noise: float, number: int, side: int = SIDE) -> Row:
    """Fit one tensor by ours and by ALS from both starts; accuracy on noise-free and on training cells."""
    sim = plant(rank, density, noise, number, side)
    warm_up()
    common: dict[str, Any] = {"n_jobs": 1, "random_state": number, "progress": False}
    ours, seconds = timed(lambda: TensOrMachine(rank, **common).fit(sim.observed))
    found: Row = {"ours seconds": seconds}
    for name, method in (("ours", "predictive"), ("mean", "mean"), ("map", "map")):
        found[f"{name} test"], found[f"{name} train"] = score(ours.predict(method=method), sim)
    for name, settings in (("als", {}), ("dbtf", DBTF)):
        model = baselines.BooleanALS(rank, **common, **settings)
        _, found[f"{name} seconds"] = timed(lambda model=model: model.fit(sim.observed))
        found[f"{name} test"], found[f"{name} train"] = score(model.predict(), sim)
    found["truth train"] = float((sim.noise_free == sim.observed).mean())
    found["constant test"] = float(max(sim.noise_free.mean(), 1 - sim.noise_free.mean()))
    return found


def score(cells: np.ndarray, sim: datasets.Simulation) -> tuple[float, float]:
    """Return the share of cells that equal the noise-free tensor, and the noisy one."""
    return float((cells == sim.noise_free).mean()), float((cells == sim.observed).mean())


def measure_grid(
    tensors: int, processes: int, fresh: bool, ranks: tuple[int, ...] | None = None
) -> list[Row]:
    """Return all trials of the grid, or those of some ranks."""
    jobs = [
        {"rank": rank, "density": density, "noise": noise, "number": number}
        for number in range(tensors)
        for rank, density, noise in itertools.product(ranks or RANKS, DENSITIES, NOISES)
    ]
    return run("grid", measure, jobs, processes, fresh)
