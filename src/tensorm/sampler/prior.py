"""Priors of the factor entries: fixed probabilities, or one density per mode that is learned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, logit

from tensorm.kernels.rows import count_ones
from tensorm.tensors.bits import Words

Floats = npt.NDArray[np.float64]
EDGE = 1e-12  # densities stay this far from 0 and 1


class FactorPrior(Protocol):
    """What the sampler needs of a prior."""

    def log_odds(self, mode: int, density: Sequence[float]) -> Floats:
        """Return the prior log-odds of a mode's entries, as a table (N or 1, L or 1)."""
        ...

    def update(self, factors: Sequence[Words], n_components: int, uniforms: Floats) -> tuple[float, ...]:
        """Return new densities, given the factors and a uniform number per mode."""
        ...


class FixedPrior(NamedTuple):
    """Given probabilities; 0 and 1 fix an entry."""

    tables: tuple[Floats, ...]  # log-odds (N_k or 1, L or 1) for each mode

    @classmethod
    def from_probabilities(cls, probabilities: Sequence[npt.ArrayLike]) -> FixedPrior:
        """Make a prior from a number or an array (N_k, L) for each mode."""
        return cls(tuple(np.atleast_2d(logit(np.asarray(p, dtype=np.float64))) for p in probabilities))

    def log_odds(self, mode: int, density: Sequence[float]) -> Floats:
        """Return the prior log-odds of a mode's entries."""
        return self.tables[mode]

    def update(self, factors: Sequence[Words], n_components: int, uniforms: Floats) -> tuple[float, ...]:
        """Return no densities: there are none to learn."""
        return (math.nan,) * len(factors)


class LearnedPrior(NamedTuple):
    """Every mode's entries share a density under a Beta(a, b) prior."""

    a: float = 1.0
    b: float = 1.0

    def log_odds(self, mode: int, density: Sequence[float]) -> Floats:
        """Return the one number for all entries of the mode."""
        p = density[mode]
        return np.array([[math.log(p / (1 - p))]])

    def update(self, factors: Sequence[Words], n_components: int, uniforms: Floats) -> tuple[float, ...]:
        """Draw each density from its conditional: a Gibbs step."""
        densities = []
        for masks, u in zip(factors, uniforms.tolist(), strict=True):
            ones = count_ones(masks)
            draw = betaincinv(self.a + ones, self.b + len(masks) * n_components - ones, u)
            densities.append(min(max(float(draw), EDGE), 1 - EDGE))
        return tuple(densities)
