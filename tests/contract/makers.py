"""The tensors that the contract is about: each maker stores the same cells in its own way."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import distributed
import numpy as np

from crews import cut, pieces, shard
from tensorm.tensors import DaskTensor, DenseTensor, Tensor

Maker = Callable[[np.ndarray, np.ndarray | None], Tensor]  # from ones and observed (None: all)


def dense(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    return DenseTensor(ones if observed is None else np.where(observed, ones, np.nan))


def sharded(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    parts = cut(len(ones), 3)
    return shard(list(map(dense, pieces(ones, parts), pieces(observed, parts))))


@cache
def cluster() -> Any:
    """A cluster in this process; it ends with it."""
    how = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    return distributed.Client(distributed.LocalCluster(n_workers=2, **how), set_as_default=False)


def dask(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    parts = cut(len(ones), 2)
    return DaskTensor(list(map(dense, pieces(ones, parts), pieces(observed, parts))), cluster())


MAKERS: dict[str, Maker] = {"dense": dense, "sharded": sharded, "dask": dask}
