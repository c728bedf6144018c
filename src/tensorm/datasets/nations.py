"""Relations between nations, a small knowledge graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tensorm.datasets.locating import locate
from tensorm.errors import InputError

if TYPE_CHECKING:
    import xarray

PARTS = ("train", "valid", "test")


def nations(part: str = "train") -> xarray.DataArray:
    """Return which nation has which relation to which: 14 x 55 x 14.

    Parameters
    ----------
    part : "train", "valid" or "test", default "train"
        The relations of the graph come in three parts, so that predictions can be compared.

    Returns
    -------
    xarray.DataArray
        float32, dimensions "head", "relation" and "tail", labelled alike for all parts. 1 for the relations
        of this part; 0 for those of the other parts, too.

    Raises
    ------
    InputError
        When there is no such part.
    FileError
        When the file is not there and cannot be downloaded.
    """
    import xarray

    if part not in PARTS:
        raise InputError(f"part is {part!r}; choose 'train', 'valid' or 'test'.")
    located = {name: locate(f"nations {name}") for name in PARTS}
    triples = {name: _read(path) for name, (path, _) in located.items()}
    everything = np.concatenate(list(triples.values()))
    names = np.unique(everything[:, [0, 2]])
    relations = np.unique(everything[:, 1])
    X = np.zeros((len(names), len(relations), len(names)), np.float32)
    head, relation, tail = triples[part].T
    X[np.searchsorted(names, head), np.searchsorted(relations, relation), np.searchsorted(names, tail)] = 1
    coords = {"head": names, "relation": relations, "tail": names}
    attrs = located[part].attrs
    return xarray.DataArray(X, dims=("head", "relation", "tail"), coords=coords, name="relation", attrs=attrs)


def _read(path: Path) -> np.ndarray:
    lines = path.read_text(encoding="utf-8").splitlines()
    return np.array([line.split("\t") for line in lines if line])
