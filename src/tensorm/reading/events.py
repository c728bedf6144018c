"""Tables with a row for each event, such as who met whom when: cut into bins of time, made a tensor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tensorm.data.coordinates import Listing, read_table
from tensorm.data.coordinates.cells import MOST_MODES
from tensorm.data.coordinates.files import is_unnamed, kind_of, read_file, read_frame
from tensorm.errors import InputError
from tensorm.reading.times import cut_times
from tensorm.tensors import SparseTensor

if TYPE_CHECKING:
    from tensorm.reading.cells import Wanted


def read_events(file: Path, wanted: Wanted) -> SparseTensor:
    """Return the tensor of a table's events; integers in its columns are names, too."""
    if kind_of(file) == ".tns":
        return SparseTensor.from_listing(read_file(file, wanted.modes), wanted.unlisted)
    modes = None if wanted.modes is None else list(wanted.modes)
    named = modes if modes is None or wanted.time is None else [wanted.time, *modes]
    table, place, _ = read_frame(file, named, labelled=True)
    modes = modes or [name for name in table.columns if name not in (wanted.value, wanted.time)]
    if wanted.time is not None and wanted.time not in modes:
        modes.insert(0, wanted.time)
    _check_columns(file, list(table.columns), modes, wanted.value)
    if wanted.time is None:
        return _tensor(read_table(table, modes, wanted.value, None, True, place), wanted)
    bins, names = cut_times(table[wanted.time], wanted.bins, wanted.origin, place)
    listing = read_table(table.assign(**{wanted.time: bins}), modes, wanted.value, None, True, place)
    at = modes.index(wanted.time)
    columns, labels, shape = list(listing.columns), list(listing.labels or ()), list(listing.shape)
    columns[at], labels[at], shape[at] = bins, names, len(names)
    listing = listing._replace(columns=tuple(columns), labels=tuple(labels), shape=tuple(shape))
    return _tensor(listing, wanted)


def _check_columns(file: Path, columns: list[str], modes: list[str], value: str | None) -> None:
    """Raise unless the table has the columns that are asked for, each for one purpose."""
    if len(columns) == 1:
        raise InputError(
            f"{file} has one column, {columns[0]!r}; give two or more, with commas, semicolons, tabs or | "
            "between them."
        )
    if len(modes) > MOST_MODES:
        raise InputError(
            f"{file} has {len(modes):,} columns; say which of them are modes, or that it is wide."
        )
    for name in modes if value is None else [*modes, value]:
        if name not in columns:
            raise InputError(f"{file} has no column {name!r}; choose from {', '.join(map(repr, columns))}.")
        if is_unnamed(name):
            raise InputError(
                f"{file} has no name for column {columns.index(name) + 1}; write one into the first line, or "
                "say which columns are modes."
            )
    if value in modes:
        raise InputError(f"value is {value!r}, which is a mode; give another column, or none.")
    if len(modes) < 2:
        raise InputError(f"{file} has one column for modes, {modes[0]!r}; give two or more.")


def _tensor(listing: Listing, wanted: Wanted) -> SparseTensor:
    if wanted.pair is not None:
        listing = _share_labels(listing, wanted.pair)
    if wanted.pair is not None and wanted.undirected:
        return _undirected(listing, wanted)
    if wanted.value is None:
        listing = _each_once(listing)
    return SparseTensor.from_listing(listing, wanted.unlisted)


def _share_labels(listing: Listing, pair: tuple[str, str]) -> Listing:
    """Give two modes the same indices: all that occur in either."""
    i, j = _find_pair(listing, pair)
    columns, labels, shape = list(listing.columns), list(listing.labels or ()), list(listing.shape)
    both = [np.asarray(labels[k]) for k in (i, j)]
    everyone = np.unique(np.concatenate(both))
    for k, known in zip((i, j), both, strict=True):
        columns[k] = np.searchsorted(everyone, known)[columns[k]]
        labels[k], shape[k] = everyone, len(everyone)
    return listing._replace(columns=tuple(columns), labels=tuple(labels), shape=tuple(shape))


def _find_pair(listing: Listing, pair: tuple[str, str]) -> tuple[int, int]:
    modes = list(listing.modes or ())
    for name in pair:
        if name not in modes:
            raise InputError(f"pair is {pair[0]},{pair[1]}, but the modes are {', '.join(modes)}.")
    return modes.index(pair[0]), modes.index(pair[1])


def _undirected(listing: Listing, wanted: Wanted) -> SparseTensor:
    """Let every row say the same of both orders; nobody is asked about themselves."""
    assert wanted.pair is not None
    i, j = _find_pair(listing, wanted.pair)
    other = listing.columns[i] != listing.columns[j]
    kept = [column[other] for column in listing.columns]
    swapped = list(kept)
    swapped[i], swapped[j] = kept[j], kept[i]
    columns = tuple(np.concatenate(both) for both in zip(kept, swapped, strict=True))
    values = None if listing.values is None else np.tile(listing.values[other], 2)
    both_ways = listing._replace(columns=columns, values=values)
    if values is None:
        both_ways = _each_once(both_ways)
    missing = _diagonal(listing.shape, i, j) if wanted.unlisted == "zero" else None
    return SparseTensor(
        both_ways.columns,
        listing.shape,
        both_ways.values,
        wanted.unlisted,
        missing,
        modes=listing.modes,
        labels=listing.labels,
    )


def _diagonal(shape: tuple[int, ...], i: int, j: int) -> tuple[npt.NDArray[Any], ...]:
    sizes = [1 if k == j else size for k, size in enumerate(shape)]
    cells = list(np.indices(sizes).reshape(len(shape), -1))
    cells[j] = cells[i]
    return tuple(cells)


def _each_once(listing: Listing) -> Listing:
    """Leave out events that happened before: that two people met twice in an hour is nothing to warn of."""
    rows = np.unique(np.stack(listing.columns), axis=1)
    return listing._replace(columns=tuple(rows))
