"""The score of every number of components that was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensorm.report.plots.style import COLOURS, LINE, name_axes, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tensorm.report.selection import Selection


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
    ax = new_axes(ax)
    n, scores, errors = (np.array(part, float) for part in zip(*selection.candidates, strict=True))
    ax.axvline(selection.best, color=LINE, linewidth=5)
    ax.plot(*zip(*(row[::2] for row in selection.table), strict=True), ".", color=COLOURS[1], markersize=4)
    ax.errorbar(n, scores, np.nan_to_num(errors), color=COLOURS[2], marker="o", markersize=4, linewidth=1)
    ax.set_xlim(min(n) - 1.5, max(n) + 1.5)
    if selection.method == "posterior":
        ax.set_ylim(0, 1.05)
    ax.locator_params(axis="x", integer=True)
    name_axes(ax, "components", selection.score_name)
    return ax
