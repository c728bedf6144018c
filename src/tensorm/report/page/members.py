"""Who is in a component, what each member contributes to it, and which component is an index's first."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorm.data.arrays import Floats, Indices
from tensorm.posterior.align import MEMBER, active
from tensorm.posterior.contributions import MemberCounts
from tensorm.posterior.draws import MIN_LIKELY, Posterior

PROBABILITY_UNITS = 1000  # in which probabilities are stored


def pack_members(posterior: Posterior, component: int) -> list[dict[str, Any]]:
    """Return for each mode the indices that may be members, with probabilities and, if known, shares."""
    packed = []
    for k, means in enumerate(posterior.factors):
        p = means[:, component]
        at = np.flatnonzero(p >= MIN_LIKELY)
        one = {"at": at.tolist(), "p": _round(p[at])}
        if posterior.shares:
            shares = posterior.shares[k]._asdict()
            one |= {name: part[at, component].tolist() for name, part in shares.items()}
        packed.append(one)
    return packed


def _round(p: Floats) -> list[int]:
    """Return probabilities in thousandths; one just above a threshold in whole percent stays above it."""
    units = np.rint(PROBABILITY_UNITS * p)
    return [int(unit) for unit in units + ((units % 10 == 0) & (p > units / PROBABILITY_UNITS))]


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
