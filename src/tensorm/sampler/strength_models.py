"""Noise models with strengths (strengths.py): where chains start, and all parameters drawn in each sweep.

Components are first searched for with two rates of ones in place of strengths, the *stand-in*; a chain takes
up strengths before it is heated. kernels/strengths.py draws from the conditionals.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tensorm.data.arrays import Counts, Floats, Indices, Ints
from tensorm.errors import InputError
from tensorm.kernels import strengths as kernel
from tensorm.kernels.activities import HIGHEST, LOWEST, STEP, WINDOW
from tensorm.kernels.philox import uniforms
from tensorm.model import Confusion
from tensorm.sampler.noise_model import NoiseModel, Parameters, count_alone
from tensorm.sampler.strengths import SHAPES, ActiveStrengths, ConstantStrengths, Strong
from tensorm.sampler.two_rates import PAPERS_RATES, Asymmetric, Rates
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Pair, Stream, Tensor
from tensorm.tensors.ranked import by_mode

GRID = STEP * np.arange(LOWEST, HIGHEST + 1)
NORMALISERS = np.array([np.logaddexp.reduce(shape * (GRID - np.exp(GRID))) for shape in SHAPES])
JUMP = 2000  # row of random numbers
RATES = math.exp(STEP * kernel.FAINTEST), math.exp(STEP * kernel.LOUDEST)  # that the common rate can have
ALMOST = 1 - 1e-3  # limits of a prior may be rounded, as an error message shows them
FIRST_SPREAD = 0.3  # that chains start with
FILLING = 60  # draws of the background without components
INSIDE = 0.02, 0.98  # strengths that chains start with lie between


@dataclass(frozen=True)
class StrengthModel(NoiseModel):
    """What models with strengths share.

    Attributes
    ----------
    a, b : float
        Of the Beta prior of a constant background, and of both rates while components are searched for.
    typical_a, typical_b : float
        Of the Beta prior of the typical strength.
    spread_least, spread_most : float
        Between which the logarithm of the spread of strengths is uniform.
    """

    a: float = 1.0
    b: float = 1.0
    typical_a: float = 1.0
    typical_b: float = 1.0
    spread_least: float = kernel.LEAST
    spread_most: float = 1.0
    settable: ClassVar = {"typical": None, "spread": (kernel.LEAST, 1.0)}
    about: ClassVar[str] = "a strength for each component"
    trend: ClassVar[int] = 100  # activities settle slowly
    counted: ClassVar[str] = "The number was chosen with two rates of ones instead of strengths."

    def __post_init__(self) -> None:
        for name, limits in self.settable.items():
            if limits is not None:
                low, high = getattr(self, f"{name}_least"), getattr(self, f"{name}_most")
                if not limits[0] * ALMOST <= low <= high <= limits[1] / ALMOST:
                    told = f"give two numbers from {limits[0]:.4g} to {limits[1]:.4g}, the smaller one first"
                    raise InputError(f"strength_prior[{name!r}] is ({low:g}, {high:g}); {told}.")

    def hold(self, tensor: Tensor) -> Tensor:
        try:
            tensor.ranked()
        except InputError as error:
            told = f"noise='strengths' does not work: {error}"
            raise InputError(f"{told}; choose noise='asymmetric'.") from error
        return tensor

    @property
    def stand_in(self) -> Asymmetric:
        return Asymmetric(self.a, self.b)

    def log_marginal(self, tp: int | Counts, fp: int | Counts, fn: int | Counts, tn: int | Counts) -> Floats:
        return self.stand_in.log_marginal(tp, fp, fn, tn)

    def start(self, shape: Sequence[int], n_components: int) -> Any:
        return self._make(np.full(n_components, _above(PAPERS_RATES)), PAPERS_RATES, shape)

    def estimate(self, tensor: Tensor, factors: Factors, confusion: Confusion) -> Any:
        """Return strengths that fit: the rate of ones among the cells that each component decides."""
        rates, L = self.stand_in.fit(confusion), factors.n_components
        nobody = factors.replace(0, np.zeros_like(factors[0]))  # hides another's cells
        ones, zeros = count_alone(tensor, nobody, factors.bits()[0])
        share = (ones + rates.hit) / (ones + zeros + 1)
        first = ConstantStrengths(np.clip(share, *INSIDE), 0.5, FIRST_SPREAD, rates.false_alarm)
        tally = first.tally(tensor, factors, 0)
        decided, wrong = (counts[0] for counts in (tally.ones[..., 0], tally.zeros))
        decided[0] += tally.ones[1].sum()  # what the strongest holds, it decides
        wrong[0] += tally.zeros[1].sum()
        strength = np.empty(L)
        hit = (decided + rates.hit) / (decided + wrong + 1)
        strength[first.order] = ((hit - rates.false_alarm) / (1 - rates.false_alarm))[:L]
        return self._make(strength, rates, tensor.shape)

    def _make(self, strength: Floats, rates: Rates, shape: Sequence[int]) -> Any:
        """Return parameters with these strengths, all a little different, and an even background."""
        strength = np.clip(strength, *INSIDE) * (1 - 1e-6 * np.arange(len(strength)))
        return self._complete(strength, _above(rates), rates.false_alarm, shape)

    @abstractmethod
    def _complete(self, strength: Floats, typical: float, background: float, shape: Sequence[int]) -> Any:
        """Return parameters with an even background."""

    def log_likelihood(
        self, tensor: Tensor, factors: Factors, confusion: Confusion, parameters: Any
    ) -> float:
        tally = parameters.tally(tensor, factors, 0)
        ones, zeros = tally.ones[0].copy(), tally.zeros[0].copy()
        ones[0] += tally.ones[1].sum(axis=0)  # what the strongest holds, it decides
        zeros[0] += tally.zeros[1].sum()
        log_zero, log_one = parameters.log_scores(tally)
        return float(zeros @ log_zero + (ones * log_one).sum() - tally.exposure)

    def _prior_of(self, parameters: Strong) -> tuple[Any, ...]:
        """Return the prior of strengths and what is known of it beforehand, for kernels."""
        above = self.typical_a, self.typical_b, self.spread_least, self.spread_most
        return parameters.typical, parameters.spread, above

    def _first_spread(self) -> float:
        return float(np.clip(FIRST_SPREAD, self.spread_least, self.spread_most))

    def fill_background(self, tensor: Tensor, parameters: Any, stream: Stream) -> Any:
        empty, filled = Factors.empty(tensor.shape, len(parameters.strength)), parameters
        for number in range(FILLING):
            at = stream._replace(sweep=stream.sweep + number)  # a mode at a time
            filled, _ = self.update(tensor, empty, None, filled, at)
        kept = {name: getattr(parameters, name) for name in ("strength", "typical", "spread")}
        return filled._replace(**kept)

    def renew(self, parameters: Any, components: Indices) -> Any:
        strength = parameters.strength.copy()
        strength[components] = parameters.typical * (1 - 1e-6 * np.arange(len(components)))
        return parameters._replace(strength=np.clip(strength, *INSIDE))

    def widen(self, parameters: Any, extra: int, rng: np.random.Generator) -> Any:
        size, edge = 1 / parameters.spread - 1, kernel.EDGE
        new = rng.beta(1 + size * parameters.typical, 1 + size * (1 - parameters.typical), extra)
        return parameters._replace(strength=np.append(parameters.strength, np.clip(new, edge, 1 - edge)))


@dataclass(frozen=True)
class ConstantModel(StrengthModel):
    """Strengths with a constant background."""

    parameters: ClassVar[type[Parameters]] = ConstantStrengths

    def _complete(self, strength: Floats, typical: float, background: float, shape: Sequence[int]) -> Any:
        return ConstantStrengths(strength, typical, self._first_spread(), background)

    def update(
        self, tensor: Tensor, factors: Factors, counted: Any, parameters: ConstantStrengths, stream: Stream
    ) -> tuple[ConstantStrengths, Confusion]:
        """Draw strengths, their prior and the background from their conditionals."""
        now, given = parameters, tuple(stream)
        probe = int(uniforms(stream, JUMP, 1)[0] * factors.n_components)
        counts = now.tally(tensor, factors, probe)
        q, prior = now.sorted(), self._prior_of(now)
        found = counts.zeros + counts.ones.sum(axis=2), counts.ones.astype(np.float64), counts.chances
        confusion = _sum_up(counts.ones, found[0])
        typical, spread, zeros, ones = kernel.draw_strengths(q, prior, found, probe, given)
        b = kernel.draw_background(now.background, q, zeros, ones, (self.a, self.b), given)
        return ConstantStrengths(_restore(q, now.order), typical, spread, b), confusion


@dataclass(frozen=True)
class ActivityModel(StrengthModel):
    """Strengths with activities.

    Attributes
    ----------
    rate_least, rate_most, evenness_least, evenness_most : float
        Between which the logarithms of the common rate and of the shapes of activities' priors are uniform.
    """

    rate_least: float = RATES[0]
    rate_most: float = RATES[1]
    evenness_least: float = float(SHAPES[0])
    evenness_most: float = float(SHAPES[-1])
    parameters: ClassVar[type[Parameters]] = ActiveStrengths
    settable: ClassVar = StrengthModel.settable | {"rate": RATES, "evenness": (SHAPES[0], SHAPES[-1])}

    @cached_property
    def _bounds(self) -> tuple[int, int]:
        """Least and greatest level of the common rate."""
        low, high = (round(math.log(rate) / STEP) for rate in (self.rate_least, self.rate_most))
        return low, high

    @cached_property
    def _shapes(self) -> tuple[Floats, Floats]:
        """Shapes that priors of activities can have, and the normalisers of these."""
        first, last = (
            int(np.abs(np.log(SHAPES / shape)).argmin())
            for shape in (self.evenness_least, self.evenness_most)
        )
        return SHAPES[first : last + 1].copy(), NORMALISERS[first : last + 1].copy()

    def _complete(self, strength: Floats, typical: float, background: float, shape: Sequence[int]) -> Any:
        level = np.clip(round(math.log(-math.log1p(-background)) / STEP), *self._bounds)
        rate, activity = math.exp(STEP * level), np.ones(sum(shape))
        evenness = np.full(len(shape), np.clip(1.0, self._shapes[0][0], self._shapes[0][-1]))
        return ActiveStrengths(strength, typical, self._first_spread(), rate, evenness, activity)

    def update(
        self, tensor: Tensor, factors: Factors, counted: Any, parameters: ActiveStrengths, stream: Stream
    ) -> tuple[ActiveStrengths, Confusion]:
        """Draw a mode's activities, all strengths, their prior, the rate, and the priors of activities."""
        now, given, q = parameters, tuple(stream), parameters.sorted()
        weights, levels = now.weights, by_mode(now.levels, tensor.shape)
        ranked, probe = weights.sort(factors), int(uniforms(stream, JUMP, 1)[0] * factors.n_components)
        mode, window = stream.sweep % len(factors), WINDOW
        if tensor.pair and mode in tensor.pair:  # rows took turns, so that cells are counted afterwards
            first, second = tensor.pair
            now.count_levels(tensor, first, ranked, (levels, weights, probe, WINDOW), stream)
            levels[second] = levels[first].copy()
            weights = now._replace(activity=np.exp(STEP * np.concatenate(levels))).weights  # with more room
            mode, window = next((k for k in range(len(factors)) if k not in tensor.pair), first), 0
        ones, tot, exposure = now.count_levels(tensor, mode, ranked, (levels, weights, probe, window), stream)
        chances, prior = now.chances(weights), self._prior_of(now)
        found, confusion = (tot, ones.astype(np.float64), chances), _sum_up(ones, tot)
        typical, spread, _, ones = kernel.draw_strengths(q, prior, found, probe, given)
        level = kernel.draw_level(now.level, self._bounds, q, (ones, chances), exposure, given)
        rate, shapes, activity = self._draw_scales(levels, level, tensor.pair, given)
        made = ActiveStrengths(_restore(q, now.order), typical, spread, rate, shapes, activity)
        return made, confusion

    def _draw_scales(
        self, levels: list[Ints], level: int, pair: Pair | None, stream: Any
    ) -> tuple[float, Floats, Floats]:
        """Draw the shapes of the priors of activities, and how the level is divided; return rate and both."""
        shapes = np.empty(len(levels))
        for k in range(len(levels)):
            if pair and k == pair[1]:
                shapes[k], levels[k] = shapes[pair[0]], levels[pair[0]]
                continue
            times = 2 if pair and k == pair[0] else 1
            shapes[k] = kernel.draw_shape(levels[k], *self._shapes, stream, 10 + k)
            common = level, *self._bounds
            shift = kernel.draw_scale(levels[k], common, shapes[k], times, stream, 20 + k)
            levels[k] = levels[k] + shift
            level -= times * shift
        return math.exp(STEP * level), shapes, np.exp(STEP * np.concatenate(levels))


def _sum_up(ones: Counts, tot: Counts) -> Confusion:
    """Return the confusion of cells counted by who decides them, those that the probe holds apart."""
    all_ones, tp = int(ones.sum()), int(ones[0, :-1].sum() + ones[1].sum())
    cells, covered = int(tot.sum()), int(tot[0, :-1].sum() + tot[1].sum())
    return Confusion(tp, covered - tp, all_ones - tp, cells - covered - all_ones + tp)


def _restore(q: Floats, order: Indices) -> Floats:
    strength = np.empty(len(order))
    strength[order] = q[:-1]
    return strength


def _above(rates: Rates) -> float:
    """Return the strength with which components have such a rate of ones."""
    return (rates.hit - rates.false_alarm) / (1 - rates.false_alarm)
