"""Coordinates of line charts in SVG; ``page.html`` draws them and ``page.css`` sets the colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.posterior.draws import Posterior

if TYPE_CHECKING:
    from tensorm.report.selection import Selection

WIDTH, HEIGHT = 380, 220
RIGHT, TOP, BOTTOM = 10, 12, 36
LETTER = 6.6  # width of a digit
POINTS = 250  # maximal points of a line
COLOURS = 7  # number of line colours in page.css


class Tick(NamedTuple):
    """A mark on an axis."""

    at: float
    text: str


class Line(NamedTuple):
    """One line of a chart."""

    name: str
    points: str
    colour: int
    faint: bool


class Chart(NamedTuple):
    """Everything needed to draw a chart of ``WIDTH`` x ``HEIGHT``."""

    title: str
    x_name: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    left: float  # where lines begin
    lines: list[Line]
    bars: tuple[tuple[float, float, float], ...] = ()  # x, top and bottom
    dots: tuple[tuple[float, float], ...] = ()
    mark: float | None = None  # where a value of x is marked


def chart_traces(posterior: Posterior) -> list[Chart]:
    """Return charts of the log-likelihood and the accuracy over the draws of each chain."""
    likely = [trace.log_likelihood for trace in posterior.chains]
    right = [trace.accuracy for trace in posterior.chains]
    return [
        _trace("log-likelihood", likely, posterior.kept),
        _trace("share of cells predicted correctly", right, posterior.kept, most=1.0),
    ]


def chart_selection(selection: Selection) -> Chart:
    """Return the scores of the numbers of components that were tried."""
    n, scores, errors = (np.array(part, float) for part in zip(*selection.candidates, strict=True))
    low, high = scores - np.nan_to_num(errors), scores + np.nan_to_num(errors)
    probable = selection.method == "posterior"
    y = _Scale(*((0.0, 1.05) if probable else _range(np.append(low, high))), HEIGHT - BOTTOM, TOP)
    y_ticks, left = _name(y)
    x = _Scale(n.min() - 0.5, n.max() + 0.5, left, WIDTH - RIGHT)
    places = x(n).tolist()
    return Chart(
        title=selection.score_name,
        x_name="components",
        x_ticks=[
            Tick(float(x(tick)), f"{tick:.0f}") for tick in ticks(n.min(), n.max(), 6) if tick == int(tick)
        ],
        y_ticks=y_ticks,
        left=left,
        lines=[Line("score", _points(x(n), y(scores)), 0, False)],
        bars=tuple(zip(places, y(high).tolist(), y(low).tolist(), strict=True)),
        dots=tuple(zip(places, y(scores).tolist(), strict=True)),
        mark=float(x(selection.best)),
    )


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return at most this many round numbers between low and high."""
    span = high - low
    if not span > 0:
        return [low]
    size = 10 ** math.floor(math.log10(span / most))
    step = next(size * times for times in (1, 2, 5, 10) if span / (size * times) <= most)
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _trace(
    name: str, draws: Sequence[npt.NDArray[np.float64]], kept: Sequence[bool], most: float = math.inf
) -> Chart:
    length = max(map(len, draws))
    low, high = _range(np.concatenate(draws))
    y = _Scale(low, min(high, most), HEIGHT - BOTTOM, TOP)
    y_ticks, left = _name(y)
    x = _Scale(0, max(1, length - 1), left, WIDTH - RIGHT)
    lines = []
    for chain, values in enumerate(draws):
        at = np.unique(np.linspace(0, len(values) - 1, min(len(values), POINTS)).astype(int))
        name_of = f"chain {chain}" + ("" if kept[chain] else ", left out")
        lines.append(Line(name_of, _points(x(at), y(values[at])), chain % COLOURS, not kept[chain]))
    return Chart(
        title=name,
        x_name="draw",
        x_ticks=[Tick(float(x(tick)), f"{tick:,.0f}") for tick in ticks(0, max(1, length - 1))],
        y_ticks=y_ticks,
        left=left,
        lines=lines,
    )


class _Scale:
    """Maps numbers between ``low`` and ``high`` to positions on an axis."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = float(low), float(high), start, end

    def __call__(self, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        share = (np.asarray(value, float) - self.low) / (self.high - self.low)
        return np.asarray(np.round(self.start + share * (self.end - self.start), 1))


def _range(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = 0.05 * (high - low) or max(abs(high) * 0.01, 1e-3)
    return low - room, high + room


def _name(y: _Scale) -> tuple[list[Tick], float]:
    """Return the ticks of an axis, and the width of their labels."""
    places = ticks(y.low, y.high)
    step = places[1] - places[0] if len(places) > 1 else 1.0
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    names = [f"{place:,.{digits}f}" for place in places]
    made = [Tick(float(y(place)), name) for place, name in zip(places, names, strict=True)]
    return made, 10 + LETTER * max(map(len, names))


def _points(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> str:
    return " ".join(f"{a:g},{b:g}" for a, b in zip(x, y, strict=True))
