"""The tensors that the contract is about: each maker stores the same cells in its own way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorm.tensors import DenseTensor, SparseTensor, Tensor

Maker = Callable[[np.ndarray, np.ndarray | None], Tensor]  # from ones and observed (None: all)


def dense(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    return DenseTensor(ones if observed is None else np.where(observed, ones, np.nan))


def sparse(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    """All zeros are implied."""
    if observed is None:
        return SparseTensor(np.nonzero(ones), ones.shape)
    return SparseTensor(np.nonzero(ones & observed), ones.shape, missing=np.argwhere(~observed))


def listed(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    """All observed cells are listed."""
    cells = np.ones(ones.shape, bool) if observed is None else observed
    order = np.random.default_rng(0).permutation(np.count_nonzero(cells))
    return SparseTensor(np.argwhere(cells)[order], ones.shape, ones[cells][order], unlisted="missing")


MAKERS: dict[str, Maker] = {"dense": dense, "sparse": sparse, "listed": listed}
