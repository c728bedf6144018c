"""Components against what is known of their members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensorm.data.checks import check_number
from tensorm.errors import InputError
from tensorm.report.associations import Associations, Pair
from tensorm.report.plots.style import COLOURS, LINE, POINTS, name_axes, new_axes, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = {0: "o", 1: "^", -1: "v"}  # by direction
STRONGEST = 6.0  # -log10 q from which on a field is as dark as it gets


def plot_associations(associations: Associations, ax: Axes | None = None, q: float = 0.05) -> Axes:
    """Draw which components hold more of a group than chance would put there, or have larger numbers.

    Parameters
    ----------
    associations : Associations
        From ``associate``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    q : float, default 0.05
        Pairs with a q of at most this get a dot; for numbers, a triangle that points up where those of the
        members are larger than the others', and down where they are smaller.

    Returns
    -------
    matplotlib Axes
        A row for each group and each kind of numbers, a column for each component; the darker, the smaller q.
    """
    if not len(associations):
        raise InputError("associations holds no pairs; give what associate returns for a table with groups.")
    limit = check_number("q", q)
    groups = list(dict.fromkeys(_name(row) for row in sorted(associations.rows, key=lambda row: row.mode)))
    L = 1 + max(row.component for row in associations.rows)
    values = np.ma.masked_all((len(groups), L))
    for row in associations.rows:
        values[groups.index(_name(row)), row.component] = -np.log10(max(row.q, 10**-STRONGEST))
    ax = new_axes(ax, (1.8 + 0.28 * L, 0.9 + 0.2 * len(groups)))
    image = ax.imshow(values, cmap=shades(), vmin=0, vmax=STRONGEST, aspect="auto")
    for direction, mark in MARKS.items():
        sure = [row for row in associations.below(limit) if row.direction == direction]
        if sure:
            places = ([row.component for row in sure], [groups.index(_name(row)) for row in sure])
            ax.plot(
                *places, mark, color="white", markersize=4, markeredgecolor=COLOURS[-1], markeredgewidth=0.6
            )
    ax.set_yticks(range(len(groups)), groups)
    ax.set_xticks(range(0, L, -(-L // 16)))
    name_axes(ax, "component", "")
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_color(LINE)
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.04, aspect=14)
    bar.set_label("-log10 q", fontsize=POINTS)
    bar.ax.tick_params(labelsize=POINTS, length=0)
    bar.outline.set_edgecolor(LINE)
    return ax


def _name(row: Pair) -> str:
    return f"{row.mode}, {row.topic}"
