"""How many of many sparse components every chain finds, beside a chain that was told the answer.

    python -m benchmarks.planted                                      # 100^3, rank 20, density .05, noise .3
    python -m benchmarks.planted --density .02 --tensors 10
    python -m benchmarks.planted --rank 40 --density .3 --noise .4 --auto   # the number chosen, too

A planted component counts as found where the rounded posterior means of a chain have one that is alike (one
to one, similarity above 0.7). *told*: what a chain keeps that starts from the planted factors, the most to be
asked of a search. *behind* is the mean log posterior of the told chain less that of the lowest chain.
Times are processor seconds.
"""

from __future__ import annotations

import time

import click
import numpy as np

from benchmarks.accuracy import in_use
from tensorm import TensOrMachine, datasets, select_components
from tensorm.posterior.align import factor_means, pair_components
from tensorm.sampler.state import Trace


def count_found(planted: list[np.ndarray], trace: Trace) -> int:
    """Return how many planted components a chain has found."""
    found = in_use([np.rint(mean) for mean in factor_means(trace)])
    return len(pair_components(planted, found)) if found[0].size else 0


def measure(sim: datasets.Simulation, rank: int, chains: int, seed: int) -> str:
    """Fit one tensor from the data and from the planted factors; return what was found."""
    planted = in_use([factor.astype(float) for factor in sim.factors])
    settings = {"n_components": rank, "n_jobs": 1, "random_state": seed, "progress": False}
    told = TensOrMachine(**settings, n_chains=1, init=sim.factors).fit(sim.observed)
    started = time.process_time()
    model = TensOrMachine(**settings, n_chains=chains).fit(sim.observed)
    seconds = (time.process_time() - started) / chains
    (best,), traces = told.posterior_.chains, model.posterior_.chains
    behind = best.log_posterior.mean() - min(trace.log_posterior.mean() for trace in traces)
    accuracy = [(one.predict() == sim.noise_free).mean() for one in (told, model)]
    return (
        f"told {count_found(planted, best)}, chains {[count_found(planted, trace) for trace in traces]}, "
        f"behind {behind:.0f}, accuracy {accuracy[0]:.5f} told, {accuracy[1]:.5f}, {seconds:.2f} s a chain"
    )


@click.command()
@click.option("--size", default=100)
@click.option("--rank", default=20)
@click.option("--density", default=0.05)
@click.option("--noise", default=0.3)
@click.option("--tensors", default=4)
@click.option("--first", default=100, help="Seed of the first tensor.")
@click.option("--chains", default=4)
@click.option("--auto", is_flag=True, help="Choose the number of components, too.")
def main(
    size: int, rank: int, density: float, noise: float, tensors: int, first: int, chains: int, auto: bool
) -> None:
    """Print a line for each tensor."""
    for seed in range(first, first + tensors):
        sim = datasets.simulate((size,) * 3, rank, density, noise, random_state=seed)
        print(f"{seed}: {measure(sim, rank, chains, seed)}", flush=True)
        if auto:
            choice = select_components(sim.observed, n_jobs=1, random_state=seed, progress=False)
            print(f"     auto {choice.best}: {choice.reason}", flush=True)


if __name__ == "__main__":
    main()
