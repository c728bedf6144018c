"""The fibre graph of Walk'n'Merge: ones as nodes, those that differ in a single index as neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from tensorm.data.arrays import Bits, Indices
from tensorm.tensors import Tensor

Block = tuple[Indices, ...]  # the sorted indices in each mode

SEARCH = 16  # times as long as a look at every one takes to look a cell up
ARRAY_CELLS = 2**26  # cells, of which an array is made


@dataclass(frozen=True, eq=False)
class FibreGraph:
    """The one-cells of a tensor, sorted, and the fibre graph on them."""

    shape: tuple[int, ...]
    cells: Indices  # (n, K)

    @classmethod
    def of(cls, tensor: Tensor) -> FibreGraph:
        """Read the ones of a tensor."""
        return cls(tensor.shape, tensor.ones_at(np.arange(tensor.n_ones)))

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def addresses(self) -> Indices:
        """One number for each cell, increasing."""
        return self.address(self.cells.T)

    def address(self, index: Indices) -> Indices:
        """Return one number for each of n cells, given as an array (K, n)."""
        return np.asarray(np.ravel_multi_index(tuple(index), self.shape))

    def holds(self, addresses: Indices) -> Bits:
        """Return which addresses belong to ones."""
        if self.cube is not None:
            return np.asarray(self.cube.ravel()[addresses])
        place = np.minimum(np.searchsorted(self.addresses, addresses), max(len(self) - 1, 0))
        return np.asarray(self.addresses[place] == addresses)

    @cached_property
    def fibres(self) -> list[tuple[Indices, Indices, Indices]]:
        """For each mode: the cells ordered by fibre, and the start and length of each cell's fibre."""
        found = []
        for mode in range(len(self.shape)):
            stem = self.addresses - self.cells[:, mode] * math.prod(self.shape[mode + 1 :])
            order = np.argsort(stem, kind="stable")
            _, first, number, size = np.unique(
                stem[order], return_index=True, return_inverse=True, return_counts=True
            )
            begin, length = np.empty(len(self), np.intp), np.empty(len(self), np.intp)
            begin[order], length[order] = first[number], size[number]
            found.append((order, begin, length))
        return found

    def step(self, at: Indices, rng: np.random.Generator) -> Indices:
        """Move each walker to a neighbour chosen uniformly at random; walkers without one stay."""
        lengths = np.stack([length[at] for _, _, length in self.fibres])
        ends = np.cumsum(lengths - 1, axis=0)
        ticket = (rng.random(len(at)) * ends[-1]).astype(np.intp)
        after = at.copy()
        for mode, (order, begin, _) in enumerate(self.fibres):
            here = (ticket < ends[mode]) & (ticket >= ends[mode] - lengths[mode] + 1)
            place = begin[at[here]] + ticket[here] - (ends[mode] - lengths[mode] + 1)[here]
            found = order[place]
            # A fibre contains the walker's own cell: drawing it means the last cell, which nobody can draw.
            own = found == at[here]
            found[own] = order[(begin[at[here]] + lengths[mode][here] - 1)[own]]
            after[here] = found
        return after

    def inside(self, block: Block) -> Indices:
        """Return the numbers of the ones inside a block."""
        if volume(block) < len(self) // SEARCH:  # all of them are looked up
            place = np.searchsorted(self.addresses, every := self.all_of(block))
            return place[self.holds(every)]
        found = np.flatnonzero(mark(block[0], self.shape[0])[self.columns[0]])
        for mode, index in enumerate(block[1:], 1):
            found = found[mark(index, self.shape[mode])[self.columns[mode][found]]]
        return found

    @cached_property
    def cube(self) -> Bits | None:
        """All cells of a small tensor, which is quicker to read than a list of ones."""
        if math.prod(self.shape) > ARRAY_CELLS:
            return None
        cells = np.zeros(self.shape, np.bool_)
        cells[tuple(self.columns)] = True
        return cells

    def count(self, block: Block) -> int:
        """Return how many ones a block contains."""
        return len(self.inside(block)) if self.cube is None else int(self.cube[np.ix_(*block)].sum())

    def count_beside(self, block: Block, mode: int) -> Indices:
        """Return for each index of a mode how many ones it has with the block's indices of the others."""
        size = self.shape[mode]
        beside = (*block[:mode], np.arange(size), *block[mode + 1 :])
        if self.cube is not None:
            others = tuple(k for k in range(len(block)) if k != mode)
            return np.asarray(self.cube[np.ix_(*beside)].sum(axis=others))
        cells = self.inside(beside)
        return np.bincount(self.columns[mode][cells], minlength=size)

    def all_of(self, block: Block) -> Indices:
        """Return the addresses of all cells of a block, increasing."""
        return reduce(
            lambda some, k: (some[:, None] * self.shape[k] + block[k]).ravel(), range(1, len(block)), block[0]
        )

    @cached_property
    def columns(self) -> list[Indices]:
        """The cells' indices, mode by mode."""
        return [np.ascontiguousarray(column) for column in self.cells.T]

    @cached_property
    def by_index(self) -> list[tuple[Indices, Indices]]:
        """For each mode: the cells ordered by their index, and where each index begins."""
        found = []
        for column, size in zip(self.columns, self.shape, strict=True):
            edges = np.append(0, np.cumsum(np.bincount(column, minlength=size)))
            found.append((np.argsort(column, kind="stable"), edges))
        return found

    def with_index(self, mode: int, n: int) -> Indices:
        """Return the numbers of the ones with an index in a mode."""
        order, edges = self.by_index[mode]
        return order[edges[n] : edges[n + 1]]


def mark(index: Indices, size: int) -> Bits:
    """Return which of so many indices are among some."""
    marks = np.zeros(size, np.bool_)
    marks[index] = True
    return marks


def volume(block: Block) -> int:
    """Return the number of cells in a block."""
    return math.prod(len(index) for index in block)
