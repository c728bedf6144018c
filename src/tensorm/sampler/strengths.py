"""Components with strengths of their own, and a background that is constant or knows how active each index is.

p(x = 1) = 1 - (1 - b)(1 - q), q the strength of the strongest component that holds the cell, or 0. Strengths
have a Beta prior, Beta(1 + c t, 1 + c (1 - t)), whose typical value t and spread 1 / (1 + c) are learned: from
flat to all alike, and then the model is that of two rates. With activities, 1 - b = exp(-rate * product of the
activities of the cell's indices); they have Gamma priors with mean 1 whose shapes, one for each mode, are
learned: where they are large, the background is constant. Logarithms of rate and activities lie on a grid.
docs/model.md derives the conditionals; kernels/strengths.py draws from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.kernels import strengths as kernel
from tensorm.kernels.activities import HIGHEST, LOWEST, STEP, WINDOW, Activities
from tensorm.kernels.philox import uniforms
from tensorm.kernels.ranked import UNIT
from tensorm.sampler.noise import Asymmetric
from tensorm.sampler.parameters import COMPONENT, INDEX, MODE, ONCE, Counts, Floats, NoiseModel, Parameters
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Stream, Tensor
from tensorm.tensors.ranking import Ranking, split

SHAPES = 2.0 ** np.arange(-2, 9.1, 0.25)  # of the Gamma priors, all equally probable
GRID = STEP * np.arange(LOWEST, HIGHEST + 1)
NORMALISERS = np.array([np.logaddexp.reduce(shape * (GRID - np.exp(GRID))) for shape in SHAPES])
MARGIN = 2 * WINDOW + 2  # levels beyond those of today that scores are known for
JUMP, MODES = 2000, 3000  # rows of random numbers


class _Constant(NamedTuple):
    strength: Floats
    typical: float
    spread: float
    background: float


class _Active(NamedTuple):
    strength: Floats
    typical: float
    spread: float
    rate: float
    evenness: Floats
    activity: Floats


class _Strong(Parameters):
    """What parameters with strengths share."""

    strength: Floats
    typical: float
    spread: float

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """Components, the strongest first."""
        return np.argsort(-self.strength, kind="stable")

    def ranked(self) -> Floats:
        """Strengths in this order, then 0 for no component."""
        return np.append(self.strength[self.order], 0.0)


class ConstantStrengths(_Constant, _Strong):
    """Strengths, and one probability of ones outside all components."""

    AXES: ClassVar = {"strength": COMPONENT, "typical": ONCE, "spread": ONCE, "background": ONCE}

    @property
    def weights(self) -> Ranking:
        q, b = self.ranked(), self.background
        ones = np.rint(np.log(b + (1 - b) * q) / UNIT).astype(np.int64)[:, None]
        return Ranking(self.order, np.log1p(-q), ones, None, 0)


class ActiveStrengths(_Active, _Strong):
    """Strengths, and a rate of ones outside all components that depends on the cell's indices."""

    AXES: ClassVar = {
        "strength": COMPONENT,
        "typical": ONCE,
        "spread": ONCE,
        "rate": ONCE,
        "evenness": MODE,
        "activity": INDEX,
    }

    @property
    def level(self) -> int:
        """Logarithm of the rate in steps."""
        return round(math.log(self.rate) / STEP)

    @property
    def levels(self) -> npt.NDArray[np.int64]:
        """Logarithms of the activities in steps."""
        return np.rint(np.log(self.activity) / STEP).astype(np.int64)

    @property
    def weights(self) -> Ranking:
        q, levels = self.ranked(), self.levels
        # Each mode's extremes would be narrower; all modes together need no shape.
        first = self.level + len(self.evenness) * int(levels.min()) - MARGIN
        last = self.level + len(self.evenness) * int(levels.max()) + MARGIN
        scores = kernel.make_scores(q, last - first + 1, first)
        return Ranking(self.order, np.log1p(-q), scores, levels, first - self.level)


