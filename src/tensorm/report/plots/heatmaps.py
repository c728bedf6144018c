"""Heat maps: factors, with a row for each index and a column for each component, and slices of the cells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Indices
from tensorm.data.checks import as_array, check_choice, check_flag, check_index, check_mapping, check_mode
from tensorm.data.columns import is_calendar
from tensorm.errors import InputError
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import FittedMode, GroupsByMode, of_posterior
from tensorm.report.naming import ORDERED, touches
from tensorm.report.page.cells import pairs_of
from tensorm.report.plots.style import (
    FONT_SIZE,
    GREY,
    MIN_FONT_SIZE,
    add_colour_bar,
    drawn_modes,
    new_axes,
    new_figure,
    shade,
)
from tensorm.tensors.protocol import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BY_COMPONENT, AUTO_ORDER, AS_GIVEN = "component", "auto", "given"
ORDERED_LABEL = re.compile(r"[\d\s.,:/+-]+")  # numbers, clocks and dates


@of_posterior
def plot_factor(
    posterior: Posterior,
    mode: str | int,
    ax: Axes | None = None,
    groups: npt.ArrayLike | None = None,
    colorbar: bool = True,
    order: npt.ArrayLike | str = AUTO_ORDER,
) -> Axes:
    """Draw the posterior means of a mode's factor: a row for each index, a column for each component.

    Parameters
    ----------
    posterior : Posterior
    mode : str or int
        Name or number of the mode.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    groups : array (N_k,), optional
        The group of each index, such as a person's role. Rows are then arranged by group, in order of
        appearance, and the groups are named.
    colorbar : bool, default True
        Whether to add a colour bar.
    order : array (N_k,), "auto", "component" or "given", default "auto"
        How to order rows within groups: by a value for each index, such as a person's age; by each index's
        most probable component; or as in the data. "auto" means as in the data if labels are numbers, times
        or intervals, and else by component.

    Returns
    -------
    matplotlib Axes
    """
    k = check_mode(mode, posterior.modes)
    part = drawn_modes(posterior, None if groups is None else {k: groups})[k]
    rows = _arrange(part, order)
    ax = new_axes(ax)
    image = _draw(ax, part, rows)
    ax.set_xlabel("component", fontsize=FONT_SIZE)
    if check_flag("colorbar", colorbar):
        add_colour_bar(image, ax)
    return ax


@of_posterior
def plot_factors(
    posterior: Posterior,
    groups: GroupsByMode | None = None,
    order: Mapping[Any, npt.ArrayLike] | str = AUTO_ORDER,
) -> Figure:
    """Draw the factors of all modes side by side.

    Parameters
    ----------
    posterior : Posterior
    groups : mapping, optional
        For some modes, by name or number, an array with the group of each index;
        ``tensorm.report.metadata.groups_of`` reads them from tables.
    order : mapping, "auto", "component" or "given", default "auto"
        For some modes, how to order rows, as for ``plot_factor``; or one word for all.

    Returns
    -------
    matplotlib Figure
    """
    modes = drawn_modes(posterior, groups)
    wanted = order if isinstance(order, Mapping) else dict.fromkeys(range(len(modes)), order)
    orders = {check_mode(mode, posterior.modes): values for mode, values in wanted.items()}
    rows = [_arrange(mode, orders.get(k, AUTO_ORDER)) for k, mode in enumerate(modes)]
    for i, j in pairs_of(modes):  # one order for both, so that the names of one serve both
        given = [orders.get(k, AUTO_ORDER) for k in (i, j)]
        if all(isinstance(order, str) for order in given) and given[0] == given[1]:
            rows[j] = rows[i]
    N, L = max(len(mode.means) for mode in modes), modes[0].means.shape[1]
    width, height = min(max(1.6, 0.22 * L), 3.0), min(max(2.8, 0.16 * N), 4.8)
    figure = new_figure(((width + 0.7) * len(modes) + 0.6, height))
    axes = figure.subplots(1, len(modes), squeeze=False)[0]
    names: tuple[Any, Any] | None = None
    for ax, mode, index in zip(axes, modes, rows, strict=True):
        image, before = _draw(ax, mode, index), names
        known = None if mode.groups is None else mode.groups[index].tolist()
        names = None if mode.labels is None else (mode.labels[index].tolist(), known)
        if names is not None and names == before:  # the names of the factor before serve both
            ax.set_yticks([])
    figure.supxlabel("component", fontsize=FONT_SIZE)
    add_colour_bar(image, list(axes))
    return figure


def _draw(ax: Axes, mode: FittedMode, order: Indices) -> Any:
    """Draw one mode with rows in this order, and return its image."""
    N, L = mode.means.shape
    image = shade(ax, mode.means[order])
    ax.set_title(mode.name, fontsize=FONT_SIZE + 2)
    ax.set_xticks(range(0, L, -(-L // 16)))
    for edge in range(1, L):
        ax.axvline(edge - 0.5, color=GREY, linewidth=0.4)
    room = ax.get_window_extent().height * 72 / ax.figure.dpi / N  # points for each row
    labels = [mode.label(n) for n in order]
    if room >= MIN_FONT_SIZE:
        ax.set_yticks(range(N), labels, fontsize=min(FONT_SIZE, room))
        for edge in range(1, N):
            ax.axhline(edge - 0.5, color=GREY, linewidth=0.4)
    elif mode.groups is None:
        step = int(np.ceil(2 * FONT_SIZE / room))
        ax.set_yticks(range(0, N, step), labels[::step])
    if mode.groups is not None:
        _name_groups(ax, mode.groups[order], room)
    return image


def has_order(mode: FittedMode) -> bool:
    """Whether the labels of a mode are in an order of their own: numbers, times, intervals, or no labels."""
    if mode.labels is None or mode.labels.dtype.kind in ORDERED:
        return True
    texts = [mode.label(n) for n in range(len(mode.means))]
    if is_calendar(texts):
        return True
    clear = sum(ORDERED_LABEL.fullmatch(text) is not None for text in texts)
    return 2 * max(clear, sum(touches(*both) for both in pairwise(texts))) > len(texts)


def _arrange(mode: FittedMode, order: npt.ArrayLike | str) -> Indices:
    """Return the indices group by group, groups in the order of their first index, ordered within groups."""
    N = len(mode.means)
    if isinstance(order, str) and order == AUTO_ORDER:
        order = AS_GIVEN if has_order(mode) else BY_COMPONENT
    if isinstance(order, str) and order in (AS_GIVEN, BY_COMPONENT):
        values = np.arange(N) if order == AS_GIVEN else mode.strongest()
    else:
        values = as_array(f"order for {mode.name!r}", order)
    if values.shape != (N,):
        raise InputError(
            f"order for {mode.name!r} has shape {values.shape}; give ({N},), a value for each index, "
            f"{AUTO_ORDER!r}, {BY_COMPONENT!r} or {AS_GIVEN!r}."
        )
    try:
        rows = np.argsort(values, kind="stable")
    except TypeError:
        raise InputError(
            f"order for {mode.name!r} mixes strings and numbers; give only one of them."
        ) from None
    if mode.groups is None:
        return rows
    _, first, number = np.unique(mode.groups, return_index=True, return_inverse=True)
    return rows[np.argsort(first[number][rows], kind="stable")]


def _name_groups(ax: Axes, groups: npt.NDArray[np.str_], room: float) -> None:
    """Draw lines between groups and name them: in place of the rows, or to the right of named rows."""
    edges = [0, *(np.flatnonzero(groups[1:] != groups[:-1]) + 1), len(groups)]
    for edge in edges[1:-1]:
        ax.axhline(edge - 0.5, color="0.35", linewidth=0.7)
    middles = {(start + stop - 1) / 2: str(groups[start]) for start, stop in pairwise(edges)}
    fitting: dict[float, str] = {}
    for at, name in middles.items():
        if not fitting or (at - max(fitting)) * room >= 1.2 * FONT_SIZE:  # clear of the name above
            fitting[at] = name
    if room < MIN_FONT_SIZE:
        ax.set_yticks(list(fitting), list(fitting.values()))
        return
    for at, name in fitting.items():
        ax.annotate(
            name, (1, at), (4, 0), ax.get_yaxis_transform(), "offset points", va="center", fontsize=FONT_SIZE
        )


@of_posterior
def plot_slice(
    posterior: Posterior,
    at: Mapping[Any, Any] | None = None,
    X: Any = None,
    ax: Axes | None = None,
    colorbar: bool = True,
    order: str = AUTO_ORDER,
) -> Axes:
    """Draw the cells of two modes at one index of each other mode.

    Parameters
    ----------
    posterior : Posterior
    at : mapping, optional
        For all modes but two, by name or number, an index or its label, such as ``{"hour": "09-10"}``. By
        default the two largest modes are drawn, at those indices of the others at which components predict
        most ones.
    X : array-like or tensor, optional
        Data to draw instead of predictions; missing cells are grey.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    colorbar : bool, default True
        Whether to add a colour bar.
    order : "auto", "component" or "given", default "auto"
        How to order rows and columns, as for ``plot_factor``.

    Returns
    -------
    matplotlib Axes
    """
    check_choice("order", order, (AUTO_ORDER, BY_COMPONENT, AS_GIVEN))
    modes, fixed = drawn_modes(posterior), _find(posterior, at)
    rows, columns = (k for k in range(len(modes)) if k not in fixed)
    indices = [
        np.arange(N) if k not in fixed else np.array([fixed[k]]) for k, N in enumerate(posterior.shape)
    ]
    if X is None:
        cells = np.ma.array(posterior.predict_part(indices))
    else:
        cells = np.ma.masked_equal(posterior.check_tensor(X).read_cells(indices), MISSING)
    orders = [_arrange(modes[k], order) for k in (rows, columns)]
    if (rows, columns) in pairs_of(modes):
        orders[1] = orders[0]
    ax = new_axes(ax)
    image = shade(ax, cells.reshape(posterior.shape[rows], posterior.shape[columns])[np.ix_(*orders)])
    _name_ticks(ax.yaxis, modes[rows], orders[0], ax.get_window_extent().height * 72 / ax.figure.dpi)
    _name_ticks(ax.xaxis, modes[columns], orders[1], ax.get_window_extent().width * 72 / ax.figure.dpi)
    ax.tick_params(axis="x", rotation=90)
    ax.set_title(
        ", ".join(f"{modes[k].name} {modes[k].label(n)}" for k, n in fixed.items()), fontsize=FONT_SIZE + 1
    )
    if check_flag("colorbar", colorbar):
        add_colour_bar(image, ax, "probability" if X is None else "cell")
    return ax


@of_posterior
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
    figure = new_figure((8.4, 3.9))
    left, right = figure.subplots(1, 2, sharey=True)
    plot_slice(posterior, at, tensor, left, colorbar=False)
    plot_slice(posterior, at, None, right, colorbar=False)
    right.tick_params(labelleft=False)
    right.set_ylabel("")
    where = left.get_title()
    for ax, name in ((left, "data"), (right, "reconstruction")):
        ax.set_title(name, fontsize=FONT_SIZE + 1)
    figure.suptitle(where, fontsize=FONT_SIZE + 2)
    add_colour_bar(right.get_images()[0], [left, right])
    return figure


def _find(posterior: Posterior, at: Mapping[Any, Any] | None) -> dict[int, int]:
    """Return the fixed index of each mode in ``at``, or raise unless two modes remain."""
    if at is None:
        return _find_fullest(posterior)
    fixed = {}
    for mode, index in check_mapping(
        "at", at, "an index for some modes, such as {0: 3} for index 3 of mode 0"
    ).items():
        k = check_mode(mode, posterior.modes)
        fixed[k] = check_index(index, posterior.modes[k], posterior.shape[k], posterior.labels[k])
    left = len(posterior.shape) - len(fixed)
    if left != 2:
        known = ", ".join(map(repr, posterior.modes))
        raise InputError(
            f"at names {len(fixed)} of the modes {known}; give an index for {len(posterior.shape) - 2} of "
            "them, so that two remain to be drawn."
        )
    return fixed


def _find_fullest(posterior: Posterior) -> dict[int, int]:
    """Return the indices of all but the two largest modes in which components cover most cells."""
    kept = sorted(range(len(posterior.shape)), key=lambda k: -posterior.shape[k])[:2]
    others = [k for k in range(len(posterior.shape)) if k not in kept]
    area = np.prod([posterior.factors[k].sum(axis=0) for k in kept], axis=0)  # of each component
    fixed: dict[int, int] = {}
    for k in others:
        fixed[k] = int((posterior.factors[k] @ area).argmax())
        area = area * posterior.factors[k][fixed[k]]
    return fixed


def _name_ticks(axis: Any, mode: FittedMode, order: Indices, room: float) -> None:
    """Name as many indices as there is room for, in points."""
    step = int(np.ceil(1.3 * MIN_FONT_SIZE * len(mode.means) / room))
    places = range(0, len(mode.means), step)
    axis.set_ticks(places, [mode.label(order[n]) for n in places], fontsize=MIN_FONT_SIZE)
    axis.set_label_text(mode.name, fontsize=FONT_SIZE)
