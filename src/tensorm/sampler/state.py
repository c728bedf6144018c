"""What a chain carries from sweep to sweep, and what is kept of it at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.model import Confusion, Noise
from tensorm.tensors.bits import Bits, words_for
from tensorm.tensors.factors import Factors

Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

# Purposes of random streams other than the update of a factor, whose purpose is its mode (protocol.Stream).
NOISE, ORDER, START, PLACE = 250, 251, 252, 253


class State(NamedTuple):
    """All that the next sweep needs."""

    factors: Factors
    noise: Noise
    density: tuple[float, ...]  # of each mode's factor; used where the prior is learned
    sweep: int  # sweeps made so far


@dataclass(frozen=True, eq=False)
class Trace:
    """The draws of one chain, factors packed to bits.

    Attributes
    ----------
    factors : tuple of ndarray of uint8, shape (S, N_k, ceil(L / 8))
        For each mode the draws; bit l of a row, little end first, is its entry of component l.
    noise : ndarray (S, 2)
        Rate of ones where the product is 1, and where it is 0.
    density : ndarray (S, K)
        Density of each mode's factor under a learned prior.
    confusion : ndarray of int (S, 4)
        Observed cells by the value of the product and their own: tp, fp, fn, tn.
    log_posterior : ndarray (S,)
        Log posterior of the factors, noise rates and densities integrated out, up to a constant that all
        chains of a fit share.
    n_components : int
    burn_in : int
        Sweeps before the first draw.
    settled : bool
        Whether burn-in came to its end by its own rule.
    """

    factors: tuple[Bytes, ...]
    noise: Floats
    density: Floats
    confusion: npt.NDArray[np.int64]
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
    def log_likelihood(self) -> Floats:
        """Log probability of the observed cells given factors and noise, (S,)."""
        return np.asarray(Noise(*self.noise.T).log_likelihood(Confusion(*self.confusion.T)))

    def factors_at(self, draw: int) -> Factors:
        """Return the factors of one draw."""
        masks = []
        for packed in self.factors:
            room = np.zeros((packed.shape[1], 8 * words_for(self.n_components)), np.uint8)
            room[:, : packed.shape[2]] = packed[draw]
            masks.append(room.view("<u8").astype(np.uint64, copy=False))
        return Factors(tuple(masks), self.n_components)

    def noise_at(self, draw: int) -> Noise:
        """Return the noise of one draw."""
        return Noise(*self.noise[draw].tolist())

    def bits(self, mode: int, draws: slice = slice(None)) -> Bits:
        """Return the draws of a mode's factor as a Boolean array (S, N_k, L)."""
        return np.unpackbits(
            self.factors[mode][draws], axis=-1, count=self.n_components, bitorder="little"
        ).view(np.bool_)

    def reorder(self, order: Sequence[int]) -> Trace:
        """Return the trace with its components in another order."""
        factors = tuple(
            np.packbits(self.bits(mode)[..., list(order)], axis=-1, bitorder="little")
            for mode in range(len(self.factors))
        )
        return replace(self, factors=factors, n_components=len(order))
