"""Which component of one chain is which of another, and how far the chains agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from tensorm.sampler.state import Trace

Floats = npt.NDArray[np.float64]
MEMBER, SURE = 0.5, 0.9  # an index above this probability is a member of a component, or a sure one
NEGLIGIBLE = math.log(1000)  # log posterior odds that count as small
SAME = 0.7  # two chains' components count as the same above this similarity


def factor_means(trace: Trace, at_once: int = 32) -> list[Floats]:
    """Return the posterior mean (N_k, L) of each mode's factor in one chain."""
    means = []
    for mode, packed in enumerate(trace.factors):
        total = np.zeros((packed.shape[1], trace.n_components))
        for first in range(0, len(trace), at_once):
            total += trace.bits(mode, slice(first, first + at_once)).sum(axis=0)
        means.append(total / len(trace))
    return means


def active(means: Sequence[Floats]) -> npt.NDArray[np.bool_]:
    """Return which components have a member in every mode."""
    return np.logical_and.reduce([(mean > MEMBER).any(axis=0) for mean in means])


def similarity(a: Sequence[Floats], b: Sequence[Floats]) -> Floats:
    """Return how alike components are: the product over modes of the cosine between their columns.

    Parameters
    ----------
    a, b : lists of K arrays (N_k, L_a) and (N_k, L_b)

    Returns
    -------
    ndarray (L_a, L_b), between 0 and 1; 0 for a component that is empty in some mode.
    """
    alike = np.ones((a[0].shape[1], b[0].shape[1]))
    for x, y in zip(a, b, strict=True):
        lengths = np.outer(np.linalg.norm(x, axis=0), np.linalg.norm(y, axis=0))
        alike *= np.divide(x.T @ y, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return alike


def match(reference: Sequence[Floats], means: Sequence[Floats]) -> list[int]:
    """Return the best match for each component of the reference (Hungarian matching)."""
    _, order = linear_sum_assignment(similarity(reference, means), maximize=True)
    return [int(component) for component in order]


def align(traces: Sequence[Trace]) -> list[Trace]:
    """Return the traces with components in the order of the chain with the most probable factors."""
    means = [factor_means(trace) for trace in traces]
    best = int(np.argmax([np.median(trace.log_posterior) for trace in traces]))
    return [
        trace if chain == best else trace.reorder(match(means[best], means[chain]))
        for chain, trace in enumerate(traces)
    ]


def worse(traces: Sequence[Trace]) -> list[bool]:
    """Return which chains ended in a worse explanation of the data than the best one.

    Their median log posterior is lower by more than NEGLIGIBLE plus three times the spread of the best
    chain's draws: so low that a freely moving chain would hardly ever visit it.
    """
    medians = np.array([np.median(trace.log_posterior) for trace in traces])
    best = int(np.argmax(medians))
    lower, upper = np.quantile(traces[best].log_posterior, [0.25, 0.75])
    spread = (upper - lower) / 1.35  # the standard deviation, robust to outliers
    return (medians[best] - medians > NEGLIGIBLE + 3 * spread).tolist()


class ChainSummary(NamedTuple):
    """One chain, compared with the others."""

    chain: int
    kept: bool  # False: it ended in a worse explanation of the data, and its draws are left out
    settled: bool  # whether its burn-in converged
    burn_in: int  # sweeps
    accuracy: float  # share of the observed cells explained, mean over draws
    log_likelihood: float  # mean over draws
    log_posterior: float  # of the factors, median over draws
    active: int  # components with a member in every mode
    agreement: float  # similarity of its components to the best chain's, 1 if identical


def summarise(traces: Sequence[Trace]) -> list[ChainSummary]:
    """Summarise each of several aligned chains."""
    means = [factor_means(trace) for trace in traces]
    best = means[int(np.argmax([np.median(trace.log_posterior) for trace in traces]))]
    used = np.diag(similarity(best, best)) > 0
    rows = []
    for chain, (trace, mine, stuck) in enumerate(zip(traces, means, worse(traces), strict=True)):
        alike = np.diag(similarity(best, mine))[used]
        rows.append(
            ChainSummary(
                chain=chain,
                kept=not stuck,
                settled=trace.settled,
                burn_in=trace.burn_in,
                accuracy=float(trace.accuracy.mean()),
                log_likelihood=float(trace.log_likelihood.mean()),
                log_posterior=float(np.median(trace.log_posterior)),
                active=int(active(mine).sum()),
                agreement=float(alike.mean()) if alike.size else 1.0,
            )
        )
    return rows
