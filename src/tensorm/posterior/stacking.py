"""How much each chain counts in predictions: stacking of explanations (Yao, Vehtari and Gelman 2022).

Draws of chains that found the same explanation count equally. Different explanations get the weights with
which the mixture of their predictions fits the cells best, pulled a little towards equal ones. A sample of
the ones and of the zeros is enough. docs/decisions/0020-stacking.md has the figures, also of other densities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from tensorm.data.arrays import Bits, Floats, Indices
from tensorm.sampler.state import Trace
from tensorm.tensors.protocol import Tensor

MAX_WEIGHED_CELLS = 20_000  # that weights rest on, half of them ones if there are as many
CHAIN_DRAWS = 50  # used of each chain
TOWARDS_EQUAL = 200  # cells that equal weights are worth: with few cells, weights would fit their noise
MIN_WEIGHT = 1e-6  # of an explanation
SMALLEST_FLOAT = np.finfo(np.float64).tiny


class Sample(NamedTuple):
    """Observed cells as K index arrays, their values, and how many cells each stands for."""

    indices: tuple[Indices, ...]
    ones: Bits
    weights: Floats


def weigh_chains(tensor: Tensor, traces: Sequence[Trace], explanations: Sequence[int]) -> Floats:
    """Return a weight for each chain, 1 in all; draws of the same explanation count alike."""
    numbers, lengths = np.asarray(explanations), np.array([len(trace) for trace in traces], np.float64)
    drawn = np.bincount(numbers, lengths)
    if len(drawn) == 1:
        return lengths / drawn
    sample = sample_cells(tensor)
    densities = [
        predict_values([trace for trace, own in zip(traces, numbers, strict=True) if own == number], sample)
        for number in range(len(drawn))
    ]
    weights = stack(np.array(densities), sample.weights, drawn / drawn.sum())
    return (weights / drawn)[numbers] * lengths


def stack(densities: Floats, cells: Floats, equal: Floats) -> Floats:
    """Return the weights (n,) of n explanations that predict cells best together.

    Parameters
    ----------
    densities : ndarray (n, cells)
        Probability of each cell's value by each explanation.
    cells : ndarray (cells,)
        How much each cell counts.
    equal : ndarray (n,)
        Weights to lean towards.
    """
    share, pull = cells / cells.sum(), TOWARDS_EQUAL / len(cells) * equal

    def lose(weights: Floats) -> tuple[float, Floats]:
        mixed = weights @ densities
        loss = share @ np.log(mixed) + pull @ np.log(weights)
        return -float(loss), -(densities @ (share / mixed) + pull / weights)

    whole = {"type": "eq", "fun": lambda weights: weights.sum() - 1, "jac": np.ones_like}
    limits, stop = [(MIN_WEIGHT, 1)] * len(equal), {"ftol": 1e-9}
    found = minimize(lose, equal, jac=True, method="SLSQP", bounds=limits, constraints=whole, options=stop)
    return np.asarray(found.x / found.x.sum())


def predict_values(traces: Sequence[Trace], sample: Sample) -> Floats:
    """Return the probability that chains together give each cell's own value, from evenly spaced draws."""
    chosen = [(trace, s) for trace in traces for s in range(0, len(trace), -(-len(trace) // CHAIN_DRAWS))]
    total = np.zeros(len(sample.ones))
    for trace, draw in chosen:
        total += trace.noise_at(draw).predict(trace.factors_at(draw), sample.indices)
    p = total / len(chosen)
    return np.maximum(np.where(sample.ones, p, 1 - p), SMALLEST_FLOAT)


def sample_cells(tensor: Tensor, count: int = MAX_WEIGHED_CELLS) -> Sample:
    """Return observed cells, the same ones each time, as many ones as zeros if there are enough of both."""
    rng, half = np.random.default_rng(0), count // 2
    chosen, totals = tensor.sample_observed(rng, half), (tensor.n_ones, tensor.n_observed - tensor.n_ones)
    each = [np.full(len(part), total / max(len(part), 1)) for part, total in zip(chosen, totals, strict=True)]
    ones = np.arange(sum(map(len, chosen))) < len(chosen[0])
    return Sample(tuple(np.concatenate(chosen).T), ones, np.concatenate(each))
