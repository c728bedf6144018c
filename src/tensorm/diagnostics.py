"""Which component of one chain is which of another, and how far the chains agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from tensorm.sampler.state import Trace

Floats = npt.NDArray[np.float64]


def factor_means(trace: Trace, mode: int, at_once: int = 32) -> Floats:
    """Return the posterior mean (N_k, L) of a mode's factor in one chain."""
    total = np.zeros((trace.factors[mode].shape[1], trace.n_components))
    for first in range(0, len(trace), at_once):
        total += trace.bits(mode, slice(first, first + at_once)).sum(axis=0)
    return total / len(trace)


def similarity(a: Sequence[Floats], b: Sequence[Floats]) -> Floats:
    """Return how alike components are: the product over modes of the cosine between their columns.

    Parameters
    ----------
    a, b : lists of K arrays (N_k, L_a) and (N_k, L_b)

    Returns
    -------
    ndarray (L_a, L_b), between 0 and 1; a component that is empty in some mode is like no other.
    """
    alike = np.ones((a[0].shape[1], b[0].shape[1]))
    for x, y in zip(a, b, strict=True):
        lengths = np.outer(np.linalg.norm(x, axis=0), np.linalg.norm(y, axis=0))
        alike *= np.divide(x.T @ y, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return alike


def match(reference: Sequence[Floats], means: Sequence[Floats]) -> list[int]:
    """Return for each component of the reference the one that fits it best (Hungarian matching)."""
    _, order = linear_sum_assignment(similarity(reference, means), maximize=True)
    return [int(component) for component in order]


def align(traces: Sequence[Trace]) -> list[Trace]:
    """Return the traces with components in the order of the chain that explains the data best."""
    K = len(traces[0].factors)
    means = [[factor_means(trace, mode) for mode in range(K)] for trace in traces]
    best = int(np.argmax([trace.log_likelihood.mean() for trace in traces]))
    return [
        trace if chain == best else trace.reorder(match(means[best], means[chain]))
        for chain, trace in enumerate(traces)
    ]
