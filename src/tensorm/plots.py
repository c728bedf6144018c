"""Pictures of a fit with matplotlib: Axes in, Axes out.

matplotlib comes with the extra ``plot`` and is imported only inside the functions.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tensorm.errors import InputError
from tensorm.modes import FittedMode, Groups, find_mode, posterior_of, read_modes
from tensorm.scores import Calibration, ScoredCells

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tensorm.choice.result import Selection
    from tensorm.estimator import TensOrMachine
    from tensorm.posterior import Posterior

COLOURS = ("#ffffff", "#88a4cf", "#1d4f91")  # lightness falls in even steps: reads the same in grey
LINE = "0.75"
POINTS = 8.0  # size of the largest label; smaller ones down to SMALLEST, then some are left out
SMALLEST = 6.0


def plot_factor(
    model: TensOrMachine | Posterior,
    mode: str | int,
    ax: Axes | None = None,
    groups: npt.ArrayLike | None = None,
    colorbar: bool = True,
) -> Axes:
    """Draw the posterior means of a mode's factor: a row for each index, a column for each component.

    Parameters
    ----------
    model : TensOrMachine or Posterior
        A fitted model.
    mode : str or int
        Name or number of the mode.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    groups : array (N_k,), optional
        The group of each index, such as a person's role. Rows are then brought together by group, in the
        order in which groups appear, and groups are named.
    colorbar : bool, default True
        Whether to explain the shades beside the picture.

    Returns
    -------
    matplotlib Axes
    """
    pyplot = _pyplot()
    k = find_mode(posterior_of(model), mode)
    part = read_modes(model, None if groups is None else {k: groups})[k]
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    image = _draw(ax, part)
    ax.set_xlabel("component", fontsize=POINTS)
    if colorbar:
        _explain(image, ax)
    return ax


def plot_factors(model: TensOrMachine | Posterior, groups: Groups | None = None) -> Figure:
    """Draw all modes side by side, components in the same order in each.

    Parameters
    ----------
    model : TensOrMachine or Posterior
        A fitted model.
    groups : mapping, optional
        For some modes, by name or number, an array with the group of each index.

    Returns
    -------
    matplotlib Figure
    """
    pyplot, modes = _pyplot(), read_modes(model, groups)
    N, L = max(len(mode.means) for mode in modes), modes[0].means.shape[1]
    width, height = min(max(1.6, 0.22 * L), 3.0), min(max(2.8, 0.16 * N), 4.8)
    figure = pyplot.figure(figsize=((width + 0.7) * len(modes) + 0.6, height), layout="constrained")
    axes = figure.subplots(1, len(modes), squeeze=False)[0]
    for k, (ax, mode) in enumerate(zip(axes, modes, strict=True)):
        image = _draw(ax, mode)
        if k and _same_rows(mode, modes[k - 1]):
            ax.set_yticks([])
    figure.supxlabel("component", fontsize=POINTS)
    _explain(image, list(axes))
    return figure


def plot_calibration(curve: Calibration | ScoredCells, ax: Axes | None = None) -> Axes:
    """Draw predicted probabilities against the shares of ones that came true.

    Parameters
    ----------
    curve : Calibration or ScoredCells
        As ``model.scores(X, mask)`` or ``score_cells`` return it.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        A point for each bin, with the middle 95% of what its share may be and the number of its cells; on the
        diagonal, probabilities come true.
    """
    curve = getattr(curve, "calibration", curve)
    if not isinstance(curve, Calibration):
        raise InputError(f"curve is a {type(curve).__name__}; give what model.scores or score_cells return.")
    pyplot = _pyplot()
    if ax is None:
        _, ax = pyplot.subplots(figsize=(3.6, 3.4), layout="constrained")
    ax.plot([0, 1], [0, 1], color=LINE, linewidth=1, zorder=1)
    ax.vlines(curve.predicted, curve.low, curve.high, color=COLOURS[1], linewidth=2, zorder=2)
    ax.plot(curve.predicted, curve.found, "o", color=COLOURS[2], markersize=4, zorder=3)
    for p, low, high, cells in zip(curve.predicted, curve.low, curve.high, curve.cells, strict=True):
        end, shift, side = (high, 3, "bottom") if high < 0.8 else (low, -3, "top")  # where there is room
        ax.annotate(
            f"{cells:,}",
            (min(max(p, 0.03), 0.97), end),
            (0, shift),
            textcoords="offset points",
            ha="center",
            va=side,
            rotation=90,
            fontsize=SMALLEST,
        )
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_xlabel("predicted probability", fontsize=POINTS)
    ax.set_ylabel("share of ones", fontsize=POINTS)
    ax.tick_params(labelsize=POINTS)
    return ax


def plot_selection(selection: Selection, ax: Axes | None = None) -> Axes:
    """Draw the score of every number of components that was tried, and mark the one chosen.

    Parameters
    ----------
    selection : Selection
        From ``select_components``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        Dots are single repeats, bars one standard error.
    """
    pyplot = _pyplot()
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    n, scores, errors = (np.array(part, float) for part in zip(*selection.candidates, strict=True))
    ax.axvline(selection.best, color=LINE, linewidth=5)
    ax.plot(*zip(*(row[::2] for row in selection.table), strict=True), ".", color=COLOURS[1], markersize=4)
    ax.errorbar(n, scores, np.nan_to_num(errors), color=COLOURS[2], marker="o", markersize=4, linewidth=1)
    ax.set_xlim(min(n) - 1.5, max(n) + 1.5)
    if selection.method == "posterior":
        ax.set_ylim(0, 1.05)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("components", fontsize=POINTS)
    ax.set_ylabel(selection.score_name, fontsize=POINTS)
    ax.tick_params(labelsize=POINTS)
    return ax


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib; get it by: pip install 'tensorm[plot]'") from error
    return pyplot


def _draw(ax: Axes, mode: FittedMode) -> Any:
    """Draw one mode and return its image."""
    from matplotlib.colors import LinearSegmentedColormap

    N, L = mode.means.shape
    order = np.arange(N) if mode.groups is None else _by_group(mode.groups)
    shades = LinearSegmentedColormap.from_list("probability", COLOURS)
    image = ax.imshow(mode.means[order], cmap=shades, vmin=0, vmax=1, aspect="auto")
    ax.set_title(mode.name, fontsize=POINTS + 2)
    ax.set_xticks(range(0, L, -(-L // 16)))
    ax.tick_params(length=0, labelsize=POINTS)
    for spine in ax.spines.values():
        spine.set_color(LINE)
    for edge in range(1, L):
        ax.axvline(edge - 0.5, color=LINE, linewidth=0.4)
    room = ax.get_window_extent().height * 72 / ax.figure.dpi / N  # points for each row
    labels = [mode.label(n) for n in order]
    if room >= SMALLEST:
        ax.set_yticks(range(N), labels, fontsize=min(POINTS, room))
        for edge in range(1, N):
            ax.axhline(edge - 0.5, color=LINE, linewidth=0.4)
    elif mode.groups is None:
        step = int(np.ceil(2 * POINTS / room))
        ax.set_yticks(range(0, N, step), labels[::step])
    if mode.groups is not None:
        _name_groups(ax, mode.groups[order], room)
    return image


def _same_rows(mode: FittedMode, other: FittedMode) -> bool:
    """Whether two modes have the same named rows, so that names beside one serve both."""
    if mode.labels is None or other.labels is None or not np.array_equal(mode.labels, other.labels):
        return False
    if mode.groups is None or other.groups is None:
        return mode.groups is other.groups
    return np.array_equal(mode.groups, other.groups)


def _by_group(groups: npt.NDArray[np.str_]) -> npt.NDArray[np.intp]:
    """Return the indices group by group, groups in the order of their first index."""
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(first[number], kind="stable")


def _name_groups(ax: Axes, groups: npt.NDArray[np.str_], room: float) -> None:
    """Draw a line between groups and name them: in place of the rows, or to the right of rows with names."""
    edges = [0, *(np.flatnonzero(groups[1:] != groups[:-1]) + 1), len(groups)]
    for edge in edges[1:-1]:
        ax.axhline(edge - 0.5, color="0.35", linewidth=0.7)
    middles = {(start + stop - 1) / 2: str(groups[start]) for start, stop in pairwise(edges)}
    fitting: dict[float, str] = {}
    for at, name in middles.items():
        if not fitting or (at - max(fitting)) * room >= 1.2 * POINTS:  # clear of the name above
            fitting[at] = name
    if room < SMALLEST:
        ax.set_yticks(list(fitting), list(fitting.values()))
        return
    for at, name in fitting.items():
        ax.annotate(
            name, (1, at), (4, 0), ax.get_yaxis_transform(), "offset points", va="center", fontsize=POINTS
        )


def _explain(image: Any, ax: Any) -> None:
    bar = image.figure.colorbar(image, ax=ax, fraction=0.04, shrink=0.4, aspect=14, ticks=[0, 0.5, 1])
    bar.set_label("probability", fontsize=POINTS)
    bar.ax.tick_params(labelsize=POINTS, length=0)
    bar.outline.set_edgecolor(LINE)
