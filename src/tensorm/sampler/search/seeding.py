"""Components found in the data: where chains start, and moves out of dead ends during burn-in.

Plain sampling from a random start loses components and does not find them again. Here a pool of candidate
components is grown from random one-cells that nothing explains yet: first the cell's fibres, then a few
rounds in which every row of every mode joins or leaves by the cells it would explain. All candidates are
grown side by side: they are counted as further components of the tensor, none of which covers another.
The best one is added, the rest are grown on against what is then left.

These moves do not keep detailed balance: they belong to burn-in only, and no draw is ever made by them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tensorm.model import Noise
from tensorm.sampler.search.explanation import Cells, Explanation, Floats, losses
from tensorm.sampler.search.region import FIRST_SEARCH, REPAIR, choose_region
from tensorm.sampler.sweep import Target
from tensorm.tensors.bits import Bits, pack
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

Counts = npt.NDArray[np.int64]

SEEDS, MORE_SEEDS = 24, 96  # candidates grown anew at each step, and where components are left over
FEW = 8  # candidates of which any will do
KEPT = 12  # and those kept from the step before
ROUNDS = 3  # rounds of growing after the first
PURITIES = (0.99, 0.75, 0.3)  # shares of ones expected inside a component, above the rate outside
TRIES = 5  # parts of a large tensor that a repair searches, if need be


class CandidatePool:
    """Candidates for a component, grown side by side on the same explanation."""

    def __init__(self, explanation: Explanation, columns: Sequence[Bits], purity: float) -> None:
        self.explanation, self.columns = explanation, list(columns)
        _, _, fn, tn = explanation.confusion
        outside = (fn + 1) / (fn + tn + 2)  # rate of ones among the cells that nothing explains
        self._noise = Noise(min(outside + purity * (1 - outside), 0.999), outside)

    @classmethod
    def from_cells(cls, explanation: Explanation, cells: Cells, purity: float) -> CandidatePool:
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
            members = pos > 0 if mode == order[0] else split(rates)
            members[cells[:, mode], numbers] = True
            pool.columns[mode] = members
        return pool.grow(ROUNDS)

    def count(self, mode: int) -> tuple[Counts, Counts]:
        """Return (pos, tot) of every row of a mode for every candidate, given its other modes."""
        factors, count = self.explanation.factors, self.columns[0].shape[1]
        offset = 64 * factors[0].shape[1]  # candidates begin with a word of their own
        others = [np.zeros_like(column) if k == mode else column for k, column in enumerate(self.columns)]
        masks = tuple(np.hstack([old, pack(new)]) for old, new in zip(factors, others, strict=True))
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
        target, used = self.explanation.target, self.explanation.used
        for mode, (column, ones) in enumerate(zip(self.columns, self.explanation.ones, strict=True)):
            more = target.log_prior(mode, ones + column.sum(axis=0), len(column) * (used + 1))
            rise = rise + more - target.log_prior(mode, ones, len(column) * used)
        return np.where(np.logical_and.reduce([column.any(axis=0) for column in self.columns]), rise, -np.inf)


def split(rates: Floats) -> Bits:
    """Split the rows of each column in two where their mean rates differ most (Otsu)."""
    n = len(rates)
    if n == 1:
        return np.ones_like(rates, np.bool_)
    ranked = -np.sort(-rates, axis=0)
    size = np.arange(1, n)[:, None]
    head = np.cumsum(ranked, axis=0)
    gap = head[:-1] / size - (head[-1] - head[:-1]) / (n - size)
    cut = np.argmax(size * (n - size) * gap**2, axis=0)
    return np.asarray(rates >= np.take_along_axis(ranked, cut[None], axis=0))


def begin(tensor: Tensor, target: Target, rng: np.random.Generator) -> Explanation:
    """Return components found in the data, in a part of a large tensor first."""
    whole = Explanation(tensor, target, Factors.empty(tensor.shape, target.n_components))
    part = choose_region(tensor, rng, FIRST_SEARCH)
    explanation = part.cut(whole)
    cells = explanation.tensor.sample_ones(rng, part.n_ones)
    best = explanation
    for purity, next_purity in zip(PURITIES, (*PURITIES[1:], 0.0), strict=True):
        found = fill(explanation, cells, purity).polished()
        best = max(best, found, key=lambda explanation: explanation.score)
        if found.used == target.n_components and found.noise.purity > (purity + next_purity) / 2:
            break  # as pure as it was searched for: the next purity would find nothing better
    return part.spread(best, whole)


def search(
    explanation: Explanation,
    rng: np.random.Generator,
    purity: float,
    rival: Explanation | None = None,
    seeds: int = MORE_SEEDS,
) -> Explanation:
    """Give each unused component what explains most of what is left.

    In a large tensor a part is searched. If that was drawn at random and what is found is no better there
    than a rival, the rival is returned, and nothing is carried over to the whole.
    """
    part = choose_region(explanation.tensor, rng, REPAIR, explanation)
    small = part.cut(explanation)
    cells = small.tensor.sample_ones(rng, part.n_ones)
    found = fill(small, cells, purity, explanation.unused, seeds).polished()
    if rival is not None and part.drawn and found.score <= part.cut(rival).polished().score:
        return rival
    return part.spread(found, explanation)


def fill(
    explanation: Explanation, cells: Cells, purity: float, components: Cells | None = None, seeds: int = SEEDS
) -> Explanation:
    """Give each of some components, the unused ones, what explains most of what is left."""
    kept: list[Bits] = []
    for component in explanation.unused if components is None else components:
        cells = cells[~explanation.factors.covers([*cells.T])]
        if not len(cells):
            break
        pool = CandidatePool.from_cells(explanation, cells[:seeds], purity)
        cells = cells[seeds:]
        if kept:
            older = CandidatePool(explanation, kept, purity).grow(1)
            pool = CandidatePool(
                explanation,
                [np.hstack(both) for both in zip(pool.columns, older.columns, strict=True)],
                purity,
            )
        rises = pool.rises()
        best, *others = np.argsort(-rises)[: 1 + KEPT]
        if rises[best] <= 0:
            break
        explanation = explanation.replaced(int(component), [column[:, best] for column in pool.columns])
        kept = [column[:, others] for column in pool.columns]
    return explanation


def regrow(explanation: Explanation, rng: np.random.Generator, n_out: int) -> Explanation:
    """Replace a few components, those that explain little more often, by any others that pay.

    A repair takes the best of many candidates, and ends where it cannot find a better one. This is a way out.
    """
    chance = 1 / (1 + np.maximum(losses(explanation), 0))
    out = rng.choice(len(chance), min(n_out, len(chance)), replace=False, p=chance / chance.sum())
    rest = explanation.emptied([int(component) for component in out])
    part = choose_region(explanation.tensor, rng, REPAIR, rest)
    found, purity = part.cut(rest), rng.choice([*PURITIES, explanation.noise.purity])
    for component in out:
        cells = found.tensor.sample_ones(rng, FEW * FEW)
        cells = cells[~found.factors.covers([*cells.T])][:FEW]
        if not len(cells):
            break
        pool = CandidatePool.from_cells(found, cells, purity)
        paying = np.flatnonzero(pool.rises() > 0)
        if len(paying):
            chosen = rng.choice(paying)
            found = found.replaced(int(component), [column[:, chosen] for column in pool.columns])
    return part.spread(found, rest)


def repair(explanation: Explanation, rng: np.random.Generator, n_out: int) -> tuple[Explanation, bool]:
    """Remove components that do not pay and a few others, search for better ones, keep what scores higher.

    One removed and found anew is a swap; two found as one are merged; one found as two is split. Old and new
    components are compared after every entry took its more probable value: otherwise a sampled state would
    lose to any that was searched for. While components are left over, there may be more to find, and a repair
    tries harder.
    """
    idle = losses(explanation) <= 0
    seeds, least = MORE_SEEDS if idle.any() else SEEDS, explanation.polished().score + 1e-6
    for _ in range(TRIES):
        busy = rng.permutation(np.flatnonzero(~idle))[:n_out]
        rest = explanation.emptied([int(l) for l in (*np.flatnonzero(idle), *busy)])
        new = search(rest, rng, rng.choice([*PURITIES, explanation.noise.purity]), explanation, seeds)
        better = new is not explanation and new.score > least
        if better or (new is not explanation and not idle.any()):
            break
    return (new, True) if better else (explanation, False)
