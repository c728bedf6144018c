"""Cells from draws: probabilities averaged over draws (eq. 7), and unions of probable memberships.

A *box* is given by the rows of each mode that it spans, a set of single cells by K index arrays. The
posterior says which draws count and how much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.sampler.parameters import Parameters
from tensorm.sampler.state import Trace
from tensorm.tensors.factors import Factors

Floats = npt.NDArray[np.float64]
Indices = Sequence[npt.NDArray[np.intp]]
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
        Share of draws with P(x = 1 | draw) above the threshold.
    """

    mean: Floats
    sd: Floats
    above: Floats


def average_box(draws: Weighted, where: Sequence[slice], shape: Sequence[int]) -> Floats:
    """Return P(x = 1) of every cell of a box, by the weights of the draws."""
    sizes = [len(range(*span.indices(size))) for span, size in zip(where, shape, strict=True)]
    total = np.zeros((math.prod(sizes[:-1]), sizes[-1]))
    base = sum(noise.add_box(total, factors, where, weight) for factors, noise, weight in draws)
    return (total + base).reshape(sizes)


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


def unite_cells(means: Sequence[Floats], indices: Indices) -> Floats:
    """Return 1 - prod_l (1 - prod_k f) for some cells, from factors of probabilities."""
    together = np.ones((len(indices[0]), means[0].shape[1]))
    for mean, index in zip(means, indices, strict=True):
        together *= mean[index]
    return 1 - np.prod(1 - together, axis=1)


def summarise_cells(traces: Sequence[Trace], indices: Indices, threshold: float) -> CellSummary:
    """Return how certain the probabilities of cells are, given as K index arrays."""
    found = np.empty((3, len(indices[0])))
    step = max(1, CELLS_TIMES_DRAWS // sum(map(len, traces)))
    for first in range(0, found.shape[1], step):
        some = [index[first : first + step] for index in indices]
        draws = [(trace, draw) for trace in traces for draw in range(len(trace))]
        p = np.array([trace.noise_at(draw).predict(trace.factors_at(draw), some) for trace, draw in draws])
        found[:, first : first + step] = p.mean(axis=0), p.std(axis=0), (p > threshold).mean(axis=0)
    return CellSummary(*found)
