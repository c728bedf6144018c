"""Factors: one object that nobody can change in place."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from tensorm.tensors.factors import Factors


def make() -> Factors:
    rng = np.random.default_rng(0)
    return Factors.from_bits([rng.random((size, 70)) < 0.5 for size in (5, 4, 3)])


@pytest.mark.parametrize("copied", [False, True], ids=["made", "unpickled"])
def test_nothing_can_be_changed_in_place(copied: bool) -> None:
    factors = pickle.loads(pickle.dumps(make())) if copied else make()
    assert factors.same_as(make())
    with pytest.raises(ValueError, match="read-only"):
        factors[0][0] = 1
    with pytest.raises(FrozenInstanceError):
        factors.n_components = 3  # type: ignore[misc]
    for some in (factors.take([np.arange(2)] * 3), factors.replace(1, np.zeros((4, 2), np.uint64))):
        with pytest.raises(ValueError, match="read-only"):
            some[1][...] = 0


@pytest.mark.parametrize("frozen", [False, True], ids=["writable", "read-only view"])
def test_what_is_given_may_change_later(frozen: bool) -> None:
    whole, alone = np.zeros((3, 2), np.uint64), np.zeros((4, 1), np.uint64)
    part = whole[:, :1]
    part.flags.writeable = not frozen
    factors = Factors((part, alone), 1)
    whole[0, 0] = alone[0] = 1
    assert factors.same_as(Factors.empty((3, 4), 1))


def test_one_factor_is_replaced_and_the_others_stay() -> None:
    factors, new = make(), np.ones((4, 2), np.uint64)
    replaced = factors.replace(1, new)
    assert np.array_equal(replaced[1], new)
    assert replaced[0] is factors[0]
    assert not replaced.same_as(factors)


def test_the_product_at_some_cells() -> None:
    bits = make().bits()
    cells = np.unravel_index(np.arange(60), (5, 4, 3))
    expected = np.einsum("il,jl,kl->ijk", *(b.astype(int) for b in bits)) > 0
    np.testing.assert_array_equal(make().covers(cells), expected.ravel())
