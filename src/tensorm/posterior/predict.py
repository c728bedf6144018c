"""Cells from draws: probabilities averaged over draws (eq. 7), and unions of probable memberships.

A *box* is given by the rows of each mode that it spans, a set of single cells by K index arrays. The
posterior says which draws count and how much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tensorm.data.arrays import Floats, Indices
from tensorm.sampler.noise_model import Parameters
from tensorm.sampler.state import Trace
from tensorm.tensors.factors import Factors

CELLS_TIMES_DRAWS = 2**21  # cells times draws held in memory at a time
Weighted = Iterable[tuple[Factors, Parameters, float]]  # draws, and how much each counts


class CellSummary(NamedTuple):
    """How certain the probabilities of cells are; arrays (n,).

    Attributes
    ----------
    mean : ndarray
        Posterior predictive P(x = 1) (eq. 7).
    sd : ndarray
        Standard deviation over draws of P(x = 1 | draw).
    above : ndarray
        Share of draws, by the weights of their chains, with P(x = 1 | draw) above the threshold.
    """

    mean: Floats
    sd: Floats
    above: Floats


def average_box(draws: Weighted, where: Sequence[slice], shape: Sequence[int]) -> Floats:
    """Return P(x = 1) of every cell of a box, by the weights of the draws."""
    sizes = [len(range(*span.indices(size))) for span, size in zip(where, shape, strict=True)]
    total = np.zeros((math.prod(sizes[:-1]), sizes[-1]))
    base = sum(noise.add_box(total, factors, where, weight) for factors, noise, weight in draws)
    total += base
    return np.clip(total, 0.0, 1.0, out=total).reshape(sizes)  # where rounding went beyond


def unite_box(means: Sequence[Floats], where: Sequence[slice]) -> Floats:
    """Return 1 - prod_l (1 - prod_k f) for every cell of a box, from factors of probabilities."""
    parts = [mean[span] for mean, span in zip(means, where, strict=True)]
    unexplained = np.ones([len(part) for part in parts])
    for l in range(means[0].shape[1]):
        block = parts[0][:, l]
        for part in parts[1:]:
            block = np.multiply.outer(block, part[:, l])
        unexplained *= 1 - block
    return 1 - unexplained


def unite_cells(means: Sequence[Floats], indices: Sequence[Indices]) -> Floats:
    """Return 1 - prod_l (1 - prod_k f) for some cells, from factors of probabilities."""
    together = np.ones((len(indices[0]), means[0].shape[1]))
    for mean, index in zip(means, indices, strict=True):
        together *= mean[index]
    return 1 - np.prod(1 - together, axis=1)


def summarise_cells(
    chains: Sequence[tuple[Trace, float]], indices: Sequence[Indices], threshold: float
) -> CellSummary:
    """Return how certain the probabilities of cells are, given as K index arrays, by the chains' weights."""
    found = np.empty((3, len(indices[0])))
    draws = [(trace, draw) for trace, _ in chains for draw in range(len(trace))]
    weights = np.concatenate([np.full(len(trace), weight / len(trace)) for trace, weight in chains])
    step = max(1, CELLS_TIMES_DRAWS // len(draws))
    for first in range(0, found.shape[1], step):
        some = [index[first : first + step] for index in indices]
        p = np.array([trace.noise_at(draw).predict(trace.factors_at(draw), some) for trace, draw in draws])
        mean = weights @ p
        sd = np.sqrt(weights @ (p - mean) ** 2)
        found[:, first : first + step] = mean, sd, weights @ (p > threshold)
    return CellSummary(*found)
