"""Adapters around decompositions into real numbers, as people would use them on yes/no data.

Sums of products take the place of Boolean products; a cell is predicted 1 where the sum is above a threshold.
tensorly and pyttb come with the extra ``rivals`` and are imported only when a fit needs them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tensorm.baselines.surface import Rival, read_ones, take_in
from tensorm.errors import InputError
from tensorm.inputs import check_choice, check_count, check_generator, check_number
from tensorm.model import Bits

Floats = npt.NDArray[np.float64]


class RealRival(Rival):
    """A rival whose reconstruction is a sum of products of real numbers, cut at a threshold."""

    _threshold: float

    def values(self) -> Floats:
        """Return the reconstruction before it is cut, an array of the tensor's shape."""
        return self._sums(slice(None))

    def _sums(self, where: slice) -> Floats:
        first, *rest = [self.factors_[0][where], *self.factors_[1:]]
        rows = first
        for factor in rest[:-1]:
            rows = (rows[:, None] * factor).reshape(-1, factor.shape[1])
        sizes = (len(first), *(len(factor) for factor in rest))
        return np.asarray(rows @ rest[-1].T).reshape(sizes)

    def _box(self, where: slice) -> Bits:
        return self._sums(where) > self._threshold

    def _cells(self, rows: Sequence[npt.NDArray[Any]]) -> Bits:
        return np.asarray(np.multiply.reduce(rows).sum(axis=1) > self._threshold)


class NonNegativeCP(RealRival):
    """tensorly's ``non_negative_parafac_hals``, cut at 0.5.

    Missing cells are taken for zeros: that solver knows none. Needs the extra ``rivals``.

    Parameters
    ----------
    n_components : int, default 5
        Number of components L.
    threshold : float, default 0.5
        Cells whose reconstruction is above it are predicted 1.
    max_iter : int, default 100
        Rounds at most.
    init : "svd" or "random", default "svd"
        Where it starts, as in tensorly.
    random_state : int or None, default None
        Seed; without a meaning where all modes have L indices at least and the start is "svd".

    Attributes
    ----------
    factors_ : list of K ndarrays (N_k, L)
        Non-negative numbers; the weights are part of the first.
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        threshold: float = 0.5,
        max_iter: int = 100,
        init: str = "svd",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.threshold = threshold
        self.max_iter = max_iter
        self.init = init
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Fit non-negative factors to X, a tensor of 0, 1 and missing with K >= 2 modes."""
        L = check_count("n_components", self.n_components, 1)
        max_iter = check_count("max_iter", self.max_iter, 1)
        self._threshold = check_number("threshold", self.threshold)
        check_choice("init", self.init, ("svd", "random"))
        seed = draw_seed(self.random_state)
        cells = read_ones(take_in(X)).astype(np.float64)
        decomposition = need("tensorly.decomposition", "tensorly")
        if not cells.any():  # it divides by the norm of the cells
            self.factors_ = [np.zeros((size, L)) for size in cells.shape]
            return self
        weights, factors = decomposition.non_negative_parafac_hals(
            cells, L, n_iter_max=max_iter, init=self.init, random_state=seed
        )
        first, *rest = (np.asarray(factor, np.float64) for factor in factors)
        self.factors_ = [first * np.asarray(weights), *rest]
        return self


class BernoulliGCP(RealRival):
    """pyttb's generalised CP with the Bernoulli odds loss, predicting 1 where the odds are above 1.

    Missing cells are left out of the loss. Needs the extra ``rivals``.

    Parameters
    ----------
    n_components : int, default 5
        Number of components L.
    max_iter : int, default 1000
        Steps of L-BFGS-B at most.
    random_state : int or None, default None
        Seed of the start.

    Attributes
    ----------
    factors_ : list of K ndarrays (N_k, L)
        Non-negative numbers; the sum over components of their product is the odds of a cell.
    """

    _threshold = 1.0

    def __init__(self, n_components: int = 5, *, max_iter: int = 1000, random_state: Any = None) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Fit the odds of the cells of X, a tensor of 0, 1 and missing with K >= 2 modes."""
        L = check_count("n_components", self.n_components, 1)
        max_iter = check_count("max_iter", self.max_iter, 1)
        rng = check_generator(self.random_state)
        tensor = take_in(X)
        cells = read_ones(tensor).astype(np.float64)
        seen = np.concatenate([observed for _, _, observed in tensor.blocks()]).astype(np.float64)
        pyttb = need("pyttb", "pyttb")
        gcp = need("pyttb.gcp.optimizers", "pyttb")
        objective = need("pyttb.gcp.handles", "pyttb").Objectives.BERNOULLI_ODDS
        start = pyttb.ktensor([rng.random((size, L)) for size in tensor.shape])
        start *= max(float(np.linalg.norm(cells)), 1.0) / start.norm()  # as gcp_opt does it by itself
        solver, mask = gcp.LBFGSB(maxiter=max_iter), None if seen.all() else seen
        with hushed("Selected no copy"):  # it says so at every step
            model, _, _ = pyttb.gcp_opt(
                pyttb.tensor(cells), L, objective, solver, init=start, mask=mask, printitn=0
            )
        first, *rest = (np.asarray(factor, np.float64) for factor in model.factor_matrices)
        self.factors_ = [first * model.weights, *rest]
        return self

    def predict_proba(self) -> Floats:
        """Return P(x = 1) of every cell: odds / (1 + odds)."""
        odds = self.values()
        return np.asarray(odds / (1 + odds))


class NMF(RealRival):
    """scikit-learn's non-negative matrix factorisation, cut at 0.5: two modes only.

    Missing cells are taken for zeros: that solver knows none.

    Parameters
    ----------
    n_components : int, default 5
        Number of components L.
    threshold : float, default 0.5
        Cells whose reconstruction is above it are predicted 1.
    max_iter : int, default 500
        Rounds at most.
    random_state : int or None, default None
        Seed.

    Attributes
    ----------
    factors_ : list of 2 ndarrays (N_k, L)
        Non-negative numbers.
    """

    def __init__(
        self,
        n_components: int = 5,
        *,
        threshold: float = 0.5,
        max_iter: int = 500,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.threshold = threshold
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Fit non-negative factors to X, a matrix of 0, 1 and missing."""
        L = check_count("n_components", self.n_components, 1)
        max_iter = check_count("max_iter", self.max_iter, 1)
        self._threshold = check_number("threshold", self.threshold)
        seed = draw_seed(self.random_state)
        tensor = take_in(X)
        if len(tensor.shape) != 2:
            raise InputError(f"X has {len(tensor.shape)} modes, and NMF takes matrices; give 2 modes.")
        solver = import_module("sklearn.decomposition").NMF(L, max_iter=max_iter, random_state=seed)
        rows = solver.fit_transform(read_ones(tensor).astype(np.float64))
        self.factors_ = [rows, solver.components_.T]
        return self


def need(module: str, package: str) -> ModuleType:
    """Import a module of an optional package, or raise with the way to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f"This rival needs {package}, which is not installed: pip install 'tensorm[rivals]'."
        ) from error


@contextmanager
def hushed(start: str) -> Iterator[None]:
    """Keep messages that begin so out of the log while the block runs."""
    log = logging.getLogger()

    def wanted(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(start)

    log.addFilter(wanted)
    try:
        yield
    finally:
        log.removeFilter(wanted)


def draw_seed(random_state: Any) -> int:
    """Return a seed as other packages take it."""
    return int(check_generator(random_state).integers(2**31))
