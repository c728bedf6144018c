"""Components with strengths of their own; a background that is constant or depends on each index's activity.

p(x = 1) = 1 - (1 - b)(1 - q), q the strength of the strongest component of the cell, or 0. Strengths
have the prior Beta(1 + c t, 1 + c (1 - t)), whose typical value t and spread 1 / (1 + c) are learned: from
flat to all alike, and then the model is that of two rates. With activities, 1 - b = exp(-rate * product of
the activities of the cell's indices); they have Gamma priors with mean 1 whose shapes, one for each mode, are
learned: where they are large, the background is constant. Logarithms of rate and activities lie on a grid.
Here are the parameters; strength_models.py draws them, docs/model.md derives the conditionals.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from tensorm.data.arrays import Bits, Counts, Floats, Indices, Ints, Words
from tensorm.kernels.activities import HIGHEST, LOWEST, STEP, WINDOW, Activities
from tensorm.kernels.predict import add_ranked, find_first
from tensorm.kernels.ranked import UNIT, permute_masks
from tensorm.kernels.strengths import FAINTEST, LEAST, LOUDEST, make_scores
from tensorm.sampler.noise_model import COMPONENT, INDEX, MODE, ONCE, Parameters
from tensorm.tensors.bits import combine, pack
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Stream, Tensor
from tensorm.tensors.ranked import Ranking, by_mode

SHAPES = 2.0 ** np.arange(-2, 9.1, 0.25)  # of the Gamma priors, all equally probable
MARGIN = 2 * WINDOW + 2  # levels beyond those of today that scores are known for
NOWHERE = Stream(np.uint64(0), 0, 0, 0)  # where cells are counted and nothing is drawn


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


class Tally(NamedTuple):
    """Observed cells by who decides them, the strongest first and none last, and by level.

    In the first place without the cells that the component `probe` holds; those come second, by the strongest
    other component that holds them (RankedCells.count_decided).
    """

    ones: Counts  # (2, L + 1, levels)
    zeros: Counts  # (2, L + 1)
    chances: Floats  # (levels,) of a one without components
    exposure: float  # sum of the rates of all zeros


class Strong(Parameters):
    """What parameters with strengths share."""

    strength: Floats
    typical: float
    spread: float

    TITLES: ClassVar = {
        "strength": "strength",
        "typical": "typical strength",
        "spread": "spread of strengths",
        "background": "rate of ones outside",
        "rate": "rate of ones outside",
        "evenness": "shape of the prior of activities",
        "activity": "activity",
    }
    UNJUDGED: ClassVar = frozenset({"typical", "spread", "evenness", "activity"})

    def __str__(self) -> str:
        return f"{self.strength.min():.2f}-{self.strength.max():.2f}" if len(self.strength) else "none"

    @property
    def purity(self) -> float:
        return self.typical

    @cached_property
    def order(self) -> Indices:
        """Components, the strongest first."""
        return np.argsort(-self.strength, kind="stable")

    def sorted(self) -> Floats:
        """Strengths in this order, then 0 for no component."""
        return np.append(self.strength[self.order], 0.0)

    @abstractmethod
    def tally(self, tensor: Tensor, factors: Factors, probe: int) -> Tally:
        """Count the cells by who decides them."""

    @abstractmethod
    def rates(self, shape: Sequence[int]) -> list[Floats]:
        """Return for each mode numbers whose products are the rates of cells without components."""

    def log_scores(self, tally: Tally) -> tuple[Floats, Floats]:
        """Return the log probability of a zero, without its rate, (L + 1,), and of a one (L + 1, levels)."""
        q = self.sorted()
        return np.log1p(-q), np.log(tally.chances + (1 - tally.chances) * q[:, None])

    def log_ratios(
        self, tensor: Tensor, factors: Factors, members: Bits, components: Sequence[int] | None = None
    ) -> Floats:
        place, lost, bits = np.argsort(self.order), [], factors.bits()[0]
        chosen = range(factors.n_components) if components is None else components
        for component, column in zip(chosen, members.T, strict=True):
            r, own = int(place[component]), bits.copy()
            own[:, component] = column
            tally = self.tally(tensor, factors.replace(0, pack(own)), r)
            zero, one = self.log_scores(tally)
            weaker = slice(r + 1, None)
            fall = tally.zeros[1, weaker] @ (zero[r] - zero[weaker])
            lost.append(fall + (tally.ones[1, weaker] * (one[r] - one[weaker])).sum())
        return np.array(lost)

    def predict(self, factors: Factors, cells: Sequence[Indices]) -> Floats:
        rates = self.rates([len(masks) for masks in factors])
        rate = math.prod(part[index] for part, index in zip(rates, cells, strict=True))
        masks = [part[index] for part, index in zip(self._rank(factors), cells, strict=True)]
        held = find_first(np.bitwise_and.reduce(masks), factors.n_components)
        return 1 - np.exp(-rate) * (1 - self.sorted()[held])

    def add_box(self, total: Floats, factors: Factors, where: Sequence[slice], weight: float) -> float:
        rates = self.rates([len(masks) for masks in factors])
        *rows, columns = (masks[span] for masks, span in zip(self._rank(factors), where, strict=True))
        *along, across = (rate[span] for rate, span in zip(rates, where, strict=True))
        product = np.ones(1)
        for rate in along:
            product = np.multiply.outer(product, rate).ravel()
        given = product, across, 1 - self.sorted()
        add_ranked(total, combine(rows, factors.n_components), columns, given, weight)
        return 0.0

    def _rank(self, factors: Factors) -> list[Words]:
        return [permute_masks(masks, self.order) for masks in factors]

    @classmethod
    def find_fault(cls, fields: Mapping[str, Floats]) -> str | None:
        for name, (low, high) in BOUNDS.items():
            if name in fields and not np.all((fields[name] >= low) & (fields[name] <= high)):
                return f"numbers for {cls.TITLES[name]} that do not lie between {low:.3g} and {high:.3g}"
        return None

    @classmethod
    def describe(
        cls, means: Mapping[str, Any], percent: Callable[[float], str], interval: Callable[[str], str]
    ) -> str:
        outside = means["background"] if "background" in means else -math.expm1(-means["rate"])
        low, high = percent(min(means["strength"])), percent(max(means["strength"]))
        inside = low if low == high else f"{low} to {high}"
        ones = f"{percent(outside)} of the cells are 1"
        if "background" not in means:
            ones = f"a cell of typically active indices is 1 with probability {percent(outside)}"
        return f"Components make {inside} of their cells 1; outside them, {ones}."


class ConstantStrengths(_Constant, Strong):
    """Strengths, and one probability of ones outside all components."""

    AXES: ClassVar = {"strength": COMPONENT, "typical": ONCE, "spread": ONCE, "background": ONCE}

    @cached_property
    def weights(self) -> Ranking:
        q, b = self.sorted(), self.background
        ones = np.rint(np.log(b + (1 - b) * q) / UNIT).astype(np.int64)[:, None]
        return Ranking(self.order, np.log1p(-q), ones, None, 0)

    def rates(self, shape: Sequence[int]) -> list[Floats]:
        return [np.full(shape[0], -math.log1p(-self.background)), *(np.ones(size) for size in shape[1:])]

    def tally(self, tensor: Tensor, factors: Factors, probe: int) -> Tally:
        counts = tensor.ranked().count_decided(self.weights.sort(factors), probe)
        ones, zeros = counts[:, 0, :, None], counts[:, 1] - counts[:, 0]
        exposure = -float(zeros.sum()) * math.log1p(-self.background)
        return Tally(np.ascontiguousarray(ones), zeros, np.array([self.background]), exposure)


class ActiveStrengths(_Active, Strong):
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
    def levels(self) -> Ints:
        """Logarithms of the activities in steps, in a new array: they are drawn in place."""
        return np.rint(np.log(self.activity) / STEP).astype(np.int64)

    @cached_property
    def weights(self) -> Ranking:
        q, levels = self.sorted(), self.levels
        # Each mode's extremes would be narrower; all modes together need no shape.
        first = self.level + len(self.evenness) * int(levels.min()) - MARGIN
        last = self.level + len(self.evenness) * int(levels.max()) + MARGIN
        scores = make_scores(q, last - first + 1, first)
        return Ranking(self.order, np.log1p(-q), scores, levels, first - self.level)

    def rates(self, shape: Sequence[int]) -> list[Floats]:
        first, *others = by_mode(self.activity, shape)
        return [self.rate * first, *others]

    def chances(self, weights: Ranking) -> Floats:
        """Return the probability of a one without components by level."""
        levels = self.level + weights.first + np.arange(weights.ones.shape[1])
        return -np.expm1(-np.exp(STEP * levels))

    def tally(self, tensor: Tensor, factors: Factors, probe: int) -> Tally:
        weights, levels = self.weights, by_mode(self.levels, tensor.shape)
        ones, tot, exposure = self.count_levels(tensor, 0, weights.sort(factors), (levels, weights, probe, 0))
        return Tally(ones, tot - ones.sum(axis=2), self.chances(weights), exposure)

    def count_levels(
        self, tensor: Tensor, mode: int, ranked: Factors, given: Any, stream: Stream = NOWHERE
    ) -> tuple[Any, Any, float]:
        """Draw a mode's activities in place, and count the cells by who decides them.

        What is given are the levels of each mode, the weights, the probe, and the steps that an activity can
        move at once, 0 if cells are only counted. Returns ones by level, all cells, and the sum of the rates
        of all zeros.
        """
        levels, weights, probe, window = given
        cells, low = np.ones(1, np.int64), self.level
        for k in range(len(levels)):
            if k != mode:
                cells = np.convolve(cells, np.bincount(levels[k] - levels[k].min()))
                low += int(levels[k].min())
        rest = np.zeros(weights.ones.shape[1], np.int64)
        rest[WINDOW : WINDOW + len(cells)] = cells
        rates = np.exp(STEP * (low - WINDOW + np.arange(len(rest))))
        exposures, shape = np.zeros(len(levels[mode])), float(self.evenness[mode])
        about = Activities(weights, levels[mode], exposures, rates, rest, 0, probe, shape, window)
        there = stream._replace(purpose=stream.purpose - 10 - mode)
        ones, tot = tensor.ranked().draw_activities(mode, ranked, about, there)
        return ones, tot, float(exposures @ np.exp(STEP * levels[mode])) / (2 if tensor.pair else 1)

    def information(self, tensor: Tensor) -> float:
        """Sum up over indices how far the posterior of the logarithm of an activity is from its prior.

        Its precision is the shape plus the exposure, that of all cells, times the activity; zeros and ones
        weigh about the same in it, so that they need not be told apart.
        """
        parts = by_mode(self.activity, tensor.shape)
        product = self.rate * math.prod(float(part.sum()) for part in parts)
        product *= tensor.n_observed / math.prod(tensor.shape)
        told = 0.0
        for k, (part, shape) in enumerate(zip(parts, self.evenness, strict=True)):
            if not (tensor.pair and k == tensor.pair[1]):
                prior = shape * (np.log(shape * part) - part) - gammaln(shape)
                precision = part * (shape + product / part.sum())
                told += float((0.5 * np.log(precision / (2 * math.pi * math.e)) - prior).sum())
        return told

    def follow(self, before: Self | None, shape: Sequence[int]) -> Self:
        known = self.activity[len(self.activity) - sum(shape[1:]) :]
        new = np.ones(shape[0]) if before is None else before.activity[: shape[0]]
        return self._replace(activity=np.append(new, known))

    def redraw_slices(self, tensor: Tensor, factors: Factors, stream: Stream) -> Self:
        weights, levels = self.weights, by_mode(self.levels, tensor.shape)
        self.count_levels(tensor, 0, weights.sort(factors), (levels, weights, 0, WINDOW), stream)
        return self._replace(activity=np.exp(STEP * np.concatenate(levels)))


BOUNDS = {  # of what a file may hold; NaN lies between no two numbers
    "strength": (1e-13, 1 - 1e-13),
    "typical": (1e-13, 1 - 1e-13),
    "spread": (LEAST / 2, 1.0),
    "background": (1e-13, 1 - 1e-13),
    "rate": (math.exp(STEP * FAINTEST - 0.01), math.exp(STEP * LOUDEST + 0.01)),
    "evenness": (SHAPES[0], SHAPES[-1]),
    "activity": (math.exp(STEP * LOWEST - 0.01), math.exp(STEP * HIGHEST + 0.01)),
}
