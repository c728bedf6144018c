"""Draws of strengths, activities and their priors by loops over single cells: what kernels are compared with.

Each parameter's log density is the whole model's, as far as it depends on the parameter, and a slice sampler
in plain Python takes the random numbers that belong to it. Only these and grids come from the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln

import naive
from strong_cases import Case
from tensorm.kernels import strengths as kernel
from tensorm.kernels.activities import HIGHEST, LOWEST, STEP, WINDOW
from tensorm.kernels.philox import uniforms
from tensorm.kernels.slice_sampling import PATIENCE
from tensorm.sampler.strength_models import GRID, JUMP
from tensorm.tensors import Stream

MOST = 320  # random numbers of a parameter


class Given(NamedTuple):
    """Cells and factors, and the state of all that is drawn; lists are written."""

    case: Case
    strength: list[float]
    typical: float
    spread: float
    rate: Any  # of a constant background, or the common level in steps
    levels: list[np.ndarray]  # of activities by mode; none where the background is constant
    evenness: list[float]

    @property
    def background(self) -> Any:
        """Of naive.chance."""
        if not self.levels:
            return self.rate
        first, *others = [np.exp(STEP * levels) for levels in self.levels]
        return [math.exp(STEP * self.rate) * first, *others]

    def log_likelihood(self, some: Callable[[tuple[int, ...]], bool] = lambda index: True) -> float:
        case = self.case
        return naive.strength_likelihood(
            case.ones, case.facts, case.factors, self.strength, self.background, some
        )

    def log_prior(self, model: Any) -> float:
        """The log density of all strengths, their typical value and the logarithm of their spread."""
        size, t = 1 / self.spread - 1, self.typical
        a, b = 1 + size * t, 1 + size * (1 - t)
        own = (model.typical_a - 1) * math.log(t) + (model.typical_b - 1) * math.log1p(-t)
        logs = [(a - 1) * math.log(q) + (b - 1) * math.log1p(-q) - betaln(a, b) for q in self.strength]
        return own + sum(logs)


def read_case(case: Case) -> Given:
    noise, edges = case.noise, [0, *accumulate(len(bits) for bits in case.factors)]
    q, typical, spread = list(map(float, noise.strength)), noise.typical, noise.spread
    if not hasattr(noise, "levels"):
        return Given(case, q, typical, spread, noise.background, [], [])
    levels = [noise.levels[start:stop] for start, stop in pairwise(edges)]
    return Given(case, q, typical, spread, noise.level, levels, list(map(float, noise.evenness)))


def draw_number(
    height: Callable[[float], float], x: float, low: float, high: float, stream: Stream, row: int
) -> float:
    """Neal's slice sampler for a number between two bounds."""
    u = uniforms(stream, row, MOST)
    level = height(x) + math.log(u[0])
    for number in u[1:PATIENCE]:
        new = low + number * (high - low)
        if height(new) >= level:
            return float(new)
        low, high = (new, high) if new < x else (low, new)
    return x


def draw_step(
    height: Callable[[int], float], x: int, allowed: range, window: int, stream: Stream, row: int
) -> int:
    """The same for a whole number, in a window placed at random around it."""
    u = uniforms(stream, row, MOST)
    low = x - int(u[1] * (window + 1))
    high, low = min(low + window, allowed[-1]), max(low, allowed[0])
    level = height(x) + math.log(u[0])
    for number in u[2:]:
        new = low + int(number * (high - low + 1))
        if new == x or height(new) >= level:
            return new
        low, high = (new + 1, high) if new < x else (low, new - 1)
    raise AssertionError("no end")


def draw_strengths(now: Given, model: Any, stream: Stream) -> Given:
    """The probe among all places, the others between their neighbours, all together, then their prior."""
    q, edge, L = now.strength, kernel.EDGE, len(now.strength)
    order = sorted(range(L), key=lambda l: -q[l])
    probe = order[int(uniforms(stream, JUMP, 1)[0] * L)]
    draw_one(now, model, probe, (edge, 1 - edge), stream, kernel.PROBE)
    after, rows = sorted(range(L), key=lambda l: -q[l]), {l: rank for rank, l in enumerate(order)}
    for place, l in enumerate(after):
        high = q[after[place - 1]] if place else 1 - edge
        low = q[after[place + 1]] if place + 1 < L else edge
        draw_one(now, model, l, (low, high), stream, kernel.FIRST + rows[l])
    u, shape = uniforms(stream, kernel.COMMON, 1001)[1000], kernel.SHIFT

    def joint(shift: float) -> float:
        moved = move_all(now, shift)
        sizes = sum(math.log(p * (1 - p)) for p in (*moved.strength, moved.typical))
        return moved.log_likelihood() + moved.log_prior(model) + sizes

    shift = draw_number(joint, 0.0, -shape * u, shape * (1 - u), stream, kernel.COMMON)
    now = move_all(now, shift)
    typical = draw_number(
        lambda t: now._replace(typical=t).log_prior(model),
        now.typical,
        edge,
        1 - edge,
        stream,
        kernel.TYPICAL,
    )
    now, least, most = (
        now._replace(typical=typical),
        math.log(model.spread_least),
        math.log(model.spread_most),
    )
    spread = draw_number(
        lambda x: now._replace(spread=math.exp(x)).log_prior(model),
        *(math.log(now.spread), least, most),
        *(stream, kernel.SPREAD),
    )
    return now._replace(spread=math.exp(spread))


