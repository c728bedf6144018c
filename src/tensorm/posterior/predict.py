"""Cells from factors: Boolean products added up over draws (eq. 7), and unions of probabilities.

A *box* is given by the rows of each mode that it spans, a set of single cells by K index arrays. The
posterior says which draws count and how much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.kernels.predict import add_product
from tensorm.sampler.state import Trace
from tensorm.tensors.bits import combine
from tensorm.tensors.factors import Factors

Floats = npt.NDArray[np.float64]
Indices = Sequence[npt.NDArray[np.intp]]
AT_ONCE = 2**21  # cells times draws held in memory at a time
Weighted = Iterable[tuple[Factors, float]]  # draws, and what their product counts


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


def average_box(draws: Weighted, base: float, where: Sequence[slice], shape: Sequence[int]) -> Floats:
    """Return ``base`` plus the weights of the draws whose product is 1, for every cell of a box."""
    sizes = [len(range(*span.indices(size))) for span, size in zip(where, shape, strict=True)]
    total = np.full((math.prod(sizes[:-1]), sizes[-1]), base)
    for factors, weight in draws:
        *rows, columns = (masks[span] for masks, span in zip(factors, where, strict=True))
        add_product(total, combine(rows, factors.n_components), columns, weight)
    return total.reshape(sizes)


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
    noise = np.concatenate([trace.noise for trace in traces])
    hit, false_alarm = noise[:, :1], noise[:, 1:]
    found = np.empty((3, len(indices[0])))
    step = max(1, AT_ONCE // len(noise))
    for first in range(0, found.shape[1], step):
        some = [index[first : first + step] for index in indices]
        draws = (trace.factors_at(draw) for trace in traces for draw in range(len(trace)))
        p = np.where([masks.covers(some) for masks in draws], hit, false_alarm)
        found[:, first : first + step] = p.mean(axis=0), p.std(axis=0), (p > threshold).mean(axis=0)
    return CellSummary(*found)
