"""What components contribute, on every kind of tensor, beside differences of whole confusions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from makers import Kind
from problems import make_problem
from tensorm.posterior.contributions import contributions
from tensorm.sampler.two_rates import Rates
from tensorm.tensors import DenseTensor, SymmetricTensor, Tensor
from tensorm.tensors.factors import Factors


def check(tensor: Tensor, factors: Sequence[np.ndarray]) -> None:
    L = factors[0].shape[1]

    def confusion(kept: Sequence[int]):
        return tensor.confusion(
            Factors.from_bits([factor & np.isin(np.arange(L), kept) for factor in factors])
        )

    found = contributions(tensor, Factors.from_bits(factors), Rates(0.8, 0.1))
    whole, everyone = confusion(range(L)), set(range(L))
    for l, row in enumerate(found):
        own, rest = confusion([l]), confusion(list(everyone - {l}))
        assert (row.covered, row.explained) == (own.tp + own.fp, own.tp)
        later, earlier = confusion(range(l + 1)), confusion(range(l))
        assert (row.added, row.added_errors) == (later.tp - earlier.tp, later.fp - earlier.fp)
        assert (row.alone, row.errors) == (whole.tp - rest.tp, whole.fp - rest.fp)


@pytest.mark.parametrize("L", [5, 67])
def test_of_every_kind(kind: Kind, L: int) -> None:
    tensor, problem = kind.store(make_problem((9, 8, 7), L, 3, 0.2, 0.5))
    problem.factors[0][:, 1] = False  # empty, so no row of it is read
    check(tensor, problem.factors)


def test_of_a_matrix(kind: Kind) -> None:
    tensor, problem = kind.store(make_problem((11, 70), 4, 4, None, 0.5))
    check(tensor, problem.factors)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2)], ids=["last modes", "first and last mode"])
def test_of_pairs(order: tuple[int, ...]) -> None:
    """Two modes share a factor, and each pair counts once, whichever mode is counted along."""
    rng = np.random.default_rng(1)
    half = np.triu(rng.integers(0, 2, (4, 7, 7)), 1)
    cells = np.where(np.eye(7, dtype=bool), np.nan, half + half.swapaxes(1, 2)).transpose(order)
    pair = tuple(sorted(order.index(k) for k in (1, 2)))
    hours, people = rng.random((4, 3)) < 0.6, rng.random((7, 3)) < 0.6
    check(SymmetricTensor(DenseTensor(cells), pair), [[hours, people, people][k] for k in order])
