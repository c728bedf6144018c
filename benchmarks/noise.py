"""What ``noise="auto"`` chooses, beside what either choice gives.

    TENSORM_DATA=... python -m benchmarks.noise --part real   # log-loss of a hidden fifth of the cells
    TENSORM_DATA=... python -m benchmarks.noise --part rivals # the same cells by others
    python -m benchmarks.noise --part grid --seeds 0,1        # accuracy on the paper's grid, 36 cells of 20^3
    python -m benchmarks.noise --part large --seeds 0,1       # and on 100^3
    python -m benchmarks.noise --part choice --seeds 0,1,2    # only what is chosen on the grid, in a minute
    TENSORM_DATA=... python -m benchmarks.noise --part number --seeds 0  # with the numbers tried by "auto"
    TENSORM_DATA=... python -m benchmarks.noise --part cost   # the trial as a multiple of a default fit
    TENSORM_DATA=... python -m benchmarks.noise --part sweep --seeds 0  # sweeps beside those with two rates

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
from benchmarks.sparse import build, plant
from experiments.contests import logistic_cp
from tensorm import TensOrMachine
from tensorm.estimator.plan import make_plan, make_tensor
from tensorm.sampler.chains import warm_up
from tensorm.sampler.sweep import enter, start, sweep
from tensorm.selection.noise import TRIAL_NUMBERS, NoiseChoice, choose_noise, choose_untried
from tensorm.tensors import pick_storage

COMPONENTS = {
    "hospital": 16,
    "nations": 16,
    "senate": 8,
    "un": 8,
    "students": 5,
    "school": 16,
    "groceries": 16,
}
RANKS_CP = {
    "hospital": (8, 12, 16),
    "nations": (4, 6, 8, 12),
    "senate": (2, 3, 4, 6),
    "un": (3, 5, 8, 12),
    "students": (1, 2, 3),
    "school": (8, 16),
    "groceries": (2, 4, 8),
}
WAYS = {
    "two rates": {"noise": "asymmetric"},
    "activity": {"noise": "strengths"},
    "constant": {"noise": "strengths", "background": "constant"},
}
Score = Callable[[TensOrMachine], float]
QUIET = {"n_jobs": 1, "progress": False}
SWEEPS, DENSITY = 60, 0.1  # that are timed, and of the factors they start from
SPARSE = (10**4, 10**4, 10**3)  # with 10^5 ones


def plant_cube(size: int, rank: int, density: float, noise: float) -> tuple[Callable[[], Any], int]:
    return lambda: Cell((size,) * 3, rank, density, noise).simulate(0).observed, rank


COSTS: dict[str, tuple[Callable[[], Any], int]] = {
    "8^3": plant_cube(8, 3, 0.3, 0.1),
    "12^3": plant_cube(12, 3, 0.3, 0.1),
    "20^3": plant_cube(20, 5, 0.3, 0.1),
    "20^3, 40% noise": plant_cube(20, 5, 0.3, 0.4),
    "nations": (lambda: DATA["nations"]().tensor, 16),
    "hospital": (lambda: DATA["hospital"]().tensor, 16),
    "100^3": plant_cube(100, 20, 0.2, 0.1),
    "100^3, 30% noise": plant_cube(100, 20, 0.2, 0.3),
    "300^3": plant_cube(300, 10, 0.1, 0.05),
    "sparse, 10^5 ones": (lambda: build(plant(SPARSE, 10**5)[0], SPARSE), 20),
}


TIMED = {
    "hospital": COSTS["hospital"],
    "nations": COSTS["nations"],
    "100^3, 10% ones": plant_cube(100, 20, 0.09, 0.01),
    "300^3, 10% ones": plant_cube(300, 20, 0.09, 0.01),
}


def measure(cells: Any, score: Score, n_components: int, pair: Any, seed: int) -> dict[str, float]:
    """Fit in all ways, and try what the cells choose."""
    found: dict[str, float] = {}
    settings = {"symmetric": pair, "random_state": seed, "n_jobs": 1, "progress": False}
    for name, way in WAYS.items():
        started = time.process_time()
        model = TensOrMachine(n_components, **settings | way).fit(cells)
        found |= {name: score(model), f"{name} s": time.process_time() - started}
    choice, seconds = time_trial(cells, n_components, pair, seed)
    print(choice.reason)
    auto = found["activity" if choice.strong else "two rates"]
    return found | {"strong": float(choice.strong), "trial s": seconds, "auto": auto}


def time_trial(cells: Any, n_components: int, pair: Any, seed: int) -> tuple[NoiseChoice, float]:
    """Let the cells choose; return processor seconds, too."""
    tensor = pick_storage(make_tensor(cells, pair), n_components)
    target = make_plan(TensOrMachine(n_components, symmetric=pair, random_state=seed), tensor).target
    if (untried := choose_untried(tensor, target)) is not None:
        return untried, 0.0
    warm_up(tensor, target)
    started = time.process_time()
    return choose_noise(tensor, target), time.process_time() - started


def measure_cost(case: str, seed: int) -> dict[str, float]:
    """Time the trial, and the fit with what it chose, everything compiled."""
    make, n_components = COSTS[case]
    cells = make()
    settings = {"n_components": n_components, "random_state": seed, "n_jobs": 1, "progress": False}
    choice, _ = time_trial(cells, n_components, None, seed)
    _, seconds = time_trial(cells, n_components, None, seed)
    noise = "strengths" if choice.strong else "asymmetric"
    TensOrMachine(**settings, noise=noise, n_chains=1, n_draws=1, burn_in=1).fit(cells)
    started = time.process_time()
    TensOrMachine(**settings, noise=noise).fit(cells)
    fit = time.process_time() - started
    return {"strong": float(choice.strong), "trial s": seconds, "fit s": fit, "ratio": seconds / fit}


def measure_sweeps(case: str, seed: int) -> dict[str, float]:
    """Time sweeps with each noise in turns, from the same components; counts are not kept between them."""
    make, n_components = TIMED[case]
    found = TensOrMachine(n_components, noise="asymmetric", n_chains=1, n_draws=1, random_state=seed, **QUIET)
    tensor = pick_storage(make_tensor(make(), None), n_components)
    bits = [mean > 0.5 for mean in found.fit(tensor).factors_]
    targets = {
        name: make_plan(TensOrMachine(n_components, **way, random_state=seed), tensor).target
        for name, way in WAYS.items()
    }
    first = start(targets["two rates"], bits, DENSITY)
    states = dict.fromkeys(targets, first)
    times: dict[str, list[float]] = {name: [] for name in targets}
    for _ in range(SWEEPS):
        for name, target in targets.items():
            state = enter(tensor, target, states[name])
            started = time.process_time()
            states[name], _ = sweep(tensor, state, target, 0)
            times[name].append(time.process_time() - started)
    best = {name: float(np.mean([min(spent[k::3]) for k in range(3)])) for name, spent in times.items()}
    return {"two rates ms": 1e3 * best["two rates"]} | {n: best[n] / best["two rates"] for n in best}


def measure_choice(cell: Cell, seed: int) -> dict[str, float]:
    choice, seconds = time_trial(cell.simulate(seed).observed, cell.rank, None, seed)
    return {"strong": float(choice.strong), "trial s": seconds}


def measure_number(case: str | Cell, seed: int) -> dict[str, float]:
    """Try strengths with each of the numbers of components that are tried before the number is chosen."""
    cells = case.simulate(100 + seed).observed if isinstance(case, Cell) else DATA[case]().tensor
    found = {}
    for number in TRIAL_NUMBERS:
        choice, _ = time_trial(cells, number, None, seed)
        print(case, number, choice.reason, flush=True)
        found[f"strong with {number}"] = float(choice.strong)
    return found


def measure_real(name: str, seed: int) -> dict[str, float]:
    data = DATA[name]()
    pair = data.pair or data.mirrored
    train, cells, values = data.tensor.split(HIDDEN, np.random.default_rng(seed), pair)

    def score(model: TensOrMachine) -> float:
        return float(log_loss(values, model.predict_proba(cells), labels=[False, True]))

    return measure(train, score, COMPONENTS[name], data.pair, seed)


def measure_rivals(name: str, seed: int) -> dict[str, float]:
    """Predict the same cells by logistic CP, with the rank that is best for them, and without components."""
    data = DATA[name]()
    train, cells, values = data.tensor.split(HIDDEN, np.random.default_rng(seed), data.pair or data.mirrored)
    X = np.where(train.read_cells([np.arange(size) for size in train.shape]) < 0, np.nan, 0.0)
    X[tuple(train.ones_at(np.arange(train.n_ones)).T)] = 1

    def loss(p: Any) -> float:
        return float(log_loss(values, np.clip(p, 1e-6, 1 - 1e-6), labels=[False, True]))

    found = {"constant": loss(np.full(len(cells), train.n_ones / train.n_observed))}
    nobody = [np.zeros((size, 1)) for size in train.shape]
    alone = {"noise": "strengths", "factor_prior": nobody, "init": "random", "random_state": seed}
    found["activity alone"] = loss(TensOrMachine(1, **alone, progress=False).fit(train).predict_proba(cells))
    for rank in RANKS_CP[name]:
        starts = [logistic_cp(X, rank, start)[tuple(cells.T)] for start in range(4)]
        both = {
            "CP, one": float(np.mean([loss(p) for p in starts])),
            "CP, four": loss(np.mean(starts, axis=0)),
        }
        print(name, seed, rank, both, flush=True)
        found |= {key: min(value, found.get(key, np.inf)) for key, value in both.items()}
    return found


def measure_planted(cell: Cell, seed: int) -> dict[str, float]:
    sim = cell.simulate(seed)
    return measure(
        sim.observed, lambda model: float((model.predict() == sim.noise_free).mean()), cell.rank, None, seed
    )


@click.command()
@click.option(
    "--part",
    type=click.Choice(["real", "rivals", "grid", "large", "choice", "number", "cost", "sweep"]),
    default="real",
)
@click.option("--data", default=",".join(COMPONENTS), help="Of real data.")
@click.option("--seeds", default="1,2,3", help="Of splits, tensors and fits.")
def main(part: str, data: str, seeds: str) -> None:
    """Measure what is chosen, and what that costs or gains."""
    grid = [Cell((20,) * 3, *x) for x in itertools.product(RANKS, DENSITIES, NOISES[1:])]
    large = [Cell((100,) * 3, 20, 0.2, noise) for noise in (0.1, 0.3)]
    many = [Cell((100,) * 3, *x) for x in ((20, 0.2, 0.3), (40, 0.2, 0.1), (40, 0.3, 0.4))]
    parts: dict[str, tuple[Any, Callable[[Any, int], dict[str, float]]]] = {
        "real": (data.split(","), measure_real),
        "rivals": (data.split(","), measure_rivals),
        "grid": (grid, measure_planted),
        "large": (large, measure_planted),
        "choice": (grid, measure_choice),
        "number": ([*many, *data.split(",")], measure_number),
        "cost": (COSTS, measure_cost),
        "sweep": (TIMED, measure_sweeps),
    }
    cases, run = parts[part]
    rows = []
    for case in cases:
        mine = [run(case, seed) for seed in map(int, seeds.split(","))]
        rows.append({name: float(np.mean([row[name] for row in mine])) for name in mine[0]})
        print(case, {name: round(value, 4) for name, value in rows[-1].items()}, flush=True)
    print("mean", {name: round(float(np.mean([row[name] for row in rows])), 4) for name in rows[0]})


if __name__ == "__main__":
    main()
