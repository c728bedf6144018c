"""Relations between nations, a small knowledge graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tensorm.data.checks import check_choice
from tensorm.datasets.registry import fetch

if TYPE_CHECKING:
    import xarray

PARTS = ("train", "valid", "test")


def nations(part: str = "train") -> xarray.DataArray:
    """Return which nation has which relation to which other nation: 14 x 55 x 14.

    Parameters
    ----------
    part : "train", "valid" or "test", default "train"
        The relations are published in three parts, so that predictions can be compared.

    Returns
    -------
    xarray.DataArray
        float32, dimensions "head", "relation" and "tail", with the same labels for all parts. 1 for the
        relations of this part; 0 also for those of the other parts.

    Raises
    ------
    InputError
        When ``part`` is unknown.
    FileError
        When a file cannot be downloaded.
    """
    import xarray

    check_choice("part", part, PARTS)
    files = {name: fetch(f"nations/{name}.txt") for name in PARTS}
    triples = {name: _read(path) for name, (path, _) in files.items()}
    everything = np.concatenate(list(triples.values()))
    names = np.unique(everything[:, [0, 2]])
    relations = np.unique(everything[:, 1])
    X = np.zeros((len(names), len(relations), len(names)), np.float32)
    head, relation, tail = triples[part].T
    X[np.searchsorted(names, head), np.searchsorted(relations, relation), np.searchsorted(names, tail)] = 1
    coords = {"head": names, "relation": relations, "tail": names}
    return xarray.DataArray(X, coords, ("head", "relation", "tail"), "relation", files[part][1])


def _read(path: Path) -> np.ndarray:
    lines = path.read_text(encoding="utf-8").splitlines()
    return np.array([line.split("\t") for line in lines if line])
