"""The components that a chain has while it is searched and mended, and what they leave to explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tensorm.model import Confusion, Noise
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Model, log_posterior
from tensorm.tensors.bits import Bits, Words, pack, unpack
from tensorm.tensors.seam import GREEDY, Rule, Tensor, count_alone

Floats = npt.NDArray[np.float64]
Cells = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Ground:
    """The components that are there, and with them what is left to explain."""

    tensor: Tensor
    model: Model
    factors: tuple[Words, ...]

    @cached_property
    def confusion(self) -> Confusion:
        """Observed cells by the value of the product and their own."""
        return self.tensor.confusion(self.factors, self.model.n_components)

    @cached_property
    def bits(self) -> list[Bits]:
        """The factors as Boolean arrays (N_k, L)."""
        return [unpack(masks, self.model.n_components) for masks in self.factors]

    @property
    def noise(self) -> Noise:
        """The rates that fit these components."""
        return self.model.noise.estimate(self.confusion)

    @property
    def purity(self) -> float:
        """Rate of ones inside the components, above the rate outside."""
        hit, false_alarm = self.noise
        return (hit - false_alarm) / (1 - false_alarm)

    @property
    def density(self) -> tuple[float, ...]:
        """Shares of ones in the factors, smoothed."""
        return tuple(float((bits.sum() + 1) / (bits.size + 2)) for bits in self.bits)

    @property
    def used(self) -> int:
        """Number of components with a member in every mode."""
        return self.model.n_components - len(self.unused)

    @cached_property
    def unused(self) -> npt.NDArray[np.intp]:
        """Components that are empty in some mode."""
        return np.flatnonzero(~np.logical_and.reduce([bits.any(axis=0) for bits in self.bits]))

    @cached_property
    def ones(self) -> list[int]:
        """Members of each mode in the components that are used."""
        return [int(np.delete(bits, self.unused, axis=1).sum()) for bits in self.bits]

    @property
    def base_rate(self) -> float:
        """Rate of ones among the cells that nothing explains."""
        return (self.confusion.fn + 1) / (self.confusion.fn + self.confusion.tn + 2)

    @cached_property
    def score(self) -> float:
        """Log posterior of the factors, noise rates and densities integrated out, up to a constant."""
        factors = [masks[None] for masks in self.factors]
        return float(log_posterior(self.model, factors, np.array([self.confusion]))[0])

    def replaced(self, component: int, columns: Sequence[Bits]) -> Ground:
        """Put other columns in place of a component, as far as the prior leaves its entries free."""
        factors = []
        for mode, (bits, column) in enumerate(zip(self.bits, columns, strict=True)):
            new = bits.copy()
            new[:, component] = self.model.prior.allow(mode, component, column)
            factors.append(pack(new))
        return Ground(self.tensor, self.model, tuple(factors))

    def emptied(self, components: Sequence[int]) -> Ground:
        """Take components out, as far as the prior leaves their entries free."""
        ground = self
        for component in components:
            ground = ground.replaced(component, [np.zeros(len(bits), np.bool_) for bits in self.bits])
        return ground

    def polished(self, rounds: int = 1) -> Ground:
        """Set every entry to its more probable value, given the others."""
        L, factors = self.model.n_components, list(self.factors)
        gain, loss = self.noise.weights
        for _ in range(rounds):
            for mode in range(len(factors)):
                prior = self.model.prior.log_odds(mode, self.density)
                rule = Rule(np.arange(L), GREEDY, gain, loss, prior)
                factors[mode] = self.tensor.update_factor(
                    mode, factors, L, rule, self.model.stream(0, 0, mode)
                )
        return Ground(self.tensor, self.model, tuple(factors))

    def state(self, sweep: int) -> State:
        """Return the state of a chain with these components."""
        return State(self.factors, self.noise, self.density, sweep)


def bare(tensor: Tensor, model: Model) -> Ground:
    """Return a ground with empty components."""
    nothing = (pack(np.zeros((size, model.n_components), np.bool_)) for size in tensor.shape)
    return Ground(tensor, model, tuple(nothing))


def covered(ground: Ground, cells: Cells) -> Bits:
    """Return which cells a component explains."""
    shared = ground.factors[0][cells[:, 0]]
    for masks, index in zip(ground.factors[1:], cells.T[1:], strict=True):
        shared = shared & masks[index]
    return np.asarray(shared.any(axis=1))


def losses(ground: Ground) -> Floats:
    """Return by how much the score would fall if a component was taken out."""
    model, bits = ground.model, ground.bits
    pos, neg = count_alone(ground.tensor, ground.factors, model.n_components, bits[0])
    tp, fp, fn, tn = ground.confusion
    left = model.noise.log_marginal(tp - pos, fp - neg, fn + pos, tn + neg)
    for mode, factor in enumerate(bits):
        ones = ground.ones[mode] - factor.sum(axis=0)
        left = left + model.log_prior(mode, ones, len(factor) * (ground.used - 1))
    fall = ground.score - left
    fall[ground.unused] = 0
    return fall
