"""Heating and cooling: how burn-in leaves an explanation that no repair improves, but that is not the best.

A round starts where the chain is, with up to three components replaced. The log-odds of all entries are
multiplied by beta, which rises to 1 in ROUND sweeps while noise and densities are held. Then every entry
takes its more probable value, and the chain moves there if that scores higher. How much heat helps depends on
the data, so each round has another temperature. The first replaces nothing: where the data leave no doubt the
explanation does not melt, and that round is all.

Rounds do not keep detailed balance: they belong to burn-in only, and no draw is ever made by them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.search.seeding import regrow
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, update_factors
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

ROUND = 40  # sweeps from hot to cold
HOTTEST, MILDEST = 0.15, 0.8  # beta at the start of a round; the first is the hottest
ROUNDS, PATIENCE = 48, 16  # rounds at most, and in vain, with an effort of 1
REPLACED = 4  # rounds replace 0, 1, .. components, fewer than this
SAME = 1.0  # difference of scores that may be chance
POLISH = 3
GOLDEN = (math.sqrt(5) - 1) / 2


class Heat(NamedTuple):
    """How far the heating of a chain has come."""

    rounds: int = 0  # that are over
    in_vain: int = 0  # the last of them that found nothing better
    solid: bool = False  # whether the first ended where it started
    score: float = math.nan  # of the best explanation
    sweeps: int = 0  # of the round that goes on
    factors: Factors | None = None  # in the middle of a round

    def is_over(self, effort: float) -> bool:
        """Whether more rounds are not worth their while."""
        spent = self.rounds >= round(ROUNDS * effort) or self.in_vain >= PATIENCE * effort
        return self.factors is None and (spent or self.solid)


def lowest_beta(number: int) -> float:
    """Return the beta of a round's start: rounds fill the range evenly on a logarithmic scale."""
    place = number * GOLDEN % 1
    return float(HOTTEST ** (1 - place) * MILDEST**place)


def heat_once(
    tensor: Tensor, target: Target, chain: int, state: State, heat: Heat, rng: np.random.Generator
) -> tuple[Heat, Explanation | None]:
    """Make one sweep of a round; return what the round found, if it is over and that is better.

    Parameters
    ----------
    tensor, target, chain
        What is sampled.
    state : State
        Where the chain is, which stays cold.
    heat : Heat
        How far heating has come.
    rng : Generator
        The random numbers with which a round that starts here replaces components.
    """
    here = Explanation(tensor, target, state.factors)
    if math.isnan(heat.score):
        heat = heat._replace(score=here.polished(POLISH).score)
    start = heat.factors or regrow(here, rng, heat.rounds % REPLACED).factors
    lowest = lowest_beta(heat.rounds)
    beta = lowest ** (1 - (heat.sweeps + 1) / ROUND)
    hot = update_factors(tensor, state._replace(factors=start), target, chain, beta)
    heat = heat._replace(sweeps=heat.sweeps + 1, factors=hot)
    if heat.sweeps < ROUND:
        return heat, None
    found = Explanation(tensor, target, hot).polished(POLISH)
    gain = found.score - heat.score
    rest = Heat(
        rounds=heat.rounds + 1,
        in_vain=0 if gain > SAME else heat.in_vain + 1,
        solid=heat.solid or (not heat.rounds and abs(gain) <= SAME),
        score=max(heat.score, found.score),
    )
    return rest, found if gain > SAME else None
