"""Every test that asks for ``make`` runs on every kind of tensor."""

from __future__ import annotations

import pytest
from makers import MAKERS, Maker


@pytest.fixture(params=MAKERS.values(), ids=MAKERS.keys(), scope="session")
def make(request: pytest.FixtureRequest) -> Maker:
    return request.param
