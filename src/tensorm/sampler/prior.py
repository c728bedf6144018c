"""Priors of the factor entries: fixed probabilities, or one density per mode that is learned.

Both say the log-odds of entries (``log_odds``), draw new densities given the factors and a uniform number per
mode (``update``), and know the probability of a factor with densities integrated out (``log_probability``;
for searches ``log_marginal``), which entries are fixed (``allow``), and what applies to a part of the tensor
(``at``) or to components in another order (``reorder``). ``could_draw`` asks whether densities in a file can
come from ``update``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, betaln, logit

from tensorm.data.arrays import Bits, Counts, Floats, Indices
from tensorm.kernels.rows import count_ones
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors

DENSITY_EDGE = 1e-12  # densities stay this far from 0 and 1


class FixedPrior(NamedTuple):
    """Given probabilities; 0 and 1 fix an entry."""

    tables: tuple[Floats, ...]  # log-odds (N_k or 1, L or 1) for each mode

    @classmethod
    def from_probabilities(cls, probabilities: Sequence[npt.ArrayLike]) -> FixedPrior:
        """Make a prior from a number or an array (N_k, L) for each mode."""
        arrays = (np.asarray(p, dtype=np.float64, order="C") for p in probabilities)
        return cls(tuple(np.atleast_2d(logit(array)) for array in arrays))

    def log_odds(self, mode: int, density: Sequence[float]) -> Floats:
        """Return the prior log-odds of a mode's entries, as a table (N or 1, L or 1)."""
        return self.tables[mode]

    def update(self, factors: Factors, uniforms: Floats) -> tuple[float, ...]:
        """Return no densities: there are none to learn."""
        return (math.nan,) * len(factors)

    def could_draw(self, density: npt.ArrayLike) -> bool:
        """Whether ``update`` can have returned this."""
        return bool(np.isnan(density).all())

    def log_probability(self, mode: int, factors: Factors) -> float:
        """Return the log probability of a mode's factor; entries that the prior fixes add nothing."""
        if self.tables[mode].size == 1:
            ones = int(count_ones(factors[mode]))
            return float(self.log_marginal(mode, ones, len(factors[mode]) * factors.n_components))
        bits = unpack(factors[mode], factors.n_components)
        table = np.broadcast_to(self.tables[mode], bits.shape)
        free = np.isfinite(table)
        return float(-np.logaddexp(0.0, np.where(bits, -table, table)[free]).sum())

    def log_marginal(self, mode: int, ones: int | Counts, entries: int | Counts) -> Floats:
        """Return the log probability of one set of so many ones, with the mean of the mode's log-odds.

        Exact only where all entries have the same prior: searches compare components by it.
        """
        table = self.tables[mode]
        free = table[np.isfinite(table)]
        if not free.size:
            return np.zeros(np.broadcast_shapes(np.shape(ones), np.shape(entries)))
        mean = free.mean()
        return np.asarray(ones * mean - entries * np.logaddexp(0.0, mean))

    def allow(self, mode: int, component: int, column: Bits) -> Bits:
        """Return a component's entries with those that the prior fixes set right."""
        table = self.tables[mode]
        fixed = table[:, component if table.shape[1] > 1 else 0]
        return np.where(np.isinf(fixed), fixed > 0, column)

    def at(self, part: Sequence[Indices]) -> FixedPrior:
        """Return the prior of a part of the tensor."""
        pairs = zip(self.tables, part, strict=True)
        return FixedPrior(tuple(table if len(table) == 1 else table[index] for table, index in pairs))

    def reorder(self, order: Sequence[int]) -> FixedPrior:
        """Return the prior of the components in another order."""
        tables = (table if table.shape[1] == 1 else table[:, list(order)] for table in self.tables)
        return FixedPrior(tuple(np.ascontiguousarray(table) for table in tables))


class LearnedPrior(NamedTuple):
    """Every mode's entries share a density under a Beta(a, b) prior."""

    a: float = 1.0
    b: float = 1.0

    def log_odds(self, mode: int, density: Sequence[float]) -> Floats:
        """Return the one number for all entries of the mode."""
        p = density[mode]
        return np.array([[math.log(p / (1 - p))]])

    def update(self, factors: Factors, uniforms: Floats) -> tuple[float, ...]:
        """Draw each density from its conditional: a Gibbs step."""
        ones = np.array([count_ones(masks) for masks in factors])
        entries = np.array([len(masks) * factors.n_components for masks in factors])
        draws = betaincinv(self.a + ones, self.b + entries - ones, uniforms)
        return tuple(min(max(draw, DENSITY_EDGE), 1 - DENSITY_EDGE) for draw in draws.tolist())

    def could_draw(self, density: npt.ArrayLike) -> bool:
        """Whether ``update`` can have returned this."""
        p = np.asarray(density, np.float64)
        return bool(np.all((p >= DENSITY_EDGE) & (p <= 1 - DENSITY_EDGE)))

    def log_probability(self, mode: int, factors: Factors) -> float:
        """Return the log probability of a mode's factor, with the density integrated out."""
        entries = len(factors[mode]) * factors.n_components
        return float(self.log_marginal(mode, int(count_ones(factors[mode])), entries))

    def log_marginal(self, mode: int, ones: int | Counts, entries: int | Counts) -> Floats:
        """Return the log probability of one set of so many ones, with the density integrated out."""
        return betaln(self.a + ones, self.b + entries - ones)

    def allow(self, mode: int, component: int, column: Bits) -> Bits:
        """Return the entries as they are: none is fixed."""
        return column

    def at(self, part: Sequence[Indices]) -> LearnedPrior:
        """Return the same prior."""
        return self

    def reorder(self, order: Sequence[int]) -> LearnedPrior:
        """Return the same prior."""
        return self


FactorPrior = FixedPrior | LearnedPrior
