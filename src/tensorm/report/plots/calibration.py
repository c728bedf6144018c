"""Calibration: whether cells with a probability of 0.3 are 1 in three of ten cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Bits, Floats
from tensorm.data.checks import check_count
from tensorm.errors import InputError
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import of_posterior
from tensorm.posterior.stacking import sample_cells
from tensorm.report.plots.style import COLOURS, GREY, MIN_FONT_SIZE, name_axes, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLEAR = 0.08  # of the width of the picture, between two numbers
MAX_COMPARED = 200_000  # cells


class CalibrationBin(NamedTuple):
    """Cells with similar probabilities.

    Attributes
    ----------
    predicted, observed : float
        Mean probability, and share of ones.
    low, high : float
        90% interval of the share, given the number of cells.
    cells : int
    """

    predicted: float
    observed: float
    low: float
    high: float
    cells: int


def bin_cells(p: Floats, ones: Bits, weights: Floats, n_bins: int) -> list[CalibrationBin]:
    """Return bins with about the same number of expected ones or zeros, whichever are rarer.

    Equal widths would put nearly all cells of sparse data into one bin; equal numbers of cells would put
    nearly all ones into one. ``weights`` say how many cells each stands for.
    """
    from scipy.stats import beta

    order = np.argsort(p, kind="stable")
    p, ones, weights = p[order], ones[order], weights[order]
    rarer = np.cumsum(weights * (np.minimum(p, 1 - p) + 1e-9))
    numbers = np.minimum((n_bins * rarer / rarer[-1]).astype(int), n_bins - 1)
    numbers = numbers[np.searchsorted(p, p)]  # equal probabilities share a bin
    found = []
    for number in np.unique(numbers):
        inside = numbers == number
        w, total = weights[inside], float(weights[inside].sum())
        share, n = float(w @ ones[inside]) / total, total**2 / float(w @ w)
        low, high = beta.ppf([0.05, 0.95], n * share + 0.5, n * (1 - share) + 0.5)
        mean = float(w @ p[inside]) / total
        found.append(CalibrationBin(mean, share, float(low), float(high), round(total)))
    return found


@of_posterior
def plot_calibration(posterior: Posterior, X: Any, ax: Axes | None = None, n_bins: int = 10) -> Axes:
    """Draw the share of ones among cells by their predicted probability.

    Parameters
    ----------
    posterior : Posterior
    X : array-like or tensor
        Cells to compare with; best those that the fit has not seen, with all others missing.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    n_bins : int, default 10
        Number of bins; they have about the same number of expected ones, or of zeros if these are rarer.

    Returns
    -------
    matplotlib Axes
        A dot for each bin, with the 90% interval of its share of ones and the number of its cells. Dots on
        the diagonal are as predicted.
    """
    bins_wanted = check_count("n_bins", n_bins, 1, most=1000)
    sample = sample_cells(posterior.check_tensor(X), MAX_COMPARED)
    if not len(sample.indices[0]):
        raise InputError("X has no observed cell; give cells to compare with.")
    found = bin_cells(posterior.predict_cells(sample.indices), sample.ones, sample.weights, bins_wanted)
    ax = new_axes(ax, (3.8, 3.6))
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1)
    largest = max(one.high for one in found)
    top, named = min(1.0, 1.15 * max(largest, max(one.predicted for one in found))), -1.0
    for one in found:
        ax.plot([one.predicted] * 2, [one.low, one.high], color=COLOURS[1], linewidth=2)
        place: Any = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center"}
        if one.predicted - named < CLEAR * top:  # the number would cover the one before
            continue
        named = one.predicted
        ax.annotate(f"{one.cells:,}", (one.predicted, one.high), fontsize=MIN_FONT_SIZE, **place)
    dots = [(one.predicted, one.observed) for one in found]
    ax.plot(*zip(*dots, strict=True), "o", color=COLOURS[2], markersize=4)
    ax.set(xlim=(-0.02 * top, top), ylim=(-0.02 * top, top))
    name_axes(ax, "predicted probability", "share of ones (with numbers of cells)")
    return ax
