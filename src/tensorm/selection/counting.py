"""Components that come and go: their number is drawn along with everything else.

A priori each number of components, from 0 to a maximum, is half as probable as the one before it. Otherwise
data without any pattern would leave all numbers open, since a component that explains nothing costs next to
nothing. The entries of each component come from the factor prior.

A *birth* draws columns c from a proposal q and accepts them with the likelihood ratio times 1/2 times
prior(c) / q(c); a *death* removes a random component, with the inverse. (A new component may take any of
n + 1 places and any of n + 1 may die, which cancels.) Between sweeps these moves leave the posterior
unchanged, so the share of draws with n components is the posterior probability of n.

One half of the proposals come from the prior, which finds small components, and one half resemble components
that a chain had seen before the first draw, so that real but doubtful ones come and go.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, logsumexp

from tensorm.data.arrays import Bits, Floats
from tensorm.sampler.chains import Bookmark
from tensorm.sampler.noise_model import Parameters
from tensorm.sampler.sample import DRAWS, Plan, Snapshot, Stop, Watch, sample
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target
from tensorm.selection.bookmarks import mark_place, read_snapshot
from tensorm.selection.occam import Found, log_evidence
from tensorm.tensors.bits import pack
from tensorm.tensors.factors import Factors
from tensorm.tensors.protocol import Tensor

FROM_PRIOR = 0.5  # share of proposals drawn from the prior
BLUR = 0.03  # how often a proposal's entry differs from what was always seen
LOG_HALF = math.log(0.5)  # prior log-odds of n + 1 components against n
MOVES = 16  # births and deaths tried between two sweeps
COUNTING = "counting"


class Numbers(NamedTuple):
    """Draws of the number of components, and the log evidence of each draw's factors."""

    counts: list[int]
    evidence: list[float]


@dataclass(frozen=True, eq=False)
class Proposal:
    """Where new components come from.

    Attributes
    ----------
    seen : tuple of ndarray (J, N_k)
        For each mode how often its indices were members of components seen before.
    tied : (int, int) or None
        Two modes that share a factor: what is drawn for the first is taken for the second.
    """

    seen: tuple[Floats, ...]
    tied: tuple[int, int] | None = None

    def draw(self, rng: np.random.Generator, count: int, density: Sequence[float | None]) -> list[Bits]:
        """Return the columns (N_k, count) of new components."""
        J = len(self.seen[0])
        like = rng.integers(J, size=count) if J else np.zeros(count, np.intp)
        from_prior = rng.random(count) < FROM_PRIOR if J else np.ones(count, np.bool_)
        columns = []
        for blurred, p in zip(self._blurred, density, strict=True):
            rates = np.full((blurred.shape[1], count), rng.random(count) if p is None else p)
            rates[:, ~from_prior] = blurred[like[~from_prior]].T
            columns.append(rng.random(rates.shape) < rates)
        if self.tied:
            columns[self.tied[1]] = columns[self.tied[0]]
        return columns

    def log_ratios(self, columns: Sequence[Bits], density: Sequence[float | None]) -> Floats:
        """Return log prior(c) / q(c) of components."""
        free = [k for k in range(len(columns)) if not self.tied or k != self.tied[1]]
        prior = sum(_log_prior(columns[k], density[k]) for k in free)
        if not len(self.seen[0]):
            return np.zeros_like(prior)
        blurred = self._blurred
        like = sum(_log_bernoulli(columns[k], blurred[k]) for k in free) - np.log(len(self.seen[0]))
        both = np.log(FROM_PRIOR) + prior, np.log1p(-FROM_PRIOR) + logsumexp(like, axis=0)
        return np.asarray(prior - np.logaddexp(*both))

    @property
    def _blurred(self) -> list[Floats]:
        return [np.clip(shares, BLUR, 1 - BLUR) for shares in self.seen]


