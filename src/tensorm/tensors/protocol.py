"""The seam: what the sampler may ask of a tensor, however its cells are stored.

Every tensor offers these verbs, and one set of contract tests runs on all of them. Factors are *masks*
(bits.py). ``Rule`` says how an entry is decided, ``Stream`` which random numbers it uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from tensorm.kernels.decisions import GIBBS, GREEDY, METROPOLIS, Rule
from tensorm.model import Confusion
from tensorm.tensors.bits import Bits, Words
from tensorm.tensors.factors import Factors

__all__ = [
    "GIBBS",
    "GREEDY",
    "METROPOLIS",
    "Counts",
    "Rows",
    "Rule",
    "Shardable",
    "Stream",
    "Tensor",
    "count_alone",
    "draw_ones",
]

Counts = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]  # numbers of some rows of a factor, each once


class Stream(NamedTuple):
    """A sequence of random numbers of its own: one for every row and component."""

    seed: np.uint64
    chain: int
    sweep: int
    purpose: int  # the mode whose factor is updated, or one of the numbers above 200 of sampler/state.py
    by_row: int = 1  # 0: all rows share their numbers
    first: int = 0  # number of the first row, for a part of a factor that uses the numbers of the whole


class Tensor(Protocol):
    """Observations of 0, 1 and missing with K >= 2 modes."""

    shape: tuple[int, ...]
    modes: tuple[str, ...]
    labels: tuple[npt.NDArray[Any] | None, ...]

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        ...

    @property
    def n_observed(self) -> int:
        """Cells that are not missing."""
        ...

    @property
    def n_ones(self) -> int:
        """Those of them that are 1."""
        ...

    def update_factor(
        self,
        mode: int,
        factors: Factors,
        rule: Rule,
        stream: Stream,
        rows: Rows | None = None,
    ) -> Words:
        """Return a new factor for ``mode``, every entry decided in turn given all others (eq. 4).

        With ``rows`` only these are decided, with the random numbers they would have among all.
        """
        ...

    def update_tied(
        self, pair: tuple[int, int], factors: Factors, rule: Rule, stream: Stream, rows: Rows | None = None
    ) -> Words:
        """Return a new factor for two modes that share one, entries decided in turn given all others.

        No cell with the same index along both modes may be observed.
        """
        ...

    def counts(
        self,
        mode: int,
        factors: Factors,
        components: Sequence[int] | None = None,
        rows: Rows | None = None,
    ) -> tuple[Counts, Counts]:
        """Return (pos, tot) of a mode's entries, two arrays (len(rows), len(components)) (eq. 5).

        All rows and components by default. All other entries are held; ``tot`` counts the observed cells
        whose value hangs on the entry, ``pos`` those of them that are 1. The entry's own value plays no part.
        """
        ...

    def times_counted(self, mode: int) -> int:
        """Return how often a cell counts when the counts of all rows of a mode are added up; mostly 1."""
        ...

    def confusion(self, factors: Factors) -> Confusion:
        """Count the observed cells by the value of the Boolean product and their own."""
        ...

    def sample_ones(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.intp]:
        """Return the indices (count, K) of random cells that are 1, drawn with replacement."""
        ...

    def take(self, indices: Sequence[npt.NDArray[np.intp]]) -> Tensor:
        """Return a small tensor of the cells with these indices along each mode."""
        ...

    def blocks(self, max_cells: int = 2**22) -> Iterator[tuple[slice, Bits, Bits]]:
        """Yield (indices along mode 0, ones, observed) in blocks of whole slices."""
        ...

    def with_threads(self, n_threads: int) -> Self:
        """Return the same tensor, using so many threads."""
        ...


class Ranked(Protocol):
    """Ones that can be asked for by their ranks."""

    shape: tuple[int, ...]

    @property
    def n_ones(self) -> int:
        """Cells that are 1."""
        ...

    def ones_at(self, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """Return the indices (n, K) of ones by their sorted ranks among all ones, in the order of indices."""
        ...


class Shardable(Tensor, Ranked, Protocol):
    """A tensor that can be a part of a larger one (sharded.py)."""


def draw_ones(tensor: Ranked, rng: np.random.Generator, count: int) -> npt.NDArray[np.intp]:
    """Sample ones by their ranks: the same cells for the same generator, however they are stored."""
    if tensor.n_ones == 0:
        return np.empty((0, len(tensor.shape)), np.intp)
    return rng.permutation(tensor.ones_at(np.sort(rng.integers(tensor.n_ones, size=count))))


def count_alone(
    tensor: Tensor,
    factors: Factors,
    members: Bits,
    components: Sequence[int] | None = None,
) -> tuple[Counts, Counts]:
    """Return for each component the ones and the zeros that it alone covers.

    Parameters
    ----------
    tensor, factors, components
        As for ``Tensor.counts``.
    members : Boolean array (N_0, components)
        The components' columns of mode 0; the factors say what other components cover.
    """
    rows = np.flatnonzero(members.any(axis=1))
    pos, tot = (
        np.where(members[rows], counts, 0).sum(axis=0) // tensor.times_counted(0)
        for counts in tensor.counts(0, factors, components, rows)
    )
    return pos, tot - pos
