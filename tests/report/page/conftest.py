"""One fit of the ward for all tests of the report."""

from __future__ import annotations

import pytest

from tensorm import TensOrMachine, datasets


@pytest.fixture(scope="session")
def ward_fit():
    """The data and a fit of few draws."""
    X = datasets.ward()
    return X, TensOrMachine(7, n_chains=2, n_draws=20, random_state=0, progress=False).fit(X)
