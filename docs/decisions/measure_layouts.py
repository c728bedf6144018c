"""Print the figures of note 1: time of a sweep and memory, with and without short modes packed together.

Run with ``python docs/decisions/measure_layouts.py``. One thread; minimum processor time of several
rounds.
"""

import itertools
import time

import numpy as np

from tensorm import DenseTensor, datasets
from tensorm.model import Noise
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, sweep
from tensorm.sampler.two_rates import Asymmetric
from tensorm.tensors import dense
from tensorm.tensors.factors import Factors
from tensorm.tensors.layout import packed_modes


def longest_other(shape, mode):
    """Pack one mode only: the longest of the others."""
    return (max((k for k in range(len(shape)) if k != mode), key=lambda k: (shape[k], k)),)


def every_other(shape, mode):
    """Pack all other modes together, whatever their lengths: one layout for each mode."""
    return tuple(k for k in range(len(shape)) if k != mode)


def begin(factors):
    """Return the state that a chain with these factors starts from."""
    return State(Factors.from_bits(factors), Noise(0.9, 0.1), (0.5,) * len(factors), 0)


def endless(tensor, state, model):
    """Sweep after sweep."""
    while True:
        state, _ = sweep(tensor, state, model, 0)
        yield state


def sweep_times(tensors, model, factors, rounds=9):
    """Return the seconds of a sweep on each tensor; tensors take turns, so that load affects all of them."""
    sweeps = max(3, int(1e7 / tensors[0].n_observed))
    chains = [endless(tensor, begin(factors), model) for tensor in tensors]
    least = np.full(len(chains), np.inf)
    for _, (i, chain) in itertools.product(range(rounds), enumerate(chains)):
        since = time.thread_time()
        for _ in itertools.islice(chain, sweeps):
            pass
        least[i] = min(least[i], (time.thread_time() - since) / sweeps)
    return least


def main():
    model = Target(10, Asymmetric(), LearnedPrior(), np.uint64(1))
    print(f"{'shape':>20} {'packing':>14} {'layouts':>8} {'bits/cell':>10} {'us/sweep':>10}")
    for shape in SHAPES:
        sim = datasets.simulate(shape, rank=10, density=0.2, noise=0.1, random_state=0)
        tensors = []
        for choose in CHOICES.values():
            dense.packed_modes = choose
            tensors.append(DenseTensor(sim.observed))
        times = sweep_times(tensors, model, sim.factors)
        for (name, choose), tensor, seconds in zip(CHOICES.items(), tensors, times, strict=True):
            layouts = len({choose(shape, mode) for mode in range(len(shape))})
            bits = 8 * tensor.nbytes / sim.observed.size
            print(f"{shape!s:>20} {name:>14} {layouts:>8} {bits:>10.2f} {1e6 * seconds:>10.0f}")


SHAPES = [(20, 20, 20), (13, 75, 75), (100, 100, 100), (300, 300, 300), (10, 10, 10, 10), (30, 30, 30, 30)]
CHOICES = {"ours": packed_modes, "longest other": longest_other, "all others": every_other}

if __name__ == "__main__":
    main()
