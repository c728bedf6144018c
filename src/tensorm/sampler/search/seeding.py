"""Components found in the data: where chains start, and moves out of dead ends during burn-in.

Plain sampling from a random start loses components and does not find them again. Here a pool of candidate
components is grown from pairs of slices (pairs.py), or from random ones where ones are rare, in a few rounds
in which every row of every mode joins or leaves by the cells it would explain. All candidates are grown side
by side: they are counted as further components of the tensor, none of which covers another. The best one is
added, the rest are grown on against what is then left.

These moves do not keep detailed balance: they belong to burn-in only, and no draw is ever made by them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensorm.data.arrays import Bits, Counts, Floats, Indices
from tensorm.model import Noise
from tensorm.sampler.search.explanation import Explanation, losses
from tensorm.sampler.search.pairs import propose, split_rates
from tensorm.sampler.search.region import FIRST_SEARCH, QUICK_LOOK, REPAIR, choose_region, is_rare
from tensorm.sampler.sweep import Target
from tensorm.tensors.bits import pack
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

SEEDS, MORE_SEEDS = 24, 96  # candidates grown anew at each step, and where components are left over
FEW_CANDIDATES = 8  # candidates of which any will do
PAIRS, MORE_PAIRS = 200, 10000  # pairs of slices that these are chosen from
KEPT = 12  # and those kept from the step before
ROUNDS = 3  # rounds of growing after the first
PURITIES = (0.99, 0.75, 0.3)  # shares of ones expected inside a component, above the rate outside
TRIES = 5  # parts of a large tensor that a repair searches, if need be
CHANCE_GAIN = 1.0  # difference of scores that may be chance


class CandidatePool:
    """Candidates for a component, grown side by side on the same explanation."""

    def __init__(self, explanation: Explanation, columns: Sequence[Bits], purity: float) -> None:
        self.explanation, self.columns, self.purity = explanation, list(columns), purity
        _, _, fn, tn = explanation.confusion
        outside = (fn + 1) / (fn + tn + 2)  # rate of ones among the cells that nothing explains
        self._noise = Noise(min(outside + purity * (1 - outside), 0.999), outside)

    @classmethod
    def from_cells(cls, explanation: Explanation, cells: Indices, purity: float) -> CandidatePool:
        """Grow a candidate from each one-cell: along its longest fibre first, then mode by mode."""
        numbers = np.arange(len(cells))
        columns = [np.zeros((size, len(cells)), np.bool_) for size in explanation.tensor.shape]
        for column, index in zip(columns, cells.T, strict=True):
            column[index, numbers] = True
        pool = cls(explanation, columns, purity)
        order = sorted(range(len(columns)), key=lambda mode: len(columns[mode]), reverse=True)
        for mode in order:
            pos, tot = pool.count(mode)
            rates = (pos + pool._noise.false_alarm) / (np.maximum(tot, 0) + 1)  # counts may be negative
            members = pos > 0 if mode == order[0] else split_rates(rates)
            members[cells[:, mode], numbers] = True
            pool.columns[mode] = members
        return pool.grow(ROUNDS)

    @classmethod
    def from_pairs(
        cls, explanation: Explanation, rng: np.random.Generator, purity: float, count: int, most: int
    ) -> CandidatePool:
        """Grow candidates from the best of some pairs of slices."""
        pool = cls(explanation, (), purity)
        pool.columns, modes = propose(explanation, rng, pool._noise, count, most)
        for mode, members in enumerate(pool.columns):  # of which there are only two where the slices are from
            mine, (pos, tot) = modes == mode, pool.count(mode)
            rates = (pos + pool._noise.false_alarm) / (np.maximum(tot, 0) + 1)  # counts may be negative
            members[:, mine] = split_rates(rates)[:, mine]
        return pool.grow(ROUNDS)

    def join(self, other: CandidatePool) -> CandidatePool:
        """Return the candidates of both."""
        pairs = zip(self.columns, other.columns, strict=True)
        return CandidatePool(self.explanation, [np.hstack(both) for both in pairs], self.purity)

    def count(self, mode: int) -> tuple[Counts, Counts]:
        """Return (pos, tot) of every row of a mode for every candidate, given its other modes."""
        factors, count = self.explanation.factors, self.columns[0].shape[1]
        offset = 64 * factors[0].shape[1]  # candidates begin with a word of their own
        packed = [pack(column) for column in self.columns]
        packed[mode] = np.zeros_like(packed[mode])
        masks = tuple(np.concatenate(both, axis=1) for both in zip(factors, packed, strict=True))
        chosen = range(offset, offset + count)
        return self.explanation.tensor.counts(mode, Factors(masks, offset + count), chosen)

    def grow(self, rounds: int) -> CandidatePool:
        """Let every row join or leave by the cells it would explain, until nothing changes."""
        for _ in range(rounds):
            changed = False
            for mode, members in enumerate(self.columns):
                pos, tot = self.count(mode)
                joined = self._noise.log_ratio(pos, tot - pos) > 0
                changed = changed or bool((joined != members).any())
                self.columns[mode] = joined
            if not changed:
                break
        return self

    def rises(self) -> Floats:
        """Return by how much the log posterior would rise with each candidate."""
        times = self.explanation.tensor.times_counted(0)
        pos, tot = (np.where(self.columns[0], counts, 0).sum(axis=0) // times for counts in self.count(0))
        rise = self._noise.log_ratio(pos, tot - pos)
        target = self.explanation.target
        for mode, (column, ones) in enumerate(zip(self.columns, self.explanation.ones, strict=True)):
            sizes, N = column.sum(axis=0)[:, None], len(column)
            more = np.concatenate([np.broadcast_to(ones, (len(sizes), len(ones))), sizes], axis=1)
            rise = rise + target.log_prior(mode, more, N) - target.log_prior(mode, ones, N)
        return np.where(np.logical_and.reduce([column.any(axis=0) for column in self.columns]), rise, -np.inf)


class Seeds(ABC):
    """Where candidates for the next component begin."""

    @abstractmethod
    def grow(self, explanation: Explanation, purity: float) -> CandidatePool | None:
        """Return a few candidates for what is not explained yet, or None if there is nothing to grow."""


@dataclass
class OneCells(Seeds):
    """Random ones, each of them tried once: where ones are rare, most are in a component."""

    cells: Indices
    count: int

    def grow(self, explanation: Explanation, purity: float) -> CandidatePool | None:
        """Grow a candidate from each of the next ones that nothing explains."""
        self.cells = self.cells[~explanation.factors.covers([*self.cells.T])]
        chosen, self.cells = self.cells[: self.count], self.cells[self.count :]
        return CandidatePool.from_cells(explanation, chosen, purity) if len(chosen) else None


@dataclass
class SlicePairs(Seeds):
    """Random pairs of slices, of which the best are grown (pairs.py)."""

    rng: np.random.Generator
    pairs: int
    count: int

    def grow(self, explanation: Explanation, purity: float) -> CandidatePool:
        """Grow candidates from other pairs each time."""
        return CandidatePool.from_pairs(explanation, self.rng, purity, self.pairs, self.count)


def choose_seeds(
    whole: Tensor, part: Tensor, rng: np.random.Generator, n_ones: int, harder: bool = False
) -> Seeds:
    """Return where candidates begin in a part of a tensor: ones, so many in all, or pairs of slices."""
    count = MORE_SEEDS if harder else SEEDS
    if is_rare(whole) or max(part.shape) == 1:
        return OneCells(part.sample_ones(rng, n_ones), count)
    return SlicePairs(rng, MORE_PAIRS if harder else PAIRS, count)


def begin(tensor: Tensor, target: Target, rng: np.random.Generator) -> Explanation:
    """Return components found in the data, in a part of a large tensor first."""
    whole = Explanation(tensor, target, Factors.empty(tensor.shape, target.n_components))
    part = choose_region(tensor, rng, FIRST_SEARCH)
    best = explanation = part.cut(whole)
    for purity, next_purity in zip(PURITIES, (*PURITIES[1:], 0.0), strict=True):
        seeds = choose_seeds(tensor, explanation.tensor, rng, part.n_ones)
        found = fill_components(explanation, seeds, purity).polished()
        best = max(best, found, key=lambda explanation: explanation.score)
        if found.used == target.n_components and found.noise.purity > (purity + next_purity) / 2:
            break  # as pure as it was searched for: the next purity would find nothing better
    return part.spread(best, whole)


def search(
    explanation: Explanation,
    rng: np.random.Generator,
    purity: float,
    rival: Explanation | None = None,
    harder: bool = True,
) -> Explanation:
    """Give each unused component what explains most of what is left.

    In a large tensor a part is searched. If that was drawn at random and what is found is no better there
    than a rival, the rival is returned, and nothing is carried over to the whole.
    """
    part = choose_region(explanation.tensor, rng, REPAIR, explanation)
    small = part.cut(explanation)
    seeds = choose_seeds(explanation.tensor, small.tensor, rng, part.n_ones, harder)
    found = fill_components(small, seeds, purity, explanation.unused).polished()
    if rival is not None and part.drawn and found.score <= part.cut(rival).polished().score:
        return rival
    return part.spread(found, explanation)


def fill_components(
    explanation: Explanation, seeds: Seeds, purity: float, components: Indices | None = None
) -> Explanation:
    """Give each of some components, the unused ones, what explains most of what is left."""
    kept: list[Bits] = []
    for component in explanation.unused if components is None else components:
        pool = seeds.grow(explanation, purity)
        if pool is None:
            break
        if kept:
            pool = pool.join(CandidatePool(explanation, kept, purity).grow(1))
        rises = pool.rises()
        best, *others = np.argsort(-rises)[: 1 + KEPT]
        if rises[best] <= 0:
            break
        explanation = explanation.replaced(int(component), [column[:, best] for column in pool.columns])
        kept = [column[:, others] for column in pool.columns]
    return explanation


def is_more_to_find(explanation: Explanation, rng: np.random.Generator) -> bool:
    """Whether one more component would pay, as far as a quick search can tell.

    Not where chains prefer none at all: what would pay there is a matter of the purity it is searched with.
    """
    if not explanation.used:
        return False
    part = choose_region(explanation.tensor, rng, QUICK_LOOK, explanation)
    small = part.cut(explanation)
    least = PURITIES[-1]  # with less, a component of nearly all cells may seem to pay
    for purity in (max(explanation.noise.purity, least), least):
        pool = choose_seeds(explanation.tensor, small.tensor, rng, part.n_ones).grow(small, purity)
        if pool is not None and pool.rises().max(initial=-np.inf) > 0:
            return True
    return False


def regrow(explanation: Explanation, rng: np.random.Generator, n_out: int) -> Explanation:
    """Replace a few components, those that explain little more often, by any others that pay.

    A repair takes the best of many candidates, and ends where it cannot find a better one. This is a way out.
    """
    if not n_out:
        return explanation
    chance = 1 / (1 + np.maximum(losses(explanation), 0))
    out = rng.choice(len(chance), min(n_out, len(chance)), replace=False, p=chance / chance.sum())
    rest = explanation.emptied([int(component) for component in out])
    part = choose_region(explanation.tensor, rng, REPAIR, rest)
    found, purity = part.cut(rest), rng.choice([*PURITIES, explanation.noise.purity])
    cells = found.tensor.sample_ones(rng, FEW_CANDIDATES * FEW_CANDIDATES)
    cells = cells[~found.factors.covers([*cells.T])][:FEW_CANDIDATES]
    if len(cells):
        pool = CandidatePool.from_cells(found, cells, purity)
        paying = rng.permutation(np.flatnonzero(pool.rises() > 0))
        for component, chosen in zip(out, paying, strict=False):
            found = found.replaced(int(component), [column[:, chosen] for column in pool.columns])
    return part.spread(found, rest)


def choose_busy(lost: Floats, rng: np.random.Generator, count: int, weak: bool) -> Indices:
    """Choose some of the components that pay, with any chance or mostly those that explain little."""
    busy = np.flatnonzero(lost > 0)
    if not weak or not len(busy):
        return rng.permutation(busy)[:count]
    chance = 1 / (1 + lost[busy])
    return rng.choice(busy, min(count, len(busy)), replace=False, p=chance / chance.sum())


def repair(
    explanation: Explanation, rng: np.random.Generator, n_out: int, weak: bool = False
) -> tuple[Explanation, bool]:
    """Remove components that do not pay and a few others, search for better ones, keep what scores higher.

    One removed and found anew is a swap; two found as one are merged; one found as two is split. Old and new
    components are compared after every entry took its more probable value: otherwise a sampled state would
    lose to any that was searched for. For the same reason the old ones that do not pay are left out. While
    components are left over, there may be more to find, and a repair looks at more pairs. Where repairs
    are dear (`weak`), components that explain little are removed more often.
    """
    lost = losses(explanation)
    idle = lost <= 0
    old = explanation.emptied([int(l) for l in np.flatnonzero(idle)])
    for _ in range(TRIES):
        rest = old.emptied([int(l) for l in choose_busy(lost, rng, n_out, weak)])
        purity = rng.choice([*PURITIES, *[explanation.noise.purity] * (3 if idle.any() else 1)])
        new = search(rest, rng, purity, old, bool(idle.any()))
        if new is not old:
            break
    better = new is not old and new.score > old.polished().score + CHANCE_GAIN
    return (new, True) if better else (explanation, False)
