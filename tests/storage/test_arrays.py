"""Arrays of numbers as netCDF holds them."""

from __future__ import annotations

import numpy as np
import pytest

from tensorm.storage.arrays import STORED_AS, restore, store


@pytest.mark.parametrize("name", STORED_AS)
def test_every_type_comes_back_with_its_values(name: str) -> None:
    array = np.array([0, 1], name)
    if array.dtype.kind != "b":
        limits = np.finfo(name) if array.dtype.kind == "f" else np.iinfo(name)
        array = np.array([limits.min, 0, limits.max], name)
    stored = store(array)
    assert stored is not None
    assert stored[0].dtype == STORED_AS[name]
    np.testing.assert_array_equal(restore(*stored), array, strict=True)


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([1j]), np.array([None]), np.array([1], "M8[s]")])
def test_what_is_no_number_is_not_stored(array: np.ndarray) -> None:
    assert store(array) is None
