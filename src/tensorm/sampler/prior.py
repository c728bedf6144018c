"""Priors of the factor entries: fixed probabilities, or densities that are learned.

All say the log-odds of entries (``log_odds``; ``draw_log_odds`` for a sweep, ``estimate_log_odds`` for
searches), draw new densities given the factors and a uniform number per mode (``update``), and know the
probability of a factor with densities integrated out (``log_probability``; for searches ``log_marginal``),
which entries are fixed (``allow``), and what applies to a part of the tensor (``at``) or to components in
another order (``reorder``). ``could_draw`` asks whether densities in a file can come from ``update``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, betaln, expit, logit

from tensorm.data.arrays import Bits, Counts, Floats, Indices
from tensorm.kernels import philox
from tensorm.kernels.rows import count_ones
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Stream

NATS_FOR_A_CELL = 8e-4  # of short sides; note 22 says what sides and predictions become
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

    def draw_log_odds(self, factors: Factors, density: Sequence[float], stream: Stream) -> list[Floats]:
        """Return the log-odds of all modes for the next sweep."""
        return self.estimate_log_odds(factors, density)

    def estimate_log_odds(self, factors: Factors, density: Sequence[float]) -> list[Floats]:
        """Return the log-odds of all modes that go with these factors and densities."""
        return [self.log_odds(mode, density) for mode in range(len(factors))]

    def update(self, factors: Factors, uniforms: Floats) -> tuple[float, ...]:
        """Return no densities: there are none to learn."""
        return (math.nan,) * len(factors)

    def entry_rate(self, mode: int, density: Sequence[float]) -> float | None:
        """Return the probability of a new component's entries, if they all have the same."""
        return float(np.clip(expit(self.log_odds(mode, density).item()), DENSITY_EDGE, 1 - DENSITY_EDGE))

    def could_draw(self, density: npt.ArrayLike) -> bool:
        """Whether ``update`` can have returned this."""
        return bool(np.isnan(density).all())

    def log_probability(self, mode: int, factors: Factors) -> float:
        """Return the log probability of a mode's factor; entries that the prior fixes add nothing."""
        if self.tables[mode].size == 1:
            return float(self.log_marginal(mode, _count_members(factors, mode), len(factors[mode])))
        bits = unpack(factors[mode], factors.n_components)
        table = np.broadcast_to(self.tables[mode], bits.shape)
        free = np.isfinite(table)
        return float(-np.logaddexp(0.0, np.where(bits, -table, table)[free]).sum())

    def log_marginal(self, mode: int, ones: Counts, size: int) -> Floats:
        """Return the log probability of columns with so many ones, with the mean of the mode's log-odds.

        Exact only where all entries have the same prior: searches compare components by it.
        """
        table = self.tables[mode]
        free = table[np.isfinite(table)]
        if not free.size:
            return np.zeros(ones.shape[:-1])
        mean = free.mean()
        return np.asarray(ones.sum(axis=-1) * mean - size * ones.shape[-1] * np.logaddexp(0.0, mean))

    def allow(self, mode: int, component: int, column: Bits) -> Bits:
        """Return a component's entries with those that the prior fixes set right."""
        table = self.tables[mode]
        fixed = table[:, component if table.shape[1] > 1 else 0]
        return np.where(np.isinf(fixed), fixed > 0, column)

    def at(self, part: Sequence[Indices]) -> FixedPrior:
        """Return the prior of a part of the tensor."""
        pairs = zip(self.tables, part, strict=True)
        return FixedPrior(tuple(table if len(table) == 1 else table[index] for table, index in pairs))

    def searched(self, part: Sequence[Indices], shape: Sequence[int]) -> FixedPrior:
        """Return the prior with which a part of a tensor of this shape is searched.

        Entries have fewer cells there, and their log-odds are smaller in the same proportion. Otherwise a
        prior that all cells outweigh would keep components out of the part.
        """
        left = np.array([len(index) / N for index, N in zip(part, shape, strict=True)])
        weakened = (table * np.delete(left, k).prod() for k, table in enumerate(self.at(part).tables))
        return FixedPrior(tuple(weakened))

    def reorder(self, order: Sequence[int]) -> FixedPrior:
        """Return the prior of the components in another order."""
        tables = (table if table.shape[1] == 1 else table[:, list(order)] for table in self.tables)
        return FixedPrior(tuple(np.ascontiguousarray(table) for table in tables))


class ShortSides(FixedPrior):
    """Comparisons: an attribute is on a side only if it gains enough, in proportion to its cells."""

    @classmethod
    def for_cells(cls, shape: Sequence[int]) -> ShortSides:
        """Make the prior for comparisons of this shape."""
        n_objects, n_attributes, _ = shape
        cost = np.array([[-NATS_FOR_A_CELL * n_objects * n_attributes]])
        return cls((np.zeros((1, 1)), cost, cost))


