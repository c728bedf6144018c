"""What every test begins with."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _no_scheduler_of_before() -> None:
    """Forget the scheduler of a cluster that is gone.

    Workers in threads have clients of their own. If these close last, they put back the scheduler they found,
    and whatever asks Dask for one afterwards, such as xarray, is refused.
    """
    dask, distributed = (sys.modules.get(name) for name in ("dask", "distributed"))
    if dask is None or distributed is None:
        return
    try:
        distributed.default_client()
    except ValueError:
        dask.config.config.pop("scheduler", None)
