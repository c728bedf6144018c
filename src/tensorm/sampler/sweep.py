"""What is sampled, where a chain starts, and one sweep over all factors, the noise and the densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensorm.data.arrays import Bits, Counts, Floats, Ints
from tensorm.kernels.philox import uniforms
from tensorm.model import Confusion
from tensorm.sampler.noise_model import NoiseModel
from tensorm.sampler.prior import FactorPrior
from tensorm.sampler.state import DENSITY, NOISE, ORDER, START, State
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import GIBBS, METROPOLIS, Rule, Stream, Tensor

FLIPS = {"gibbs": GIBBS, "metropolis": METROPOLIS}


@dataclass(frozen=True)
class Target:
    """What is sampled, and from which random numbers.

    Attributes
    ----------
    n_components : int
    noise : NoiseModel
    prior : FactorPrior
    seed : uint64
    flips : int
        GIBBS or METROPOLIS: how an entry is drawn from its conditional.
    shuffle : bool
        Whether components take turns in a new order each sweep, or always in the same order.
    tied : (int, int) or None
        Two modes that share a factor (tensors/symmetric.py).
    """

    n_components: int
    noise: NoiseModel
    prior: FactorPrior
    seed: np.uint64
    flips: int = METROPOLIS
    shuffle: bool = True
    tied: tuple[int, int] | None = None

    def suited_to(self, state: State) -> Target:
        """Return the target with as many components as a state has."""
        L = state.factors.n_components
        return self if self.n_components == L else replace(self, n_components=L)

    def stream(self, chain: int, sweep: int, purpose: int) -> Stream:
        """Return the random numbers for one purpose in one sweep of one chain."""
        return Stream(self.seed, chain, sweep, purpose)

    def order(self, chain: int, sweep: int) -> Ints:
        """Return the components in the order of their turns."""
        if not self.shuffle:
            return np.arange(self.n_components)
        return np.argsort(uniforms(self.stream(chain, sweep, ORDER), 0, self.n_components))

    def log_prior(self, mode: int, ones: Counts, size: int) -> Floats:
        """Return the log probability of columns with so many ones, (..., L), for searches (prior.py).

        A shared factor counts only once.
        """
        if self.tied and mode == self.tied[1]:
            return np.zeros(ones.shape[:-1])
        return self.prior.log_marginal(mode, ones, size)


def log_likelihood(tensor: Tensor, target: Target, state: State, confusion: Confusion) -> float:
    """Return the log probability of the observed cells, given a state and their confusion."""
    return target.noise.log_likelihood(tensor, state.factors, confusion, state.noise)


def log_posterior(target: Target, state: State, log_likelihood: float) -> float:
    """Return the log posterior probability of a state's factors given its noise, up to a constant.

    Learned densities are integrated out. The prior density of the noise is left out: where noise has many
    parameters, it says how close they are to their mode rather than how good an explanation is.
    """
    value = log_likelihood
    for mode in range(len(state.factors)):
        if not (target.tied and mode == target.tied[1]):  # a shared factor counts once
            value += target.prior.log_probability(mode, state.factors)
    return value


def start(target: Target, factors: Sequence[Bits], density: float = 0.5) -> State:
    """Return the state that a chain with these factors begins with."""
    noise = target.noise.start([len(bits) for bits in factors], target.n_components)
    return State(Factors.from_bits(factors), noise, (density,) * len(factors), 0)


def enter(tensor: Tensor, target: Target, state: State) -> State:
    """Return a state whose noise is that of the target, and not of a stand-in."""
    if not target.noise.searching(state.noise):
        return state
    confusion = tensor.confusion(state.factors)
    return state._replace(noise=target.noise.estimate(tensor, state.factors, confusion))


def random_factors(tensor: Tensor, target: Target, chain: int, density: float = 0.5) -> list[Bits]:
    """Return random factors whose entries are 1 with the same probability."""
    stream = target.stream(chain, 0, START)
    rows = iter(range(sum(tensor.shape)))
    return [
        np.array([uniforms(stream, next(rows), target.n_components) for _ in range(size)]) < density
        for size in tensor.shape
    ]


def update_factors(
    tensor: Tensor, state: State, target: Target, chain: int, beta: float = 1.0
) -> tuple[Factors, Confusion | None]:
    """Update every factor in turn, its log-odds times beta: a chain that is heated uses beta < 1.

    Returns them, and perhaps their confusion (``Tensor.update_all``).
    """
    order, weights = target.order(chain, state.sweep), state.noise.weights.tempered(beta)
    stream = target.stream(chain, state.sweep, DENSITY)
    priors = target.prior.draw_log_odds(state.factors, state.density, stream)
    rules = [Rule(order, target.flips, weights, prior if beta == 1 else beta * prior) for prior in priors]
    return tensor.update_all(state.factors, rules, target.stream(chain, state.sweep, 0))


def sweep(
    tensor: Tensor, state: State, target: Target, chain: int, beta: float = 1.0
) -> tuple[State, Confusion]:
    """Update every factor in turn, then the noise, then the densities, each from its conditional.

    The log-odds of factors are multiplied by beta, less than 1 in a chain that is heated. Returns the new
    state, and the observed cells counted by its product.
    """
    if target.n_components:
        factors, counted = update_factors(tensor, state, target, chain, beta)
    else:  # kernels need a component
        factors = state.factors
        counted = Confusion(0, 0, tensor.n_ones, tensor.n_observed - tensor.n_ones)
    stream = target.stream(chain, state.sweep, NOISE)
    noise, confusion = target.noise.update(tensor, factors, counted, state.noise, stream)
    density = target.prior.update(factors, uniforms(stream, 0, 2 + len(factors))[2:])
    return State(factors, noise, density, state.sweep + 1), confusion
