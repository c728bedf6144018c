"""What all pictures share: colours, font sizes, and matplotlib itself, imported only when needed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tensorm.data.checks import short
from tensorm.errors import InputError, PackageError
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import FittedMode, GroupsByMode, list_modes

COLOURS = ("#ffffff", "#88a4cf", "#1d4f91")  # equal steps in lightness, so readable in greyscale
GREY = "0.75"  # of lines and frames
MISSING_GREY = "0.85"
FONT_SIZE = 8.0  # crowded labels shrink to MIN_FONT_SIZE, then some are left out
MIN_FONT_SIZE = 6.0


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``, or raise and say how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        wanted = 'install it with: pip install "tensorm[plot]"'
        raise PackageError(f"Plots need matplotlib; {wanted}.") from error
    return pyplot


def new_axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """Return the given Axes, or those of a new figure."""
    if ax is None:
        return pyplot().subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, pyplot().Axes):
        raise InputError(f"ax is {short(ax)}; give matplotlib Axes, or leave it out.")
    return ax


def new_figure(size: tuple[float, float]) -> Any:
    """Return a new figure, which notebooks show once.

    A figure that ends a cell is its result, and Jupyter also shows every open figure at the end of a cell.
    """
    figure = pyplot().figure(figsize=size, layout="constrained")
    figure._ipython_display_ = partial(_show_once, figure, [])
    return figure


def _show_once(figure: Any, shown: list[bool]) -> None:
    """Show nothing if an open figure was shown before; Jupyter closes all at the end of a cell."""
    if not (shown and pyplot().fignum_exists(figure.number)):
        shown.append(True)
        raise NotImplementedError  # Jupyter then shows it as it does other figures


def drawn_modes(posterior: Posterior, groups: GroupsByMode | None = None) -> list[FittedMode]:
    """Return every mode of a fit with names that matplotlib does not take for formulas."""
    return [
        mode._replace(
            name=plain(mode.name),
            labels=None
            if mode.labels is None
            else np.array([plain(mode.label(n)) for n in range(len(mode.means))]),
            groups=None if mode.groups is None else np.array([plain(group) for group in mode.groups]),
        )
        for mode in list_modes(posterior, groups)
    ]


def plain(text: str) -> str:
    """Return a text that matplotlib draws as it is, dollar signs too."""
    return text.replace("$", r"\$")


def shades() -> Any:
    """Return the colour map of probabilities; missing cells are grey."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("probability", COLOURS).with_extremes(bad=MISSING_GREY)


def shade(ax: Any, values: Any, largest: float = 1.0) -> Any:
    """Draw a table of numbers from 0 to ``largest`` as a heat map in a thin frame, and return its image."""
    image = ax.imshow(values, cmap=shades(), vmin=0, vmax=largest, aspect="auto", interpolation="nearest")
    ax.tick_params(length=0, labelsize=FONT_SIZE)
    for spine in ax.spines.values():
        spine.set_color(GREY)
    return image


def add_colour_bar(image: Any, ax: Any, text: str = "probability", **how: Any) -> None:
    """Add a colour bar; by default a short one, for probabilities."""
    how = how or {"shrink": 0.4, "ticks": [0, 0.5, 1]}
    bar = image.figure.colorbar(image, ax=ax, fraction=0.04, aspect=14, **how)
    bar.set_label(text, fontsize=FONT_SIZE)
    bar.ax.tick_params(labelsize=FONT_SIZE, length=0)
    bar.outline.set_edgecolor(GREY)


def name_axes(ax: Any, x: str, y: str) -> None:
    """Label both axes, in one font size."""
    ax.set_xlabel(x, fontsize=FONT_SIZE)
    ax.set_ylabel(y, fontsize=FONT_SIZE)
    ax.tick_params(labelsize=FONT_SIZE)
