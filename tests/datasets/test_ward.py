"""The invented ward: its labels, its symmetry, its planted groups, and that it never changes."""

from __future__ import annotations

import hashlib

import numpy as np

import naive
from tensorm.data.inputs import observe
from tensorm.datasets import ward, ward_truth
from tensorm.model import boolean_product

DIGEST = "7c4b25d8096634f0e47c590dc03890dc68ec5e4ee485caf6506ca5cf8c7c7a56"


def test_labels() -> None:
    X = ward()
    assert X.dims == ("hour", "person", "met")
    assert X.shape == (13, 75, 75)
    assert X.hour.values[[0, 1, -1]].tolist() == ["night", "08-09", "19-20"]
    assert X.person.values.tolist() == X.met.values.tolist()
    assert len(set(X.person.values)) == 75
    assert X.role.dims == ("person",)
    assert all(
        person.startswith(role + " ") for person, role in zip(X.person.values, X.role.values, strict=True)
    )
    assert set(X.role.values) == {"doctor", "nurse", "administrator", "patient"}


def test_contacts_are_symmetric_and_the_diagonal_is_missing() -> None:
    X = ward().values
    np.testing.assert_array_equal(X, X.transpose(0, 2, 1))
    np.testing.assert_array_equal(np.isnan(X), np.broadcast_to(np.eye(75, dtype=bool), X.shape))
    assert set(np.unique(X[~np.isnan(X)])) == {0, 1}


def test_groups_are_planted() -> None:
    X, (names, factors) = ward().values, ward_truth()
    product = naive.product(factors)
    seen = ~np.isnan(X)
    assert abs(X[seen & product].mean() - 0.6) < 0.03
    assert abs(X[seen & ~product].mean() - 0.01) < 0.003
    assert [factor.shape for factor in factors] == [(13, 7), (75, 7), (75, 7)]
    assert len(names) == len(set(names)) == 7
    np.testing.assert_array_equal(factors[1], factors[2])
    for l in range(len(names)):
        own = boolean_product([factor[:, [l]] for factor in factors])
        rest = boolean_product([np.delete(factor, l, axis=1) for factor in factors])
        assert abs(X[seen & own].mean() - 0.6) < 0.06
        assert (own & ~rest).sum() > 0.6 * own.sum()  # no group hides behind the others
    assert (factors[1].sum(axis=1) > 1).any()
    assert (factors[0].sum(axis=1) > 1).any()


def test_it_never_changes() -> None:
    X = ward()
    text = "\n".join([*X.hour.values, *X.person.values, *X.role.values])
    bits = np.packbits(X.values == 1).tobytes()
    assert hashlib.sha256(text.encode() + bits).hexdigest() == DIGEST


def test_it_is_a_valid_input_with_labels() -> None:
    observations = observe(ward())
    assert observations.modes == ("hour", "person", "met")
    assert all(labels is not None for labels in observations.labels)
    total = sum(int(ones.sum()) for _, ones, _ in observations.blocks(axis=1, max_cells=5000))
    assert total == int((ward().values == 1).sum())
