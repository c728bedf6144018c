"""Components: their members, what they explain, and the metadata of their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorm.data.checks import check_mode, check_number
from tensorm.errors import InputError, printable
from tensorm.posterior.align import MEMBER
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import FittedMode, find_component, of_posterior
from tensorm.report.associations import associate
from tensorm.report.export import summarise_parameter
from tensorm.report.metadata import Metadata
from tensorm.report.plots.style import (
    COLOURS,
    FONT_SIZE,
    GREY,
    add_colour_bar,
    drawn_modes,
    name_axes,
    new_axes,
    new_figure,
    plain,
    shade,
)
from tensorm.sampler.noise_model import ACTIVITY, STRENGTH
from tensorm.tensors.ranked import by_mode

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEARLY_CERTAIN = 0.99  # probability above which it is not written
LONGEST_LIST = 40  # members or indices shown before a list is cut short
DIRECTION_MARKS = {0: "o", 1: "^", -1: "v"}  # by direction
STRONGEST = 6.0  # -log10 q of the darkest shade


@of_posterior
def plot_members(
    posterior: Posterior,
    component: int,
    mode: str | int,
    ax: Axes | None = None,
    threshold: float = MEMBER,
    X: Any = None,
) -> Axes:
    """Draw the members of a component in one mode, with what they contribute to it.

    Parameters
    ----------
    posterior : Posterior
    component : int
        Its column in the factors.
    mode : str or int
        Name or number of the mode.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    threshold : float, default 0.5
        Members have a probability above this.
    X : array-like or tensor, optional
        The data, if the fit has not counted them: it is a part of another, or from an older file.

    Returns
    -------
    matplotlib Axes
        A bar for each member, the longest first and up to 40; the others are counted. It is the share of ones
        among the component's cells with this member, and its darker part those ones that no other component
        explains; where nothing was counted, it is the probability of membership. Probabilities up to 0.99 are
        written beside the names.
    """
    limit, l = check_number("threshold", threshold), find_component(posterior, component)
    k = check_mode(mode, posterior.modes)
    return _draw_members(ax, drawn_modes(_count(posterior, X))[k], l, limit)


def _count(posterior: Posterior, X: Any) -> Posterior:
    return posterior if X is None else posterior.measure(posterior.check_tensor(X))


def _draw_members(ax: Axes | None, part: FittedMode, l: int, limit: float) -> Axes:
    found = part.members(l, limit)
    length, dark = part.means, np.zeros_like(part.means)
    if part.shares is not None:
        length = np.maximum(part.shares.shown, 0) / 100
        dark = length * np.maximum(part.shares.own, 0) / 100
    shown, left_out = found[:LONGEST_LIST], max(0, len(found) - LONGEST_LIST)
    ax = new_axes(ax, (2.8, 0.6 + 0.17 * max(1, len(shown))))
    ax.barh(range(len(shown)), length[shown, l], height=0.55, color=COLOURS[1])
    ax.barh(range(len(shown)), dark[shown, l], height=0.55, color=COLOURS[2])
    p = part.means[shown, l]
    names = [
        part.label(n) + (f" ({q:.2f})" if q <= NEARLY_CERTAIN else "") for n, q in zip(shown, p, strict=True)
    ]
    if left_out:
        names.append(f"and {left_out:,} more")
    ax.set_yticks(range(len(names)), names, fontsize=FONT_SIZE)
    ax.set(xlim=(0, 1), ylim=(max(len(names), 1) - 0.4, -0.6))
    ax.set_xticks([0, 0.5, 1])
    ax.tick_params(labelsize=FONT_SIZE, length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_title(f"{part.name} ({len(shown) + left_out:,} of {len(part.means):,})", fontsize=FONT_SIZE + 1)
    return ax


@of_posterior
def plot_component(posterior: Posterior, component: int, threshold: float = MEMBER, X: Any = None) -> Figure:
    """Draw the members of a component, with a list for each mode.

    Parameters
    ----------
    posterior, component, threshold, X
        As for ``plot_members``.

    Returns
    -------
    matplotlib Figure
    """
    limit, l = check_number("threshold", threshold), find_component(posterior, component)
    posterior = _count(posterior, X)
    modes = drawn_modes(posterior)
    longest = max(len(mode.members(l, limit)[:LONGEST_LIST]) for mode in modes)
    height = 0.9 + 0.17 * max(1, longest + 1)
    figure = new_figure((2.4 * len(modes), height))
    axes = figure.subplots(1, len(modes), squeeze=False)[0]
    for k, ax in enumerate(axes):
        _draw_members(ax, modes[k], l, limit)
        ax.set_ylim(max(longest, 1) + 0.6, -0.6)
    figure.suptitle(f"component {l}", fontsize=FONT_SIZE + 2)
    told = "share of ones (dark: in no other component)"
    if not posterior.shares:
        told = "probability"
    figure.supxlabel(told, fontsize=FONT_SIZE)
    return figure


@of_posterior
def plot_contributions(posterior: Posterior, ax: Axes | None = None) -> Axes:
    """Draw what each component explains.

    Parameters
    ----------
    posterior : Posterior
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib Axes
        For each component a bar with the ones that only it explains and the ones it shares with others, and
        to the left the zeros that only it covers.
    """
    rows = posterior.contributions
    if not rows:
        raise InputError("This posterior has no contributions; use the posterior_ of a fitted model.")
    ax = new_axes(ax, (5.2, 0.8 + 0.22 * len(rows)))
    at, alone = [row.component for row in rows], np.array([row.alone for row in rows])
    shared = np.array([row.explained for row in rows]) - alone
    ax.barh(at, alone, height=0.7, color=COLOURS[2], label="ones, this component only")
    ax.barh(at, shared, left=alone, height=0.7, color=COLOURS[1], label="ones, shared with others")
    ax.barh(at, [-row.errors for row in rows], height=0.7, color=GREY, label="zeros, this component only")
    ax.axvline(0, color="0.35", linewidth=0.7)
    ax.set_yticks(at)
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")
    name_axes(ax, "observed cells", "component")
    ax.legend(fontsize=FONT_SIZE, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return ax


@of_posterior
def plot_associations(
    posterior: Posterior,
    metadata: Metadata,
    ax: Axes | None = None,
    q: float = 0.05,
    threshold: float = MEMBER,
) -> Axes:
    """Draw which components are associated with which groups or measurements.

    Parameters
    ----------
    posterior, metadata, threshold
        As for ``tensorm.report.associations.associate``.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    q : float, default 0.05
        Pairs with a q of at most this are marked: groups by a dot, measurements by a triangle that points up
        if the members' are larger than the others', and down if they are smaller.

    Returns
    -------
    matplotlib Axes
        A row for each group and each measurement, a column for each component; darker means smaller q.
    """
    limit, associations = check_number("q", q), associate(posterior, metadata, threshold)
    if not len(associations):
        raise InputError("metadata has nothing to test; give a table with groups or measurements.")
    groups = list(dict.fromkeys(row.name for row in sorted(associations.rows, key=lambda row: row.mode)))
    L = 1 + max(row.component for row in associations.rows)
    values = np.ma.masked_all((len(groups), L))
    for row in associations.rows:
        values[groups.index(row.name), row.component] = -np.log10(max(row.q, 10**-STRONGEST))
    ax = new_axes(ax, (1.8 + 0.28 * L, 0.9 + 0.2 * len(groups)))
    image = shade(ax, values, STRONGEST)
    for direction, mark in DIRECTION_MARKS.items():
        marked = [row for row in associations.below(limit) if row.direction == direction]
        if marked:
            places = ([row.component for row in marked], [groups.index(row.name) for row in marked])
            ax.plot(
                *places, mark, color="white", markersize=4, markeredgecolor=COLOURS[-1], markeredgewidth=0.6
            )
    ax.set_yticks(range(len(groups)), [plain(printable(name)) for name in groups])
    ax.set_xticks(range(0, L, -(-L // 16)))
    name_axes(ax, "component", "")
    add_colour_bar(image, ax, "-log10 q", shrink=1.0)
    return ax


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
    found = summarise_parameter(posterior, STRENGTH)
    at = np.arange(posterior.n_components)
    ax = new_axes(ax, (3.6, 0.8 + 0.22 * len(at)))
    ax.barh(at, found["mean"], height=0.6, color=COLOURS[1])
    ax.hlines(at, found["low"], found["high"], color=COLOURS[2], linewidth=1.5)
    ax.set(xlim=(0, 1))
    ax.set_yticks(at)
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    name_axes(ax, "strength (share of its cells that it makes 1)", "component")
    return ax


@of_posterior
def plot_activity(posterior: Posterior) -> Figure:
    """Draw the activity of each index outside the components, with a list for each mode.

    Parameters
    ----------
    posterior : Posterior
        Of a fit with ``noise="strengths"`` and ``background="activity"``.

    Returns
    -------
    matplotlib Figure
        For each mode a dot for each index, the most active first and up to 40, with a line for its 90%
        interval. 1 is the average of its mode; doubling the activity doubles the rate of ones where they are
        rare.
    """
    found = summarise_parameter(posterior, ACTIVITY)
    parts = zip(*(by_mode(found[name], posterior.shape) for name in ("mean", "low", "high")), strict=True)
    modes, most = drawn_modes(posterior), min(max(posterior.shape), LONGEST_LIST)
    size = 2.4 * len(modes), 0.9 + 0.17 * (most + 1)
    figure = new_figure(size)
    axes = figure.subplots(1, len(modes), squeeze=False, sharex=True)[0]
    for ax, mode, (mean, low, high) in zip(axes, modes, parts, strict=True):
        shown = np.argsort(-mean, kind="stable")[:LONGEST_LIST]
        at, left_out = np.arange(len(shown)), len(mean) - len(shown)
        ax.axvline(1, color=GREY, linewidth=0.7)
        ax.hlines(at, low[shown], high[shown], color=COLOURS[1], linewidth=1.5)
        ax.plot(mean[shown], at, "o", color=COLOURS[2], markersize=3)
        names = [mode.label(n) for n in shown.tolist()] + [f"and {left_out:,} more"] * (left_out > 0)
        ax.set_yticks(range(len(names)), names, fontsize=FONT_SIZE)
        ax.set(xscale="log", ylim=(most + 0.6, -0.6))
        ax.tick_params(labelsize=FONT_SIZE, length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.set_title(mode.name, fontsize=FONT_SIZE + 1)
    figure.supxlabel("activity outside the components", fontsize=FONT_SIZE)
    return figure
