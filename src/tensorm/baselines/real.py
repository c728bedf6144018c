"""Adapters around decompositions into real numbers, as people would use them on yes/no data.

Sums of products take the place of Boolean products; a cell is predicted 1 where the sum is above a threshold.
tensorly and pyttb come with the extra ``rivals`` and are imported only when a fit needs them.
"""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tensorm.baselines.surface import Rival, read_ones, take_in
from tensorm.data.checks import check_choice, check_count, check_generator, check_number
from tensorm.errors import InputError
from tensorm.model import Bits
from tensorm.tensors import Tensor
from tensorm.tensors.memory import available_memory

Floats = npt.NDArray[np.float64]


class RealRival(Rival):
    """A rival whose reconstruction is a sum of products of real numbers, cut at a threshold."""

    n_components: int
    max_iter: int
    random_state: Any
    _threshold: float

    def fit(self, X: Any, y: None = None) -> Self:
        """Fit factors of real numbers to X, a tensor of 0, 1 and missing.

        Parameters
        ----------
        X : array-like or tensor
            Cells of 0, 1 and missing (NaN, masked).
        y : None
            Ignored; part of the scikit-learn interface.

        Returns
        -------
        self
        """
        L = check_count("n_components", self.n_components, 1)
        max_iter = check_count("max_iter", self.max_iter, 1)
        self._threshold = self._check_threshold()
        rng = check_generator(self.random_state)
        self.factors_ = self._solve(take_in(X), L, max_iter, rng)
        return self

    def _check_threshold(self) -> float:
        return check_number("threshold", self.threshold)

    @abstractmethod
    def _solve(self, tensor: Tensor, L: int, max_iter: int, rng: np.random.Generator) -> list[Floats]:
        """Return the factors."""

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

    def _solve(self, tensor: Tensor, L: int, max_iter: int, rng: np.random.Generator) -> list[Floats]:
        check_choice("init", self.init, ("svd", "random"))
        decomposition = need("tensorly.decomposition", "tensorly")
        cells = read_numbers(tensor)
        if not cells.any():  # it divides by the norm of the cells
            return [np.zeros((size, L)) for size in cells.shape]
        weights, factors = decomposition.non_negative_parafac_hals(
            cells, L, n_iter_max=max_iter, init=self.init, random_state=draw_seed(rng)
        )
        return weighted(factors, weights)


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

    def __init__(self, n_components: int = 5, *, max_iter: int = 1000, random_state: Any = None) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_threshold(self) -> float:
        return 1.0

    def _solve(self, tensor: Tensor, L: int, max_iter: int, rng: np.random.Generator) -> list[Floats]:
        pyttb = need("pyttb", "pyttb")
        gcp = need("pyttb.gcp.optimizers", "pyttb")
        objective = need("pyttb.gcp.handles", "pyttb").Objectives.BERNOULLI_ODDS
        cells = read_numbers(tensor)
        seen = np.concatenate([observed for _, _, observed in tensor.blocks()]).astype(np.float64)
        start = pyttb.ktensor([rng.random((size, L)) for size in tensor.shape])
        start *= max(float(np.linalg.norm(cells)), 1.0) / start.norm()  # as gcp_opt does it by itself
        solver, mask = gcp.LBFGSB(maxiter=max_iter), None if seen.all() else seen
        with hushed("Selected no copy"):  # it says so at every step
            model, _, _ = pyttb.gcp_opt(
                pyttb.tensor(cells), L, objective, solver, init=start, mask=mask, printitn=0
            )
        return weighted(model.factor_matrices, model.weights)

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

    def _solve(self, tensor: Tensor, L: int, max_iter: int, rng: np.random.Generator) -> list[Floats]:
        if len(tensor.shape) != 2:
            raise InputError(f"X has {len(tensor.shape)} modes, and NMF takes matrices; give 2 modes.")
        seed = draw_seed(rng)
        solver = import_module("sklearn.decomposition").NMF(L, max_iter=max_iter, random_state=seed)
        rows = solver.fit_transform(read_numbers(tensor))
        return [rows, solver.components_.T]


def read_numbers(tensor: Tensor) -> Floats:
    """Return the cells as one array of numbers, missing ones as 0, or raise if there is no room for it."""
    need, room = 16 * math.prod(tensor.shape), available_memory()  # solvers make a copy at least
    if need > room:
        raise InputError(
            f"X has {math.prod(tensor.shape):,} cells, which take {need / 2**30:,.1f} GB as real numbers, "
            f"and this machine has {room / 2**30:,.1f} GB; give a part of X, or take BooleanALS."
        )
    return read_ones(tensor).astype(np.float64)


def weighted(factors: Sequence[npt.ArrayLike], weights: npt.ArrayLike) -> list[Floats]:
    """Return factors with the weights of the components as part of the first."""
    first, *rest = (np.asarray(factor, np.float64) for factor in factors)
    return [first * np.asarray(weights), *rest]


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


def draw_seed(rng: np.random.Generator) -> int:
    """Return a seed as other packages take it."""
    return int(rng.integers(2**31))
