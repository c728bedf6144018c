"""The tensors that the contract is about: each maker stores the same cells in its own way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorm.tensors import DenseTensor, SparseTensor, Tensor

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


MAKERS: dict[str, Maker] = {"dense": dense, "sparse": sparse}