def draw_one(now: Given, model: Any, l: int, bounds: tuple[float, float], stream: Stream, row: int) -> None:
    def height(x: float) -> float:
        changed = now._replace(strength=[x if i == l else q for i, q in enumerate(now.strength)])
        return changed.log_likelihood() + changed.log_prior(model)

    now.strength[l] = draw_number(height, now.strength[l], *bounds, stream, row)


def move_all(now: Given, shift: float) -> Given:
    def move(p: float) -> float:
        return 1 / (1 + math.exp(-math.log(p / (1 - p)) - shift))

    return now._replace(strength=[move(q) for q in now.strength], typical=move(now.typical))


def draw_background(now: Given, model: Any, stream: Stream) -> Given:
    """A constant one."""

    def height(b: float) -> float:
        own = (model.a - 1) * math.log(b) + (model.b - 1) * math.log1p(-b)
        return now._replace(rate=b).log_likelihood() + own

    edge = kernel.EDGE
    return now._replace(rate=draw_number(height, now.rate, edge, 1 - edge, stream, kernel.BACKGROUND))


def draw_activities(now: Given, mode: int, stream: Stream) -> None:
    """One index after the other; a mode that is tied to this one has the same."""
    pair = now.case.pair
    modes = pair if pair is not None and mode in pair else (mode,)
    there = stream._replace(purpose=stream.purpose - 10 - mode)
    for n in range(len(now.levels[mode])):

        def height(level: int, n: int = n) -> float:
            changed = with_level(now, modes, n, level)
            own = now.evenness[mode] * (STEP * level - math.exp(STEP * level))
            return changed.log_likelihood(lambda index: any(index[k] == n for k in modes)) + own

        level = draw_step(height, int(now.levels[mode][n]), range(LOWEST, HIGHEST + 1), WINDOW, there, n)
        now.levels[:] = with_level(now, modes, n, level).levels


def with_level(now: Given, modes: Sequence[int], n: int, level: int) -> Given:
    levels = [each.copy() for each in now.levels]
    for k in modes:
        levels[k][n] = level
    return now._replace(levels=levels)


def draw_rate(now: Given, bounds: tuple[int, int], stream: Stream) -> Given:
    """The common level."""

    def height(level: int) -> float:
        return now._replace(rate=level).log_likelihood()

    allowed = range(bounds[0], bounds[1] + 1)
    return now._replace(rate=draw_step(height, now.rate, allowed, kernel.LEAP, stream, kernel.BACKGROUND))


def draw_scales(now: Given, model: Any, stream: Stream) -> Given:
    """The shape of each mode's prior, then its activities all higher and the rate lower: no cell changes."""
    pair, (shapes, _), (faintest, loudest) = now.case.pair, model._shapes, model._bounds
    for k, levels in enumerate(now.levels):
        if pair is not None and k == pair[1]:
            now.evenness[k] = now.evenness[pair[0]]
            continue
        logs = np.array([log_activities(levels, shape) for shape in shapes])
        shares = np.cumsum(np.exp(logs - logs.max()))
        now.evenness[k] = shape = float(
            shapes[np.searchsorted(shares, uniforms(stream, 10 + k, 1)[0] * shares[-1])]
        )
        modes = pair if pair is not None and k in pair else (k,)
        allowed = [
            shift
            for shift in range(LOWEST - HIGHEST, HIGHEST - LOWEST + 1)
            if levels.min() + shift >= LOWEST and levels.max() + shift <= HIGHEST
            if faintest <= now.rate - len(modes) * shift <= loudest
        ]
        shift = draw_step(
            lambda s, levels=levels, shape=shape: log_activities(levels + s, shape),
            *(0, range(allowed[0], allowed[-1] + 1), kernel.LEAP),
            *(stream, 20 + k),
        )
        before = now.log_likelihood()
        for each in modes:
            now.levels[each] = now.levels[each] + shift
        now = now._replace(rate=now.rate - len(modes) * shift)
        assert math.isclose(now.log_likelihood(), before, rel_tol=1e-9)
    return now


def log_activities(levels: np.ndarray, shape: float) -> float:
    """The log probability of a mode's activities on their grid."""
    normaliser = np.logaddexp.reduce(shape * (GRID - np.exp(GRID)))
    return float((shape * (STEP * levels - np.exp(STEP * levels)) - normaliser).sum())
