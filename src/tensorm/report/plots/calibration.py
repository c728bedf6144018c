"""Predicted probabilities against what came true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorm.errors import InputError
from tensorm.posterior.scores import Calibration, ScoredCells
from tensorm.report.plots.style import COLOURS, LINE, SMALLEST, name_axes, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    ax = new_axes(ax, (3.6, 3.4))
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
    name_axes(ax, "predicted probability", "share of ones")
    return ax
