"""Heating and cooling: how burn-in leaves an explanation that no repair improves, but that is not the best.

A round (rounds.py) changes an explanation, heats it and cools it down. The chain moves to what a round found
if that scores higher than anything before. The next round starts from what the last one found even if that is
a little worse: rounds that start from the best one alone keep coming back to it.

Rounds do not keep detailed balance: they belong to burn-in only, and no draw is ever made by them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tensorm.sampler.search.seeding import CHANCE_GAIN
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target
from tensorm.tensors.protocol import Tensor

PER_NAT = 0.1  # further rounds for each nat that rounds gain
CHEAP_SIZE = 2**20  # cells times components up to which rounds cost little
SLACK = 8.0  # mean fall of the score that the next round may start with
MELTED = 0.15  # beta at the start of a round that forgets where it started
HOTTEST, MILDEST = 0.3, 0.7  # and of the others
GOLDEN = (math.sqrt(5) - 1) / 2


class Heat(NamedTuple):
    """How far the heating of a chain has come."""

    rounds: int = 0  # that are over
    planned: int = 0  # rounds that are made even if they gain nothing; 0 before the first
    exhausted: bool = False  # whether nothing is left to find
    first_score: float = math.nan  # before the first round that could gain
    best_score: float = math.nan
    base_score: float = math.nan  # of what the next round starts from
    base: State | None = None  # what it starts from, if that is not the best
    sweeps: int = 0  # of the round that goes on
    hot: State | None = None  # in the middle of a round
    score_sum: float = 0.0  # of its sweeps that are scored


@dataclass(frozen=True)
class Rounds(ABC):
    """One way to make rounds.

    Attributes
    ----------
    tensor : Tensor
        The cells, and the same with counts that are kept from sweep to sweep.
    target : Target
    chain : int
    most : int
        Rounds after which heating ends, with an effort of 1.
    """

    tensor: Tensor
    target: Target
    chain: int
    most: ClassVar[int]
    least: ClassVar[int]  # of them in tensors of any size
    fall: ClassVar[float]  # how fast they become fewer as tensors grow

    @classmethod
    @abstractmethod
    def total(cls, rounds: int) -> int:
        """Return the sweeps of so many rounds."""

    @classmethod
    def length(cls, number: int) -> int:
        """Return the sweeps of a round."""
        return cls.total(number + 1) - cls.total(number)

    @property
    def affordable(self) -> int:
        """Rounds that a tensor of this size can be given."""
        size = math.prod(self.tensor.shape) * self.target.n_components
        return max(self.least, round(self.most * min(1.0, (CHEAP_SIZE / size) ** self.fall)))

    @property
    def certain(self) -> int:
        """Rounds that are made even if the first one finds nothing, with an effort of 1."""
        return 1

    @abstractmethod
    def plan(self, state: State, rng: np.random.Generator) -> tuple[int, float]:
        """Return how many rounds are worth while, and the score of a chain before them."""

    @abstractmethod
    def start_round(self, base: State, state: State, number: int, rng: np.random.Generator) -> State:
        """Return what a round heats, from where it starts and where the chain is."""

    @abstractmethod
    def sweep_once(self, hot: State, heat: Heat) -> tuple[State, float]:
        """Make the next sweep of a round; return what it adds to the score of the round, too."""

    @abstractmethod
    def end_round(self, hot: State, score_sum: float) -> tuple[State, float]:
        """Return what a round found, and its score."""

    @abstractmethod
    def note_gain(self, heat: Heat, gain: float) -> Heat:
        """Return the heat after a round that gained so much, as far as it decides how many follow."""

    def is_over(self, heat: Heat, effort: float) -> bool:
        """Whether more rounds are not worth their while."""
        if not heat.planned:
            return effort == 0
        most = min(heat.planned + PER_NAT * (heat.best_score - heat.first_score), self.affordable)
        return heat.hot is None and (heat.exhausted or heat.rounds >= round(most * effort))


def lowest_beta(number: int) -> float:
    """Return the beta of a round's start: rounds fill the range evenly on a logarithmic scale."""
    place = number * GOLDEN % 1
    return float(HOTTEST ** (1 - place) * MILDEST**place)


def heat_once(
    rounds: Rounds, state: State, heat: Heat, draw: Callable[[], np.random.Generator]
) -> tuple[Heat, State | None]:
    """Make one sweep of a round; return what the round found, if it is over and that is the best.

    Parameters
    ----------
    rounds : Rounds
    state : State
        Where the chain is, which stays cold.
    heat : Heat
        How far heating has come.
    draw : callable
        Returns the random numbers that a round starts or ends with.
    """
    hot = heat.hot
    if hot is None:
        base, rng = heat.base or state, draw()
        if not heat.planned:
            planned, score = rounds.plan(base, rng)
            heat = heat._replace(planned=planned, first_score=score, best_score=score, base_score=score)
        hot = rounds.start_round(base, state, heat.rounds, rng)
    hot, part = rounds.sweep_once(hot._replace(sweep=state.sweep), heat)
    heat = heat._replace(sweeps=heat.sweeps + 1, hot=hot, score_sum=heat.score_sum + part)
    if heat.sweeps < rounds.length(heat.rounds):
        return heat, None
    return _end_round(rounds, heat, hot, draw())


def _end_round(rounds: Rounds, heat: Heat, hot: State, rng: np.random.Generator) -> tuple[Heat, State | None]:
    """Return what was found if it is the best; the next round starts from it unless it is much worse."""
    found, score = rounds.end_round(hot, heat.score_sum)
    gain = score - heat.best_score
    heat = rounds.note_gain(heat, gain)._replace(rounds=heat.rounds + 1, sweeps=0, hot=None, score_sum=0.0)
    if gain > CHANCE_GAIN:
        return heat._replace(best_score=score, base_score=score, base=None), found
    if score > heat.base_score - SLACK * rng.exponential():
        heat = heat._replace(base_score=score, base=found)
    return heat, None
