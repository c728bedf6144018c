"""What every test begins with."""

from __future__ import annotations

import gc
import sys

import pytest


def pytest_collection_finish() -> None:
    """Spare the garbage collector all that is imported: going through it takes a twelfth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


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
