"""Tensors with factors that half explain them, small ones at random and awkward ones by hand."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pickle import dumps
from typing import Any, NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy.special import logit

import definitions
import naive
from tensorm import model
from tensorm.kernels.philox import uniforms
from tensorm.sampler.two_rates import Rates
from tensorm.tensors import GIBBS, GREEDY, METROPOLIS, Rule, Stream, Tensor
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors

RULES = {"gibbs": GIBBS, "metropolis": METROPOLIS, "greedy": GREEDY}
LARGEST = {2: 6, 3: 4, 4: 3, 5: 2}  # sizes of the modes, by their number, that element loops can bear
TINY = 300  # cells
few = settings(max_examples=60, deadline=None, derandomize=True)


def remembered(loops: Callable[..., Any]) -> Callable[..., Any]:
    """Loop once for the kinds of tensor that store the same cells, as most do."""
    known: dict[bytes, Any] = {}

    def find(*given: Any) -> Any:
        question = sha256(dumps(given)).digest()
        if question not in known:
            known[question] = loops(*given)
        return known[question]

    return find


class Problem(NamedTuple):
    ones: np.ndarray
    observed: np.ndarray | None
    factors: list[np.ndarray]
    pair: tuple[int, int] | None = None  # two modes that share a factor; each pair of cells is one fact
    once: bool = False  # whether cells are comparisons that count once, contested where both ways are covered

    @property
    def L(self) -> int:
        return self.factors[0].shape[1]

    @property
    def masks(self) -> Factors:
        return Factors.from_bits(self.factors)

    @property
    def seen(self) -> np.ndarray:
        return np.ones(self.ones.shape, bool) if self.observed is None else self.observed

    @property
    def in_turns(self) -> tuple[int, ...]:
        """The modes whose rows take turns, each given those before."""
        return (1, 2) if self.once else self.pair or ()

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers that belong to this problem."""
        return np.random.default_rng([*self.ones.shape, self.L, np.count_nonzero(self.ones)])

    def counts(self, mode: int, n: int, l: int, factors: list[np.ndarray] | None = None) -> tuple[int, int]:
        """By the element loops, or for many cells by their equal in NumPy."""
        if self.once:
            on, off = (
                self.confusion(naive.with_entry(factors or self.factors, mode, n, l, x)) for x in (1, 0)
            )
            return on[0] - off[0], sum(on[:2]) - sum(off[:2])
        counts = naive.counts if self.ones.size <= TINY else definitions.counts
        pos, tot = counts(self.ones, self.observed, self.tie(factors or self.factors), mode, n, l)
        return (pos, tot) if self.pair is None or mode in self.pair else (pos // 2, tot // 2)

    @remembered
    def confusion(self, factors: list[np.ndarray] | None = None) -> tuple[int, ...]:
        factors = factors or self.factors
        if self.once:  # a contested pair has a one and a zero inside, which are as good as outside
            said = model.boolean_product(factors)
            inside, ones, zeros = said & ~said.swapaxes(1, 2), self.seen & self.ones, self.seen & ~self.ones
            hits, false_alarms = np.count_nonzero(inside & ones), np.count_nonzero(inside & zeros)
            return (
                hits, false_alarms, np.count_nonzero(ones) - hits, np.count_nonzero(zeros) - false_alarms
            )  # fmt: skip
        quick = self.ones.size >= 20_000
        found = (model.confusion if quick else naive.confusion)(self.ones, self.observed, factors)
        return tuple(found) if self.pair is None else tuple(n // 2 for n in found)

    @remembered
    def conditional(self, mode: int, n: int, l: int, noise: Rates, prior: float) -> float:
        """Bayes' rule on the whole likelihood."""
        if self.once:
            on, off = (self.confusion(naive.with_entry(self.factors, mode, n, l, x)) for x in (1, 0))
            rates = np.log([noise.hit, 1 - noise.hit, noise.false_alarm, 1 - noise.false_alarm])
            return naive.sigmoid(float(rates @ np.subtract(on, off)) + logit(prior))
        if self.pair is None or mode not in self.pair:
            facts = self.seen if self.pair is None else np.triu(self.seen)
            return naive.conditional(self.ones, facts, self.factors, mode, n, l, *noise, prior)
        if prior in (0, 1):
            return float(prior)
        likelihoods = []
        for entry in (True, False):
            factors = self.tie(naive.with_entry(self.factors, self.pair[0], n, l, entry))
            likelihoods.append(naive.log_likelihood(self.ones, np.triu(self.seen), factors, *noise))
        return naive.sigmoid(likelihoods[0] - likelihoods[1] + logit(prior))

    def tie(self, factors: list[np.ndarray]) -> list[np.ndarray]:
        """The factors, with the second of a pair replaced by the first."""
        tied = list(factors)
        if self.pair is not None:
            tied[self.pair[1]] = tied[self.pair[0]]
        return tied


class Turn(NamedTuple):
    """How one factor of a problem is updated."""

    mode: int
    noise: Rates
    prior: np.ndarray  # (N_k or 1, L or 1) probabilities
    order: np.ndarray
    rule: str
    stream: Stream


def make_problem(shape: tuple[int, ...], L: int, seed: int, missing: float | None, density: float) -> Problem:
    rng = np.random.default_rng(seed)
    factors = [rng.random((N, L)) < density for N in shape]
    ones = model.boolean_product(factors) ^ (rng.random(shape) < 0.2)
    return Problem(ones, None if missing is None else rng.random(shape) >= missing, factors)


def make_turn(problem: Problem, mode: int, rule: str, seed: int) -> Turn:
    """A random order, of all components or of some, and a prior of any of the shapes that are allowed."""
    rng = np.random.default_rng(seed)
    N, L = problem.factors[mode].shape
    prior = rng.choice(
        [0.0, 1.0, 0.5, 0.5, 0.35, 0.62], size=[(1, 1), (1, L), (N, 1), (N, L)][rng.integers(4)]
    )
    order = rng.permutation(L)[: L if rng.random() < 0.5 else rng.integers(1, L + 1)]
    # Symmetric noise and even priors give ties, log-odds of exactly 0; the asymmetric rates give none.
    noise = Rates.symmetric(0.7) if rng.random() < 0.5 else Rates(0.83, 0.31)
    stream = Stream(np.uint64(rng.integers(2**63)), int(rng.integers(9)), int(rng.integers(10**6)), mode)
    return Turn(mode, noise, prior, order, rule, stream)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    K = draw(st.integers(2, 5))
    shape = tuple(draw(st.integers(1, LARGEST[K])) for _ in range(K))
    missing = draw(st.sampled_from([None, 0.0, 0.3, 1.0]))
    density = draw(st.sampled_from([0.3, 0.6, 0.9]))
    return make_problem(shape, draw(st.integers(1, 5)), draw(st.integers(0, 2**32 - 1)), missing, density)


def fast_update(tensor: Tensor, problem: Problem, turn: Turn) -> np.ndarray:
    with np.errstate(divide="ignore"):
        log_odds = np.log(turn.prior) - np.log1p(-turn.prior)
    return update_with(tensor, problem, turn, log_odds)


def update_with(tensor: Tensor, problem: Problem, turn: Turn, log_odds: np.ndarray) -> np.ndarray:
    rule = Rule(turn.order, RULES[turn.rule], turn.noise.weights, log_odds)
    new = tensor.update_factor(turn.mode, problem.masks, rule, turn.stream)
    return unpack(new, problem.L)


@remembered
def naive_update(problem: Problem, turn: Turn, rows: np.ndarray | None = None) -> np.ndarray:
    if problem.pair is not None and turn.mode == problem.pair[1]:
        return problem.factors[problem.pair[0]]
    numbers = np.array([uniforms(turn.stream, n, problem.L) for n in range(len(problem.factors[turn.mode]))])

    def counts(ones: object, observed: object, factors: list[np.ndarray], *entry: int) -> tuple[int, int]:
        return problem.counts(*entry, factors)

    how = (*turn.noise, turn.prior, turn.order, numbers, turn.rule, counts, rows)
    return naive.update_factor(problem.ones, problem.observed, problem.factors, turn.mode, *how)


@remembered
def knife_edge(problem: Problem, turn: Turn, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Prior log-odds that put every decision within less than a cell of going the other way, and the factor.

    Elsewhere large counts decide most entries whatever a few cells say; here a single cell too many or few
    in any count is likely to show.
    """
    rng = np.random.default_rng(seed)
    state = [factor.copy() for factor in problem.factors]
    factor, (w1, w0) = state[turn.mode], turn.noise.weights
    log_odds = np.zeros(factor.shape)
    if problem.pair is not None and turn.mode == problem.pair[1]:
        return log_odds, factor
    for n, row in enumerate(factor):
        numbers = uniforms(turn.stream, n, problem.L)
        for l in turn.order:
            pos, tot = problem.counts(turn.mode, n, l, state)
            u, new = numbers[l], rng.random() < 0.5
            edges = {"greedy": 0.0, "gibbs": logit(u), "metropolis": -np.log(u) if row[l] else np.log(u)}
            margin = 0.3 * min(w1, w0) * (1 if new else -1)
            log_odds[n, l] = edges[turn.rule] + margin - (w1 * pos - w0 * (tot - pos))
            row[l] = new
    return log_odds, factor


# Shape, components, density of the factors: each is the smallest of its kind.
AWKWARD = [
    ((1, 1), 1, 0.5),
    ((1, 4), 1, 0.7),
    ((4, 1), 2, 0.7),
    ((1, 1, 1), 3, 0.7),
    ((1, 70, 1), 2, 0.7),  # modes of length 1
    ((64, 3), 3, 0.6),
    ((3, 63, 2), 2, 0.7),
    ((2, 3, 65), 2, 0.7),  # one bit past a word
    ((4, 128, 2), 3, 0.6),
    ((3, 2, 2), 64, 0.3),  # components fill a mask's word
    ((3, 2, 2), 65, 0.3),  # masks of two words
    ((2, 3), 130, 0.1),  # masks of three
    ((9, 60, 9), 3, 0.6),  # short modes packed together, 540 bits: two vectors
    ((2, 512), 2, 0.6),
    ((3, 513), 3, 0.6),
    ((2, 2, 1100), 2, 0.7),  # three vectors
    ((3, 1600), 2, 0.6),  # four
    ((2, 2, 2100), 2, 0.7),  # more than a kernel holds at once
    ((4, 5000), 2, 0.6),
    ((3, 70, 2, 66), 3, 0.7),
    ((2, 3, 2, 3, 70), 3, 0.8),
    ((2, 8, 4096), 2, 0.6),  # slices a whole number of pages apart
]
# Each with and without missing cells, but not in every test: what the one leaves out, another has.
SOME, OTHERS = (
    [(*case, 0.3 if (number + other) % 2 else None) for number, case in enumerate(AWKWARD)]
    for other in (0, 1)
)
