"""How often is the number of components right? The paper's Fig. 3, and the hospital contacts.

    python -m benchmarks.selection                      # 180 configurations of 20^3, five tensors each
    python -m benchmarks.selection --quick              # 27 configurations, one tensor each: some minutes
    python -m benchmarks.selection --methods cv --tensors 1    # some methods only
    TENSORM_DATA=... python -m benchmarks.selection --hospital # real contacts: chosen number, held-out scores

Ranks 2 to 10, densities .1 to .5, noise 0 to .3; every method chooses among 1 to 15. The relative error is
|chosen - planted| / planted. *mdl* describes the data by components that our own chains found, *mdl of ALS*
by those of Boolean ALS from the start of DBTF, best of 20, which is what one could do before.
*occam-published* and *cv-published* are the paper's own: plain pruning, and the best accuracy on one split.

A planted component that no method could find counts, too: *identifiable* is the number of planted components
that are left when those are taken out whose removal raises the log evidence of the planted set, given the
noisy cells. That is what the best search could count, knowing the answer.

Seconds are those of the processor, in one thread, so that what else the machine does does not count. Finished
trials are kept in benchmarks/out and not made again; --fresh forgets them.
"""

from __future__ import annotations

import csv
import itertools
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from benchmarks.accuracy import Cell
from tensorm import TensOrMachine, datasets, hide, select_components, train_test_mask
from tensorm.baselines import BooleanALS
from tensorm.report.selection import Selection
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric
from tensorm.selection.occam import prune, worths
from tensorm.selection.trials import describe_length
from tensorm.selection.validation import fewest_within_error
from tensorm.tensors import DenseTensor
from tensorm.tensors.factors import Factors

OUT = Path(__file__).parent / "out"
TRIALS = OUT / "selection-trials.jsonl"
RANKS, DENSITIES, NOISES = range(2, 11), (0.1, 0.2, 0.3, 0.4, 0.5), (0.0, 0.1, 0.2, 0.3)
CANDIDATES = range(1, 16)
PUBLISHED = ("occam-published", "cv-published")  # with the paper's chains: one chain, one split
METHODS = (*PUBLISHED, "mdl of ALS", "occam", "posterior", "mdl", "cv")  # the fastest first
SHOWN = (
    *("identifiable", "posterior", "occam", "cv", "cv accuracy", "cv best accuracy", "mdl", "mdl of ALS"),
    *PUBLISHED,
)
DEFAULT = "posterior"


def identifiable(X: np.ndarray, factors: Sequence[np.ndarray]) -> int:
    """Count planted components whose removal lowers the evidence of the planted set."""
    model = Target(factors[0].shape[1], Asymmetric(), LearnedPrior(), np.uint64(0))
    left = prune(Explanation(DenseTensor(X), model, Factors.from_bits(factors)))
    return left.target.n_components if worths(left).min() >= 0 else 0


def measure(cell: Cell, number: int, method: str) -> dict[str, Any]:
    """Choose the number of components of one tensor by one method, or fit the largest candidate."""
    sim = cell.simulate(number)
    row: dict[str, Any] = {**cell._asdict(), "number": number, "method": method}
    if method == "identifiable":
        return row | {"chosen": {method: identifiable(sim.observed, sim.factors)}, "seconds": 0.0}
    tensor = DenseTensor(sim.observed)
    TensOrMachine(1, n_chains=1, n_draws=1, n_jobs=1, progress=False).fit(tensor)  # compiles
    started = time.process_time()
    if method == "fit":
        TensOrMachine(CANDIDATES[-1], noise="asymmetric", n_jobs=1, random_state=number, progress=False).fit(
            tensor
        )
        return row | {"chosen": {}, "seconds": time.process_time() - started}
    if method == "mdl of ALS":
        return row | {
            "chosen": {method: describe_als(tensor, number)},
            "seconds": time.process_time() - started,
        }
    options = {"n_jobs": 1, "random_state": number, "progress": False}
    chains = {"n_repeats": 1} if method in PUBLISHED else {"estimator": TensOrMachine(noise="asymmetric")}
    selection = select_components(tensor, method, CANDIDATES, **chains, **options)
    seconds = time.process_time() - started
    chosen = {method: selection.best} | (other_rules(selection) if method == "cv" else {})
    return row | {"chosen": chosen, "seconds": seconds}


def describe_als(tensor: DenseTensor, seed: int, starts: int = 20) -> int:
    """Take the shortest description by factors that Boolean ALS finds, as before there were posteriors."""
    options = {"init": "fibres", "n_init": starts, "n_jobs": 1, "random_state": seed, "progress": False}
    lengths = []
    for L in CANDIDATES:
        factors = BooleanALS(L, **options).fit(tensor).factors_
        confusion = tensor.confusion(Factors.from_bits(list(factors)))
        lengths.append(describe_length(factors, confusion).total)
    return CANDIDATES[int(np.argmin(lengths))]


