"""The exact posterior of a tiny tensor: every state of its factors, noise and densities integrated out.

Nothing here comes from the sampler but its models' parameters and the least contrast of the noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import betaincc, betaln, expit, logit, xlog1py, xlogy

from tensorm.sampler.two_rates import CONTRAST

L = 2
SHAPE = (2, 2, 2)
N_DRAWS, THIN = 6_000, 2  # of the comparisons with sampled states


def all_factors(shape: Sequence[int] = SHAPE) -> list[np.ndarray]:
    """The factors of every state: for each mode a Boolean array (4096, N_k, L)."""
    bits = sum(shape) * L
    table = (np.arange(2**bits)[:, None] >> np.arange(bits) & 1).astype(bool)
    ends = np.cumsum(shape) * L
    parts = np.split(table, ends[:-1], axis=1)
    return [part.reshape(-1, N, L) for part, N in zip(parts, shape, strict=True)]


def code(masks: np.ndarray) -> np.ndarray:
    """Numbers of states in ``all_factors``, from rows (draws, all rows of all modes) of one-word masks."""
    return masks.astype(np.int64) @ (1 << L * np.arange(masks.shape[1]))


def confusions(ones: np.ndarray, observed: np.ndarray, factors: list[np.ndarray]) -> np.ndarray:
    """(4, states): observed cells that are 1 and 0 inside the product, and 1 and 0 outside."""
    inside = np.einsum("sal,sbl,scl->sabc", *(factor.astype(int) for factor in factors)) > 0
    cells = (inside & ones, inside & ~ones, ~inside & ones, ~inside & ~ones)
    return np.array([(these & observed).sum(axis=(1, 2, 3)) for these in cells])


def log_fixed(hit: float, false_alarm: float, counts: np.ndarray) -> np.ndarray:
    """Log-likelihood at given rates."""
    tp, fp, fn, tn = counts
    return xlogy(tp, hit) + xlog1py(fp, -hit) + xlogy(fn, false_alarm) + xlog1py(tn, -false_alarm)


def log_symmetric(a: float, b: float, counts: np.ndarray) -> np.ndarray:
    """The rate integrated over its truncated Beta prior."""
    tp, fp, fn, tn = counts
    right, wrong = a + tp + tn, b + fp + fn
    return betaln(right, wrong) + np.log(betaincc(right, wrong, expit(CONTRAST / 2)))


def log_asymmetric(a: float, b: float, counts: np.ndarray) -> np.ndarray:
    """Both rates integrated over the region where their log-odds keep the contrast.

    The inner integral, over the rate inside, is an incomplete Beta function; the outer one is Gauss's.
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)
    f, weights = (nodes[:, None] + 1) / 2, weights[:, None] / 2
    distinct, where = np.unique(counts, axis=1, return_inverse=True)
    tp, fp, fn, tn = distinct
    low = expit(logit(f) + CONTRAST)
    outer = xlogy(a + fn - 1, f) + xlog1py(b + tn - 1, -f)
    inner = betaincc(a + tp, b + fp, low)
    total = np.log((weights * np.exp(outer) * inner).sum(axis=0)) + betaln(a + tp, b + fp)
    return total[where.ravel()]


def log_given(probabilities: Sequence[np.ndarray], factors: list[np.ndarray]) -> np.ndarray:
    """Log prior of every state, from probabilities (N_k, L) of the entries."""
    pairs = zip(probabilities, factors, strict=True)
    with np.errstate(divide="ignore"):
        return sum(np.log(np.where(factor, p, 1 - np.asarray(p))).sum(axis=(1, 2)) for p, factor in pairs)


def log_learned(a: float, b: float, factors: list[np.ndarray]) -> np.ndarray:
    """Log prior with each mode's density integrated over its Beta prior."""
    total = 0.0
    for factor in factors:
        ones = factor.sum(axis=(1, 2))
        total = total + betaln(a + ones, b + factor[0].size - ones)
    return total


def normalise(log_weights: np.ndarray) -> np.ndarray:
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def distance_ratio(codes: np.ndarray, p: np.ndarray) -> float:
    """Total variation of draws from ``p``, over its mean for as many independent draws."""
    rng = np.random.default_rng(0)
    samples = np.vstack([np.bincount(codes, minlength=len(p)), rng.multinomial(len(codes), p, size=50)])
    distances = np.abs(samples / len(codes) - p).sum(axis=1) / 2
    return float(distances[0] / distances[1:].mean())
