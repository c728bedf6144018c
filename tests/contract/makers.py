"""The tensors that the contract is about: each maker stores the same cells in its own way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from crews import cut, pieces, shard

from tensorm.tensors import DenseTensor, Tensor

Maker = Callable[[np.ndarray, np.ndarray | None], Tensor]  # from ones and observed (None: all)


def dense(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    return DenseTensor(ones if observed is None else np.where(observed, ones, np.nan))


def sharded(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    parts = cut(len(ones), 3)
    return shard(list(map(dense, pieces(ones, parts), pieces(observed, parts))))


MAKERS: dict[str, Maker] = {"dense": dense, "sharded": sharded}
