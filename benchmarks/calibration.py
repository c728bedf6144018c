"""Are the draws from the posterior? Simulation-based calibration of the sampler on small tensors.

Parameters are drawn from the prior and cells from them; the sampler then draws from the posterior of those
cells. If it is right, the rank of the true value among its draws is uniform, for any quantity (Talts et al.
2018). Ranks are compared with the uniform distribution by their distribution function and simultaneous
binomial bands (Säilynoja, Bürkner and Vehtari 2022), and by a chi-square test. Only quantities that do not
depend on how components are numbered are looked at.

    python -m benchmarks.calibration                      # 500 tensors for each model, some minutes
    python -m benchmarks.calibration --noise-update map   # the paper's plug-in, which is not a Gibbs step

Prints a table, and writes ranks' p-values as JSON and a picture of all distribution functions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table
from scipy.stats import binom, chisquare

from tensorm.model import Noise, boolean_product, confusion
from tensorm.sampler.models import MODELS
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.sample import DRAWS, Plan, sample
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import CONTRAST
from tensorm.tensors import GIBBS, METROPOLIS, DenseTensor

OUT = Path(__file__).parent / "out"
SHAPE, L = (4, 4, 3), 2
CELLS = ((0, 0, 0), (1, 2, 1), (3, 3, 2))  # whose probabilities are looked at; the last one may be missing
BINS = 20
NULL = 20_000  # sets of uniform ranks that an observed set is compared with
LIMIT = 0.001


class Case(NamedTuple):
    """A model to be calibrated."""

    name: str
    noise: str
    beta: tuple[float, float]  # prior of the rates
    learned: bool  # whether densities are learned, or every entry has a probability of its own
    flips: int
    missing: float = 0.0


CASES = (
    Case("asymmetric, learned density", "asymmetric", (1.0, 1.0), True, METROPOLIS),
    Case("symmetric, given density", "symmetric", (2.0, 1.0), False, GIBBS),
    Case("asymmetric, a quarter missing", "asymmetric", (2.0, 1.5), True, GIBBS, 0.25),
)


class Length(NamedTuple):
    """How long the sampler runs for each tensor."""

    burn_in: int = 200
    n_draws: int = 99  # so that there are 100 ranks
    thin: int = 20  # sweeps from draw to draw, so that draws are all but independent


class Truth(NamedTuple):
    """What cells are drawn from."""

    factors: list[np.ndarray]
    noise: Noise
    density: tuple[float, ...]


def chances() -> list[np.ndarray]:
    """The probability of every entry, in a model where they are given."""
    rng = np.random.default_rng(0)
    return [rng.uniform(0.3, 0.8, (size, L)) for size in SHAPE]


def draw_truth(rng: np.random.Generator, case: Case) -> Truth:
    """Draw parameters from the prior; rates that are too close to each other are drawn again."""
    while True:
        hit = rng.beta(*case.beta)
        false_alarm = 1 - hit if case.noise == "symmetric" else rng.beta(*case.beta)
        noise = Noise(hit, false_alarm)
        if sum(noise.weights) >= CONTRAST:  # the difference of their log-odds
            break
    density = tuple(rng.random(len(SHAPE)))  # Beta(1, 1)
    tables = density if case.learned else chances()
    factors = [rng.random((size, L)) < p for size, p in zip(SHAPE, tables, strict=True)]
    return Truth(factors, noise, density)


def quantities(case: Case, truth: Truth, ones: np.ndarray, observed: np.ndarray) -> dict[str, float]:
    """What is ranked: functions of parameters and cells that do not depend on the order of components."""
    product = boolean_product(truth.factors)
    rates = np.where(product, truth.noise.hit, truth.noise.false_alarm)
    found = {"hit": truth.noise.hit}
    if case.noise == "asymmetric":
        found["false alarm"] = truth.noise.false_alarm
    if case.learned:
        found |= {f"density {k}": p for k, p in enumerate(truth.density)}
    found |= {f"ones of mode {k}": float(factor.sum()) for k, factor in enumerate(truth.factors)}
    found["cells covered"] = float(product.sum())
    found["overlap"] = float(np.prod([factor.all(axis=1).sum() for factor in truth.factors]))
    found |= {f"cell {''.join(map(str, cell))}": float(rates[cell]) for cell in CELLS}
    found["log-likelihood"] = float(truth.noise.log_likelihood(confusion(ones, observed, truth.factors)))
    return found


def simulate(case: Case, number: int, noise_update: str, length: Length) -> dict[str, int]:
    """Draw one tensor, sample its posterior, and return the ranks of the true values."""
    rng = np.random.default_rng([number, CASES.index(case)])
    truth = draw_truth(rng, case)
    ones = rng.random(SHAPE) < np.where(boolean_product(truth.factors), *truth.noise)
    observed = rng.random(SHAPE) >= case.missing
    observed[0, 0, 0], observed[CELLS[-1]] = True, not case.missing
    tensor = DenseTensor(np.where(observed, ones, np.nan))
    model = Target(
        n_components=L,
        noise=MODELS[case.noise, noise_update](*case.beta),
        prior=LearnedPrior() if case.learned else FixedPrior.from_probabilities(chances()),
        seed=np.uint64(rng.integers(2**63)),
        flips=case.flips,
    )
    true = quantities(case, truth, ones, observed)
    below, ties = dict.fromkeys(true, 0), dict.fromkeys(true, 0)
    n_sweeps = length.n_draws * length.thin
    plan = Plan(model, n_sweeps, burn_in=length.burn_in, init="random")
    draws = (step.state for step in sample(tensor, plan, 0) if step.phase == DRAWS)
    for state in islice(draws, length.thin - 1, n_sweeps, length.thin):
        drawn = quantities(case, Truth(state.factors.bits(), state.noise, state.density), ones, observed)
        for name, value in drawn.items():
            equal = abs(value - true[name]) <= 1e-12 * abs(true[name])
            ties[name] += equal
            below[name] += value < true[name] and not equal
    return {name: below[name] + int(rng.integers(ties[name] + 1)) for name in true}  # ties at random


def calibrate(
    case: Case, n_tensors: int, noise_update: str = "sample", length: Length | None = None, n_jobs: int = 1
) -> dict[str, np.ndarray]:
    """Return for each quantity its ranks in all tensors."""
    length = length or Length()
    jobs = (delayed(simulate)(case, number, noise_update, length) for number in range(n_tensors))
    rows = Parallel(n_jobs=n_jobs)(jobs)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def p_value(ranks: np.ndarray, n_draws: int) -> float:
    """How often uniform ranks stray as far from the diagonal as these, anywhere (Säilynoja et al. 2022)."""
    counts = np.bincount(ranks, minlength=n_draws + 1)
    (score,) = most_extreme(counts[None], n_draws)
    null = null_scores(len(ranks), n_draws)
    return float((1 + np.count_nonzero(null <= score)) / (1 + len(null)))


def chi_square(ranks: np.ndarray, n_draws: int) -> float:
    """The p-value of equal counts in bins of equal width."""
    return float(chisquare(np.bincount(ranks * BINS // (n_draws + 1), minlength=BINS)).pvalue)


def most_extreme(counts: np.ndarray, n_draws: int) -> np.ndarray:
    """For sets of ranks, counted (sets, n_draws + 1): the smallest two-sided p over all points."""
    below = counts.cumsum(axis=1)[:, :-1]
    two_sided = tail_table(int(counts[0].sum()), n_draws)
    return two_sided[np.arange(n_draws), below].min(axis=1)


@cache
def tail_table(n_ranks: int, n_draws: int) -> np.ndarray:
    """Two-sided binomial p of every number of ranks below every point, (n_draws, n_ranks + 1)."""
    k, z = np.arange(n_ranks + 1), np.arange(1, n_draws + 1)[:, None] / (n_draws + 1)
    return np.minimum(1, 2 * np.minimum(binom.cdf(k, n_ranks, z), binom.sf(k - 1, n_ranks, z)))


@cache
def null_scores(n_ranks: int, n_draws: int) -> np.ndarray:
    """The statistic of many sets of uniform ranks."""
    rng = np.random.default_rng(1)
    uniform = np.full(n_draws + 1, 1 / (n_draws + 1))
    parts = (rng.multinomial(n_ranks, uniform, size=2000) for _ in range(NULL // 2000))
    return np.concatenate([most_extreme(counts, n_draws) for counts in parts])


def compare(ranks: dict[str, np.ndarray], n_draws: int) -> dict[str, dict[str, float]]:
    """Both p-values of every quantity."""
    return {
        name: {"ecdf": p_value(these, n_draws), "chi-square": chi_square(these, n_draws)}
        for name, these in ranks.items()
    }


def draw(results: dict[str, dict[str, np.ndarray]], n_draws: int, path: Path) -> None:
    """Draw how far each distribution function of ranks is from the diagonal, with 95% bands."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    widest = max(map(len, results.values()))
    figure = plt.figure(figsize=(1.2 * widest + 0.6, 1.5 * len(results)), layout="constrained")
    axes = figure.subplots(len(results), widest, sharex=True, sharey=True, squeeze=False)
    z = np.arange(1, n_draws + 1) / (n_draws + 1)
    for row, (case, ranks) in zip(axes, results.items(), strict=True):
        n_ranks = len(next(iter(ranks.values())))
        level = np.quantile(null_scores(n_ranks, n_draws), 0.05) / 2
        low, high = (binom.ppf(q, n_ranks, z) / n_ranks - z for q in (level, 1 - level))
        for ax, (name, these) in zip(row, ranks.items(), strict=False):
            below = np.bincount(these, minlength=n_draws + 1).cumsum()[:-1] / n_ranks
            ax.fill_between(z, low, high, color="0.88", linewidth=0)
            ax.plot(z, below - z, color="#1d4f91", linewidth=1)
            ax.set_title(name, fontsize=7)
            ax.tick_params(labelsize=6, length=2)
        for ax in row[len(ranks) :]:
            ax.set_axis_off()
        row[0].set_ylabel(case.replace(", ", ",\n"), fontsize=7)
    figure.supxlabel("rank of the true value / number of draws", fontsize=8)
    figure.supylabel("distribution function - diagonal", fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def show(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print p-values, a column for each model."""
    table = Table(title="p-values: distribution function / chi-square")
    table.add_column("quantity")
    for case in found:
        table.add_column(case, justify="right")
    names: Sequence[str] = list(dict.fromkeys(name for rows in found.values() for name in rows))
    for name in names:
        cells = [rows.get(name) for rows in found.values()]
        table.add_row(name, *("" if p is None else f"{p['ecdf']:.4f} / {p['chi-square']:.4f}" for p in cells))
    Console(width=120).print(table)


@click.command()
@click.option("--tensors", default=500, help="Tensors for each model.")
@click.option("--noise-update", type=click.Choice(["sample", "map"]), default="sample")
@click.option("--thin", default=Length().thin, help="Sweeps from draw to draw.")
@click.option("--jobs", default=2, help="Processes.")
def main(tensors: int, noise_update: str, thin: int, jobs: int) -> None:
    """Calibrate the sampler."""
    length = Length(thin=thin)
    results = {case.name: calibrate(case, tensors, noise_update, length, jobs) for case in CASES}
    found = {case: compare(ranks, length.n_draws) for case, ranks in results.items()}
    show(found)
    worst = min(p for rows in found.values() for pair in rows.values() for p in pair.values())
    summary: dict[str, Any] = {"tensors": tensors, **length._asdict(), "smallest p": worst, "p": found}
    OUT.mkdir(exist_ok=True)
    name = "calibration" if noise_update == "sample" else "calibration-map"
    (OUT / f"{name}.json").write_text(json.dumps(summary, indent=2) + "\n")
    draw(results, length.n_draws, OUT / f"{name}.png")
    print(f"Smallest p-value: {worst:.4f}; {'all are' if worst > LIMIT else 'not all are'} above {LIMIT}.")


if __name__ == "__main__":
    main()
