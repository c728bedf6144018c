"""A set of components, and what it leaves to explain: what searches start from and end with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tensorm.data.arrays import Array, Bits, Counts, Floats, Indices, Words
from tensorm.model import Confusion
from tensorm.sampler.noise_model import count_alone
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import GREEDY, Rule, Tensor


@dataclass(frozen=True, eq=False)
class Explanation:
    """A tensor, what is sampled, and components that explain some of the cells.

    Whatever number of components the target had, it has that of the factors here.
    """

    tensor: Tensor
    target: Target
    factors: Factors

    def __post_init__(self) -> None:
        if self.target.n_components != self.factors.n_components:
            target = replace(self.target, n_components=self.factors.n_components)
            object.__setattr__(self, "target", target)

    @cached_property
    def confusion(self) -> Confusion:
        """Observed cells by the value of the product and their own."""
        return self.tensor.confusion(self.factors)

    @cached_property
    def bits(self) -> list[Bits]:
        """The factors as Boolean arrays (N_k, L)."""
        return self.factors.bits()

    @property
    def noise(self) -> Any:
        """The noise parameters that fit these components."""
        return self.target.noise.estimate(self.tensor, self.factors, self.confusion)

    @property
    def density(self) -> tuple[float, ...]:
        """Shares of ones in the factors, smoothed."""
        return tuple(float((bits.sum() + 1) / (bits.size + 2)) for bits in self.bits)

    @cached_property
    def _present(self) -> Words:
        """Which components are used, as one mask: those with a member in every mode."""
        return np.bitwise_and.reduce([np.bitwise_or.reduce(masks, axis=0) for masks in self.factors])

    @property
    def used(self) -> int:
        """Number of components with a member in every mode."""
        return int(np.bitwise_count(self._present).sum())

    @property
    def unused(self) -> Indices:
        """Components that are empty in some mode."""
        return np.flatnonzero(~unpack(self._present, self.target.n_components))

    @cached_property
    def ones(self) -> list[Counts]:
        """Members of each mode in each of the components that are used."""
        used = unpack(self._present, self.target.n_components)
        return [bits.sum(axis=0)[used] for bits in self.bits]

    @cached_property
    def score(self) -> float:
        """What searches compare: log posterior of the components used, noise and densities integrated out.

        Up to a constant. Unused components explain nothing and their entries are free, so they are left out,
        as if there were fewer components; priors of single entries count with their mean.
        """
        value = self.target.noise.log_marginal(*self.confusion)
        for mode, (masks, ones) in enumerate(zip(self.factors, self.ones, strict=True)):
            value = value + self.target.log_prior(mode, ones, len(masks))
        return float(value)

    @cached_property
    def left(self) -> Array:
        """All cells, of a small tensor: 0, 1 and -1 for those missing or explained already."""
        return self.left_at([np.arange(size) for size in self.tensor.shape])

    def left_at(self, indices: list[Indices]) -> Array:
        """Return the same for the cells with these indices along each mode."""
        cells = self.tensor.read_cells(indices)
        cells[cover(self.factors.take(indices))] = -1
        return cells

    def replaced(self, component: int, columns: Sequence[Bits]) -> Explanation:
        """Put other columns in place of a component, as far as the prior leaves its entries free."""
        factors = []
        for mode, (bits, column) in enumerate(zip(self.bits, columns, strict=True)):
            new = bits.copy()
            new[:, component] = self.target.prior.allow(mode, component, column)
            factors.append(new)
        return Explanation(self.tensor, self.target, Factors.from_bits(factors))

    def emptied(self, components: Sequence[int]) -> Explanation:
        """Take components out, as far as the prior leaves their entries free."""
        explanation, nothing = self, [np.zeros(len(bits), np.bool_) for bits in self.bits]
        for component in components:
            explanation = explanation.replaced(component, nothing)
        return explanation

    def polished(self, rounds: int = 1) -> Explanation:
        """Set every entry to its more probable value, given the others."""
        order, factors, weights = np.arange(self.target.n_components), self.factors, self.noise.weights
        priors = self.target.prior.estimate_log_odds(factors, self.density)
        rules = [Rule(order, GREEDY, weights, prior) for prior in priors]
        for _ in range(rounds):
            factors, _ = self.tensor.update_all(factors, rules, self.target.stream(0, 0, 0))
        return Explanation(self.tensor, self.target, factors)

    def state(self, sweep: int) -> State:
        """Return the state of a chain with these components."""
        return State(self.factors, self.noise, self.density, sweep)


def cover(factors: Factors) -> Bits:
    """Return the Boolean product of factors, as a whole."""
    shared, *others = factors
    for masks in others:
        shared = shared[..., None, :] & masks
    return np.asarray(shared.any(axis=-1))


def losses(explanation: Explanation) -> Floats:
    """Return by how much the score would fall without each component."""
    target, bits = explanation.target, explanation.bits
    pos, neg = count_alone(explanation.tensor, explanation.factors, bits[0])
    tp, fp, fn, tn = explanation.confusion
    left = target.noise.log_marginal(tp - pos, fp - neg, fn + pos, tn + neg)
    used, fall = np.delete(np.arange(target.n_components), explanation.unused), np.zeros(target.n_components)
    others = ~np.eye(len(used), dtype=np.bool_)
    for mode, (factor, ones) in enumerate(zip(bits, explanation.ones, strict=True)):
        rest = np.broadcast_to(ones, others.shape)[others].reshape(len(used), max(len(used) - 1, 0))
        left[used] += target.log_prior(mode, rest, len(factor))
    fall[used] = explanation.score - left[used]
    return fall
