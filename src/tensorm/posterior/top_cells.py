"""Link prediction: the most probable cells of a slice that are not known yet.

Outside the components all cells are equally probable, so only cells inside a component are considered and no
slice is ever written out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Floats, Indices, Keys
from tensorm.data.checks import check_count, check_index, check_mode
from tensorm.data.coordinates import key_of
from tensorm.errors import InputError
from tensorm.posterior.draws import Posterior
from tensorm.posterior.modes import list_modes
from tensorm.posterior.tables import tabulate, to_html

if TYPE_CHECKING:
    import pandas as pd


MAX_CONSIDERED = 2**21  # cells of one component in a slice; larger ones are cut to their surest members


class TopCells(NamedTuple):
    """Cells, most probable first; as text, a table.

    Attributes
    ----------
    indices : ndarray of int (n, K)
    probabilities : ndarray (n,)
        P(x = 1) of each.
    names : tuple of tuple of str
        The labels of each cell's indices, or their numbers.
    modes : tuple of str
        The names of the modes.
    """

    indices: Indices
    probabilities: Floats
    names: tuple[tuple[str, ...], ...]
    modes: tuple[str, ...]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas table with a column of labels for each mode, and the probability."""
        rows = ([*names, p] for names, p in zip(self.names, self.probabilities, strict=True))
        return tabulate(rows, [*self.modes, "probability"])

    def _repr_html_(self) -> str:
        return to_html(self.to_dataframe())

    def __str__(self) -> str:
        pairs = zip(self.probabilities, self.names, strict=True)
        return "\n".join(f"{p:.3f}  {'  '.join(names)}" for p, names in pairs)


def top_cells(
    posterior: Posterior,
    mode: str | int | None = None,
    index: Any = None,
    n: int = 10,
    known: Any = None,
    pair: tuple[int, int] | None = None,
) -> TopCells:
    """Return the most probable cells, of all or of a slice; see ``TensOrMachine.top_cells``."""
    if mode is not None and index is None:
        raise InputError(f"top_cells({mode!r}) needs an index, too; give a label of {mode!r}, or no mode.")
    k = None if mode is None else check_mode(mode, posterior.modes)
    row = None
    if k is not None:
        row = check_index(index, posterior.modes[k], posterior.shape[k], posterior.labels[k])
    count = check_count("n", n, 1)
    keys = np.unique(np.concatenate([np.zeros(0, np.int64), *_inside(posterior, k, row)]))
    if pair is not None:
        keys = _each_pair_once(keys, posterior.shape, pair, k)
    if known is not None:
        tensor = posterior.check_tensor(known, "known")
        rows = np.unique(np.unravel_index(keys, posterior.shape)[0]).tolist() if row is None else [row]
        known_keys = [tensor.known_keys(k or 0, n) for n in rows]
        keys = np.setdiff1d(keys, np.concatenate([keys[:0], *known_keys]))
    indices = np.unravel_index(keys, posterior.shape)
    p = posterior.predict_cells(indices)
    best = np.argsort(-p, kind="stable")[:count]
    cells = np.stack([column[best] for column in indices], axis=1)
    modes = list_modes(posterior)
    names = (tuple(mode.label(n) for mode, n in zip(modes, cell, strict=True)) for cell in cells)
    return TopCells(cells, p[best], tuple(names), tuple(mode.name for mode in modes))


def _inside(posterior: Posterior, mode: int | None, row: int | None) -> list[Keys]:
    """Return the keys of each component's cells (in the slice, if any) in any draw of any explanation."""
    found = []
    explanations = [means for weight, means in posterior.explained_by if weight]
    for factors, l in [(means, l) for means in explanations for l in range(posterior.n_components)]:
        members = [np.flatnonzero(mean[:, l] > 0) for mean in factors]
        if mode is not None:
            members[mode] = np.intersect1d(members[mode], [row])
        if not all(map(len, members)):
            continue
        members = _surest(members, [mean[:, l] for mean in factors])
        grid = np.meshgrid(*members, indexing="ij")
        found.append(key_of([axis.ravel() for axis in grid], posterior.shape))
    return found


def _each_pair_once(keys: Keys, shape: Sequence[int], pair: tuple[int, int], mode: int | None) -> Keys:
    """Drop the cells that pair an index with itself, and one of two orders if both are there."""
    cells = list(np.unravel_index(keys, shape))
    if mode not in pair:
        i, j = pair
        cells[i], cells[j] = np.minimum(cells[i], cells[j]), np.maximum(cells[i], cells[j])
    others = cells[pair[0]] != cells[pair[1]]
    return np.unique(key_of([column[others] for column in cells], shape))


def _surest(members: Sequence[Indices], means: Sequence[Floats]) -> list[Indices]:
    """Drop the least certain members of the longest modes until there are few enough cells."""
    sizes = [len(index) for index in members]
    while math.prod(sizes) > MAX_CONSIDERED:
        sizes[int(np.argmax(sizes))] -= max(1, max(sizes) // 20)
    return [
        index[np.argsort(-mean[index], kind="stable")[:size]]
        for index, mean, size in zip(members, means, sizes, strict=True)
    ]
