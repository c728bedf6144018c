"""Who is in a component, and what each member contributes to it: the share of its cells that it shows.

Counts are those of the most probable draw, as in ``contributions``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Counts, Indices
from tensorm.posterior.align import MEMBER, active, most_probable
from tensorm.posterior.draws import Posterior
from tensorm.tensors.protocol import Tensor

PROBABILITY_UNITS = 1000  # in which probabilities are stored
MIN_STORED_PROBABILITY = 0.005  # smaller ones are left out


class MemberCounts(NamedTuple):
    """For a mode, arrays (N, L): the observed cells of each component that have this index.

    Attributes
    ----------
    cells, ones : ndarray
    alone : ndarray
        Those of the ones that no other component explains.
    """

    cells: Counts
    ones: Counts
    alone: Counts


def count_members(posterior: Posterior, tensor: Tensor) -> list[MemberCounts]:
    """Count what every index contributes to every component.

    With all entries of a mode empty, no component hides another's cells, so that one call counts for all.
    """
    lead, draw = most_probable(posterior.chains, posterior.explanations)
    factors = posterior.chains[lead].factors_at(draw)
    found = []
    for k in range(len(posterior.shape)):
        ones, cells = tensor.counts(k, factors.replace(k, np.zeros_like(factors[k])))
        found.append(MemberCounts(cells, ones, tensor.counts(k, factors)[0]))
    return found


def pack_members(
    posterior: Posterior, counts: list[MemberCounts] | None, component: int
) -> list[dict[str, Any]]:
    """Return for each mode the indices that may be members, and their probabilities.

    With counts also what they contribute, in percent or -1: ``shown``, the share of the component's cells
    with this index that are 1, and ``own``, the share of these ones that no other component explains.
    """
    packed = []
    for k, means in enumerate(posterior.factors):
        p = means[:, component]
        at = np.flatnonzero(p >= MIN_STORED_PROBABILITY)
        one = {"at": at.tolist(), "p": np.rint(PROBABILITY_UNITS * p[at]).astype(int).tolist()}
        if counts is not None:
            cells, ones, alone = (part[at, component] for part in counts[k])
            one |= {"shown": _percent(ones, cells), "own": _percent(alone, ones)}
        packed.append(one)
    return packed


def find_homes(
    posterior: Posterior, counts: list[MemberCounts] | None, pair: tuple[int, int] | None
) -> list[Indices]:
    """Return for each mode the component to which an index contributes most; L if it is in none.

    By the ones that no other component explains, or without data by probability. Two modes that stand for
    the same things are put into one order.
    """
    used = active(posterior.factors)  # a component without members in another mode is nobody's home
    weights = [
        np.where((means > MEMBER) & used, means if counts is None else means + counts[k].alone, 0)
        for k, means in enumerate(posterior.factors)
    ]
    if pair is not None:
        weights[pair[0]] = weights[pair[1]] = weights[pair[0]] + weights[pair[1]]
    # The last column wins if there is no other.
    return [np.hstack([weight, np.full((len(weight), 1), MEMBER)]).argmax(axis=1) for weight in weights]


def _percent(part: Counts, whole: Counts) -> list[int]:
    share = np.where(whole > 0, np.rint(100 * part / np.maximum(whole, 1)), -1)
    return [int(percent) for percent in share]
