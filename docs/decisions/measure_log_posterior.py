"""Compares log_posterior with the score of searches: how they rank draws, and what the best draw is worth.

python docs/decisions/measure_log_posterior.py
"""

from __future__ import annotations

import numpy as np

from tensorm import TensOrMachine, datasets
from tensorm.estimator.plan import make_plan, make_tensor
from tensorm.sampler.chains import run_chains
from tensorm.sampler.search.explanation import Explanation

SHAPE, RANK, REPEATS = (20, 20, 20), 3, 8


def compare(name: str, noise: float, n_components: int, entry_wise: bool) -> None:
    rows = []
    for seed in range(REPEATS):
        rng = np.random.default_rng(seed)
        sim = datasets.simulate(SHAPE, RANK, 0.2, noise, random_state=seed)
        prior = [rng.uniform(0.02, 0.98, (N, n_components)) for N in SHAPE] if entry_wise else "learned"
        model = TensOrMachine(
            n_components,
            noise="asymmetric",
            n_draws=100,
            factor_prior=prior,
            random_state=seed,
            init="random",
        )
        tensor = make_tensor(sim.observed, None)
        plan = make_plan(model, tensor)
        (trace,) = run_chains(tensor, plan, n_chains=1, n_threads=1).traces
        factors = [trace.factors_at(draw) for draw in range(len(trace))]
        scores = np.array([Explanation(tensor, plan.target, one).score for one in factors])
        priors = [
            sum(plan.target.prior.log_probability(mode, bits) for mode, bits in enumerate(one.bits()))
            for one in factors
        ]
        marginal = np.array(priors) + plan.target.noise.log_marginal(*trace.confusion.T)
        cells = np.indices(SHAPE).reshape(3, -1)
        right = [
            (factors[int(by.argmax())].covers(cells) == sim.noise_free.ravel()).mean()
            for by in (trace.log_posterior, marginal, scores)
        ]
        rows.append([np.corrcoef(trace.log_posterior, scores)[0, 1], *right])
    print(f"{name:34}", *(f"{value:8.4f}" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    print(f"{'':34}  correlation, accuracy of the best draw by log_posterior, rates integrated out, score")
    compare("learned prior", 0.3, RANK, False)
    compare("learned prior, twice as many", 0.3, 2 * RANK, False)
    compare("entry-wise prior", 0.4, RANK, True)
    compare("entry-wise prior, twice as many", 0.4, 2 * RANK, True)
