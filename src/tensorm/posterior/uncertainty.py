"""How certain the entries of a factor and single cells are: mean and spread over the draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.posterior.convergence import entry_draws, entry_ess
from tensorm.sampler.state import Trace

Floats = npt.NDArray[np.float64]
AT_ONCE = 2**21  # cells times draws held in memory at a time


class EntrySummary(NamedTuple):
    """How certain the entries of a factor are; arrays (N_k, L).

    Attributes
    ----------
    mean : ndarray
        Probability that the entry is 1.
    sd : ndarray
        Standard deviation over draws; sqrt(mean * (1 - mean)), since an entry is 0 or 1.
    error : ndarray
        Monte Carlo standard error of the mean, sd / sqrt(ess). 0 where all draws agree: the probability is
        then closer to 0 or 1 than this number of draws can resolve.
    ess : ndarray
        Effective sample size; the number of draws where all agree.
    """

    mean: Floats
    sd: Floats
    error: Floats
    ess: Floats


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


def summarise_entries(traces: Sequence[Trace], mode: int, mean: Floats) -> EntrySummary:
    """Return how certain the entries of a mode are, given their mean over the draws."""
    ess = np.full(mean.shape, float(sum(map(len, traces))))
    rows, components = np.nonzero((mean > 0) & (mean < 1))
    if rows.size:
        ess[rows, components] = entry_ess(entry_draws(traces, mode, rows, components))
    sd = np.sqrt(mean * (1 - mean))
    return EntrySummary(mean, sd, sd / np.sqrt(ess), ess)


def summarise_cells(
    traces: Sequence[Trace], indices: Sequence[npt.NDArray[np.intp]], threshold: float
) -> CellSummary:
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
