"""What files ask for is compared with the memory there is; a library that asks for more gets none."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import anndata
import h5py
import numpy as np
import pytest

import tensorm
from tensorm.data.memory import at_most


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_the_limit_holds_for_a_moment() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with at_most(2**26), pytest.raises(MemoryError):
        np.ones(2**26)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert np.ones(2**26).size == 2**26


def test_nothing_but_the_cells_and_their_names_is_checked(tmp_path: Path) -> None:
    """An analysis leaves tables of texts beside a long text in a file, which are not read."""
    names = np.array([("a", "b")] * 1000, [("first", object), ("second", object)])
    data = anndata.AnnData(np.eye(3), uns={"log": "x" * 10**5, "names": names})
    data.write_h5ad(tmp_path / "cells.h5ad")
    with h5py.File(tmp_path / "cells.h5ad", "r+") as file:
        file["X"].attrs["comment"] = h5py.Empty(h5py.string_dtype())
    assert tensorm.read(tmp_path / "cells.h5ad").n_observed == 9
