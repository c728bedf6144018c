"""Print the figures of note 4: chains stuck at lambda = 0, for several minimum contrasts of the rates.

Run with ``python docs/decisions/measure_trap.py``. Chains start from fair coins on 20 x 20 x 20 tensors of
rank 10 and density 0.1, with 45% of the cells flipped (lambda = 0.2). A chain is stuck if its mean lambda
over the last 50 of 500 sweeps is below half of that; flips are means over stuck chains, accuracy over all.
"""

import itertools

import numpy as np

from tensorm import DenseTensor, datasets
from tensorm.model import boolean_product
from tensorm.sampler import two_rates
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.sample import Plan, Snapshot, sample
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, random_factors
from tensorm.tensors.factors import Factors

RANK, SWEEPS, LAST, FITS, FLIPPED = 10, 500, 50, 30, 0.45


def begin(factors):
    """Return the state that a chain with these factors starts from; lambda = 0.5, as in the paper."""
    return State(Factors.from_bits(factors), two_rates.PAPERS_RATES, (0.5,) * len(factors), 0)


def run(sim, model):
    """Return the final mean lambda, share of entries that flip per sweep, and noise-free accuracy."""
    tensor = DenseTensor(sim.observed)
    saved = Snapshot(begin(random_factors(tensor, model, 0)))
    states = [step.state for step in sample(tensor, Plan(model, SWEEPS, burn_in=0), 0, saved)][-LAST:]
    factors = [state.factors.bits() for state in states]
    flips = [np.mean(np.concatenate(a) != np.concatenate(b)) for a, b in itertools.pairwise(factors)]
    often = np.mean([boolean_product(draw) for draw in factors], axis=0) > 0.5
    lam = np.mean([state.noise.weights[0] for state in states])
    return lam, np.mean(flips), np.mean(often == sim.noise_free)


def main():
    half = np.log((1 - FLIPPED) / FLIPPED) / 2
    sims = [datasets.simulate((20, 20, 20), RANK, 0.1, FLIPPED, random_state=seed) for seed in range(FITS)]
    print(f"accuracy of always predicting 0: {1 - np.mean([sim.noise_free for sim in sims]):.2f}")
    print(f"{'contrast':>9} {'prior':>13} {'noise update':>16} {f'stuck of {FITS}':>13} flips  accuracy")
    priors = (FixedPrior.from_probabilities([0.5] * 3), LearnedPrior())
    updates = (two_rates.SymmetricPlugIn, two_rates.Symmetric)
    for contrast, prior, update in itertools.product((1e-9, 0.01, 0.1), priors, updates):
        two_rates.CONTRAST = contrast
        ends = np.array([run(sim, Target(RANK, update(), prior, np.uint64(i))) for i, sim in enumerate(sims)])
        stuck = ends[:, 0] < half
        flips = f"{ends[stuck, 1].mean():.2f}" if stuck.any() else "-"
        names = f"{type(prior).__name__:>13} {update.__name__:>16}"
        print(f"{contrast:>9g} {names} {stuck.sum():>13} {flips:>5} {ends[:, 2].mean():>9.2f}")


if __name__ == "__main__":
    main()
