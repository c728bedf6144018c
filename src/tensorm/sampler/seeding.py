"""Components found in the data: where chains start, and moves out of dead ends during burn-in.

Plain sampling from a random start loses components and does not find them again. Here a pool of candidate
components is grown from random one-cells that nothing explains yet: first the cell's fibres, then a few
rounds in which every row of every mode joins or leaves by the cells it would explain. All candidates are
grown side by side: they are counted as further components of the tensor, none of which covers another.
The best one is added, the rest are grown on against what is then left.

These moves know no detailed balance: they belong to burn-in only, and no draw is ever made by them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tensorm.model import Confusion, Noise, factor_density
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Model, log_posterior
from tensorm.tensors.bits import Bits, Words, pack, unpack
from tensorm.tensors.seam import GREEDY, Rule, Tensor, count_alone

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Cells = npt.NDArray[np.intp]

SEEDS = 24  # candidates grown anew at each step
KEPT = 12  # and those kept from the step before
ROUNDS = 3  # rounds of growing after the first
LOOKED_AT = 2048  # one-cells looked at to find some that nothing explains
PURITIES = (0.99, 0.75, 0.3)  # shares of ones expected inside a component, above the rate outside
SAMPLE = 2**20  # cells of the part of a large tensor in which components are looked for first
TRIES = 5  # how often a repair looks for something better in parts of a large tensor
LARGE, LARGE_SAMPLE = 2**30, 2**26  # cells beyond which repairs are tried in a part first, and of that part
RARE = 0.01  # rate of ones below which a part is chosen by the ones in it
RARE_SAMPLE, RARE_LOOKED_AT = 2**24, 2**15  # its cells, and the ones looked at to choose it


@dataclass(frozen=True, eq=False)
class Ground:
    """The components that are there, and with them what is left to explain."""

    tensor: Tensor
    model: Model
    factors: tuple[Words, ...]

    @cached_property
    def confusion(self) -> Confusion:
        """Observed cells by the value of the product and their own."""
        return self.tensor.confusion(self.factors, self.model.n_components)

    @cached_property
    def bits(self) -> list[Bits]:
        """The factors as Boolean arrays (N_k, L)."""
        return [unpack(masks, self.model.n_components) for masks in self.factors]

    @property
    def noise(self) -> Noise:
        """The rates that fit these components."""
        return self.model.noise.estimate(self.confusion)

    @property
    def purity(self) -> float:
        """Rate of ones inside the components, above the rate outside."""
        hit, false_alarm = self.noise
        return (hit - false_alarm) / (1 - false_alarm)

    @property
    def density(self) -> tuple[float, ...]:
        """Shares of ones in the factors, smoothed."""
        return tuple(float((bits.sum() + 1) / (bits.size + 2)) for bits in self.bits)

    @property
    def used(self) -> int:
        """Number of components with a member in every mode."""
        return self.model.n_components - len(self.unused)

    @cached_property
    def unused(self) -> npt.NDArray[np.intp]:
        """Components that are empty in some mode."""
        return np.flatnonzero(~np.logical_and.reduce([bits.any(axis=0) for bits in self.bits]))

    @cached_property
    def ones(self) -> list[int]:
        """Members of each mode in the components that are used."""
        return [int(np.delete(bits, self.unused, axis=1).sum()) for bits in self.bits]

    @property
    def base_rate(self) -> float:
        """Rate of ones among the cells that nothing explains."""
        return (self.confusion.fn + 1) / (self.confusion.fn + self.confusion.tn + 2)

    @cached_property
    def score(self) -> float:
        """Log posterior of the factors, noise rates and densities integrated out, up to a constant."""
        factors = [masks[None] for masks in self.factors]
        return float(log_posterior(self.model, factors, np.array([self.confusion]))[0])

    def replaced(self, component: int, columns: Sequence[Bits]) -> Ground:
        """Put other columns in place of a component, as far as the prior leaves its entries free."""
        factors = []
        for mode, (bits, column) in enumerate(zip(self.bits, columns, strict=True)):
            new = bits.copy()
            new[:, component] = self.model.prior.allow(mode, component, column)
            factors.append(pack(new))
        return Ground(self.tensor, self.model, tuple(factors))

    def emptied(self, components: Sequence[int]) -> Ground:
        """Take components out, as far as the prior leaves their entries free."""
        ground = self
        for component in components:
            ground = ground.replaced(component, [np.zeros(len(bits), np.bool_) for bits in self.bits])
        return ground

    def polished(self, rounds: int = 1) -> Ground:
        """Set every entry to its more probable value, given the others."""
        L, factors = self.model.n_components, list(self.factors)
        gain, loss = self.noise.weights
        for _ in range(rounds):
            for mode in range(len(factors)):
                prior = self.model.prior.log_odds(mode, self.density)
                rule = Rule(np.arange(L), GREEDY, gain, loss, prior)
                factors[mode] = self.tensor.update_factor(
                    mode, factors, L, rule, self.model.stream(0, 0, mode)
                )
        return Ground(self.tensor, self.model, tuple(factors))

    def state(self, sweep: int) -> State:
        """Return the state of a chain with these components."""
        return State(self.factors, self.noise, self.density, sweep)


class Pool:
    """Candidates for a component, grown side by side on the same ground."""

    def __init__(self, ground: Ground, columns: Sequence[Bits], purity: float) -> None:
        self.ground, self.columns = ground, list(columns)
        outside = ground.base_rate
        inside = min(outside + purity * (1 - outside), 0.999)
        self._gain, self._loss = Noise(inside, outside).weights
        self._masks = [pack(column) for column in columns]

    @classmethod
    def from_cells(cls, ground: Ground, cells: Cells, purity: float) -> Pool:
        """Grow a candidate from each one-cell: along its longest fibre first, then mode by mode."""
        numbers = np.arange(len(cells))
        columns = [np.zeros((size, len(cells)), np.bool_) for size in ground.tensor.shape]
        for column, index in zip(columns, cells.T, strict=True):
            column[index, numbers] = True
        pool = cls(ground, columns, purity)
        order = sorted(range(len(columns)), key=lambda mode: len(columns[mode]), reverse=True)
        for mode in order:
            pos, tot = pool.count(mode)
            rates = (pos + ground.base_rate) / (tot + 1)
            members = pos > 0 if mode == order[0] else split(rates)
            members[cells[:, mode], numbers] = True
            pool.set(mode, members)
        return pool.grow(ROUNDS)

    def __len__(self) -> int:
        return self.columns[0].shape[1]

    def count(self, mode: int) -> tuple[Counts, Counts]:
        """Return (pos, tot) of every row of a mode for every candidate, given its other modes."""
        offset = 64 * self.ground.factors[0].shape[1]  # candidates begin with a word of their own
        masks = [
            np.hstack([factor, np.zeros_like(block) if k == mode else block])
            for k, (factor, block) in enumerate(zip(self.ground.factors, self._masks, strict=True))
        ]
        chosen = range(offset, offset + len(self))
        return self.ground.tensor.counts(mode, masks, offset + len(self), chosen)

    def set(self, mode: int, members: Bits) -> None:
        """Replace the candidates' rows of a mode."""
        self.columns[mode], self._masks[mode] = members, pack(members)

    def grow(self, rounds: int) -> Pool:
        """Let every row join or leave by the cells it would explain, until nothing changes."""
        for _ in range(rounds):
            changed = False
            for mode, members in enumerate(self.columns):
                pos, tot = self.count(mode)
                joined = self._gain * pos - self._loss * (tot - pos) > 0
                changed = changed or bool((joined != members).any())
                self.set(mode, joined)
            if not changed:
                break
        return self

    def rises(self) -> Floats:
        """Return by how much the log posterior would rise if a candidate was added."""
        times = self.ground.tensor.times_counted(0)
        pos, tot = (np.where(self.columns[0], counts, 0).sum(axis=0) // times for counts in self.count(0))
        rise = self._gain * pos - self._loss * (tot - pos)
        model, used = self.ground.model, self.ground.used
        for mode, (column, ones) in enumerate(zip(self.columns, self.ground.ones, strict=True)):
            more = model.log_prior(mode, ones + column.sum(axis=0), len(column) * (used + 1))
            rise = rise + more - model.log_prior(mode, ones, len(column) * used)
        return np.where(np.logical_and.reduce([column.any(axis=0) for column in self.columns]), rise, -np.inf)


def split(rates: Floats) -> Bits:
    """Part the rows of each column in two at the cut that sets their mean rates furthest apart (Otsu)."""
    n = len(rates)
    if n == 1:
        return np.ones_like(rates, np.bool_)
    ranked = -np.sort(-rates, axis=0)
    size = np.arange(1, n)[:, None]
    head = np.cumsum(ranked, axis=0)
    gap = head[:-1] / size - (head[-1] - head[:-1]) / (n - size)
    cut = np.argmax(size * (n - size) * gap**2, axis=0)
    return np.asarray(rates >= np.take_along_axis(ranked, cut[None], axis=0))


def begin(tensor: Tensor, model: Model, rng: np.random.Generator) -> Ground:
    """Return components found in the data; those of a large tensor in a part of it first."""
    whole = bare(tensor, model)
    part = sample_part(tensor, rng)
    ground = whole if part is None else within(whole, part)
    cells = ground.tensor.sample_ones(rng, RARE_LOOKED_AT if is_rare(tensor) else LOOKED_AT)
    best = ground
    for purity, next_purity in zip(PURITIES, (*PURITIES[1:], 0.0), strict=True):
        found = fill(ground, cells, purity).polished()
        best = max(best, found, key=lambda ground: ground.score)
        if found.used == model.n_components and found.purity > (purity + next_purity) / 2:
            break  # as pure as was looked for: the next purity would find nothing better
    return best if part is None else spread(best, whole, part)


def search(ground: Ground, rng: np.random.Generator, purity: float, rival: Ground | None = None) -> Ground:
    """Give each unused component what explains most of what is left.

    In a large tensor they are looked for in a part. Where ones are rare, that is one with many that nothing
    explains; else what was found there must be better than the rival in that part, or the rival is returned.
    """
    tensor, part = ground.tensor, None
    if is_rare(tensor) or math.prod(tensor.shape) > LARGE:
        part = sample_part(tensor, rng, ground, LARGE_SAMPLE)
    if part is None:
        return fill(ground, tensor.sample_ones(rng, LOOKED_AT), purity).polished()
    small = within(ground, part)
    cells = small.tensor.sample_ones(rng, RARE_LOOKED_AT if is_rare(tensor) else LOOKED_AT)
    found = fill(small, cells, purity, ground.unused)
    if rival is None or is_rare(tensor) or found.polished().score > within(rival, part).polished().score:
        return spread(found, ground, part)
    return rival


def bare(tensor: Tensor, model: Model) -> Ground:
    """Return a ground with empty components."""
    nothing = (pack(np.zeros((size, model.n_components), np.bool_)) for size in tensor.shape)
    return Ground(tensor, model, tuple(nothing))


def is_rare(tensor: Tensor) -> bool:
    """Whether few cells are 1, so that parts chosen at random would have hardly any."""
    return tensor.n_ones < RARE * tensor.n_observed


def coin_density(tensor: Tensor, n_components: int) -> float:
    """Return the density of a random start: that of fair coins, unless ones are rare.

    Fair coins would cover nearly all cells of a tensor that is nearly empty, and no two rows would be alike:
    the product has about as many ones as the tensor then.
    """
    if not is_rare(tensor):
        return 0.5
    rate = (tensor.n_ones + 1) / (tensor.n_observed + 2)
    return min(0.5, factor_density(rate, n_components, len(tensor.shape)))


def sample_part(
    tensor: Tensor, rng: np.random.Generator, ground: Ground | None = None, most: int | None = None
) -> list[Cells] | None:
    """Choose indices of each mode so that about so many cells are left; None if there are no more anyway.

    Where ones are rare, more are left, and the indices are those of random ones that nothing explains yet.
    """
    shape, rare = tensor.shape, is_rare(tensor)
    most = RARE_SAMPLE if rare else most or SAMPLE
    if math.prod(shape) <= 2 * most:
        return None
    sizes = list(shape)
    while math.prod(sizes) > most:  # shorten the longest modes to a common size
        sizes[int(np.argmax(sizes))] -= max(1, max(sizes) // 20)
    if not rare:
        return [np.sort(rng.choice(N, size, replace=False)) for N, size in zip(shape, sizes, strict=True)]
    cells = tensor.sample_ones(rng, RARE_LOOKED_AT)
    left = cells if ground is None else cells[~covered(ground, cells)]
    if not len(left):  # nothing is left to explain, in any part
        return [np.zeros(1, np.intp)] * len(shape)
    return [choose_first(index, size) for index, size in zip(left.T, sizes, strict=True)]


def choose_first(index: Cells, size: int) -> Cells:
    """Return up to so many distinct indices, those that come first, sorted."""
    _, first = np.unique(index, return_index=True)
    return np.sort(index[np.sort(first)[:size]])


def within(ground: Ground, part: Sequence[Cells]) -> Ground:
    """Return the ground in a part of its tensor."""
    model = replace(ground.model, prior=ground.model.prior.at(part))
    factors = tuple(masks[index] for masks, index in zip(ground.factors, part, strict=True))
    return Ground(ground.tensor.take(part), model, factors)


def spread(small: Ground, ground: Ground, part: Sequence[Cells]) -> Ground:
    """Carry components found in a part over to the whole, in place of those that are unused there."""
    factors, new = [], ground.unused
    for bits, found, index in zip(ground.bits, small.bits, part, strict=True):
        whole = bits.copy()
        whole[np.ix_(index, new)] = found[:, new]
        factors.append(pack(whole))
    return Ground(ground.tensor, ground.model, tuple(factors)).polished(2)


def fill(ground: Ground, cells: Cells, purity: float, components: Cells | None = None) -> Ground:
    """Give each of some components, the unused ones, what explains most of what is left."""
    kept: list[Bits] = []
    for component in ground.unused if components is None else components:
        cells = cells[~covered(ground, cells)]
        if not len(cells):
            break
        pool = Pool.from_cells(ground, cells[:SEEDS], purity)
        cells = cells[SEEDS:]
        if kept:
            older = Pool(ground, kept, purity).grow(1)
            pool = Pool(
                ground, [np.hstack(both) for both in zip(pool.columns, older.columns, strict=True)], purity
            )
        rises = pool.rises()
        best, *others = np.argsort(-rises)[: 1 + KEPT]
        if rises[best] <= 0:
            break
        ground = ground.replaced(int(component), [column[:, best] for column in pool.columns])
        kept = [column[:, others] for column in pool.columns]
    return ground


def covered(ground: Ground, cells: Cells) -> Bits:
    """Return which cells a component explains."""
    shared = ground.factors[0][cells[:, 0]]
    for masks, index in zip(ground.factors[1:], cells.T[1:], strict=True):
        shared = shared & masks[index]
    return np.asarray(shared.any(axis=1))


def losses(ground: Ground) -> Floats:
    """Return by how much the score would fall if a component was taken out."""
    model, bits = ground.model, ground.bits
    pos, neg = count_alone(ground.tensor, ground.factors, model.n_components, bits[0])
    tp, fp, fn, tn = ground.confusion
    left = model.noise.log_marginal(tp - pos, fp - neg, fn + pos, tn + neg)
    for mode, factor in enumerate(bits):
        ones = ground.ones[mode] - factor.sum(axis=0)
        left = left + model.log_prior(mode, ones, len(factor) * (ground.used - 1))
    fall = ground.score - left
    fall[ground.unused] = 0
    return fall


def repair(ground: Ground, rng: np.random.Generator, n_out: int) -> tuple[Ground, bool]:
    """Take out components that do not pay and a few others, look for better ones, keep what scores higher.

    One taken out and found anew is a swap; two found as one are merged; one found as two is split. The new
    components are compared with the old ones after every entry of either took its more probable value: else
    a sampled state would lose to any that was looked for.
    """
    idle = losses(ground) <= 0
    new = ground
    for _ in range(TRIES):
        busy = rng.permutation(np.flatnonzero(~idle))[:n_out]
        rest = ground.emptied([int(l) for l in (*np.flatnonzero(idle), *busy)])
        new = search(rest, rng, rng.choice([*PURITIES, ground.purity]), ground)
        if new is not ground:
            break
    better = new is not ground and new.score > ground.polished().score + 1e-6
    return (new, True) if better else (ground, False)
