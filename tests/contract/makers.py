"""The tensors that the contract is about: each maker stores the same cells in its own way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorm.tensors import DenseTensor, Tensor

Maker = Callable[[np.ndarray, np.ndarray | None], Tensor]  # from ones and observed (None: all)


def dense(ones: np.ndarray, observed: np.ndarray | None) -> Tensor:
    return DenseTensor(ones if observed is None else np.where(observed, ones, np.nan))


MAKERS: dict[str, Maker] = {"dense": dense}
