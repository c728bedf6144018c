"""Which component of one chain is which of another, and which chains found the same explanation."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from tensorm.data.arrays import Bits, Floats
from tensorm.sampler.state import Trace

MEMBER, SURE = 0.5, 0.9  # an index above this probability is a member of a component, or a sure one
NEGLIGIBLE_LOG_ODDS = math.log(1000)  # that two explanations may differ by
MIN_SIMILARITY = 0.7  # above which components of two chains count as the same


def factor_means(trace: Trace) -> list[Floats]:
    """Return the posterior mean (N_k, L) of each mode's factor in one chain."""
    return [draws.mean(trace.n_components) for draws in trace.factors]


def mean_factors(traces: Sequence[Trace]) -> list[Floats]:
    """Return the posterior mean of each mode's factor, (N_k, L), over the draws of some chains."""
    lengths, chains = [len(trace) for trace in traces], map(factor_means, traces)
    return [np.average(means, axis=0, weights=lengths) for means in zip(*chains, strict=True)]


def active(means: Sequence[Floats], threshold: float = MEMBER) -> Bits:
    """Return which components have a member in every mode, an index above the threshold."""
    return np.logical_and.reduce([(mean > threshold).any(axis=0) for mean in means])


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


def align(traces: Sequence[Trace], means: Sequence[Sequence[Floats]], lead: int) -> list[Trace]:
    """Return the traces, whose means are given, with components in the order of one of them."""
    return [
        trace if chain == lead else trace.reorder(match(means[lead], means[chain]))
        for chain, trace in enumerate(traces)
    ]


def pair_components(a: Sequence[Floats], b: Sequence[Floats]) -> dict[int, int]:
    """Return which component of one chain is which of another: {number in a: number in b}, one to one.

    One of the two has a member in every mode, and the other at least halfway: chains with 51% and 49% of
    their draws for a component do not differ on it. Whatever says that a chain found a component asks here.
    """
    alike = similarity(a, b) * np.outer(active(a, MEMBER / 2), active(b, MEMBER / 2))
    alike[(alike <= MIN_SIMILARITY) | ~(active(a)[:, None] | active(b))] = 0
    pairs = zip(*linear_sum_assignment(alike, maximize=True), strict=True)
    return {int(mine): int(other) for mine, other in pairs if alike[mine, other]}


def same_components(a: Sequence[Floats], b: Sequence[Floats]) -> bool:
    """Whether two chains found the same components: each that one of them uses is one of the other's."""
    pairs = pair_components(a, b)
    return not unpaired(a, pairs) and not unpaired(b, pairs.values())


def unpaired(means: Sequence[Floats], paired: Collection[int]) -> list[int]:
    """Return the components with a member in every mode that are not among the paired ones."""
    return [l for l in np.flatnonzero(active(means)).tolist() if l not in paired]


def count_finders(reference: Sequence[Floats], chains: Sequence[Sequence[Floats]]) -> list[int]:
    """Return how many chains found each component of the reference; 0 for one without members."""
    pairs = [pair_components(reference, means) for means in chains]
    return [sum(l in found for found in pairs) * int(used) for l, used in enumerate(active(reference))]


def worse(best: Trace, other: Trace) -> bool:
    """Whether a chain explains the data worse than the best one.

    Its median log-likelihood is lower by more than NEGLIGIBLE_LOG_ODDS plus three times the spread of the
    best chain's draws: so low that a freely moving chain would hardly ever visit it. The log posterior would
    not do: it also has the density of the noise parameters, which differs by more between chains that explain
    the data alike (with activities by their evenness, which changes slowly).
    """
    lower, middle, upper = np.quantile(best.log_likelihood, [0.25, 0.5, 0.75])
    spread = (upper - lower) / 1.35  # the standard deviation, robust to outliers
    return bool(middle - np.median(other.log_likelihood) > NEGLIGIBLE_LOG_ODDS + 3 * spread)


def group_chains(traces: Sequence[Trace], means: Sequence[Sequence[Floats]]) -> list[int]:
    """Return for each chain the number of its explanation, the best one being 0.

    Chains have the same explanation if they found the same components and none of them is worse.
    """
    leaders: list[int] = []
    numbers = [0] * len(traces)
    for chain in sorted(range(len(traces)), key=lambda chain: -float(np.median(traces[chain].log_posterior))):
        for number, leader in enumerate(leaders):
            if not worse(traces[leader], traces[chain]) and same_components(means[leader], means[chain]):
                numbers[chain] = number
                break
        else:
            numbers[chain] = len(leaders)
            leaders.append(chain)
    return numbers


def most_probable(traces: Sequence[Trace], explanations: Sequence[int]) -> tuple[int, int]:
    """Return the chain and the draw with the highest log posterior in explanation 0."""
    chains = np.flatnonzero(np.array(explanations) == 0).tolist()
    lead = max(chains, key=lambda chain: float(traces[chain].log_posterior.max()))
    return lead, int(traces[lead].log_posterior.argmax())
