"""What all pictures share: colours, sizes of letters, and matplotlib itself, which only pictures need."""

from __future__ import annotations

from typing import Any

COLOURS = ("#ffffff", "#88a4cf", "#1d4f91")  # lightness falls in even steps: reads the same in grey
CHAINS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#555f6b")  # told apart by all
LINE = "0.75"
MISSING = "0.85"
POINTS = 8.0  # size of the largest label; smaller ones down to SMALLEST, then some are left out
SMALLEST = 6.0


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``, or raise and say how to get it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib; get it by: pip install 'tensorm[plot]'") from error
    return pyplot


def new_axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """Return the Axes that were given, or those of a new figure."""
    return pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def shades() -> Any:
    """Return the colour map of probabilities; missing cells are grey."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("probability", COLOURS).with_extremes(bad=MISSING)


def explain(image: Any, ax: Any, text: str = "probability") -> None:
    """Add a bar that says which shade is which number."""
    bar = image.figure.colorbar(image, ax=ax, fraction=0.04, shrink=0.4, aspect=14, ticks=[0, 0.5, 1])
    bar.set_label(text, fontsize=POINTS)
    bar.ax.tick_params(labelsize=POINTS, length=0)
    bar.outline.set_edgecolor(LINE)


def name_axes(ax: Any, x: str, y: str) -> None:
    """Name both axes, in letters of one size."""
    ax.set_xlabel(x, fontsize=POINTS)
    ax.set_ylabel(y, fontsize=POINTS)
    ax.tick_params(labelsize=POINTS)
