"""Whether chains find the best explanation of real data, and predict what they have not seen.

    TENSORM_DATA=... python -m benchmarks.real --quick                    # a few minutes
    TENSORM_DATA=... python -m benchmarks.real --data nations,senate --components 8
    TENSORM_DATA=... python -m benchmarks.real --effort 10 --part chains  # raises what is best known

*chains*: the log posterior (lp) and log-likelihood (ll), each the mean over a chain's draws, and the highest
log-likelihood of its rounded factors at any rates (top), of the best, the median and the worst of 16 chains,
beside the best ever seen (best.json, raised when it is beaten), and how alike the components of two chains
are. *held-out*: log-loss of a fifth of the cells, mirror images together, mean of a few splits, for single
chains, a fit of four, the same four with equal weights, and the plain average of four chains from different
fits; by how many percent the two are behind that average, with the standard error over splits. Four fits of
four chains make four such averages, so that the same chains are compared, only grouped otherwise. Times are
processor seconds per chain, and as a multiple of chains that are not heated, in the same run.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy
from sklearn.metrics import log_loss

from tensorm import TensOrMachine, datasets
from tensorm.posterior.align import factor_means, similarity
from tensorm.sampler.state import Trace
from tensorm.tensors import Tensor, read
from tensorm.tensors.factors import Factors
from tensorm.tensors.symmetric import SymmetricTensor

BEST = Path(__file__).parent / "best.json"
HIDDEN, FOUR = 0.2, 4  # share of the cells, and chains of a fit, and fits
ENDS = "lp", "ll", "top"  # what is told about the ends of chains
MARGIN = 0.5  # by which a best known value has to be beaten


class Data(NamedTuple):
    """Cells, two modes that share a factor, and two whose cells have mirror images, to be hidden together."""

    tensor: Tensor
    pair: tuple[int, int] | None = None
    mirrored: tuple[int, int] | None = None


def load_hospital() -> Data:
    return Data(read(datasets.hospital()), mirrored=(1, 2))


def load_symmetric() -> Data:
    return Data(read(datasets.hospital()), (1, 2))


def load_nations() -> Data:
    parts = [datasets.nations(part) for part in ("train", "valid", "test")]
    return Data(read(np.maximum.reduce([part.values for part in parts])))


def load_students() -> Data:
    return Data(read(datasets.students()))


def load_archive(name: str, pair: tuple[int, int] | None = None) -> Data:
    """Read a table of ones, and of missing cells if there are any; no cell of an index with itself counts."""
    with np.load(Path(os.environ["TENSORM_DATA"]) / "real" / f"{name}.npz") as file:
        X = np.zeros(tuple(file["shape"]), np.float32)
        X[tuple(file["coords"])] = 1
        if "missing" in file:
            X[tuple(file["missing"])] = np.nan
    if pair:
        np.einsum("ii...->i...", np.moveaxis(X, pair, (0, 1)))[...] = np.nan
    return Data(read(X), pair)


DATA: dict[str, Callable[[], Data]] = {
    "hospital": load_hospital,
    "hospital-symmetric": load_symmetric,
    "nations": load_nations,
    "students": load_students,
    "senate": lambda: load_archive("us_senate109"),
    "un": lambda: load_archive("unvotes_country_issue_year"),
    "school": lambda: load_archive("highschool2013_contacts", (0, 1)),
    "groceries": lambda: load_archive("groceries"),
}
QUICK = ("hospital-symmetric", "nations", "students", "un")
Settings = dict[str, Any]


def timed_fit(tensor: Tensor, settings: Settings) -> tuple[TensOrMachine, float]:
    """Fit once with everything compiled; return processor seconds, too."""
    once = settings | {"n_chains": 1, "n_draws": 1, "burn_in": 10}
    TensOrMachine(**once).fit(tensor)
    started = time.process_time()
    model = TensOrMachine(**settings).fit(tensor)
    return model, time.process_time() - started


def measure_chains(data: Data, settings: Settings) -> dict[str, float]:
    """Run chains, and tell where they end."""
    model, seconds = timed_fit(data.tensor, settings)
    chains = model.posterior_.chains
    found = {"seconds": seconds / len(chains), "agreement": agreement(chains)}
    tensor = SymmetricTensor(data.tensor, data.pair) if data.pair else data.tensor
    ends = {
        "lp": [float(trace.log_posterior.mean()) for trace in chains],
        "ll": [float(trace.log_likelihood.mean()) for trace in chains],
        "top": [rounded_fit(tensor, trace) for trace in chains],
    }
    for key, values in ends.items():
        found |= {
            f"{key} best": max(values),
            f"{key} median": float(np.median(values)),
            f"{key} worst": min(values),
        }
    return found


def rounded_fit(tensor: Tensor, trace: Trace) -> float:
    """Return the log-likelihood of a chain's rounded posterior means, at the rates that fit them best."""
    factors = Factors.from_bits([mean > 0.5 for mean in factor_means(trace)])
    tp, fp, fn, tn = tensor.confusion(factors)
    covered, rest = np.array([tp, fp], float), np.array([fn, tn], float)
    return float(sum(xlogy(part, part / max(part.sum(), 1)).sum() for part in (covered, rest)))


