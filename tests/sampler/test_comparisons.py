"""The sampler of comparisons is exact: every state counted, Geweke's test, and calibration.

Data that a model invents need not be a ranking of each object's attributes, but only rankings can be stored.
So joint draws whose data are none are thrown away, on both sides: given the data nothing changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import betaincc, betaln, logsumexp
from scipy.stats import chisquare

import exact
from chain import run, z_scores
from tensorm import RelationalTensor
from tensorm.sampler.comparisons import MIN_AGREEMENT, Agreement, Comparisons
from tensorm.sampler.prior import FixedPrior, LearnedPrior, SidesPrior
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, sweep
from tensorm.selection.counting import Proposal, count_components
from tensorm.selection.occam import Found
from tensorm.tensors import GIBBS, METROPOLIS
from tensorm.tensors.factors import Factors

O, A, L = 3, 3, 2
Draw = tuple[list[np.ndarray], float, tuple[float, ...]]  # factors, agreement, densities


def count_said(tensor: RelationalTensor, factors: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What is said and so, and what is said and not so, of every state, by the definition."""
    said = np.einsum("sol,sal,sbl->soab", *(factor.astype(int) for factor in factors)) > 0
    _, ones, observed = next(tensor.blocks())
    alone = said & ~said.swapaxes(2, 3) & observed
    return (alone & ones).sum(axis=(1, 2, 3)), (alone & ~ones).sum(axis=(1, 2, 3))


def log_weights(tensor: RelationalTensor, factors: list[np.ndarray], model: Comparisons) -> np.ndarray:
    """The agreement integrated out."""
    right, wrong = count_said(tensor, factors)
    a, b = model.a + right, model.b + wrong
    return betaln(a, b) + np.log(betaincc(a, b, MIN_AGREEMENT)) + (right + wrong) * np.log(2)


def log_sides(a: float, b: float, factors: list[np.ndarray]) -> np.ndarray:
    """The prior of every state if each side of each component has a density of its own."""
    ones = [factor.sum(axis=1) for factor in factors[1:]]
    each = [(betaln(a + n, b + A - n) - betaln(a, b)).sum(axis=1) for n in ones]
    return exact.log_learned(a, b, factors[:1]) + np.sum(each, axis=0)


P = [np.full((n, L), 0.4) for n in (1, A, A)]
PRIORS = {
    "fixed": (FixedPrior.from_probabilities(P), lambda factors: exact.log_given(P, factors)),
    "learned": (LearnedPrior(2.0, 1.0), lambda factors: exact.log_learned(2.0, 1.0, factors)),
    "sides": (SidesPrior(2.0, 1.0), lambda factors: log_sides(2.0, 1.0, factors)),
}


@pytest.mark.parametrize(
    ("name", "flips"),
    [
        ("fixed", GIBBS),
        ("sides", METROPOLIS),
        pytest.param("learned", METROPOLIS, marks=pytest.mark.slow),
        pytest.param("learned", GIBBS, marks=pytest.mark.slow),
        pytest.param("fixed", METROPOLIS, marks=pytest.mark.slow),
    ],
)
def test_the_posterior_is_exact(name: str, flips: int) -> None:
    tensor, model = RelationalTensor([[0.3, 0.1, 0.8]], normalise=None), Comparisons(3.0, 1.5)
    (prior, log_prior), factors = PRIORS[name], exact.all_factors((1, A, A))
    log_p = log_weights(tensor, factors, model) + log_prior(factors)
    target = Target(L, model, prior, np.uint64(7), flips)
    draws = run(tensor.compared(), target, exact.N_DRAWS * exact.THIN, chain=flips)
    codes = exact.code(draws.masks[:: exact.THIN])
    assert exact.distance_ratio(codes, exact.normalise(log_p)) < 1.1
    right, wrong = count_said(tensor, factors)
    a, b = model.a + right, model.b + wrong
    mean = (
        np.exp(betaln(a + 1, b) - betaln(a, b))
        * betaincc(a + 1, b, MIN_AGREEMENT)
        / betaincc(a, b, MIN_AGREEMENT)
    )
    assert np.abs(z_scores(draws.noise, [exact.normalise(log_p) @ mean])).max() < 4


@pytest.mark.parametrize("n_turns", [1500, pytest.param(6000, marks=pytest.mark.slow)])
def test_the_number_of_components_is_exact(n_turns: int) -> None:
    """Births and deaths of components whose sides have densities of their own."""
    values, model, log_p = RelationalTensor([[0.3, 0.1, 0.8]], normalise=None), Comparisons(3.0, 1.5), []
    for n in range(3):
        table = np.arange(2 ** (7 * n))[:, None] >> np.arange(7 * n) & 1 == 1
        parts = zip(np.split(table, [n, 4 * n], axis=1), (1, A, A), strict=True)
        factors = [part.reshape(len(table), size, n) for part, size in parts]
        log_p.append(
            logsumexp(log_weights(values, factors, model) + log_sides(1, 1, factors)) - n * np.log(2)
        )
    nothing, seen = Factors.empty((1, A, A), 1), tuple(np.zeros((0, size)) for size in (1, A, A))
    target, found = Target(2, model, SidesPrior(), np.uint64(3)), Found(nothing, 0, 0.0, 0.0, (), seen)
    drawn = count_components(values.compared(), found, target, Proposal(seen), 0, n_turns).counts
    expected = exact.normalise(np.array(log_p))
    assert np.abs(z_scores(np.array(drawn)[:, None] == np.arange(3), expected)).max() < 4
    assert expected.min() > 0.05  # each number is put to the test


