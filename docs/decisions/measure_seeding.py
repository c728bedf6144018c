"""Print the share of burn-in spent on finding and repairing components (note 6), and the effect of purities.

Run with ``python docs/decisions/measure_seeding.py``.
"""

import time

import numpy as np

from tensorm.datasets import simulate
from tensorm.model import boolean_product
from tensorm.sampler import burnin as chain
from tensorm.sampler.chains import warm_up
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.sample import Plan, sample
from tensorm.sampler.search import seeding
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric
from tensorm.tensors import DenseTensor


def burn_in(size: int, rank: int, noise: float) -> tuple[float, float, float]:
    """Return the seconds of the search, of repairs, and of the whole burn-in of one chain."""
    sim = simulate((size,) * 3, rank=rank, density=0.2, noise=noise, random_state=0)
    tensor, model = DenseTensor(sim.observed), Target(rank, Asymmetric(), LearnedPrior(), np.uint64(1))
    warm_up(tensor, model)
    seeding.begin(tensor, model, np.random.default_rng(0))
    spent = {"begin": 0.0, "repair": 0.0}

    def timed(name):
        def call(*arguments, **named):
            start = time.perf_counter()
            result = getattr(seeding, name)(*arguments, **named)
            spent[name] += time.perf_counter() - start
            return result

        return call

    chain.begin, chain.repair = timed("begin"), timed("repair")
    start = time.perf_counter()
    for _ in sample(tensor, Plan(model, n_draws=0), 0):
        pass
    return spent["begin"], spent["repair"], time.perf_counter() - start


def found(purities: tuple[float, ...], tensors: int = 8) -> float:
    """Return the accuracy of the start alone on matrices without noise, its hardest case."""
    seeding.PURITIES, right = purities, []
    for number in range(tensors):
        sim = simulate((40, 40), rank=3, density=0.1, noise=0.0, random_state=number)
        model = Target(3, Asymmetric(), LearnedPrior(), np.uint64(1))
        explanation = seeding.begin(DenseTensor(sim.observed), model, np.random.default_rng(number))
        right.append((boolean_product(explanation.bits) == sim.noise_free).mean())
    return float(np.mean(right))


if __name__ == "__main__":
    print("cells  L   noise  begin s  repair s  burn-in s  share")
    for size, rank, noise in ((20, 10, 0.1), (20, 10, 0.3), (100, 20, 0.1), (300, 20, 0.1)):
        begin, repair, whole = burn_in(size, rank, noise)
        share = f"{100 * (begin + repair) / whole:.0f}%"
        print(f"{size}^3  {rank:3}  {noise:5}  {begin:7.3f}  {repair:8.3f}  {whole:9.3f}  {share:>5}")
    for purities in ((0.75,), (0.99,), (0.3,), (0.99, 0.75, 0.3)):
        print(f"purities {purities}: {found(purities):.4f}")
