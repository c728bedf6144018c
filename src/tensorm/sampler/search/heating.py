"""Heating and cooling: how burn-in leaves an explanation that no repair improves, but that is not the best.

A round starts with up to three components replaced. The log-odds of all entries are multiplied by beta, which
rises to 1 in ROUND sweeps while noise and densities are held. Then every entry takes its more probable value,
and the chain moves there if that scores higher than anything before. The next round starts from what the last
one found even if that is a little worse: rounds that start from the best one alone keep coming back to it.

Heat pays where there are too few components for the data, so that there are many ways to divide the cells
among them. One more component would then pay, too, and that decides how many rounds are made.

Rounds do not keep detailed balance: they belong to burn-in only, and no draw is ever made by them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.search.seeding import CHANCE_GAIN, is_more_to_find, regrow
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, update_factors
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

ROUND = 40  # sweeps from hot to cold
MELTED = 0.15  # beta at the start of the first round
HOTTEST, MILDEST = 0.3, 0.7  # and of the others
FEW_ROUNDS, PER_NAT = 4, 0.1  # where one more component would not pay; more for each nat that they gain
MAX_ROUNDS, MIN_ROUNDS = 120, 24  # where it would, in small and in large tensors
CHEAP_SIZE = 2**20  # cells times components up to which rounds cost little
REPLACED = 4  # rounds replace 0, 3, 2 or 1 components in turn
SLACK = 8.0  # mean fall of the score that the next round may start with
POLISH = 3
GOLDEN = (math.sqrt(5) - 1) / 2


class Heat(NamedTuple):
    """How far the heating of a chain has come."""

    rounds: int = 0  # that are over
    worth: int = 0  # rounds that are worth while even if they gain nothing; 0 before the first
    solid: bool = False  # whether the first ended where it started, and one more component would not pay
    first: float = math.nan  # score before the first
    score: float = math.nan  # of the best explanation
    height: float = math.nan  # of the one that the next round starts from
    base: Factors | None = None  # that one, if it is not the best
    sweeps: int = 0  # of the round that goes on
    factors: Factors | None = None  # in the middle of a round

    def is_over(self, effort: float) -> bool:
        """Whether more rounds are not worth their while."""
        if not self.worth:
            return effort == 0
        most = min(self.worth + PER_NAT * (self.score - self.first), MAX_ROUNDS)
        return self.factors is None and (self.solid or self.rounds >= round(most * effort))


def start_heat(here: Explanation, rng: np.random.Generator) -> Heat:
    """Return the heat of a chain before its first round."""
    size = math.prod(here.tensor.shape) * here.target.n_components
    affordable = max(MIN_ROUNDS, round(MAX_ROUNDS * min(1.0, math.sqrt(CHEAP_SIZE / size))))
    best = here.polished(POLISH)
    worth = affordable if is_more_to_find(best, rng) else FEW_ROUNDS
    return Heat(worth=worth, first=best.score, score=best.score, height=best.score)


def lowest_beta(number: int) -> float:
    """Return the beta of a round's start: rounds fill the range evenly on a logarithmic scale."""
    place = number * GOLDEN % 1
    return float(HOTTEST ** (1 - place) * MILDEST**place) if number else MELTED


def heat_once(
    tensor: Tensor,
    target: Target,
    chain: int,
    state: State,
    heat: Heat,
    draw: Callable[[], np.random.Generator],
) -> tuple[Heat, Explanation | None]:
    """Make one sweep of a round; return what the round found, if it is over and that is the best.

    Parameters
    ----------
    tensor, target, chain
        What is sampled.
    state : State
        Where the chain is, which stays cold.
    heat : Heat
        How far heating has come.
    draw : callable
        Returns the random numbers that a round starts or ends with.
    """
    factors = heat.factors
    if factors is None:
        base, rng = Explanation(tensor, target, heat.base or state.factors), draw()
        heat = heat if heat.worth else start_heat(base, rng)
        factors = regrow(base, rng, -heat.rounds % REPLACED).factors
    beta = lowest_beta(heat.rounds) ** (1 - (heat.sweeps + 1) / ROUND)
    hot, _ = update_factors(tensor, state._replace(factors=factors), target, chain, beta)
    heat = heat._replace(sweeps=heat.sweeps + 1, factors=hot)
    if heat.sweeps < ROUND:
        return heat, None
    return end_round(heat, Explanation(tensor, target, hot).polished(POLISH), draw())


def end_round(heat: Heat, found: Explanation, rng: np.random.Generator) -> tuple[Heat, Explanation | None]:
    """Return what was found if it is the best; the next round starts from it unless it is much worse."""
    gain = found.score - heat.score
    solid = heat.solid or (not heat.rounds and heat.worth == FEW_ROUNDS and abs(gain) <= CHANCE_GAIN)
    heat = heat._replace(rounds=heat.rounds + 1, solid=solid, sweeps=0, factors=None)
    if gain > CHANCE_GAIN:
        return heat._replace(score=found.score, height=found.score, base=None), found
    if found.score > heat.height - SLACK * rng.exponential():
        heat = heat._replace(height=found.score, base=found.factors)
    return heat, None
