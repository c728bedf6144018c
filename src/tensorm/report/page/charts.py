"""Coordinates of line charts in SVG; ``page.html`` draws them and ``page.css`` sets the colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.posterior.draws import Posterior

if TYPE_CHECKING:
    from tensorm.report.selection import Selection

Floats = npt.NDArray[np.float64]
Scale = Callable[[Any], Any]  # from numbers to positions on an axis
WIDTH, HEIGHT = 380, 220
RIGHT, TOP, BOTTOM = 10, 12, 36
LETTER = 6.6  # width of a digit
POINTS = 250  # maximal points of a line
COLOURS = 7  # number of line colours in page.css
SHOWN = (  # of the draws: title, field of a trace, and its largest value
    ("log-likelihood", "log_likelihood", math.inf),
    ("share of cells predicted correctly", "accuracy", 1.0),
)


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
    x_ticks: list[tuple[float, str]]  # place and text
    y_ticks: list[tuple[float, str]]
    left: float  # where lines begin
    lines: list[Line]
    bars: tuple[tuple[float, float, float], ...] = ()  # x, top and bottom
    dots: tuple[tuple[float, float], ...] = ()
    mark: float | None = None  # where a value of x is marked


def chart_traces(posterior: Posterior) -> list[Chart]:
    """Return charts of the log-likelihood and the accuracy over the draws of each chain."""
    charts = []
    for title, name, most in SHOWN:
        draws = [getattr(trace, name) for trace in posterior.chains]
        last = max(1, *(len(values) - 1 for values in draws))
        low, high = _range(np.concatenate(draws))
        chart, x, y = _frame(title, "draw", (0, last), ticks(0, last), (low, min(high, most)))
        for chain, (values, number) in enumerate(zip(draws, posterior.explanations, strict=True)):
            at = np.unique(np.linspace(0, len(values) - 1, min(len(values), POINTS)).astype(int))
            name_of = f"chain {chain}" + (f", explanation {number}" if number else "")
            chart.lines.append(Line(name_of, _points(x(at), y(values[at])), chain % COLOURS, number > 0))
        charts.append(chart)
    return charts


def chart_selection(selection: Selection) -> Chart:
    """Return the scores of the numbers of components that were tried."""
    n, scores, errors = (np.array(part, float) for part in zip(*selection.candidates, strict=True))
    low, high = scores - np.nan_to_num(errors), scores + np.nan_to_num(errors)
    span = (0.0, 1.05) if selection.method == "posterior" else _range(np.append(low, high))
    whole = [tick for tick in ticks(n.min(), n.max(), 6) if tick == int(tick)]
    chart, x, y = _frame(
        selection.score_name, "components", (float(n.min()) - 0.5, float(n.max()) + 0.5), whole, span
    )
    return chart._replace(
        lines=[Line("score", _points(x(n), y(scores)), 0, False)],
        bars=tuple(zip(x(n).tolist(), y(high).tolist(), y(low).tolist(), strict=True)),
        dots=tuple(zip(x(n).tolist(), y(scores).tolist(), strict=True)),
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


def _frame(
    title: str,
    x_name: str,
    x_range: tuple[float, float],
    x_ticks: Sequence[float],
    y_range: tuple[float, float],
) -> tuple[Chart, Scale, Scale]:
    """Return a chart without lines, and the scales of both axes."""
    places = ticks(*y_range)
    step = places[1] - places[0] if len(places) > 1 else 1.0
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    names = [f"{place:,.{digits}f}" for place in places]
    left = 10 + LETTER * max(map(len, names))  # room for the labels
    x, y = _scale(x_range, (left, WIDTH - RIGHT)), _scale(y_range, (HEIGHT - BOTTOM, TOP))
    below = [(float(x(tick)), f"{tick:,.0f}") for tick in x_ticks]
    return Chart(title, x_name, below, list(zip(y(places).tolist(), names, strict=True)), left, []), x, y


def _scale(values: tuple[float, float], places: tuple[float, float]) -> Scale:
    return lambda value: np.round(np.interp(value, values, places), 1)


def _range(values: Floats) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = 0.05 * (high - low) or max(abs(high) * 0.01, 1e-3)
    return low - room, high + room


def _points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a:g},{b:g}" for a, b in zip(x, y, strict=True))
