"""Every test that asks for ``make`` runs on every kind of tensor."""

from __future__ import annotations

import pytest

from makers import MAKERS, Maker

# Thousands of rounds, where the same bits are proved anyway or "sharded" needs no cluster for them.
PRIOR = "test_with_every_cell_missing_the_prior_comes_back"
GENERATED = {
    "test_generated_cases",
    "test_counts_of_generated_cases",
    "test_confusion_of_generated_cases",
    "test_conditionals_equal_brute_force",
}
LEFT_OUT = {"sharded": {PRIOR}, "dask": {PRIOR, *GENERATED}}


def is_left_out(item: pytest.Item) -> bool:
    name, _, parameters = item.name.partition("[")
    return name in LEFT_OUT.get(parameters.rstrip("]").partition("-")[0], ())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if not is_left_out(item)]


@pytest.fixture(params=MAKERS.values(), ids=MAKERS.keys(), scope="session")
def make(request: pytest.FixtureRequest) -> Maker:
    return request.param
