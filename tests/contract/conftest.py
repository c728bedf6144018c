"""Every test that asks for ``kind`` runs on every kind of tensor."""

from __future__ import annotations

import pytest

from makers import KINDS, SLOW, Kind

PARAMS = [
    pytest.param(kind, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name, kind in KINDS.items()
]


@pytest.fixture(params=PARAMS, scope="session")
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param
