"""The paper's grid of random tensors, and the methods that are fitted to them: Figs. 2a, 2b, rivals."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from experiments.real import bernoulli_gcp, nonnegative_cp
from experiments.record import Row, run
from tensorm import TensOrMachine, baselines, datasets

RANKS, DENSITIES, NOISES = (3, 5, 10), (0.1, 0.3, 0.5, 0.7), (0.0, 0.1, 0.2, 0.3, 0.4)
SIDE = 20
DBTF = {"init": "fibres", "n_init": 20}  # the start of Park, Oh and Kang
SEEDED = {"init": "data", "lambda_start": None}  # components found in the cells, as our chains start
LABELS = {
    "ours": "tensorm",
    "published": "as published",
    "seeded": "as published, start from data",
    "als": "ALS, our start",
    "dbtf": "ALS, DBTF start",
    "walk": "Walk'n'Merge",
    "nncp": "nnCP > 0.5",
    "gcp": "GCP odds",
}
BOOLEAN = ("ours", "published", "seeded", "als", "dbtf")
KINDS = {"mean": "mean", "map": "map", "joint": "best"}  # reconstructions besides the predictive
NAMES = ("rank", "density", "noise", "number")  # what a tensor is called


def fit_walks(L: int, X: np.ndarray, seed: int) -> Any:
    """Fit Walk'n'Merge at several thresholds, and return the one with the shortest description."""
    fits = [baselines.WalkNMerge(L, density=d, random_state=seed).fit(X) for d in (0.6, 0.7, 0.8)]
    return min(fits, key=lambda fit: fit.length_)


def settings(seed: int) -> dict[str, Any]:
    """Return the parameters that our fits share."""
    return {"n_jobs": 1, "random_state": seed, "progress": False}


FITS: dict[str, Callable[[int, np.ndarray, int], Any]] = {
    "ours": lambda L, X, seed: TensOrMachine(L, **settings(seed)).fit(X),
    "published": lambda L, X, seed: TensOrMachine.as_published(L, **settings(seed)).fit(X),
    "seeded": lambda L, X, seed: TensOrMachine.as_published(L, **settings(seed), **SEEDED).fit(X),
    "als": lambda L, X, seed: baselines.BooleanALS(L, **settings(seed)).fit(X),
    "dbtf": lambda L, X, seed: baselines.BooleanALS(L, **settings(seed), **DBTF).fit(X),
    "walk": fit_walks,
    "nncp": lambda L, X, seed: nonnegative_cp(X, L, seed),
    "gcp": lambda L, X, seed: bernoulli_gcp(X, L, seed),
}


def plant(rank: int, density: float, noise: float, number: int, side: int = SIDE) -> datasets.Simulation:
    """Return random tensor `number` of a configuration."""
    key = [number, rank, round(100 * density), round(100 * noise), side]
    seed = int(np.random.SeedSequence(key).generate_state(1)[0])
    return datasets.simulate((side,) * 3, rank, density, noise, random_state=seed)


def timed(fit: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and the processor seconds it took."""
    started = time.process_time()
    return fit(), time.process_time() - started


@cache
def warm_up() -> None:
    """Compile before anything is timed, once in a process."""
    X = np.eye(3)[None] * np.ones((3, 1, 1))
    TensOrMachine(2, n_chains=1, n_draws=1, burn_in=0, n_jobs=1, progress=False).fit(X)


def measure(rank: int, density: float, noise: float, number: int, method: str) -> Row:
    """Fit one tensor by one method; accuracy on noise-free and on training cells."""
    sim = plant(rank, density, noise, number)
    warm_up()
    model, seconds = timed(lambda: FITS[method](rank, sim.observed, number))
    found: Row = {"seconds": seconds}
    found["test"], found["train"] = score(model.predict(), sim)
    if isinstance(model, TensOrMachine):
        for name, kind in KINDS.items():
            found[f"{name} test"], found[f"{name} train"] = score(model.predict(method=kind), sim)
    return found


def score(cells: np.ndarray, sim: datasets.Simulation) -> tuple[float, float]:
    """Return the share of cells that equal the noise-free tensor, and the noisy one."""
    return float((cells == sim.noise_free).mean()), float((cells == sim.observed).mean())


def trivial(rank: int, density: float, noise: float, number: int) -> Row:
    """Return what the planted tensor and constant predictions score on a tensor."""
    sim = plant(rank, density, noise, number)
    ones = float(sim.noise_free.mean())
    return {
        "truth train": float((sim.noise_free == sim.observed).mean()),
        "constant test": max(ones, 1 - ones),
        "zeros train": float((sim.observed == 0).mean()),
    }


def gather(trials: Iterable[Row]) -> list[Row]:
    """Return a row for each tensor with the results of every method, and what is trivial."""
    tensors: dict[tuple[Any, ...], Row] = {}
    for row in trials:
        name = {key: row[key] for key in NAMES}
        if tuple(name.values()) not in tensors:
            tensors[tuple(name.values())] = name | trivial(**name)
        found = {key: value for key, value in row.items() if key not in (*NAMES, "method")}
        tensors[tuple(name.values())] |= {f"{row['method']} {key}": value for key, value in found.items()}
    return list(tensors.values())


def measure_tensors(
    configurations: Sequence[tuple[int, float, float]],
    tensors: int,
    processes: int,
    fresh: bool,
    methods: Sequence[str] = BOOLEAN,
) -> list[Row]:
    """Return a row for each of some tensors of each configuration, with the results of every method."""
    jobs = [
        {"rank": rank, "density": density, "noise": noise, "number": number, "method": method}
        for number in range(tensors)
        for rank, density, noise in configurations
        for method in methods
    ]
    return gather(run("grid", measure, jobs, processes, fresh))


def measure_grid(
    tensors: int, processes: int, fresh: bool, ranks: tuple[int, ...] | None = None
) -> list[Row]:
    """Return all tensors of the paper's grid, or those of some ranks, with the results of every method."""
    return measure_tensors(
        list(itertools.product(ranks or RANKS, DENSITIES, NOISES)), tensors, processes, fresh
    )
