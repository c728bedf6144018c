"""What a chain carries from sweep to sweep, and what is kept of it at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Bits, Counts, Floats, Indices
from tensorm.sampler.factor_draws import FactorDraws
from tensorm.sampler.noise_model import COMPONENT, INDEX, Parameters
from tensorm.tensors.factors import Factors

# Purposes of random streams other than the update of a factor, whose purpose is its mode (protocol.Stream).
DENSITY, NOISE, ORDER, START, PLACE, FILL = 249, 250, 251, 252, 253, 254
LARGEST_LOG = 1e20  # of a likelihood or a posterior density, whatever its sign
MAX_SWEEPS = 2**32 - 1  # that have random numbers of their own
OUTCOMES = INCLUDED, FAILED, STOPPED = (
    "included",
    "failed",
    "stopped",
)  # of a chain; stopped in burn-in, that is


class State(NamedTuple):
    """All that the next sweep needs."""

    factors: Factors
    noise: Any  # Parameters of the noise model
    density: tuple[float, ...]  # of each mode's factor; used where the prior is learned
    sweep: int  # sweeps made so far


@dataclass(frozen=True, eq=False)
class Trace:
    """The draws of one chain, factors packed to bits.

    Attributes
    ----------
    factors : tuple of FactorDraws
        For each mode its draws, packed to bits.
    noise : ndarray (S, P)
        Parameters of the noise model as rows: for two rates that of ones where the product is 1, and where it
        is 0.
    parameters : type
        The class that these rows are draws of.
    density : ndarray (S, K)
        Density of each mode's factor under a learned prior.
    confusion : ndarray of int (S, 4)
        Observed cells by the value of the product and their own: tp, fp, fn, tn.
    log_likelihood : ndarray (S,)
        Log probability of the observed cells given factors and noise.
    log_posterior : ndarray (S,)
        Log posterior probability of the factors given the noise, learned densities integrated out, up to a
        constant that all chains of a fit share (``sweep.log_posterior``).
    n_components : int
    burn_in : int
        Sweeps before the first draw.
    settled : bool
        Whether burn-in came to its end by its own rule.
    """

    factors: tuple[FactorDraws, ...]
    noise: Floats
    parameters: type[Parameters]
    density: Floats
    confusion: Counts
    log_likelihood: Floats
    log_posterior: Floats
    n_components: int
    burn_in: int
    settled: bool = True

    def __len__(self) -> int:
        return len(self.noise)

    @property
    def accuracy(self) -> Floats:
        """Share of the observed cells that equal the product, (S,)."""
        return self.confusion[:, [0, 3]].sum(axis=1) / self.confusion.sum(axis=1)

    @property
    def explained(self) -> Floats:
        """Share of the ones that are in components, (S,); of comparisons, the share predicted correctly."""
        ones = self.confusion[:, [0, 2]].sum(axis=1)
        return self.accuracy if self.parameters.pair else self.confusion[:, 0] / np.maximum(ones, 1)

    @property
    def covered(self) -> Floats:
        """Share of the observed cells that are in components, (S,)."""
        return self.confusion[:, :2].sum(axis=1) / self.confusion.sum(axis=1)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the modes."""
        return tuple(len(draws.first) for draws in self.factors)

    @property
    def noise_fields(self) -> dict[str, Floats]:
        """The noise parameters by name, (S,) or (S, n)."""
        return self.parameters.by_name(self.noise, self.n_components, self.shape)

    def factors_at(self, draw: int) -> Factors:
        """Return the factors of one draw."""
        masks = (draws.masks_at(draw, self.n_components) for draws in self.factors)
        return Factors(tuple(masks), self.n_components)

    def noise_at(self, draw: int) -> Any:
        """Return the noise parameters of one draw."""
        return self.parameters.from_row(self.noise[draw], self.n_components, self.shape)

    def bits(self, mode: int, draws: slice = slice(None)) -> Bits:
        """Return the draws of a mode's factor as a Boolean array (S, N_k, L)."""
        return self.factors[mode][draws].bits(self.n_components)

    def reorder(self, order: Sequence[int]) -> Trace:
        """Return the trace with its components in another order."""
        factors = tuple(draws.reorder(order, self.n_components) for draws in self.factors)
        noise = self.parameters.narrow(self.noise, self.shape, self.n_components, {COMPONENT: order})
        return replace(self, factors=factors, noise=noise, n_components=len(order))

    def take(self, indices: Sequence[Indices]) -> Trace:
        """Return the draws of some indices along each mode."""
        factors = tuple(draws.take(index) for draws, index in zip(self.factors, indices, strict=True))
        first = np.cumsum([0, *self.shape[:-1]])
        rows = np.concatenate([index + start for index, start in zip(indices, first, strict=True)])
        noise = self.parameters.narrow(self.noise, self.shape, self.n_components, {INDEX: rows})
        return replace(self, factors=factors, noise=noise)
