"""Heating and cooling: how burn-in leaves an explanation that no repair improves, but that is not the best.

A round starts where the chain is. The log-odds of all entries are multiplied by beta, which rises to 1 in
ROUND sweeps while noise and densities are held. Then every entry takes its more probable value, and the chain
moves there if that scores higher. How much heat helps depends on the data, so each round has another
temperature. Where the data leave no doubt the explanation does not melt, and one round is all.

Rounds do not keep detailed balance: they belong to burn-in only, and no draw is ever made by them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, update_factors
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

ROUND = 60  # sweeps from hot to cold
HOTTEST, MILDEST = 0.1, 0.7  # beta at the start of a round; the first is the geometric mean
ROUNDS, PATIENCE = 24, 8  # rounds at most, and in vain, with an effort of 1
SAME = 1.0  # difference of scores that may be chance
POLISH = 3
GOLDEN = (math.sqrt(5) - 1) / 2


class Heat(NamedTuple):
    """How far the heating of a chain has come."""

    rounds: int = 0  # that are over
    in_vain: int = 0  # the last of them that found nothing better
    came_back: int = 0  # rounds of at least the first one's heat that ended where they started
    score: float = math.nan  # of the best explanation
    sweeps: int = 0  # of the round that goes on
    factors: Factors | None = None  # in the middle of a round

    def is_over(self, effort: float) -> bool:
        """Whether more rounds are not worth their while."""
        spent = self.rounds >= round(ROUNDS * effort) or self.in_vain >= PATIENCE * effort
        return self.factors is None and (spent or self.came_back >= effort)


def lowest_beta(number: int) -> float:
    """Return where a round starts: its numbers fill the range evenly, on a logarithmic scale."""
    place = (0.5 + number * GOLDEN) % 1
    return float(HOTTEST ** (1 - place) * MILDEST**place)


def heat_once(
    tensor: Tensor, target: Target, chain: int, state: State, heat: Heat
) -> tuple[Heat, Explanation | None]:
    """Make one sweep of a round, from a cold state; return what the round found, if it is over and better."""
    if math.isnan(heat.score):
        heat = heat._replace(score=Explanation(tensor, target, state.factors).polished(POLISH).score)
    lowest = lowest_beta(heat.rounds)
    beta = lowest ** (1 - (heat.sweeps + 1) / ROUND)
    hot = state if heat.factors is None else state._replace(factors=heat.factors)
    heat = heat._replace(sweeps=heat.sweeps + 1, factors=update_factors(tensor, hot, target, chain, beta))
    if heat.sweeps < ROUND:
        return heat, None
    found = Explanation(tensor, target, heat.factors).polished(POLISH)
    gain = found.score - heat.score
    came_back = abs(gain) <= SAME and lowest <= lowest_beta(0)
    rest = Heat(
        rounds=heat.rounds + 1,
        in_vain=0 if gain > SAME else heat.in_vain + 1,
        came_back=heat.came_back + came_back,
        score=max(heat.score, found.score),
    )
    return rest, found if gain > SAME else None
