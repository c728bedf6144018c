"""Pictures of cells: the data next to the predictions, slice by slice, and the cells of each component.

The two largest modes are the rows and columns of a picture; each combination of the others has its own slice.
Modes with too many indices for a page are thinned evenly, in the order of their strongest component, so that
each component keeps its share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import FittedMode, read_modes
from tensorm.tensors.protocol import MISSING, Tensor

Index = npt.NDArray[np.intp]

SIDE, SLICES = 160, 24  # maximal rows and columns of a picture, and number of pictures
BLOCK_SIDE, BLOCK_CELLS = 60, 2**20  # the same for a component, and the cells that are averaged


class Slices(NamedTuple):
    """Pictures of the same rows and columns, one for each index (or pair of indices) of the other modes."""

    rows: int  # the mode
    columns: int
    row_indices: list[int]
    column_indices: list[int]
    titles: list[str]
    predicted: list[list[int]]  # for each picture P(x = 1) of its cells in percent, row by row
    data: list[list[int]] | None  # 0, 1 and -1 for missing
    complete: bool  # whether every cell is shown


class Block(NamedTuple):
    """A component's members as rows and columns, shaded by the share of ones over the other modes."""

    row_indices: list[int]
    column_indices: list[int]
    shares: list[int]  # in percent, -1 where no cell is observed
    complete: bool


def slice_cells(posterior: Posterior, tensor: Tensor | None) -> Slices:
    """Return pictures of all slices, or of some rows, columns and slices of a large tensor."""
    modes, (rows, columns) = read_modes(posterior), _sides(posterior.shape)
    others = [k for k in range(len(posterior.shape)) if k not in (rows, columns)]
    most = {rows: SIDE, columns: SIDE} | {k: max(2, int(SLICES ** (1 / len(others)))) for k in others}
    orders = [np.argsort(mode.strongest(), kind="stable") for mode in modes]
    indices = [np.sort(thin(order, most[k])) for k, order in enumerate(orders)]
    place = [*others, rows, columns]
    predicted = np.rint(100 * posterior.predict_part(indices)).astype(int).transpose(place)
    data = None if tensor is None else tensor.read_cells(indices).transpose(place)
    where = list(np.ndindex(*(len(indices[k]) for k in others)))
    return Slices(
        rows=rows,
        columns=columns,
        row_indices=indices[rows].tolist(),
        column_indices=indices[columns].tolist(),
        titles=[
            ", ".join(_title(modes[k], indices[k][n]) for k, n in zip(others, at, strict=True))
            for at in where
        ],
        predicted=[predicted[at].ravel().tolist() for at in where],
        data=None if data is None else [data[at].ravel().tolist() for at in where],
        complete=all(len(index) == size for index, size in zip(indices, posterior.shape, strict=True)),
    )


def component_cells(posterior: Posterior, tensor: Tensor | None, component: int) -> Block | None:
    """Return the cells of a component, observed or predicted; None if it is empty."""
    modes, (rows, columns) = read_modes(posterior), _sides(posterior.shape)
    others = [k for k in range(len(posterior.shape)) if k not in (rows, columns)]
    room = int((BLOCK_CELLS / BLOCK_SIDE**2) ** (1 / max(1, len(others))))
    members = [np.sort(mode.members(component)) for mode in modes]
    if not all(len(index) for index in members):
        return None
    indices = [thin(index, BLOCK_SIDE if k in (rows, columns) else room) for k, index in enumerate(members)]
    if tensor is None:
        shares = posterior.predict_part(indices).mean(axis=tuple(others))
    else:
        cells = tensor.read_cells(indices)
        seen = (cells != MISSING).sum(axis=tuple(others))
        ones = (cells == 1).sum(axis=tuple(others))
        shares = np.where(seen > 0, ones / np.maximum(seen, 1), MISSING / 100)
    return Block(
        row_indices=indices[rows].tolist(),
        column_indices=indices[columns].tolist(),
        shares=np.rint(100 * shares).astype(int).ravel().tolist(),
        complete=all(len(index) == len(whole) for index, whole in zip(indices, members, strict=True)),
    )


def thin(order: Index, most: int) -> Index:
    """Return at most this many indices, evenly spread over their order."""
    return order[np.linspace(0, len(order) - 1, min(len(order), most)).astype(np.intp)]


def _title(mode: FittedMode, n: int) -> str:
    """Return the names of a mode and its index, or only the latter if it begins with the former."""
    label = mode.label(n)
    return label if label.lower().startswith(mode.name.lower()) else f"{mode.name} {label}"


def _sides(shape: Sequence[int]) -> tuple[int, int]:
    """Return the two largest modes, in their own order; of equal ones the last."""
    first, second = sorted(sorted(range(len(shape)), key=lambda k: (shape[k], k))[-2:])
    return first, second
