"""Strengths of components, and activities of indices: the parameters of ``noise="strengths"``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import of_posterior
from tensorm.report.export import summarise_parameter
from tensorm.report.plots.style import COLOURS, LINE, POINTS, drawn_modes, name_axes, new_axes, pyplot
from tensorm.tensors.ranking import split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_LIST = 40  # indices shown before a list is cut short


@of_posterior
def plot_strengths(posterior: Posterior, ax: Axes | None = None) -> Axes:
    """Draw the strength of each component, the probability that it makes a cell 1.

    Parameters
    ----------
    posterior : Posterior
        Of a fit with ``noise="strengths"``.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib Axes
        A bar for each component, with a line for its 90% interval.
    """
    found = summarise_parameter(posterior, "strength")
    at = np.arange(posterior.n_components)
    ax = new_axes(ax, (3.6, 0.8 + 0.22 * len(at)))
    ax.barh(at, found["mean"], height=0.6, color=COLOURS[1])
    ax.hlines(at, found["low"], found["high"], color=COLOURS[2], linewidth=1.5)
    ax.set(xlim=(0, 1))
    ax.set_yticks(at)
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    name_axes(ax, "strength: share of its cells that it makes 1", "component")
    return ax


@of_posterior
def plot_activity(posterior: Posterior) -> Figure:
    """Draw how active each index is without any component, with a list for each mode.

    Parameters
    ----------
    posterior : Posterior
        Of a fit with ``noise="strengths"`` and ``background="activity"``.

    Returns
    -------
    matplotlib Figure
        For each mode a dot for each index, the most active first and up to 40, with a line for its 90%
        interval. 1 is usual in its mode; twice the activity makes ones twice as frequent where they are rare.
    """
    found = summarise_parameter(posterior, "activity")
    parts = zip(*(split(found[name], posterior.shape) for name in ("mean", "low", "high")), strict=True)
    modes, most = drawn_modes(posterior), min(max(posterior.shape), LONGEST_LIST)
    size = 2.4 * len(modes), 0.9 + 0.17 * (most + 1)
    figure = pyplot().figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, len(modes), squeeze=False, sharex=True)[0]
    for ax, mode, (mean, low, high) in zip(axes, modes, parts, strict=True):
        shown = np.argsort(-mean, kind="stable")[:LONGEST_LIST]
        at, left_out = np.arange(len(shown)), len(mean) - len(shown)
        ax.axvline(1, color=LINE, linewidth=0.7)
        ax.hlines(at, low[shown], high[shown], color=COLOURS[1], linewidth=1.5)
        ax.plot(mean[shown], at, "o", color=COLOURS[2], markersize=3)
        names = [mode.label(n) for n in shown.tolist()] + [f"and {left_out:,} more"] * (left_out > 0)
        ax.set_yticks(range(len(names)), names, fontsize=POINTS)
        ax.set(xscale="log", ylim=(most + 0.6, -0.6))
        ax.tick_params(labelsize=POINTS, length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.set_title(mode.name, fontsize=POINTS + 1)
    figure.supxlabel("activity without any component", fontsize=POINTS)
    return figure
