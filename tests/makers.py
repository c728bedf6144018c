"""The tensors that the contract is about: each maker stores the same cells in its own way."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import distributed
import numpy as np

from shard_hosts import cut, pieces, shard
from tensorm.tensors import DaskTensor, DenseTensor, SparseTensor, Tensor

Maker = Callable[[np.ndarray, np.ndarray | None], Tensor]  # from ones and observed (None: all)


def dense(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    return DenseTensor(ones if observed is None else np.where(observed, ones, np.nan))


def sparse(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    """All zeros are implied, or, about as often, all observed cells are listed."""
    seen = np.ones(ones.shape, bool) if observed is None else observed
    if np.count_nonzero(ones) % 2:
        missing = None if observed is None else np.argwhere(~observed)
        return SparseTensor(np.nonzero(ones & seen), ones.shape, missing=missing)
    order = np.random.default_rng(0).permutation(np.count_nonzero(seen))
    return SparseTensor(np.argwhere(seen)[order], ones.shape, ones[seen][order], unlisted="missing")


def sharded(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    """Shards of all kinds, side by side."""
    parts = cut(len(ones), 3)
    parted = zip(itertools.cycle([dense, sparse]), pieces(ones, parts), pieces(observed, parts))
    return shard([kind(*cells) for kind, *cells in parted])


@cache
def cluster() -> Any:
    """A cluster in this process; it ends with it."""
    how = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    return distributed.Client(distributed.LocalCluster(n_workers=2, **how), set_as_default=False)


def dask(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    parts = cut(len(ones), 2)
    return DaskTensor(list(map(dense, pieces(ones, parts), pieces(observed, parts))), cluster())


MAKERS: dict[str, Maker] = {
    "dense": dense,
    "sparse": sparse,
    "sharded": sharded,
    "dask": dask,
}
