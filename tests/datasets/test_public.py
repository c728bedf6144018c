"""Public data have the sizes and facts that are known of them; needs the folder TENSORM_DATA."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tensorm import datasets
from tensorm.data.inputs import observe

pytestmark = pytest.mark.skipif("TENSORM_DATA" not in os.environ, reason="TENSORM_DATA is not set")


def test_hospital():
    X = datasets.hospital()
    assert dict(X.sizes) == {"hour": 13, "person": 75, "met": 75}
    assert np.nansum(X) / X.size == pytest.approx(0.0891, abs=5e-5)
    assert dict(zip(*np.unique(X.role, return_counts=True), strict=True)) == {
        "administrator": 8,
        "doctor": 11,
        "nurse": 27,
        "patient": 29,
    }
    assert np.array_equal(X.values, X.values.swapaxes(1, 2), equal_nan=True)
    assert np.nansum(datasets.hospital(range(7, 20))) / (14 * 75**2) < np.nansum(X) / X.size


def test_students():
    X = datasets.students()
    assert dict(X.sizes) == {"week": 9, "region": 7, "student": 47}
    assert X.max("region").sum("student").values.tolist() == [41, 41, 38, 32, 25, 22, 19, 2, 2]


def test_nations():
    parts = [datasets.nations(part) for part in ("train", "valid", "test")]
    assert all(part.shape == (14, 55, 14) for part in parts)
    assert sum(float(part.sum()) for part in parts) == 1992
    assert max(sum(part.values for part in parts).ravel()) == 1


@pytest.mark.parametrize(
    ("kind", "shape", "cancers"), [("mirna", (8943, 1046), 28), ("mrna", (1106, 5991), 7)]
)
def test_cancer(kind, shape, cancers):
    X = datasets.cancer(kind)
    assert X.shape == shape
    assert len(np.unique(X.cancer)) == cancers
    assert X.indexes["patient"].is_unique
    assert X.indexes["patient"].str.fullmatch(r"TCGA-\w\w-\w{4}").all()


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("hospital", "windows of time"),
        ("students", "ranges of seat numbers"),
        ("nations", "other two parts"),
        ("cancer", "0 where no read was seen"),
    ],
)
def test_arrays_say_where_they_are_from(name, remark):
    X = getattr(datasets, name)()
    assert all(X.attrs[key] for key in ("title", "source", "citation", "licence"))
    assert remark in X.attrs["remarks"]
    if name != "cancer":
        assert observe(X).modes == X.dims


def test_kegg():
    sets = datasets.kegg()
    assert len(sets) == 320
    assert len({gene for genes in sets.values() for gene in genes}) == 8078
