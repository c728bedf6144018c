"""A few random draws, as a sampler might have made them, and their trace."""

from __future__ import annotations

import numpy as np

from tensorm.model import Confusion
from tensorm.sampler.chains import Recorder
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.state import State, Trace
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric, Rates
from tensorm.tensors.factors import Factors

SHAPE = (3, 4, 2)
COMPONENTS = [1, 7, 8, 9, 64, 65, 130]


def make_model(L: int) -> Target:
    return Target(L, Asymmetric(), LearnedPrior(), np.uint64(0))


def make_draws(L: int, n_draws: int = 5) -> list[tuple[list[np.ndarray], State, Confusion]]:
    rng = np.random.default_rng(L)
    draws = []
    for sweep in range(n_draws):
        factors = [rng.random((N, L)) < 0.5 for N in SHAPE]
        noise = Rates(0.5 + rng.random() / 2, rng.random() / 2)
        state = State(Factors.from_bits(factors), noise, tuple(rng.random(3)), sweep + 1)
        draws.append((factors, state, Confusion(*rng.integers(1, 50, 4).tolist())))
    return draws


def make_trace(L: int) -> Trace:
    recorder = Recorder(make_model(L))
    for _, state, confusion in make_draws(L):
        recorder.record(state, confusion, state.noise.log_likelihood(confusion))
    return recorder.trace(burn_in=17)
