"""Cells for the page: the data beside predictions, each component's cells, unknown ones and surprises.

Nothing here costs by the volume of the tensor. Pictures and components are read in parts of limited size:
modes with too many indices are thinned evenly, in the order of the component that an index belongs to first,
so that each component keeps its share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Array, Floats, Indices, Keys
from tensorm.data.coordinates import key_of
from tensorm.posterior.align import MEMBER
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import FittedMode, list_modes
from tensorm.posterior.stacking import sample_cells
from tensorm.tensors.protocol import MISSING, Tensor

SIDE = 160  # maximal rows and columns of a picture
MAX_SLICES, MAX_SLICE_CELLS = 200, 2**17  # pictures, and cells of all
MAX_NETWORK_CELLS = 2**20  # that are counted
MAX_BOX_SIDE, MAX_BOX_CELLS = 60, 2**18  # of a component's picture, and cells that are read of it
MANY_COMPONENTS = 30  # beyond which their pictures are smaller
RANKED_CELLS, RANKING_DRAWS = 4096, 32  # cells of a component that are ranked by a few draws
MAX_UNKNOWN, MIN_PER_INDEX, MAX_PER_INDEX = 12_000, 2, 8  # unknown cells in all, and for each index
SAMPLED, SURPRISES = 20_000, 100  # cells looked at, and ones and zeros listed
MIN_RESIDUAL, MAX_RESIDUALS = 3, 100  # standard errors between ones and expected ones, and labels listed


class Box(NamedTuple):
    """The cells of a component: its members along each mode, thinned if there are many, and what they are."""

    indices: list[Indices]
    cells: npt.NDArray[np.int8] | None  # 0, 1 and MISSING; None without data
    complete: bool


def slice_cells(posterior: Posterior, tensor: Tensor | None, homes: Sequence[Indices]) -> dict[str, Any]:
    """Return pictures of the same rows and columns, one for each index (or pair of indices) of other modes.

    The two largest modes are rows and columns. ``predicted`` has for each picture P(x = 1) in percent, row by
    row, ``data`` 0 or 100, and -1 for missing. With other modes, the first picture is the mean of the rest.
    """
    modes, (rows, columns) = list_modes(posterior), _sides(posterior.shape)
    others = [k for k in range(len(posterior.shape)) if k not in (rows, columns)]
    room = MAX_SLICE_CELLS // math.prod(min(posterior.shape[k], SIDE) for k in (rows, columns))
    sizes = [SIDE if k in (rows, columns) else posterior.shape[k] for k in range(len(posterior.shape))]
    while math.prod(sizes[k] for k in others) > min(MAX_SLICES, room):
        sizes[max(others, key=sizes.__getitem__)] -= 1
    orders = [np.argsort(home, kind="stable") for home in homes]
    indices = [np.sort(thin(order, size)) for order, size in zip(orders, sizes, strict=True)]
    place = [*others, rows, columns]
    flat = -1, len(indices[rows]) * len(indices[columns])
    predicted = (100 * posterior.predict_part(indices)).transpose(place).reshape(flat)
    data = None if tensor is None else tensor.read_cells(indices).transpose(place).reshape(flat)
    titles = [
        ", ".join(_title(modes[k], indices[k][n]) for k, n in zip(others, at, strict=True))
        for at in np.ndindex(*(len(indices[k]) for k in others))
    ]
    complete = [len(index) == size for index, size in zip(indices, posterior.shape, strict=True)]
    whole = all(complete[k] for k in others)
    if others:
        titles.insert(0, f"mean of {'all' if whole else 'these'} {len(titles):,} slices")
    return {
        "rows": rows,
        "columns": columns,
        "row_indices": indices[rows].tolist(),
        "column_indices": indices[columns].tolist(),
        "titles": titles,
        "predicted": _with_mean(predicted, bool(others)),
        "data": None if data is None else _with_mean(np.where(data == 1, 100, data), bool(others)),
        "complete": all(complete),
    }


def _with_mean(pictures: Array, several: bool) -> list[list[int]]:
    """Return pictures in whole percent, their mean over what is not missing first."""
    shown = list(pictures)
    if several:
        seen = (pictures >= 0).sum(axis=0)
        total = np.where(pictures >= 0, pictures, 0).sum(axis=0)
        shown.insert(0, np.where(seen > 0, total / np.maximum(seen, 1), MISSING))
    return [np.rint(picture).astype(int).tolist() for picture in shown]


def weigh_pairs(
    posterior: Posterior, tensor: Tensor | None, pair: tuple[int, int], home: Indices
) -> dict[str, Any]:
    """Return for each two indices of a pair of modes how often they have a one, in percent.

    ``at`` are the indices, thinned if there are many; ``shares`` has the first with all that follow, then the
    second and so on. Of the two directions the one with more ones counts, of the other modes the mean.
    """
    at = np.sort(thin(np.argsort(home, kind="stable"), SIDE))
    sizes = [len(at) if k in pair else size for k, size in enumerate(posterior.shape)]
    while math.prod(sizes) > MAX_NETWORK_CELLS:
        sizes[max((k for k in range(len(sizes)) if k not in pair), key=sizes.__getitem__)] //= 2
    indices = [at if k in pair else thin(np.arange(posterior.shape[k]), size) for k, size in enumerate(sizes)]
    rest = tuple(k for k in range(len(sizes)) if k not in pair)
    if tensor is None:
        shares = posterior.predict_part(indices).mean(axis=rest)
    else:
        cells = tensor.read_cells(indices)
        shares = (cells == 1).sum(axis=rest) / np.maximum((cells != MISSING).sum(axis=rest), 1)
    most = np.maximum(shares, shares.T)[np.triu_indices(len(at), 1)]
    return {"at": at.tolist(), "shares": np.rint(100 * most).astype(int).tolist()}


def read_box(posterior: Posterior, tensor: Tensor | None, component: int) -> Box | None:
    """Return the cells of a component, or None if it is empty."""
    members = [np.flatnonzero(mean[:, component] > MEMBER) for mean in posterior.factors]
    if not all(map(len, members)):
        return None
    sizes = [len(index) for index in members]
    while math.prod(sizes) > MAX_BOX_CELLS:
        sizes[int(np.argmax(sizes))] -= max(1, max(sizes) // 20)
    indices = [thin(index, size) for index, size in zip(members, sizes, strict=True)]
    cells = None if tensor is None else tensor.read_cells(indices)
    return Box(indices, cells, sizes == [len(index) for index in members])


def picture_box(posterior: Posterior, box: Box) -> dict[str, Any]:
    """Return for every two modes the share of ones among a component's cells, in percent, -1 if unknown.

    ``pairs`` has a list for each two modes, row by row; ``at`` says which members are shown.
    """
    side = MAX_BOX_SIDE if posterior.n_components <= MANY_COMPONENTS else MAX_BOX_SIDE // 2
    places = [thin(np.arange(len(index)), side) for index in box.indices]
    pairs = {}
    for i, j in combinations(range(len(box.indices)), 2):
        rest = tuple(k for k in range(len(box.indices)) if k not in (i, j))
        if box.cells is None:
            some = [thin(index, side if k in (i, j) else 8) for k, index in enumerate(box.indices)]
            shares = posterior.predict_part(some).mean(axis=rest)
        else:
            ones, seen = (box.cells == 1).sum(axis=rest), (box.cells != MISSING).sum(axis=rest)
            shares = np.where(seen > 0, ones / np.maximum(seen, 1), MISSING / 100)
            shares = shares[np.ix_(places[i], places[j])]
        pairs[f"{i},{j}"] = np.rint(100 * shares).astype(int).ravel().tolist()
    return {
        "at": [index[place].tolist() for index, place in zip(box.indices, places, strict=True)],
        "pairs": pairs,
        "complete": box.complete and all(len(index) <= side for index in box.indices),
    }


def list_unknown(
    posterior: Posterior, tensor: Tensor, boxes: Sequence[Box | None], pair: tuple[int, int] | None
) -> list[list[int]]:
    """Return the most probable cells of each index that are not known to be 1.

    A row has K indices and P(x = 1) in thousandths. Zeros count as known where all observed cells are
    listed, or where cells compare two attributes.
    """
    cells = _shuffle(_inside(posterior, boxes, lambda values: ~tensor.find_known(values)))
    if pair is not None:
        cells = cells[cells[:, pair[0]] != cells[:, pair[1]]]
    rough = _predict_roughly(posterior, cells)
    each = min(MAX_PER_INDEX, max(MIN_PER_INDEX, MAX_UNKNOWN // sum(posterior.shape)))
    best = np.argsort(-rough, kind="stable")
    chosen = np.unique(np.concatenate([_first_of_each(cells[best, k], each) for k in range(cells.shape[1])]))
    cells = cells[best[chosen]]
    return _with_probabilities(posterior, cells)


def list_surprises(posterior: Posterior, tensor: Tensor, boxes: Sequence[Box | None]) -> list[list[int]]:
    """Return the least expected observed cells: K indices, the value, and P(x = 1) in thousandths."""
    sample = sample_cells(tensor, SAMPLED)
    drawn = np.stack(sample.indices, axis=1)
    found = []
    for value, sign in ((1, 1), (0, -1)):
        inside = [] if value else [_inside(posterior, boxes, lambda values: values == 0)]
        cells = _shuffle(np.unique(np.concatenate([drawn[sample.ones == value], *inside]), axis=0))
        order = np.argsort(sign * _predict_roughly(posterior, cells), kind="stable")[: 3 * SURPRISES]
        rows = sorted(_with_probabilities(posterior, cells[order]), key=lambda row: sign * row[-1])
        found += [[*cell, value, p] for *cell, p in rows[:SURPRISES]]
    return found


def list_residuals(posterior: Posterior, tensor: Tensor) -> list[list[float]]:
    """Return labels with more or fewer ones than expected: mode, index, ones, expected ones, standard errors.

    Large tensors are sampled, so that both numbers are estimates.
    """
    sample = sample_cells(tensor, SAMPLED)
    p, rows = _predict_roughly(posterior, np.stack(sample.indices, axis=1)), []
    for k, (index, size) in enumerate(zip(sample.indices, posterior.shape, strict=True)):
        weights = sample.weights * sample.ones, sample.weights * p, sample.weights**2 * p * (1 - p)
        ones, expected, variance = (np.bincount(index, weight, size) for weight in weights)
        errors = (ones - expected) / np.sqrt(np.maximum(variance, 1))
        for n in np.flatnonzero(np.abs(errors) >= MIN_RESIDUAL).tolist():
            rows.append([k, n, round(ones[n]), round(expected[n]), round(float(errors[n]), 1)])
    return sorted(rows, key=lambda row: -abs(row[-1]))[:MAX_RESIDUALS]


def _shuffle(cells: Indices) -> Indices:
    """Return cells in a random order, so that of equally probable ones not the first labels are listed."""
    return cells[np.random.default_rng(0).permutation(len(cells))]


def _inside(
    posterior: Posterior, boxes: Sequence[Box | None], wanted: Callable[[npt.NDArray[np.int8]], Any]
) -> Indices:
    """Return cells (n, K) of components whose values are wanted, at most RANKED_CELLS for each."""
    keys: list[Keys] = [np.zeros(0, np.int64)]
    for box in boxes:
        if box is not None and box.cells is not None:
            at = np.nonzero(wanted(box.cells))
            found = key_of([i[n] for i, n in zip(box.indices, at, strict=True)], posterior.shape)
            keys.append(thin(found, RANKED_CELLS))
    return np.stack(np.unravel_index(np.unique(np.concatenate(keys)), posterior.shape), axis=1)


def _first_of_each(indices: Indices, most: int) -> Indices:
    """Return the places of the first few cells of every index."""
    order = np.argsort(indices, kind="stable")
    ranked = indices[order]
    rank = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
    return order[rank < most]


def _predict_roughly(posterior: Posterior, cells: Indices) -> Floats:
    """Return P(x = 1) of cells from a few draws of each chain."""
    total = np.zeros(len(cells))
    for trace, weight in posterior.counted:
        draws = thin(np.arange(len(trace)), max(1, RANKING_DRAWS // len(posterior.counted)))
        for draw in draws.tolist():
            p = trace.noise_at(draw).predict(trace.factors_at(draw), tuple(cells.T))
            total += weight / len(draws) * p
    return total


def _with_probabilities(posterior: Posterior, cells: Indices) -> list[list[int]]:
    p = np.rint(1000 * posterior.predict_cells(list(cells.T))).astype(int)
    return [[*cell, chance] for cell, chance in zip(cells.tolist(), p.tolist(), strict=True)]


def thin(order: Any, most: int) -> Any:
    """Return at most this many items of an array, evenly spread over their order."""
    return order[np.linspace(0, len(order) - 1, min(len(order), most)).astype(np.intp)]


def pairs_of(modes: Sequence[FittedMode]) -> Iterator[tuple[int, int]]:
    """Yield modes for the same things: they have the same labels, or without any the same means."""
    for i, j in combinations(range(len(modes)), 2):
        first, second = modes[i], modes[j]
        if first.labels is None or second.labels is None:
            same = first.labels is second.labels and np.array_equal(first.means, second.means)
        else:
            same = list(map(str, first.labels)) == list(map(str, second.labels))
        if same:
            yield i, j


def _title(mode: FittedMode, n: int) -> str:
    """Return the names of a mode and its index, or only the latter if it begins with the former."""
    label = mode.label(n)
    return label if label.lower().startswith(mode.name.lower()) else f"{mode.name} {label}"


def _sides(shape: Sequence[int]) -> tuple[int, int]:
    """Return the two largest modes, in their own order; of equal ones the last."""
    first, second = sorted(sorted(range(len(shape)), key=lambda k: (shape[k], k))[-2:])
    return first, second