def draw_prior(rng: np.random.Generator) -> Draw:
    density = tuple(rng.beta(2, 2, 3).tolist())
    factors = [rng.random((n, L)) < p for n, p in zip((O, A, A), density, strict=True)]
    return factors, float(rng.uniform(MIN_AGREEMENT, 1)), density


def draw_ranking(rng: np.random.Generator, factors: list[np.ndarray], q: float) -> np.ndarray | None:
    """Values (O, A) whose comparisons are drawn from the model; None if they contradict each other."""
    said = np.einsum("ol,al,bl->oab", *(factor.astype(int) for factor in factors)) > 0
    p = 0.5 + (q - 0.5) * (said.astype(float) - said.swapaxes(1, 2))
    x = np.triu(rng.random(p.shape) < p, 1)
    below = (x | (np.tri(A, k=-1, dtype=bool) & ~x.swapaxes(1, 2))).sum(axis=2)
    return below.astype(float) if (np.sort(below, axis=1) == np.arange(A)).all() else None


def draw_jointly(rng: np.random.Generator) -> tuple[Draw, np.ndarray]:
    while True:
        draw = draw_prior(rng)
        values = draw_ranking(rng, *draw[:2])
        if values is not None:
            return draw, values


def measure(draw: Draw, values: np.ndarray) -> list[float]:
    (f, g, h), q, density = draw
    said = np.einsum("ol,al,bl->oab", f.astype(int), g.astype(int), h.astype(int)) > 0
    x, alone = values[:, :, None] > values[:, None, :], said & ~said.swapaxes(1, 2)
    right, contested = (alone & x).sum(), (said & said.swapaxes(1, 2)).sum()
    found = [f.mean(), g.mean(), h.mean(), (g & h).mean(), g.all(axis=1).mean(), said.mean(), alone.mean()]
    found += [contested, right, q, q**2, q * right, q * contested, values[0, 0], values[0, 0] * g[0, 0]]
    return [*found, *density, density[1] * q, f[0, 0] * h[1, 1], right * f.mean(), q * g.mean()]


def sweep_once(draw: Draw, values: np.ndarray, target: Target, number: int) -> Draw:
    factors, q, density = draw
    state = State(Factors.from_bits(factors), Agreement(q), density, number)
    state, _ = sweep(RelationalTensor(values, normalise=None).compared(), state, target, 0)
    return state.factors.bits(), state.noise.agreement, state.density


def geweke(model: Comparisons, prior: Any, n_turns: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    jointly = np.array([measure(*draw_jointly(rng)) for _ in range(20_000)])
    target, (draw, values) = Target(L, model, prior, np.uint64(3)), draw_jointly(rng)
    in_turns = []
    for number in range(n_turns):
        draw, new = sweep_once(draw, values, target, number), None
        while new is None:
            new = draw_ranking(rng, *draw[:2])
        values = new
        in_turns.append(measure(draw, values))
    error = jointly.std(axis=0) / np.sqrt(len(jointly))
    return z_scores(np.array(in_turns), jointly.mean(axis=0), error)


@pytest.mark.slow
def test_getting_it_right() -> None:
    assert np.abs(geweke(Comparisons(), LearnedPrior(2.0, 2.0), 12_000)).max() < 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "prior"),
    [(Comparisons(2.0, 1.0), LearnedPrior(2.0, 2.0)), (Comparisons(), LearnedPrior(2.0, 3.0))],
    ids=["prior of the agreement", "prior of the densities"],
)
def test_an_error_is_found_out(model: Comparisons, prior: Any) -> None:
    assert np.abs(geweke(model, prior, 4_000)).max() > 4


@pytest.mark.slow
def test_ranks_of_the_truth_among_draws_are_uniform() -> None:
    rng, ranks, n_draws = np.random.default_rng(8), [], 19
    for number in range(600):
        draw, values = draw_jointly(rng)
        target = Target(L, Comparisons(), LearnedPrior(2.0, 2.0), np.uint64(number))
        truth, now, sampled = draw, draw_prior(rng), []
        for turn in range(30 + 8 * n_draws):
            now = sweep_once(now, values, target, turn)
            if turn >= 30 and turn % 8 == 0:
                sampled.append([now[1], now[2][1]])
        ranks.append((np.array(sampled) < [truth[1], truth[2][1]]).sum(axis=0))
    for column in np.transpose(ranks):
        assert chisquare(np.bincount(column // 4, minlength=5)).pvalue > 1e-3
