"""Walk'n'Merge: dense blocks found by random walks among the ones, merged, and chosen by description length.

D. Erdos and P. Miettinen, Walk'n'Merge: a scalable algorithm for Boolean tensor factorization, ICDM 2013.

In the *fibre graph* every one-cell is a node, and cells that differ in a single index are neighbours. Inside
a block of ones everything is a few steps apart, so walks that start there and restart often keep coming back
to it. Only coordinates of ones are used, and an array of all cells only if the tensor is small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise, product
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from tensorm.baselines.baseline import Baseline, read_tensor
from tensorm.baselines.fibres import Block, FibreGraph, mark, volume
from tensorm.data.arrays import Indices
from tensorm.data.checks import MAX_COMPONENTS, MAX_REPEATS, check_count, check_generator, check_number
from tensorm.selection.trials import subset_bits, universal

PARTNERS = 512  # opposite corners tried for the smallest block at a cell
REBUILT = 50  # blocks merged before their indices are collected again
ROUNDING = 1e-9
MIN_BLOCK_SIDE = 2  # fewest indices of a block in each mode


@dataclass(eq=False, repr=False)
class WalkNMerge(Baseline):
    """Walk'n'Merge (Erdos and Miettinen 2013): random walks, merged blocks, minimum description length.

    Finds blocks that are dense in ones and keeps those that shorten the description of X, so it needs no
    number of components. It is made for sparse tensors with little noise: many false ones lead the walks out
    of the blocks, and many false zeros make a block too sparse.

    Missing cells are treated as zeros, because the method sees only ones.

    Parameters
    ----------
    n_components : int or None, default None
        Maximum number of components; None for as many as shorten the description.
    density : float, default 0.7
        Minimum share of ones in a block and in each of its slices.
    n_walks : int, default 20
        Number of walks from each starting cell.
    walk_length : int, default 5
        Number of steps before a walk returns to the starting cell.
    restarts : int, default 10
        Number of times each walk starts again.
    patience : int, default 20
        The walks end after this many consecutive starting cells without a new block.
    random_state : int, Generator or None, default None
        Random seed.

    Attributes
    ----------
    factors_ : list of K Boolean ndarrays (N_k, L)
        The components, in the order in which they were added; L may be 0.
    length_ : float
        Description length of factors and errors, in bits.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorm import baselines
    >>> X = np.zeros((12, 12, 12), bool)
    >>> X[:5, :5, :5] = X[6:, 6:, 6:] = True
    >>> model = baselines.WalkNMerge(random_state=0).fit(X)
    >>> model.score(X), model.factors_[0].shape[1]
    (1.0, 2)
    """

    n_components: int | None = None
    _: KW_ONLY
    density: float = 0.7
    n_walks: int = 20
    walk_length: int = 5
    restarts: int = 10
    patience: int = 20
    random_state: Any = None

    def fit(self, X: Any, y: None = None) -> Self:
        """Find blocks of ones in X, a tensor of 0, 1 and missing (treated as 0) with K >= 2 modes."""
        most = None
        if self.n_components is not None:
            most = check_count("n_components", self.n_components, 1, ", or None", MAX_COMPONENTS)
        density = check_number("density", self.density)
        names = ("n_walks", "restarts", "walk_length", "patience")
        n_walks, restarts, length, patience = (
            check_count(name, getattr(self, name), 1, most=MAX_REPEATS) for name in names
        )
        check_count("n_walks times restarts", n_walks * restarts, 1, most=100 * MAX_REPEATS)
        rng = check_generator(self.random_state)
        ones = FibreGraph.of(read_tensor(X))
        large = list(walk(ones, density, rng, n_walks * restarts, length, patience))
        small = list(smallest(ones, large, rng))
        chosen, self.length_ = shorten(ones, merge(ones, large + small, density), most)
        self.factors_ = [np.zeros((size, len(chosen)), np.bool_) for size in ones.shape]
        for l, block in enumerate(chosen):
            for factor, index in zip(self.factors_, block, strict=True):
                factor[index, l] = True
        return self


def walk(
    ones: FibreGraph, density: float, rng: np.random.Generator, n_walkers: int, length: int, patience: int
) -> Iterator[Block]:
    """Yield blocks of cells that walks from a common start visit more often than others."""
    unseen = np.ones(len(ones), np.bool_)
    failures = 0
    while failures < patience and unseen.any():
        start = rng.choice(np.flatnonzero(unseen))
        unseen[start] = False
        visits = np.zeros(len(ones), np.int64)
        at = np.full(n_walkers, start)
        for _ in range(length):
            at = ones.step(at, rng)
            visits += np.bincount(at, minlength=len(ones))
        often = visits > visits[visits > 0].mean()
        often[start] = True
        block = trim_block(ones, tuple(np.unique(column) for column in ones.cells[often].T), density)
        failures += 1
        if block is not None:
            cells = ones.inside(block)
            if unseen[cells].any():
                failures = 0
                unseen[cells] = False
                yield block


def trim_block(ones: FibreGraph, block: Block, density: float) -> Block | None:
    """Drop the emptiest slices until all are dense; None if nothing is left."""
    here = ones.inside(block)
    alive = np.zeros(len(ones), np.bool_)
    alive[here] = True
    counts = [
        np.bincount(column[here], minlength=size)
        for column, size in zip(ones.columns, ones.shape, strict=True)
    ]
    while all(len(index) >= MIN_BLOCK_SIDE for index in block):
        size = volume(block)
        shares = [counts[mode][index] / (size // len(index)) for mode, index in enumerate(block)]
        lowest = [share.min() for share in shares]
        mode = int(np.argmin(lowest))
        if lowest[mode] >= density:
            return block
        out = block[mode][shares[mode].argmin()]
        block = tuple(index[index != out] if k == mode else index for k, index in enumerate(block))
        gone = ones.with_index(mode, int(out))
        gone = gone[alive[gone]]
        alive[gone] = False
        for count, column in zip(counts, ones.columns, strict=True):
            np.subtract.at(count, column[gone], 1)
    return None


def smallest(ones: FibreGraph, blocks: Sequence[Block], rng: np.random.Generator) -> Iterator[Block]:
    """Yield full blocks of two indices in each mode, each from a cell that is in no block yet.

    The paper lists all of them; here a cell starts at most one, and PARTNERS opposite corners are tried.
    """
    left = np.ones(len(ones), np.bool_)
    for block in blocks:
        left[ones.inside(block)] = False
    K = len(ones.shape)
    for start in np.flatnonzero(left):
        if not left[start]:
            continue
        mates = []
        for order, begin, length in ones.fibres:
            fibre = order[begin[start] : begin[start] + length[start]]
            mates.append(fibre[(fibre != start) & left[fibre]])
        if not all(map(len, mates)):
            continue
        corners = np.stack([rng.choice(mate, PARTNERS) for mate in mates])
        far = np.stack([ones.cells[corners[mode], mode] for mode in range(K)])  # (K, PARTNERS)
        near = ones.cells[start][:, None]
        for sides in product((False, True), repeat=K):
            if sum(sides) > 1:  # of those corners that are left
                far = far[:, ones.holds(ones.address(np.where(np.array(sides)[:, None], far, near)))]
        if far.size:
            other = far[:, 0]
            block = tuple(np.sort([n, m]) for n, m in zip(ones.cells[start], other, strict=True))
            left[ones.inside(block)] = False
            yield block


def merge(ones: FibreGraph, blocks: Sequence[Block], density: float) -> list[Block]:
    """Merge pairs of neighbouring blocks, large ones first, while the union is dense enough."""
    pending = sorted(blocks, key=volume, reverse=True)
    done: list[Block] = []
    sides, first, changed = Sides.of(ones, pending), 0, list[int]()  # rows of blocks that are unions by now
    for at in range(len(pending)):
        block = pending[at]
        if len(changed) > REBUILT:
            sides, first, changed = Sides.of(ones, pending[at:]), at, []
        maybe = sides.find_dense(ones, block, density, at - first + 1) + first
        for i in sorted({*maybe.tolist(), *(n for n in changed if n > at)}):
            if i in changed and not adjoin(block, pending[i]):
                continue
            union = tuple(np.union1d(a, b) for a, b in zip(block, pending[i], strict=True))
            if ones.count(union) / volume(union) >= density:
                pending[i] = union
                changed.append(i)
                break
        else:
            done.append(block)
    return done


class Sides(NamedTuple):
    """The indices of many blocks, for each mode a sparse matrix (blocks, N_k)."""

    marks: list[Any]

    @classmethod
    def of(cls, ones: FibreGraph, blocks: Sequence[Block]) -> Sides:
        """Collect the indices of blocks."""
        marks = []
        for mode, size in enumerate(ones.shape):
            found = [block[mode] for block in blocks]
            edges, every = np.cumsum([0, *map(len, found)]), np.concatenate([*found, np.empty(0, np.intp)])
            marks.append(csr_array((np.ones(len(every)), every, edges), (len(blocks), size)))
        return cls(marks)

    def find_dense(self, ones: FibreGraph, block: Block, density: float, start: int) -> Indices:
        """Return the blocks from a row on that adjoin another one, and whose union with it may be dense.

        Counted are the ones with one index that is not the block's. Any cell with more of them may be 1.
        """
        inner = [mark(index, size) for index, size in zip(block, ones.shape, strict=True)]
        shared = np.array([marks @ mine for marks, mine in zip(self.marks, inner, strict=True)])
        rows = np.flatnonzero((shared > 0).sum(axis=0) >= len(block) - 1)
        rows = rows[rows >= start]
        if not len(rows):
            return rows
        most, known, whole = np.zeros(len(rows)), np.zeros(len(rows)), np.ones(len(rows))
        for k, (marks, mine) in enumerate(zip(self.marks, inner, strict=True)):
            counts, some = ones.count_beside(block, k), marks[rows]
            new = some.sum(axis=1) - shared[k][rows]
            most += some @ np.where(mine, 0, counts)
            known += new * (volume(block) // len(block[k]))
            whole *= len(block[k]) + new
        most += counts[block[-1]].sum() + whole - known - volume(block)
        return rows[most >= density * whole * (1 - ROUNDING)]


def adjoin(a: Block, b: Block) -> bool:
    """Return whether the blocks share a cell or have neighbouring cells."""
    apart = sum(not np.isin(x, y, assume_unique=True).any() for x, y in zip(a, b, strict=True))
    return apart <= 1


def shorten(ones: FibreGraph, blocks: Sequence[Block], most: int | None) -> tuple[list[Block], float]:
    """Add the block that shortens the description most until none does; return blocks and bits.

    Blocks are dense, so they have few cells in total, which are identified by address.
    """
    cells = [ones.all_of(block) for block in blocks]
    every, place = np.unique(np.concatenate([*cells, np.empty(0, np.intp)]), return_inverse=True)
    edges = np.cumsum([0, *map(len, cells)])
    spans = [place[a:b] for a, b in pairwise(edges)]
    owner = np.repeat(np.arange(len(blocks)), np.diff(edges))
    full, free = ones.holds(every), np.ones(len(every), np.bool_)
    price = np.array(
        [
            sum(float(subset_bits(N, len(i))) for N, i in zip(ones.shape, block, strict=True))
            for block in blocks
        ]
    )
    n_cells = math.prod(ones.shape)
    tp = fp = 0
    paid, bits, taken = 0.0, float(subset_bits(n_cells, len(ones))), list[int]()
    while len(taken) < len(blocks) and (most is None or len(taken) < most):
        pos, all_new = (
            np.bincount(owner[some[place]], minlength=len(blocks)) for some in (free & full, free)
        )
        neg = all_new - pos
        inside, outside = tp + fp + pos + neg, n_cells - tp - fp - pos - neg
        lengths = paid + price + universal(len(taken) + 1)
        lengths = lengths + subset_bits(inside, fp + neg) + subset_bits(outside, len(ones) - tp - pos)
        best = int(lengths.argmin())
        if lengths[best] >= bits:
            break
        bits, paid = float(lengths[best]), paid + float(price[best])
        tp, fp = tp + int(pos[best]), fp + int(neg[best])
        free[spans[best]] = False
        taken.append(best)
    return [blocks[i] for i in taken], bits