class LearnedPrior(NamedTuple):
    """Every mode's entries share a density under a Beta(a, b) prior."""

    a: float = 1.0
    b: float = 1.0

    def log_odds(self, mode: int, density: Sequence[float]) -> Floats:
        """Return the one number for all entries of the mode."""
        p = density[mode]
        return np.array([[math.log(p / (1 - p))]])

    def draw_log_odds(self, factors: Factors, density: Sequence[float], stream: Stream) -> list[Floats]:
        """Return the log-odds of all modes for the next sweep."""
        return self.estimate_log_odds(factors, density)

    def estimate_log_odds(self, factors: Factors, density: Sequence[float]) -> list[Floats]:
        """Return the log-odds of all modes that go with these factors and densities."""
        return [self.log_odds(mode, density) for mode in range(len(factors))]

    def update(self, factors: Factors, uniforms: Floats) -> tuple[float, ...]:
        """Draw each density from its conditional: a Gibbs step."""
        ones = np.array([count_ones(masks) for masks in factors])
        entries = np.array([len(masks) * factors.n_components for masks in factors])
        draws = betaincinv(self.a + ones, self.b + entries - ones, uniforms)
        return tuple(min(max(draw, DENSITY_EDGE), 1 - DENSITY_EDGE) for draw in draws.tolist())

    def entry_rate(self, mode: int, density: Sequence[float]) -> float | None:
        """Return the probability of a new component's entries, if they all have the same."""
        return float(np.clip(expit(self.log_odds(mode, density).item()), DENSITY_EDGE, 1 - DENSITY_EDGE))

    def could_draw(self, density: npt.ArrayLike) -> bool:
        """Whether ``update`` can have returned this."""
        p = np.asarray(density, np.float64)
        return bool(np.all((p >= DENSITY_EDGE) & (p <= 1 - DENSITY_EDGE)))

    def log_probability(self, mode: int, factors: Factors) -> float:
        """Return the log probability of a mode's factor, with the density integrated out."""
        ones, entries = int(count_ones(factors[mode])), len(factors[mode]) * factors.n_components
        return float(betaln(self.a + ones, self.b + entries - ones))

    def log_marginal(self, mode: int, ones: Counts, size: int) -> Floats:
        """Return the log probability of columns with so many ones, (..., L), the density integrated out."""
        total = ones.sum(axis=-1)
        return betaln(self.a + total, self.b + size * ones.shape[-1] - total)

    def allow(self, mode: int, component: int, column: Bits) -> Bits:
        """Return the entries as they are: none is fixed."""
        return column

    def at(self, part: Sequence[Indices]) -> LearnedPrior:
        """Return the same prior."""
        return self

    def searched(self, part: Sequence[Indices], shape: Sequence[int]) -> LearnedPrior:
        """Return the same prior."""
        return self

    def reorder(self, order: Sequence[int]) -> LearnedPrior:
        """Return the same prior."""
        return self


class SidesPrior(LearnedPrior):
    """Comparisons: each side of each component has a density of its own; objects share one.

    With one density for all components, sides that have every attribute would cost nothing. Densities of
    sides are drawn given the factors before each sweep, so that no state has to know them.
    """

    SIDES = 1, 2

    def draw_log_odds(self, factors: Factors, density: Sequence[float], stream: Stream) -> list[Floats]:
        """Return the log-odds of all modes for the next sweep, those of sides with new densities."""
        tables = super().estimate_log_odds(factors, density)
        for mode in self.SIDES:
            ones, u = _count_members(factors, mode), philox.uniforms(stream, mode, factors.n_components)
            p = betaincinv(self.a + ones, self.b + len(factors[mode]) - ones, u)
            tables[mode] = logit(np.clip(p, DENSITY_EDGE, 1 - DENSITY_EDGE))[None]
        return tables

    def estimate_log_odds(self, factors: Factors, density: Sequence[float]) -> list[Floats]:
        """Return the log-odds of all modes, those of sides from their shares of ones."""
        tables = super().estimate_log_odds(factors, density)
        for mode in self.SIDES:
            share = (self.a + _count_members(factors, mode)) / (self.a + self.b + len(factors[mode]))
            tables[mode] = logit(share)[None]
        return tables

    def entry_rate(self, mode: int, density: Sequence[float]) -> float | None:
        """Return None for sides, whose densities differ."""
        return None if mode in self.SIDES else super().entry_rate(mode, density)

    def log_probability(self, mode: int, factors: Factors) -> float:
        """Return the log probability of a mode's factor, with densities integrated out."""
        return float(self.log_marginal(mode, _count_members(factors, mode), len(factors[mode])))

    def log_marginal(self, mode: int, ones: Counts, size: int) -> Floats:
        """Return the log probability of columns with so many ones, (..., L), densities integrated out."""
        if mode not in self.SIDES:
            return super().log_marginal(mode, ones, size)
        each = betaln(self.a + ones, self.b + size - ones) - betaln(self.a, self.b)
        return np.asarray(each.sum(axis=-1))


def _count_members(factors: Factors, mode: int) -> Counts:
    """Return the members of each component."""
    return np.asarray(unpack(factors[mode], factors.n_components).sum(axis=0))


FactorPrior = FixedPrior | LearnedPrior
