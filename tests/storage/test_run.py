"""The cells of a run come back from its folder, however they were stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensorm import DenseTensor, RelationalTensor, SparseTensor
from tensorm.storage.run import Run, open_run, start_run
from tensorm.tensors import Tensor

RNG = np.random.default_rng(0)
X = np.where(RNG.random((4, 5, 6)) < 0.2, np.nan, RNG.random((4, 5, 6)) < 0.4)
MATRIX = RNG.integers(5, size=(4, 5)).astype(float)
TENSORS = {
    "dense": DenseTensor(np.nan_to_num(X)),
    "with missing cells": DenseTensor(X),
    "sparse": SparseTensor(np.argwhere(X == 1), X.shape, missing=np.argwhere(np.isnan(X))),
    "without other cells": SparseTensor(np.argwhere(X == 1), X.shape),
    "listed": SparseTensor(np.argwhere(~np.isnan(X)), X.shape, X[~np.isnan(X)], "missing"),
    "relational": RelationalTensor(MATRIX),
    "some comparisons": RelationalTensor(MATRIX).hold_out(0.3)[0],
}


@pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS)
def test_cells_come_back(tensor: Tensor, tmp_path: Path) -> None:
    start_run(tmp_path, Run({}, 2**64 - 1, tensor))
    assert open_run(tmp_path, []).seed == 2**64 - 1
    again = open_run(tmp_path, []).tensor
    assert (again.storage, again.modes) == (tensor.storage, tensor.modes)
    assert again.digest() == tensor.digest()
    everything = [np.arange(size) for size in tensor.shape]
    np.testing.assert_array_equal(again.read_cells(everything), tensor.read_cells(everything))