def other_rules(selection: Selection) -> dict[str, int]:
    """What the same held-out cells say by accuracy: within one error, and the paper's rule, the best."""
    repeats = 1 + max(trial.repeat for trial in selection.table)
    accuracy = np.array([trial.measures["accuracy"] for trial in selection.table]).reshape(repeats, -1)
    cells = selection.table[0].measures["cells"]
    best, fewest = fewest_within_error(accuracy, 0.2, cells, CANDIDATES)
    return {"cv accuracy": fewest, "cv best accuracy": best}


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return (*(row[name] for name in ("rank", "density", "noise", "number", "method")), *row["shape"])


def run(cells: Iterable[Cell], tensors: int, methods: Sequence[str], jobs: int) -> list[dict[str, Any]]:
    """Measure what is not known yet, and return all that was asked for."""
    wanted = [
        (cell, number, method)
        for number in range(tensors)
        for cell in cells
        for method in ("identifiable", *methods)
    ]
    known = {}
    if TRIALS.exists():
        known = {key(row): row for row in map(json.loads, TRIALS.read_text().splitlines())}
    keys = [(*cell[1:], number, method, *cell.shape) for cell, number, method in wanted]
    missing = [job for job, name in zip(wanted, keys, strict=True) if name not in known]
    OUT.mkdir(exist_ok=True)
    with TRIALS.open("a") as file:
        for row in Parallel(jobs, return_as="generator_unordered", verbose=1)(
            delayed(measure)(*job) for job in missing
        ):
            file.write(json.dumps(row) + "\n")
            file.flush()
            known[key(json.loads(json.dumps(row)))] = row
    return [known[name] for name in keys]


