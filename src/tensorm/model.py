"""The model of the paper in plain NumPy: the Boolean product (eq. 1), the noise and the likelihood (eq. 3).

For any number of modes K >= 2. Cells come as two arrays: ``ones``, and ``observed``, which is None when
nothing is missing. Factors are K arrays of shape (N_k, L). Anything may import this module; it imports no
other part of the package. The equations that only tests need are in tests/definitions.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt


class Noise(NamedTuple):
    """How often a cell is 1, given the Boolean product ``y``; both rates lie strictly inside (0, 1).

    This is the paper's noise; all noise models, and how to add one: sampler/noise_model.py.

    Attributes
    ----------
    hit : float
        p(x = 1 | y = 1).
    false_alarm : float
        p(x = 1 | y = 0).
    """

    hit: float
    false_alarm: float

    @classmethod
    def symmetric(cls, sigma: float) -> Self:
        """Return the paper's noise: a cell equals the product with probability ``sigma`` = sigma(lambda)."""
        return cls(sigma, 1.0 - sigma)

    @property
    def weights(self) -> tuple[float, float]:
        """What a one and a zero weigh in an entry's log-odds ``w1 * pos - w0 * (tot - pos) + logit(prior)``.

        Both equal lambda, to the last bit, for ``Noise.symmetric(sigma)`` with sigma >= 1/2.
        """
        w1 = math.log(self.hit / self.false_alarm)
        w0 = math.log((1.0 - self.false_alarm) / (1.0 - self.hit))
        return w1, w0

    @property
    def purity(self) -> float:
        """Rate of ones where the product is 1, beyond the rate elsewhere, as a share of what is possible."""
        return (self.hit - self.false_alarm) / (1 - self.false_alarm)

    def log_ratio(self, ones: Any, zeros: Any) -> Any:
        """Return by how much the log-likelihood rises once the product covers so many more ones and zeros."""
        w1, w0 = self.weights
        return w1 * ones - w0 * zeros

    def log_likelihood(self, confusion: Confusion) -> Any:
        """Return the log-likelihood of observed cells (eq. 3); rates and counts may be arrays of draws."""
        from scipy.special import xlog1py, xlogy  # takes a tenth of a second, and not all need it

        tp, fp, fn, tn = confusion
        inside = xlogy(tp, self.hit) + xlog1py(fp, -self.hit)
        return inside + xlogy(fn, self.false_alarm) + xlog1py(tn, -self.false_alarm)

    def cell_probability(self, product: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """Return p(x = 1) of cells, given the Boolean product there."""
        return np.where(product, self.hit, self.false_alarm)


class Confusion(NamedTuple):
    """Observed cells, counted: *positive* is a product of 1, *true* that the cell agrees with the product."""

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def observed(self) -> int:
        """Number of observed cells."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def correct(self) -> int:
        """Number of observed cells equal to the product."""
        return self.tp + self.tn

    @property
    def explained(self) -> float:
        """Share of the ones where the product is 1."""
        return self.tp / max(self.tp + self.fn, 1)


def boolean_product(factors: Sequence[npt.ArrayLike]) -> npt.NDArray[np.bool_]:
    """Return the Boolean product of the factors, an array of shape (N_1, ..., N_K) (eq. 1)."""
    matrices = [np.asarray(factor, dtype=bool) for factor in factors]
    product = np.zeros([len(matrix) for matrix in matrices], dtype=bool)
    for l in range(matrices[0].shape[1]):  # OR over components of the AND over modes
        product |= reduce(np.logical_and.outer, [matrix[:, l] for matrix in matrices])
    return product


def cell_probability(factors: Sequence[npt.ArrayLike], noise: Noise) -> npt.NDArray[np.float64]:
    """Return p(x = 1 | factors, noise) of every cell (eq. 3, with a rate for either value of the product)."""
    return noise.cell_probability(boolean_product(factors))


def confusion(
    ones: npt.NDArray[np.bool_], observed: npt.NDArray[np.bool_] | None, factors: Sequence[npt.ArrayLike]
) -> Confusion:
    """Count the observed cells by the product's value and their own."""
    product = boolean_product(factors)
    seen = np.ones_like(product) if observed is None else observed
    cells = (product & ones, product & ~ones, ~product & ones, ~product & ~ones)
    return Confusion(*(int(np.count_nonzero(seen & these)) for these in cells))


def expected_density(factor_density: float, rank: int, K: int) -> float:
    """Return E(X) = 1 - (1 - E(F)^K)^L, the share of ones in the product of i.i.d. factors."""
    from scipy.special import xlog1py

    return float(-np.expm1(xlog1py(rank, -(factor_density**K))))


def factor_density(density: float, rank: int, K: int) -> float:
    """Return the E(F) for which ``expected_density(E(F), rank, K)`` is ``density``."""
    from scipy.special import xlog1py

    return float((-np.expm1(xlog1py(1.0 / rank, -density))) ** (1.0 / K))
