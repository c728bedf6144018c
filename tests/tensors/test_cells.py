"""Some cells of a tensor as an array."""

from __future__ import annotations

import numpy as np

from tensorm.tensors import read


def test_cells_come_as_they_are_in_the_order_asked_for() -> None:
    X = np.random.default_rng(0).choice([0, 1, np.nan], (4, 5, 70))
    indices = [np.array([3, 0]), np.array([1, 4, 2]), np.arange(69, -1, -2)]
    found = read(X).read_cells(indices)
    np.testing.assert_array_equal(found, np.nan_to_num(X, nan=-1)[np.ix_(*indices)])
