"""Components and the metadata of their members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tensorm.data.checks import check_number
from tensorm.errors import InputError
from tensorm.posterior.align import MEMBER
from tensorm.posterior.draws import Posterior
from tensorm.report.associations import Pair, associate
from tensorm.report.metadata import Metadata
from tensorm.report.plots.style import COLOURS, LINE, POINTS, name_axes, new_axes, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = {0: "o", 1: "^", -1: "v"}  # by direction
STRONGEST = 6.0  # -log10 q of the darkest shade


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
    groups = list(dict.fromkeys(_name(row) for row in sorted(associations.rows, key=lambda row: row.mode)))
    L = 1 + max(row.component for row in associations.rows)
    values = np.ma.masked_all((len(groups), L))
    for row in associations.rows:
        values[groups.index(_name(row)), row.component] = -np.log10(max(row.q, 10**-STRONGEST))
    ax = new_axes(ax, (1.8 + 0.28 * L, 0.9 + 0.2 * len(groups)))
    image = ax.imshow(values, cmap=shades(), vmin=0, vmax=STRONGEST, aspect="auto")
    for direction, mark in MARKS.items():
        marked = [row for row in associations.below(limit) if row.direction == direction]
        if marked:
            places = ([row.component for row in marked], [groups.index(_name(row)) for row in marked])
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
