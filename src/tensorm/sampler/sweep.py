"""What is sampled, where a chain starts, and one sweep over all factors, the noise and the densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tensorm.kernels.philox import uniforms
from tensorm.model import Confusion
from tensorm.sampler.noise import NoiseModel
from tensorm.sampler.prior import FactorPrior
from tensorm.sampler.state import NOISE, ORDER, START, State
from tensorm.tensors.bits import Bits
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

    def stream(self, chain: int, sweep: int, purpose: int) -> Stream:
        """Return the random numbers for one purpose in one sweep of one chain."""
        return Stream(self.seed, chain, sweep, purpose)

    def order(self, chain: int, sweep: int) -> npt.NDArray[np.int64]:
        """Return the components in the order of their turns."""
        if not self.shuffle:
            return np.arange(self.n_components)
        return np.argsort(uniforms(self.stream(chain, sweep, ORDER), 0, self.n_components))

    def log_prior(
        self, mode: int, ones: int | npt.NDArray[np.int64], entries: int | npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Return the log probability of so many ones among a mode's entries, a shared factor's only once."""
        if self.tied and mode == self.tied[1]:
            return np.zeros(np.broadcast_shapes(np.shape(ones), np.shape(entries)))
        return self.prior.log_marginal(mode, ones, entries)


def log_posterior(
    target: Target, factors: Sequence[npt.NDArray[np.unsignedinteger]], confusion: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the log posterior of factors, noise rates and densities integrated out, up to a constant.

    Components that are empty in some mode explain nothing, and their other entries are free: they are left
    out, as if there were fewer components.

    Parameters
    ----------
    factors : arrays (S, N_k, M)
        S draws of each mode's factor, as masks or the bytes of them.
    confusion : array (S, 4)
    """
    present = np.bitwise_and.reduce([np.bitwise_or.reduce(masks, axis=1) for masks in factors])
    active = np.bitwise_count(present).sum(axis=1, dtype=np.int64)
    value = target.noise.log_marginal(*confusion.T)
    for mode, masks in enumerate(factors):
        ones = np.bitwise_count(masks & present[:, None]).sum(axis=(1, 2), dtype=np.int64)
        value = value + target.log_prior(mode, ones, masks.shape[1] * active)
    return value


def start(target: Target, factors: Sequence[Bits], density: float = 0.5) -> State:
    """Return the state that a chain with these factors begins with."""
    return State(Factors.from_bits(factors), target.noise.start(), (density,) * len(factors), 0)


def random_factors(tensor: Tensor, target: Target, chain: int, density: float = 0.5) -> list[Bits]:
    """Return random factors whose entries are 1 with the same probability."""
    stream = target.stream(chain, 0, START)
    rows = iter(range(sum(tensor.shape)))
    return [
        np.array([uniforms(stream, next(rows), target.n_components) for _ in range(size)]) < density
        for size in tensor.shape
    ]


def update_factors(tensor: Tensor, state: State, target: Target, chain: int, beta: float = 1.0) -> Factors:
    """Update every factor in turn, its log-odds times beta: a chain that is heated uses beta < 1."""
    factors, order = state.factors, target.order(chain, state.sweep)
    gain, loss = state.noise.weights
    for mode in range(len(factors)):
        prior = beta * target.prior.log_odds(mode, state.density)
        rule = Rule(order, target.flips, beta * gain, beta * loss, prior)
        stream = target.stream(chain, state.sweep, mode)
        factors = factors.replace(mode, tensor.update_factor(mode, factors, rule, stream))
    return factors


def sweep(tensor: Tensor, state: State, target: Target, chain: int) -> tuple[State, Confusion]:
    """Update every factor in turn, then the noise, then the densities, each from its conditional.

    Returns the new state, and the observed cells counted by its product.
    """
    if target.n_components:
        factors = update_factors(tensor, state, target, chain)
        confusion = tensor.confusion(factors)
    else:  # kernels need a component
        factors = state.factors
        confusion = Confusion(0, 0, tensor.n_ones, tensor.n_observed - tensor.n_ones)
    u = uniforms(target.stream(chain, state.sweep, NOISE), 0, 2 + len(factors))
    noise = target.noise.update(confusion, state.noise, u)
    density = target.prior.update(factors, u[2:])
    return State(factors, noise, density, state.sweep + 1), confusion
