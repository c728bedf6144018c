"""The description length is that of the code it stands for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorm.model import Confusion
from tensorm.selection.trials import describe_length, subset_bits, universal


@pytest.mark.parametrize(("n", "ones"), [(1, 0), (7, 3), (20, 20)])
def test_a_subset_costs_its_size_and_its_number(n, ones):
    assert subset_bits(n, ones) == pytest.approx(math.log2(n + 1) + math.log2(math.comb(n, ones)))


def test_the_universal_code_can_be_decoded():
    """The lengths of a prefix code add up to no more than 1 (Kraft); this one's to all of it, in the end."""
    total = sum(2 ** -universal(n) for n in range(1, 20_000))
    assert 0.75 < total < 1


def test_every_part_is_counted():
    factors = [np.array([[1, 0], [1, 0], [0, 1]], bool), np.array([[1, 0], [0, 0]], bool)]
    length = describe_length(factors, Confusion(tp=5, fp=2, fn=3, tn=10))
    columns = [(3, 2), (3, 1), (2, 1), (2, 0)]
    assert length.factors == pytest.approx(
        universal(2) + sum(float(subset_bits(*column)) for column in columns)
    )
    assert length.errors == pytest.approx(float(subset_bits(7, 2) + subset_bits(13, 3)))
    assert length.total == pytest.approx(length.factors + length.errors)
