"""Decompositions into real numbers, thresholded, as people use them on yes/no data: tensorly's and pyttb's.

A sum of products takes the place of the Boolean product; a cell is predicted 1 where the sum exceeds a
threshold.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.record import Floats


class RealCP(NamedTuple):
    """One factor (N_k, L) of non-negative numbers per mode, and the threshold of the sums."""

    factors: list[Floats]
    threshold: float

    def values(self, indices: npt.NDArray[np.int_] | None = None) -> Floats:
        """Return the sum of products in every cell, or in n cells given as an array (n, K)."""
        if indices is not None:
            rows = [factor[n] for factor, n in zip(self.factors, indices.T, strict=True)]
            return np.multiply.reduce(rows).sum(axis=1)
        rows, *rest, last = self.factors
        for factor in rest:
            rows = (rows[:, None] * factor).reshape(-1, factor.shape[1])
        return (rows @ last.T).reshape([len(factor) for factor in self.factors])

    def predict(self, indices: npt.NDArray[np.int_] | None = None) -> npt.NDArray[np.int8]:
        """Return where the sum exceeds the threshold."""
        return (self.values(indices) > self.threshold).astype(np.int8)


def nonnegative_cp(
    X: npt.NDArray[Any], L: int, seed: int | None = None, init: str = "svd", max_iter: int = 100
) -> RealCP:
    """Fit tensorly's ``non_negative_parafac_hals``, which takes missing cells as zeros; threshold 0.5."""
    from tensorly.decomposition import non_negative_parafac_hals

    cells, threshold = np.nan_to_num(X.astype(float)), 0.5
    if not cells.any():  # it divides by the norm of the cells
        return RealCP([np.zeros((size, L)) for size in X.shape], threshold)
    state = int(np.random.default_rng(seed).integers(2**31))
    weights, factors = non_negative_parafac_hals(cells, L, n_iter_max=max_iter, init=init, random_state=state)
    return RealCP(weighted(factors, weights), threshold)


def bernoulli_gcp(X: npt.NDArray[Any], L: int, seed: int | None = None, max_iter: int = 1000) -> RealCP:
    """Fit pyttb's generalised CP with the Bernoulli odds loss: the sums are odds, so the threshold is 1.

    Missing cells are left out of the loss.
    """
    import pyttb
    from pyttb.gcp.handles import Objectives
    from pyttb.gcp.optimizers import LBFGSB

    seen, cells = ~np.isnan(X), np.nan_to_num(X.astype(float))
    rng = np.random.default_rng(seed)
    start = pyttb.ktensor([rng.random((size, L)) for size in X.shape])
    start *= max(float(np.linalg.norm(cells)), 1.0) / start.norm()  # as gcp_opt scales its own start
    with silenced("Selected no copy"):  # logged at every step
        model, _, _ = pyttb.gcp_opt(
            pyttb.tensor(cells),
            L,
            Objectives.BERNOULLI_ODDS,
            LBFGSB(maxiter=max_iter),
            init=start,
            mask=None if seen.all() else seen.astype(float),
            printitn=0,
        )
    return RealCP(weighted(model.factor_matrices, model.weights), 1.0)


def weighted(factors: Sequence[npt.ArrayLike], weights: npt.ArrayLike) -> list[Floats]:
    """Return factors with the weights of the components multiplied into the first."""
    first, *rest = (np.asarray(factor, np.float64) for factor in factors)
    return [first * np.asarray(weights), *rest]


@contextmanager
def silenced(start: str) -> Iterator[None]:
    """Keep messages that start like this out of the log while the block runs."""
    log = logging.getLogger()

    def wanted(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(start)

    log.addFilter(wanted)
    try:
        yield
    finally:
        log.removeFilter(wanted)