def gather(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Bring together the trials of each tensor: what each method chose, and how long it took."""
    tensors: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        names = ("rank", "density", "noise", "number")
        mine = tensors.setdefault(tuple(row[name] for name in names), {name: row[name] for name in names})
        mine.update(row["chosen"])
        mine[f"{row['method']} seconds"] = row["seconds"]
    return list(tensors.values())


def error(tensors: list[dict[str, Any]], method: str, against: str = "rank") -> tuple[float, float]:
    """Return the mean relative error and its standard error."""
    found = [(row[method], row[against]) for row in tensors if method in row and row[against]]
    errors = [abs(chosen - true) / true for chosen, true in found]
    return float(np.mean(errors)), float(np.std(errors) / np.sqrt(len(errors)))


def summarise(tensors: list[dict[str, Any]], against: str) -> list[dict[str, Any]]:
    """Return a row for each noise: relative errors, times, and how often identifiable tensors are right."""
    table = []
    for noise in sorted({row["noise"] for row in tensors}):
        mine = [row for row in tensors if row["noise"] == noise]
        line: dict[str, Any] = {"noise": noise, "tensors": len(mine)}
        for method in SHOWN:
            if any(method in row for row in mine) and method != against:
                mean, spread = error(mine, method, against)
                line[method] = f"{mean:.3f} ± {spread:.3f}"
        table.append(line)
    return table


def count_right(tensors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each noise how often the number is exactly right where all components are identifiable."""
    table = []
    for noise in sorted({row["noise"] for row in tensors}):
        mine = [row for row in tensors if row["noise"] == noise and row["identifiable"] == row["rank"]]
        line: dict[str, Any] = {"noise": noise, "identifiable": len(mine)}
        for method in SHOWN[1:]:
            having = [row for row in mine if method in row]
            if having:
                line[method] = f"{np.mean([row[method] == row['rank'] for row in having]):.3f}"
        table.append(line)
    return table


def time_methods(tensors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each noise the mean seconds of a fit of the largest candidate, and of every method."""
    table, tensors = [], [row for row in tensors if "fit seconds" in row]
    for noise in sorted({row["noise"] for row in tensors}):
        mine = [row for row in tensors if row["noise"] == noise]
        line: dict[str, Any] = {"noise": noise, "fit": f"{np.mean([row['fit seconds'] for row in mine]):.2f}"}
        for method in METHODS:
            pairs = [
                (row[f"{method} seconds"], row["fit seconds"]) for row in mine if f"{method} seconds" in row
            ]
            if pairs:
                mine_seconds, fit_seconds = np.mean(pairs, axis=0)
                line[method] = f"{mine_seconds:.2f} ({mine_seconds / fit_seconds:.1f} x)"
        table.append(line)
    return table


def by_density(tensors: list[dict[str, Any]], method: str) -> list[dict[str, Any]]:
    """Return the relative error of one method for each density and noise."""
    table = []
    for density in sorted({row["density"] for row in tensors}):
        line: dict[str, Any] = {"density": density}
        for noise in sorted({row["noise"] for row in tensors}):
            mine = [row for row in tensors if row["density"] == density and row["noise"] == noise]
            line[f"noise {noise}"] = f"{error(mine, method)[0]:.3f}"
        table.append(line)
    return table


def show(rows: list[dict[str, Any]], title: str) -> None:
    """Print a table."""
    table = Table(title=title)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(str(row.get(column, "")) for column in columns))
    Console(width=160).print(table)


def write_csv(tensors: list[dict[str, Any]], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in tensors for name in row)))
        writer.writeheader()
        writer.writerows(tensors)


def draw(tensors: list[dict[str, Any]], path: Path) -> None:
    """Draw relative error over noise, density and rank, each averaged over the other two, as in Fig. 3."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
    for ax, over in zip(axes, ("noise", "density", "rank"), strict=True):
        values = sorted({row[over] for row in tensors})
        for number, method in enumerate(SHOWN):
            groups = [[row for row in tensors if row[over] == value and method in row] for value in values]
            if all(groups):
                means, spreads = np.transpose([error(group, method) for group in groups])
                style = {"marker": "o", "ms": 4, "color": f"C{number}"}
                if method == "identifiable":
                    style = {"ls": "--", "color": "0.5"}
                ax.errorbar(values, means, spreads, label=method, capsize=2, **style)
        ax.set_xlabel(over)
    axes[0].set_ylabel("relative error")
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def check_hospital() -> list[dict[str, Any]]:
    """Choose a number for the real contacts, and score it and others on pairs that were held out."""
    X = datasets.hospital().values
    mask = train_test_mask(X, 0.2, random_state=0, symmetric=(1, 2))
    train = hide(X, mask)
    once = np.where(np.tri(X.shape[1], dtype=bool), np.nan, train)  # mirrored cells say the same
    numbers = {f"{L} components": L for L in (1, 4, 8, 16, 30)}
    for cells, name in ((train, "each pair twice"), (once, "each pair once")):
        for method in ("posterior", "occam"):
            started = time.perf_counter()
            selection = select_components(cells, method, progress=False)
            print(f"{method}, {name}: {selection.reason} ({time.perf_counter() - started:.0f} s)")
            numbers[f"{method}, {name}"] = selection.best
    rows = []
    for name, L in numbers.items():
        scores = (
            TensOrMachine(L, noise="asymmetric", random_state=0, progress=False).fit(train).scores(X, mask)
        )
        rows.append({"model": name, "components": L} | _held_out(scores.model))
    return [{"model": "constant predictor", "components": 0} | _held_out(scores.constant), *rows]


def _held_out(scores: Any) -> dict[str, str]:
    return {name: f"{getattr(scores, name):.4f}" for name in ("auc", "log_loss", "accuracy")}


@click.command()
@click.option("--tensors", default=5, help="Tensors for each configuration.")
@click.option("--methods", default=",".join(METHODS), help=f"Some of {', '.join(METHODS)}.")
@click.option("--quick", is_flag=True, help="Ranks 2, 5, 8, densities .1, .3, .5, one tensor each.")
@click.option("--hospital", "real", is_flag=True, help="The real check instead; reads TENSORM_DATA.")
@click.option("--fresh", is_flag=True, help="Forget trials made earlier.")
@click.option("--jobs", default=2, help="Processes.")
def main(tensors: int, methods: str, quick: bool, real: bool, fresh: bool, jobs: int) -> None:
    """Measure how often the number of components is right."""
    if real:
        show(check_hospital(), "hospital contacts, a fifth of the pairs held out")
        return
    if fresh:
        TRIALS.unlink(missing_ok=True)
    ranks, densities = ((2, 5, 8), (0.1, 0.3, 0.5)) if quick else (RANKS, DENSITIES)
    cells = [Cell((20,) * 3, *x) for x in itertools.product(ranks, densities, NOISES)]
    found = gather(run(cells, 1 if quick else tensors, ["fit", *methods.split(",")], jobs))
    show(summarise(found, "rank"), "relative error against the planted number")
    show(summarise(found, "identifiable"), "relative error against the identifiable number")
    show(count_right(found), "share exactly right, where every planted component is identifiable")
    show(time_methods(found), "processor seconds, beside one fit of the largest candidate")
    show(by_density(found, DEFAULT), f"relative error of {DEFAULT} against the planted number")
    write_csv(found, OUT / "selection.csv")
    draw(found, OUT / "selection.png")


if __name__ == "__main__":
    main()
