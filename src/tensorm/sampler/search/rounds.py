"""Two ways to make rounds of heating, one for noise that can be integrated out and one for noise that cannot.

*Held*: a round starts with up to three components replaced. The log-odds of all entries are multiplied by
beta, which rises to 1 while noise and densities are held. Then every entry takes its more probable value. The
score is the log posterior with noise and densities integrated out. Heat pays where there are too few
components for the data, so that there are many ways to divide the cells among them. One more component would
then pay, too, and that decides how many rounds are made.

*Sampled*, for strengths: noise and densities are sampled along with the factors, and at the end the chain is
sampled as it is; the score is the mean of its last sweeps. Components are found with two rates, so they try
to cover all ones, and nothing is left for the background to explain. Therefore some rounds start with a
background that explains as many ones as it can without any component.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from tensorm.model import Confusion
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.search.heating import MELTED, Heat, Rounds, lowest_beta
from tensorm.sampler.search.seeding import CHANCE_GAIN, is_more_to_find, regrow
from tensorm.sampler.state import FILL, State
from tensorm.sampler.sweep import Target, log_likelihood, log_posterior, sweep, update_factors

REPLACED = 4  # rounds replace 0, 3, 2 or 1 components in turn
POLISH = 3
FEW_ROUNDS = 4  # where one more component would not pay


class HeldNoiseRounds(Rounds):
    """Noise and densities are held."""

    most: ClassVar[int] = 120
    least: ClassVar[int] = FEW_ROUNDS
    fall: ClassVar[float] = 0.25

    @classmethod
    def total(cls, rounds: int) -> int:
        return 40 * rounds

    def plan(self, state: State, rng: np.random.Generator) -> tuple[int, float]:
        best = Explanation(self.tensor, self.target, state.factors).polished(POLISH)
        return self.affordable if is_more_to_find(best, rng) else FEW_ROUNDS, best.score

    def start_round(self, base: State, state: State, number: int, rng: np.random.Generator) -> State:
        explanation = Explanation(self.tensor, self.target, base.factors)
        return state._replace(factors=regrow(explanation, rng, -number % REPLACED).factors)

    def sweep_once(self, hot: State, heat: Heat) -> tuple[State, float]:
        lowest = lowest_beta(heat.rounds) if heat.rounds else MELTED
        beta = lowest ** (1 - (heat.sweeps + 1) / self.length(heat.rounds))
        factors, _ = update_factors(self.tensor, hot, self.target, self.chain, beta)
        return hot._replace(factors=factors), 0.0

    def end_round(self, hot: State, score_sum: float) -> tuple[State, float]:
        found = Explanation(self.tensor, self.target, hot.factors).polished(POLISH)
        return found.state(hot.sweep), found.score

    def note_gain(self, heat: Heat, gain: float) -> Heat:
        back = not heat.rounds and heat.planned == FEW_ROUNDS and abs(gain) <= CHANCE_GAIN
        return heat._replace(exhausted=heat.exhausted or back)


class SampledNoiseRounds(Rounds):
    """Noise and densities are sampled."""

    most: ClassVar[int] = 24
    least: ClassVar[int] = 2
    fall: ClassVar[float] = 0.5
    WORTH: ClassVar[int] = 6  # rounds that are made even if they gain nothing
    FIRST_MELT, CYCLE = 2, 5  # the rounds that melt
    HOT, MELTING, COLD, SCORED = 40, 100, 15, 10  # sweeps that cool, from a melt, at the end, for the score

    @classmethod
    def total(cls, rounds: int) -> int:
        melts = (rounds + cls.CYCLE - cls.FIRST_MELT - 1) // cls.CYCLE
        return rounds * (cls.COLD + cls.HOT) + melts * (cls.MELTING - cls.HOT)

    @property
    def certain(self) -> int:
        return min(self.WORTH, self.affordable)

    def plan(self, state: State, rng: np.random.Generator) -> tuple[int, float]:
        confusion = self.tensor.confusion(state.factors)
        return self.certain, self._score(state, confusion)

    def start_round(self, base: State, state: State, number: int, rng: np.random.Generator) -> State:
        """Leave the first round as it is; begin the second, and those that melt, with a full background."""
        if number == 1 or self._melts(number):
            stream = self.target.stream(self.chain, state.sweep, FILL)
            noise = self.target.noise.fill_background(self.tensor, base.noise, stream)
            return base._replace(noise=noise)
        return self._regrow(base, rng, -number % REPLACED) if number else base

    def sweep_once(self, hot: State, heat: Heat) -> tuple[State, float]:
        hot, confusion = sweep(self.tensor, hot, self.target, self.chain, self._beta(heat))
        scored = heat.sweeps >= self.length(heat.rounds) - self.SCORED
        return hot, self._score(hot, confusion) if scored else 0.0

    def end_round(self, hot: State, score_sum: float) -> tuple[State, float]:
        return hot, score_sum / self.SCORED

    def note_gain(self, heat: Heat, gain: float) -> Heat:
        """Count what is gained from the end of the first round on, in which the chain only settles."""
        return heat if heat.rounds else heat._replace(first_score=heat.best_score + max(gain, 0.0))

    @classmethod
    def _melts(cls, number: int) -> bool:
        return number % cls.CYCLE == cls.FIRST_MELT

    def _beta(self, heat: Heat) -> float:
        """Return the factor of all log-odds in the next sweep: two rounds are cold."""
        cooling = self.length(heat.rounds) - self.COLD
        if heat.rounds < 2 or heat.sweeps + 1 >= cooling:
            return 1.0
        lowest = MELTED if self._melts(heat.rounds) else lowest_beta(heat.rounds)
        return lowest ** (1 - (heat.sweeps + 1) / cooling)

    def _score(self, state: State, confusion: Confusion) -> float:
        likelihood = log_likelihood(self.tensor, self.target, state, confusion)
        return log_posterior(self.target, state, likelihood) - state.noise.information(self.tensor)

    def _regrow(self, base: State, rng: np.random.Generator, n_out: int) -> State:
        """Replace a few components by others that pay under the stand-in."""
        searched = replace(self.target, noise=self.target.noise.stand_in)
        old = Explanation(self.tensor, searched, base.factors)
        new = regrow(old, rng, n_out)
        changed = np.any([(a != b).any(axis=0) for a, b in zip(old.bits, new.bits, strict=True)], axis=0)
        noise = self.target.noise.renew(base.noise, np.flatnonzero(changed))
        return base._replace(factors=new.factors, noise=noise)


def choose_rounds(target: Target) -> type[Rounds]:
    """Return how a chain is heated."""
    return SampledNoiseRounds if target.noise.has_stand_in else HeldNoiseRounds
