"""Slices of a tensor: the cells, and the probability that each is 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorm.data.checks import check_index
from tensorm.errors import InputError
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import FittedMode, find_mode, read_modes
from tensorm.report.plots.style import LINE, POINTS, SMALLEST, explain, new_axes, pyplot, shades
from tensorm.tensors.protocol import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_slice(
    posterior: Posterior,
    at: Mapping[Any, Any] | None = None,
    X: Any = None,
    ax: Axes | None = None,
    colorbar: bool = True,
) -> Axes:
    """Draw the cells of two modes at one index of each other mode.

    Parameters
    ----------
    posterior : Posterior
    at : mapping
        For all modes but two, by name or number, an index or its label, such as ``{"hour": "09-10"}``; not
        needed for a matrix.
    X : array-like or tensor, optional
        Data to draw instead of predictions; missing cells are grey.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    colorbar : bool, default True
        Whether to add a colour bar.

    Returns
    -------
    matplotlib Axes
    """
    modes, fixed = read_modes(posterior), _find(posterior, at)
    rows, columns = (k for k in range(len(modes)) if k not in fixed)
    indices = [
        np.arange(N) if k not in fixed else np.array([fixed[k]]) for k, N in enumerate(posterior.shape)
    ]
    if X is None:
        cells = np.ma.array(posterior.take(indices).predict_all())
    else:
        cells = np.ma.masked_equal(posterior.check_tensor(X).read_cells(indices), MISSING)
    ax = new_axes(ax)
    image = ax.imshow(
        cells.reshape(posterior.shape[rows], posterior.shape[columns]),
        cmap=shades(),
        vmin=0,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
    )
    _name_ticks(ax.yaxis, modes[rows], ax.get_window_extent().height * 72 / ax.figure.dpi)
    _name_ticks(ax.xaxis, modes[columns], ax.get_window_extent().width * 72 / ax.figure.dpi)
    ax.tick_params(axis="x", rotation=90)
    for spine in ax.spines.values():
        spine.set_color(LINE)
    ax.set_title(
        ", ".join(f"{modes[k].name} {modes[k].label(n)}" for k, n in fixed.items()), fontsize=POINTS + 1
    )
    if colorbar:
        explain(image, ax, "probability" if X is None else "cell")
    return ax


def plot_reconstruction(posterior: Posterior, X: Any, at: Mapping[Any, Any] | None = None) -> Figure:
    """Draw a slice of the data next to the probability that each of its cells is 1.

    Parameters
    ----------
    posterior, at
        As for ``plot_slice``.
    X : array-like or tensor
        The data.

    Returns
    -------
    matplotlib Figure
    """
    _find(posterior, at)
    tensor = posterior.check_tensor(X)
    figure = pyplot().figure(figsize=(8.4, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    plot_slice(posterior, at, tensor, left, colorbar=False)
    plot_slice(posterior, at, None, right, colorbar=False)
    right.tick_params(labelleft=False)
    right.set_ylabel("")
    where = left.get_title()
    for ax, name in ((left, "data"), (right, "reconstruction")):
        ax.set_title(name, fontsize=POINTS + 1)
    figure.suptitle(where, fontsize=POINTS + 2)
    explain(right.get_images()[0], [left, right])
    return figure


def _find(posterior: Posterior, at: Mapping[Any, Any] | None) -> dict[int, int]:
    """Return the fixed index of each mode in ``at``, or raise unless two modes remain."""
    fixed = {}
    if at is not None and not isinstance(at, Mapping):
        raise InputError(
            f"at is of type {type(at).__name__}; give a dict of mode and index, such as {{0: 3}}."
        )
    for mode, index in (at or {}).items():
        k = find_mode(posterior, mode)
        fixed[k] = check_index(index, posterior.modes[k], posterior.shape[k], posterior.labels[k])
    left = len(posterior.shape) - len(fixed)
    if left != 2:
        known = ", ".join(map(repr, posterior.modes))
        raise InputError(
            f"at names {len(fixed)} of the modes {known}; give an index for {len(posterior.shape) - 2} of "
            "them, so that two remain to be drawn."
        )
    return fixed


def _name_ticks(axis: Any, mode: FittedMode, room: float) -> None:
    """Name as many indices as there is room for, in points."""
    step = int(np.ceil(1.3 * SMALLEST * len(mode.means) / room))
    places = range(0, len(mode.means), step)
    axis.set_ticks(places, [mode.label(n) for n in places], fontsize=SMALLEST)
    axis.set_tick_params(length=0)
    axis.set_label_text(mode.name, fontsize=POINTS)