def count_components(
    tensor: Tensor,
    found: Found,
    target: Target,
    proposal: Proposal,
    chain: int,
    n_draws: int,
    watch: Watch = lambda step: None,
    stop: Stop = lambda: False,
    bookmark: Bookmark | None = None,
) -> Numbers | None:
    """Draw the number of components, from 0 to ``target.n_components``, in a chain that starts as found.

    A third as many sweeps come before the first draw. Once ``stop()`` the draws so far are returned, or None
    if there are fewer than two.
    """
    rng, bookmark = np.random.default_rng([int(target.seed), chain, 2]), bookmark or Bookmark()
    drawn = Numbers([], [])

    def go_on(form: Any) -> Snapshot:
        rng.bit_generator.state = form["rng"]
        known, lengths = (form["counts"], form["evidence"]), range(n_draws + 1)
        drawn.counts[:], drawn.evidence[:] = decode_numbers(known, target.n_components, lengths)
        return read_snapshot(form, tensor, target, n_draws // 3 + n_draws)

    def move(state: State) -> State:
        return try_births_and_deaths(tensor, state, target, proposal, rng)

    first = bookmark.open(go_on)
    if first is None:
        explanation = Explanation(tensor, target, found.factors)
        factors = Factors.from_bits([bits[:, : found.n_components] for bits in explanation.bits])
        first = Snapshot(explanation.state(sweep=0)._replace(factors=factors))
    left = n_draws - len(drawn.counts)
    plan = Plan(target, left, burn_in=n_draws // 3, init="random", move=move)  # no repairs
    for step in sample(tensor, plan, chain, first, lambda at: watch(at._replace(phase=COUNTING)), stop):
        if step.phase == DRAWS:
            drawn.counts.append(step.state.factors.n_components)
            drawn.evidence.append(log_evidence(Explanation(tensor, target, _some(step.state.factors))))
        known = {"counts": tuple(drawn.counts), "evidence": tuple(drawn.evidence)}
        mark_place(bookmark, step.snapshot, target, rng=rng.bit_generator.state, **known)
    return drawn if len(drawn.counts) > 1 else None


def decode_numbers(form: Any, most: int, lengths: range) -> Numbers:
    """Return draws of a number up to ``most`` that were kept; raises ValueError or such if they are none."""
    counts, evidence = form
    whole = all(type(n) is int and 0 <= n <= most for n in counts) and np.isfinite(evidence).all()
    if not whole or len(counts) != len(evidence) or len(counts) not in lengths:
        raise ValueError("no draws")
    return Numbers(list(counts), [float(x) for x in evidence])


def try_births_and_deaths(
    tensor: Tensor, state: State, target: Target, proposal: Proposal, rng: np.random.Generator
) -> State:
    """Try some births and deaths, at the noise and the densities as they are.

    The odds of all moves to come are worked out together; they hold until one is accepted.
    """
    births, left = rng.random(MOVES) < 0.5, MOVES
    density = [target.prior.entry_rate(mode, state.density) for mode in range(len(tensor.shape))]
    bits, noise = state.factors.bits(), state.noise
    while left:
        n = bits[0].shape[1]
        new = proposal.draw(rng, int(np.count_nonzero(births[-left:])), density)
        wider = target.noise.widen(noise, new[0].shape[1], rng)
        rises = LOG_HALF + _gains(tensor, wider, bits, new) + proposal.log_ratios(new, density)
        falls = -LOG_HALF - _losses(tensor, noise, bits) - proposal.log_ratios(bits, density)
        chances, tried = np.log(rng.random(left)), 0
        for birth, chance in zip(births[-left:], chances, strict=True):
            left -= 1
            if birth:
                tried += 1
                if n < target.n_components and chance < rises[tried - 1]:
                    bits = [np.hstack([b, c[:, tried - 1 : tried]]) for b, c in zip(bits, new, strict=True)]
                    noise = wider.keep([*range(n), n + tried - 1])
                    break
            elif n:
                l = int(rng.integers(n))
                if chance < falls[l]:
                    bits = [np.delete(b, l, axis=1) for b in bits]
                    noise = noise.keep(np.delete(np.arange(n), l))
                    break
    return state._replace(factors=Factors.from_bits(bits), noise=noise)


def _some(factors: Factors) -> Factors:
    """Kernels need at least one component: replace none by an empty one."""
    return factors if factors.n_components else Factors.empty([len(masks) for masks in factors], 1)


def _gains(tensor: Tensor, noise: Parameters, bits: Sequence[Bits], new: Sequence[Bits]) -> Floats:
    """Return by how much the log-likelihood would rise with each of the new components.

    The noise has their parameters after those of the old ones.
    """
    count = new[0].shape[1]
    if not count:
        return np.zeros(0)
    old = _some(Factors.from_bits(bits))
    offset = 64 * old[0].shape[1]  # new ones begin with a word of their own
    blocks = [pack(c) for c in new]
    blocks[0] = np.zeros_like(blocks[0])  # so that none covers another
    both = Factors(tuple(np.hstack(pair) for pair in zip(old, blocks, strict=True)), offset + count)
    n = bits[0].shape[1]
    apart = noise.keep([*range(n), *[0] * (offset - n), *range(n, n + count)])  # the empty ones have any
    return apart.log_ratios(tensor, both, new[0], range(offset, offset + count))


def _losses(tensor: Tensor, noise: Parameters, bits: Sequence[Bits]) -> Floats:
    """Return by how much the log-likelihood would fall without each of the components."""
    if not bits[0].shape[1]:
        return np.zeros(0)
    return noise.log_ratios(tensor, Factors.from_bits(bits), bits[0])


def _log_prior(column: Bits, rate: float | None) -> Floats:
    """Return the log probability (count,) of columns (N, count) with one rate; None: each has its own."""
    if rate is None:
        ones = column.sum(axis=0)
        return np.asarray(betaln(1 + ones, 1 + len(column) - ones))
    return _log_bernoulli(column, np.full((1, len(column)), rate))[0]


def _log_bernoulli(column: Bits, rates: Floats) -> Floats:
    """Return the log probability (J, count) of columns (N, count) under each of the rates (J, N)."""
    return np.log(rates) @ column + np.log1p(-rates) @ ~column