def agreement(chains: Sequence[Trace]) -> float:
    """Return how alike the matched components of two chains are, averaged over all pairs of chains."""
    means = [factor_means(trace) for trace in chains]
    alike = [similarity(a, b) for a, b in combinations(means, 2)]
    return float(np.mean([one[linear_sum_assignment(one, maximize=True)].mean() for one in alike]))


def measure_predictions(data: Data, settings: Settings, splits: int) -> dict[str, float]:
    """Hide a fifth of the cells, several times; return mean losses, and how they compare with the average."""
    rows = [measure_split(data, settings, split) for split in range(splits)]
    found = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    for name in ("four", "equal"):
        behind = [100 * (row[f"loss {name}"] / row["loss average"] - 1) for row in rows]
        found[f"{name} behind, %"] = float(np.mean(behind))
        found[f"{name} +-"] = float(np.std(behind, ddof=1) / np.sqrt(splits)) if splits > 1 else np.nan
    return found


def measure_split(data: Data, settings: Settings, split: int) -> dict[str, float]:
    """Hide a fifth of the cells, and predict them in several ways."""
    train, cells, values = data.tensor.split(HIDDEN, np.random.default_rng(split), data.pair or data.mirrored)
    indices = tuple(cells.T)

    def loss(p: np.ndarray) -> float:
        return float(log_loss(values, p, labels=[False, True]))

    fits = [
        TensOrMachine(**settings | {"n_chains": FOUR, "random_state": FOUR * split + n}).fit(train).posterior_
        for n in range(FOUR)
    ]
    ones = np.eye(FOUR)  # all weight to one chain
    single = np.array(
        [[replace(fit, weights=tuple(one)).predict_cells(indices) for one in ones] for fit in fits]
    )
    mixed = [np.mean([single[n, (n + shift) % FOUR] for n in range(FOUR)], axis=0) for shift in range(FOUR)]
    return {
        "loss one": float(np.mean([loss(p) for p in single.reshape(FOUR**2, -1)])),
        "loss four": float(np.mean([loss(fit.predict_cells(indices)) for fit in fits])),
        "loss equal": float(np.mean([loss(p) for p in single.mean(axis=1)])),
        "loss average": float(np.mean([loss(p) for p in mixed])),
        "loss constant": loss(np.full(len(cells), train.n_ones / train.n_observed)),
    }


def raise_best(best: dict[str, dict[str, float]], name: str, row: dict[str, float]) -> dict[str, float]:
    """Return the best known values of a configuration, raised where the row beats them."""
    known = best.setdefault(name, {})
    for key in (f"{end} best" for end in ENDS):
        if row[key] > known.get(key, -np.inf) + MARGIN:
            known[key] = round(row[key], 1)
    return known


def show(rows: list[dict[str, Any]]) -> None:
    """Print the rows as a table."""
    table = Table()
    for column in rows[0]:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(write(name, value) for name, value in row.items()))
    Console(width=240).print(table)


def write(name: str, value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    digits = 0 if name.split()[0] in ENDS else 4 if "loss" in name else 2
    return f"{value:.{digits}f}"


@click.command()
@click.option("--data", default=",".join(DATA), help="Data sets, separated by commas.")
@click.option("--components", default="4,8,16")
@click.option("--chains", default=16)
@click.option("--effort", default=1.0)
@click.option("--noise", default="asymmetric")
@click.option("--background", default="activity", help="With --noise strengths.")
@click.option("--seed", default=0)
@click.option("--splits", default=3, help="Sets of hidden cells.")
@click.option("--part", type=click.Choice(["chains", "held-out", "all"]), default="all")
@click.option("--quick", is_flag=True, help="Four small data sets, 8 components, 8 chains.")
def main(
    data: str, components: str, quick: bool, part: str, chains: int, seed: int, splits: int, **how: Any
) -> None:
    """Measure where chains end and what they predict."""
    if quick:
        data, components, chains = ",".join(QUICK), "8", 8
    best = json.loads(BEST.read_text()) if BEST.exists() else {}
    ends, losses = [], []
    for name in data.split(","):
        cells = DATA[name]()
        for L in map(int, components.split(",")):
            settings = {
                "n_components": L, "n_chains": chains, "symmetric": cells.pair, **how,
                "random_state": seed, "n_jobs": 1, "progress": False,
            }  # fmt: skip
            if part != "held-out":
                row = measure_chains(cells, settings)
                plain = measure_chains(cells, settings | {"effort": 0.0, "n_chains": min(chains, 4)})
                known = raise_best(best, f"{name} {L} {how['noise']}", row)
                BEST.write_text(json.dumps(best, indent=1, sort_keys=True) + "\n")
                row["times plain"] = row["seconds"] / plain["seconds"]
                row |= {f"{key} known": known[f"{key} best"] for key in ENDS}
                ends.append({"data": name, "L": L} | row)
                show(ends[-1:])
            if part != "chains":
                losses.append({"data": name, "L": L} | measure_predictions(cells, settings, splits))
                show(losses[-1:])
    for rows in (ends, losses):
        if rows:
            show(rows)


if __name__ == "__main__":
    main()
