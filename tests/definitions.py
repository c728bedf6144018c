"""Equations 3 to 7 of the paper in plain NumPy, slow and obvious, for any number of modes.

Kernels are compared with these and with the element loops of naive.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from tensorm.data.arrays import Bits, Floats
from tensorm.model import Confusion, Noise, boolean_product, cell_probability, confusion


def log_likelihood(
    ones: Bits, observed: Bits | None, factors: Sequence[npt.ArrayLike], noise: Noise
) -> float:
    """Return log p(observed cells | factors, noise), eq. 3 summed over cells; missing cells add nothing."""
    return float(noise.log_likelihood(confusion(ones, observed, factors)))


def counts(
    ones: Bits, observed: Bits | None, factors: Sequence[npt.ArrayLike], mode: int, n: int, l: int
) -> tuple[int, int]:
    """Return ``(pos, tot)`` of entry ``(n, l)`` of factor ``mode``.

    ``tot`` counts the observed cells whose value depends on this entry (the M of eq. 5), ``pos`` those
    that are 1; the sum in eq. 4 is ``2 * pos - tot``. The entry's own value plays no part.
    """
    matrices = [np.asarray(factor, dtype=bool) for factor in factors]
    others = [matrix for k, matrix in enumerate(matrices) if k != mode]
    rivals = matrices[mode][n].copy()
    rivals[l] = False
    relevant = boolean_product([matrix[:, [l]] for matrix in others])  # eq. 5: all co-parents are 1
    relevant &= ~boolean_product([matrix[:, rivals] for matrix in others])  # eq. 5: not explained away
    if observed is not None:
        relevant &= np.take(observed, n, axis=mode)
    pos = np.count_nonzero(relevant & np.take(ones, n, axis=mode))
    return int(pos), int(np.count_nonzero(relevant))


def conditional(
    ones: Bits,
    observed: Bits | None,
    factors: Sequence[npt.ArrayLike],
    mode: int,
    n: int,
    l: int,
    noise: Noise,
    prior: float = 0.5,
) -> float:
    """Return p(f = 1 | everything else) of entry ``(n, l)`` of factor ``mode`` (eq. 4, with a prior)."""
    pos, tot = counts(ones, observed, factors, mode, n, l)
    return float(expit(noise.log_ratio(pos, tot - pos) + logit(prior)))


def noise_map(confusion: Confusion, a: float = 1.0, b: float = 1.0) -> Noise:
    """Return the paper's plug-in for symmetric noise under a Beta(a, b) prior on sigma (eq. 6)."""
    return Noise.symmetric((a + confusion.correct) / (a + b + confusion.observed))


def predictive(draws: Sequence[Sequence[npt.ArrayLike]], noises: Sequence[Noise]) -> Floats:
    """Return the posterior predictive p(x = 1) of every cell: the mean over draws (eq. 7)."""
    total = sum(cell_probability(factors, noise) for factors, noise in zip(draws, noises, strict=True))
    return np.asarray(total / len(draws), dtype=np.float64)


def mean_reconstruction(mean_factors: Sequence[npt.ArrayLike]) -> Floats:
    """Return 1 - prod_l (1 - prod_k f) of every cell, from posterior means (the text below eq. 7)."""
    matrices = [np.asarray(factor, dtype=np.float64) for factor in mean_factors]
    missed = np.ones([len(matrix) for matrix in matrices])
    for l in range(matrices[0].shape[1]):
        missed *= 1.0 - reduce(np.multiply.outer, [matrix[:, l] for matrix in matrices])
    return 1.0 - missed