@dataclass(frozen=True)
class _StrengthModel(NoiseModel):
    """What models with strengths share."""

    def update(self, statistics: Any, parameters: Any, stream: Stream) -> Any:
        raise NotImplementedError  # redraw does it: statistics depend on parameters

    def estimate(self, statistics: Any) -> Any:
        raise NotImplementedError

    def log_marginal(self, tp: Counts, fp: Counts, fn: Counts, tn: Counts) -> Floats:
        return Asymmetric().log_marginal(tp, fp, fn, tn)

    def log_prior(self, parameters: Any) -> Any:
        return 0.0

    def start(self, shape: Sequence[int], n_components: int) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class StrengthModel(_StrengthModel):
    """Strengths with a constant background."""

    parameters: ClassVar[type[Parameters]] = ConstantStrengths

    def redraw(
        self, tensor: Tensor, factors: Factors, confusion: Any, now: ConstantStrengths, stream: Stream
    ) -> ConstantStrengths:
        """Draw strengths, their prior and the background from their conditionals."""
        L, given, order = factors.n_components, tuple(stream), now.order
        weights = now.weights
        probe = int(uniforms(stream, JUMP, 1)[0] * L)
        counts = tensor.count_decided(weights.rank(factors), probe)
        q, chances = now.ranked(), np.array([now.background])
        ones = np.ascontiguousarray(counts[:, 0, :, None]).astype(np.float64)
        typical, spread, zeros, ones = kernel.draw_strengths(
            q, (now.typical, now.spread), counts[:, 1], ones, chances, probe, given
        )
        b = kernel.draw_background(now.background, q, zeros, ones, given)
        return ConstantStrengths(_restore(q, order), typical, spread, b)

    def log_likelihood(self, tensor: Tensor, factors: Factors, confusion: Any, parameters: Any) -> float:
        (ones, tot), held = tensor.count_decided(parameters.weights.rank(factors), 0)
        ones[0], tot[0] = held.sum(axis=1)  # what the strongest holds, it decides
        q, b = parameters.ranked(), parameters.background
        return float((tot - ones) @ (np.log1p(-q) + math.log1p(-b)) + ones @ np.log(b + (1 - b) * q))


@dataclass(frozen=True)
class ActivityModel(_StrengthModel):
    """Strengths with activities."""

    parameters: ClassVar[type[Parameters]] = ActiveStrengths

    def redraw(
        self, tensor: Tensor, factors: Factors, confusion: Any, now: ActiveStrengths, stream: Stream
    ) -> ActiveStrengths:
        """Draw a mode's activities, all strengths, their prior, the rate, and the priors of activities."""
        L, given, order, K = factors.n_components, tuple(stream), now.order, len(factors)
        weights = now.weights
        ranked = weights.rank(factors)
        probe = int(uniforms(stream, JUMP, 1)[0] * L)
        levels = split(now.levels.copy(), tensor.shape)
        mode = stream.sweep % K
        if tensor.pair and mode in tensor.pair:
            mode = tensor.pair[0]
            self._count(tensor, mode, ranked, now, levels, weights, probe, WINDOW, stream)
            levels[tensor.pair[1]] = levels[mode].copy()
            weights = weights._replace(levels=np.concatenate(levels))
            mode = next((k for k in range(K) if k not in tensor.pair), mode)
            window = 0
        else:
            window = WINDOW
        ones, tot, exposures = self._count(tensor, mode, ranked, now, levels, weights, probe, window, stream)
        q = now.ranked()
        chances = -np.expm1(-np.exp(STEP * (now.level + weights.first + np.arange(ones.shape[2]))))
        typical, spread, zeros, ones = kernel.draw_strengths(
            q, (now.typical, now.spread), tot, ones.astype(np.float64), chances, probe, given
        )
        exposure = float(exposures @ np.exp(STEP * levels[mode])) / (2 if tensor.pair else 1)
        level = kernel.draw_level(now.level, q, zeros, ones, chances, exposure, given)
        shapes = list(now.evenness)
        for k in range(K):
            if tensor.pair and k == tensor.pair[1]:
                shapes[k], levels[k] = shapes[tensor.pair[0]], levels[tensor.pair[0]]
                continue
            times = 2 if tensor.pair and k == tensor.pair[0] else 1
            shapes[k] = kernel.draw_shape(levels[k], SHAPES, NORMALISERS, given, 10 + k)
            shift = kernel.draw_scale(levels[k], level, shapes[k], times, given, 20 + k)
            levels[k] = levels[k] + shift
            level -= times * shift
        activity, rate = np.exp(STEP * np.concatenate(levels)), math.exp(STEP * level)
        return ActiveStrengths(_restore(q, order), typical, spread, rate, np.array(shapes), activity)

    def _count(self, tensor, mode, ranked, now, levels, weights, probe, window, stream):
        others = [k for k in range(len(levels)) if k != mode]
        cells, low = np.ones(1, np.int64), now.level
        for k in others:
            cells = np.convolve(cells, np.bincount(levels[k] - levels[k].min()))
            low += int(levels[k].min())
        rest = np.zeros(weights.ones.shape[1], np.int64)
        rest[WINDOW : WINDOW + len(cells)] = cells
        rates = np.exp(STEP * (low - WINDOW + np.arange(len(rest))))
        exposures = np.zeros(len(levels[mode]))
        given = Activities(
            weights, levels[mode], exposures, rates, rest, 0, probe, float(now.evenness[mode]), window
        )
        there = stream._replace(purpose=stream.purpose - 10 - mode)
        ones, tot = tensor.draw_activities(mode, ranked, given, there)
        return ones, tot, exposures


def _restore(q: Floats, order: npt.NDArray[np.intp]) -> Floats:
    strength = np.empty(len(order))
    strength[order] = q[:-1]
    return strength
