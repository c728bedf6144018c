"""Members, factors and sets in the forms of other tools."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from posteriors import HOURS, PEOPLE, bits, make_posterior, ward_posterior
from tensorm import InputError
from tensorm.report.export import list_members, to_tensorly


def test_a_row_for_each_member() -> None:
    table = list_members(ward_posterior())
    assert list(table.columns) == ["mode", "label", "component", "probability", "sure"]
    assert [dtype.kind for dtype in table.dtypes[2:]] == ["i", "f", "b"]
    assert table[table.component == 0].label.tolist() == [*HOURS[1:4], *PEOPLE[:5], *PEOPLE[:5]]
    assert table[(table["mode"] == "met") & (table.component == 1)].label.tolist() == ["nurse 02", "nurse 03"]
    assert set(table.probability) == {1.0}
    assert table.sure.all()


def test_thresholds_and_who_is_sure() -> None:
    """Nurse 04 is in component 1 of "met" in a quarter of the draws."""
    table = list_members(ward_posterior(), threshold=0.2)
    doubtful = table[~table.sure]
    assert doubtful.to_numpy().tolist() == [["met", "nurse 04", 1, 0.25, False]]
    rows = table[(table["mode"] == "met") & (table.component == 1)]
    assert rows.probability.tolist() == [1.0, 1.0, 0.25]  # most probable first
    assert len(list_members(ward_posterior(), threshold=0.25)) == len(table) - 1  # above, not at it
    assert len(list_members(ward_posterior(), threshold=1.0)) == 0
    with pytest.raises(InputError, match="threshold"):
        list_members(ward_posterior(), threshold=1.5)


def test_indices_without_labels_are_numbered() -> None:
    posterior = make_posterior([[[bits(3, [0, 2]), bits(2, [1])]]])
    assert list_members(posterior).label.tolist() == [0, 2, 1]


@pytest.mark.parametrize("name", ["pandas", "tensorly"])
def test_what_is_not_installed_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(module: str, *arguments: Any) -> ModuleType:
        if module.split(".")[0] == name:
            raise ImportError(f"No module named {module!r}")
        return load(module, *arguments)

    load = builtins.__import__
    for module in [module for module in sys.modules if module.split(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", refuse)
    if name == "pandas":
        with pytest.raises(InputError, match=r"need pandas; install it with: pip install pandas\.$"):
            list_members(ward_posterior())
    else:
        with pytest.raises(InputError, match=r"need tensorly; install it with: pip install tensorly\.$"):
            to_tensorly(ward_posterior())


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensorly of two functions, for where there is none."""
    module = ModuleType("tensorly")
    module.tensor = np.array  # type: ignore[attr-defined]
    inner = ModuleType("tensorly.cp_tensor")
    inner.CPTensor = lambda pair: SimpleNamespace(weights=pair[0], factors=pair[1])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorly", module)
    monkeypatch.setitem(sys.modules, "tensorly.cp_tensor", inner)


@pytest.mark.usefixtures("pretended")
def test_factors_with_weights_of_one() -> None:
    posterior = ward_posterior()
    tensor = to_tensorly(posterior)
    assert tensor.weights.tolist() == [1.0, 1.0]
    for given, mean in zip(tensor.factors, posterior.factors, strict=True):
        np.testing.assert_array_equal(given, mean)
    rounded = to_tensorly(posterior, rounded=True)
    np.testing.assert_array_equal(rounded.factors[2], np.rint(posterior.factors[2]), strict=True)
    assert set(np.unique(rounded.factors[2])) == {0.0, 1.0}


def test_tensorly_multiplies_the_factors() -> None:
    tensorly = pytest.importorskip("tensorly")
    posterior = ward_posterior()
    made = tensorly.cp_to_tensor(to_tensorly(posterior, rounded=True))
    assert type(to_tensorly(posterior)).__name__ == "CPTensor"
    np.testing.assert_array_equal(made > 0.5, posterior.predict_all("map") > 0.5)
