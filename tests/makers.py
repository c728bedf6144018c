"""The kinds of tensor that the contract is about: each stores the same cells in its own way."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import distributed
import numpy as np

from problems import Problem
from shard_hosts import cut, pieces, shard
from tensorm.tensors import DaskTensor, DenseTensor, RelationalTensor, SparseTensor, SymmetricTensor, Tensor
from tensorm.tensors.cached import CachedCounts

LONGEST = 70  # sizes of modes that must be equal; a cube of a mode larger than this is slow to check


class Kind(NamedTuple):
    """How to store the cells of a problem, and which problem like a given one can be stored so."""

    make: Callable[[Problem], Tensor]
    fit: Callable[[Problem], Problem] = lambda problem: problem
    orders: Callable[[int], list[np.ndarray]] = lambda K: [np.roll(np.arange(K), 1), np.arange(K)[::-1]]

    def store(self, problem: Problem) -> tuple[Tensor, Problem]:
        """The tensor of a problem like this one, and that problem."""
        fitted = self.fit(problem)
        return self.make(fitted), fitted


def dense(problem: Problem) -> Tensor:
    ones, observed = problem.ones, problem.observed
    return DenseTensor(ones if observed is None else np.where(observed, ones, np.nan))


def cached(problem: Problem) -> Tensor:
    """One that corrects its counts whatever that costs."""
    return CachedCounts(dense(problem), most=np.inf)


def sparse(problem: Problem) -> Tensor:
    """All zeros are implied."""
    missing = None if problem.observed is None else np.argwhere(~problem.observed)
    return SparseTensor(np.nonzero(problem.ones & problem.seen), problem.ones.shape, missing=missing)


def listed(problem: Problem) -> Tensor:
    """All observed cells are listed, in any order."""
    seen = problem.seen
    order = np.random.default_rng(0).permutation(np.count_nonzero(seen))
    values = problem.ones[seen][order]
    return SparseTensor(np.argwhere(seen)[order], seen.shape, values, unlisted="missing")


def divide(problem: Problem, n_parts: int) -> list[Problem]:
    """The cells in slices of mode 0, without factors."""
    parts = cut(len(problem.ones), n_parts)
    cells = zip(pieces(problem.ones, parts), pieces(problem.observed, parts), strict=True)
    return [Problem(*some, []) for some in cells]


def sharded(problem: Problem) -> Tensor:
    """Shards of several kinds, side by side."""
    kinds = itertools.cycle([dense, sparse, listed])
    return shard([kind(some) for kind, some in zip(kinds, divide(problem, 3), strict=False)])


def symmetric(inside: Callable[[Problem], Tensor]) -> Callable[[Problem], Tensor]:
    """Two modes of a tensor of another kind share a factor."""

    def make(problem: Problem) -> Tensor:
        assert problem.pair is not None
        return SymmetricTensor(inside(problem), problem.pair)

    return make


def compared(problem: Problem) -> Tensor:
    return relational(problem).compared()


def cached_relational(problem: Problem) -> Tensor:
    return CachedCounts(relational(problem), most=np.inf)


def sharded_relational(problem: Problem) -> Tensor:
    """Comparisons of each object are on one shard."""
    return shard([relational(some) for some in divide(problem, 3)])


def cached_sharded(problem: Problem) -> Tensor:
    return CachedCounts(sharded(problem), most=np.inf)


def mirror(problem: Problem) -> Problem:
    """Cells and factors that stay the same when the last two modes are exchanged."""
    *sizes, one, other = problem.ones.shape
    N, rng = min(max(one, other, 2), LONGEST), problem.rng
    shape, (i, j) = (*sizes, N, N), (len(sizes), len(sizes) + 1)
    half = np.triu(rng.random(shape) < problem.ones.mean(), 1)
    seen = np.triu(rng.random(shape) < problem.seen.mean(), 1)
    shared = rng.random((N, problem.L)) < np.mean(problem.factors[-1])
    factors = [*problem.factors[:-2], shared, shared]
    return Problem(half | half.swapaxes(i, j), seen | seen.swapaxes(i, j), factors, (i, j))


def relational(problem: Problem) -> Tensor:
    """The rank of an attribute is the number of others that it is above."""
    compared = problem.seen.any(axis=2)
    return RelationalTensor(np.where(compared, problem.ones.sum(axis=2), np.nan), normalise=None)


def compare(problem: Problem) -> Problem:
    """Comparisons of random numbers, with ties, as many missing, and none at all if there were no ones."""
    O, *others = problem.ones.shape
    A, rng = min(max(*others, 2), LONGEST), problem.rng
    matrix = rng.integers(12, size=(O, A)) * float(problem.ones.any())
    matrix[rng.random((O, A)) >= problem.seen.mean()] = np.nan
    ones, zeros = matrix[:, :, None] > matrix[:, None], matrix[:, :, None] < matrix[:, None]
    factors = [rng.random((A, problem.L)) < np.mean(problem.factors[-1]) for _ in range(2)]
    return Problem(ones, ones | zeros, [problem.factors[0], *factors])


def compare_once(problem: Problem) -> Problem:
    """The same, each pair counted once."""
    return compare(problem)._replace(once=True)


def mirror_images(K: int) -> list[np.ndarray]:
    return [np.array([0, 2, 1])]


@cache
def cluster() -> Any:
    """A cluster in this process; it ends with it."""
    how = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    return distributed.Client(distributed.LocalCluster(n_workers=2, **how), set_as_default=False)


def dask(problem: Problem) -> Tensor:
    return DaskTensor([dense(some) for some in divide(problem, 2)], cluster())


KINDS = {
    "dense": Kind(dense),
    "cached": Kind(cached),
    "sparse": Kind(sparse),
    "listed": Kind(listed),
    "sharded": Kind(sharded),
    "symmetric": Kind(symmetric(dense), mirror),
    "relational": Kind(relational, compare, mirror_images),
    "compared": Kind(compared, compare_once, mirror_images),
    "symmetric over sparse": Kind(symmetric(sparse), mirror),
    "symmetric over listed": Kind(symmetric(listed), mirror),
    "symmetric over cached": Kind(symmetric(cached), mirror),
    "cached over relational": Kind(cached_relational, compare, mirror_images),
    "cached over sharded": Kind(cached_sharded),
    "sharded over relational": Kind(sharded_relational, compare, mirror_images),
    "dask": Kind(dask),
}
SLOW = {"dask", *(name for name in KINDS if " over " in name)}  # the same code again, in other company
