"""Cells from factors: Boolean products added up over draws (eq. 7), and unions of probabilities.

A *box* is given by the rows of each mode that it spans, a set of single cells by K index arrays. The
posterior says which draws count and how much; nothing here knows where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from tensorm.kernels.predict import add_product
from tensorm.tensors.bits import combine
from tensorm.tensors.factors import Factors

Floats = npt.NDArray[np.float64]
Indices = Sequence[npt.NDArray[np.intp]]
Weighted = Iterable[tuple[Factors, float]]  # draws, and what their product counts


def average_box(draws: Weighted, base: float, where: Sequence[slice], shape: Sequence[int]) -> Floats:
    """Return ``base`` plus the weights of the draws whose product is 1, for every cell of a box."""
    sizes = [len(range(*span.indices(size))) for span, size in zip(where, shape, strict=True)]
    total = np.full((math.prod(sizes[:-1]), sizes[-1]), base)
    for factors, weight in draws:
        *rows, columns = (masks[span] for masks, span in zip(factors, where, strict=True))
        add_product(total, combine(rows, factors.n_components), columns, weight)
    return total.reshape(sizes)


def average_cells(draws: Weighted, base: float, indices: Indices) -> Floats:
    """Return ``base`` plus the weights of the draws whose product is 1, for some cells."""
    total = np.full(len(indices[0]), base)
    for factors, weight in draws:
        total += weight * factors.covers(indices)
    return total


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
