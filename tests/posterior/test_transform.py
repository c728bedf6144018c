"""New slices are placed by their exact conditional, given the draws of the other modes and the noise."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

import naive
from posteriors import make_trace
from tensorm.data.inputs import check_names
from tensorm.posterior import transform as placing
from tensorm.posterior.draws import Posterior
from tensorm.posterior.transform import share_shown, transform_slices
from tensorm.sampler.prior import FactorPrior, FixedPrior, LearnedPrior
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric, Rates
from tensorm.tensors import DenseTensor, RelationalTensor, SparseTensor, SymmetricTensor, Tensor

L, SHAPE = 3, (5, 4, 3)
RNG = np.random.default_rng(0)
DRAWS = [[RNG.random((size, L)) < 0.6 for size in SHAPE] for _ in range(2)]
NOISES = [Rates(0.7, 0.35), Rates(0.6, 0.2)]
DENSITIES = [(0.3, 0.5, 0.5), (0.6, 0.5, 0.5)]
SLICES = np.where(RNG.random((4, 4, 3)) < 0.2, np.nan, RNG.random((4, 4, 3)) < 0.5)
SLICES[3] = np.nan  # of which nothing is known


def make_posterior(n_times: int) -> Posterior:
    """The draws above, again and again."""
    trace = replace(
        make_trace(DRAWS * n_times, (0.5, 0.5), 1),
        noise=np.array(NOISES * n_times),
        density=np.array(DENSITIES * n_times),
    )
    return Posterior(
        chains=(trace,),
        shape=SHAPE,
        names=check_names(SHAPE, ["a", "b", "c"]),
    )


def model(prior: FactorPrior, seed: int = 1) -> Target:
    return Target(L, Asymmetric(), prior, np.uint64(seed))


def exact(priors: Sequence[Sequence[float]]) -> np.ndarray:
    """The mean over draws of P(entry = 1 | slice), summed over all 2^L memberships of the slice."""
    places = np.zeros((len(SLICES), L))
    for n, cells in enumerate(SLICES):
        for factors, noise, prior in zip(DRAWS, NOISES, priors, strict=True):
            weights, states = [], list(itertools.product([0, 1], repeat=L))
            for entries in states:
                given = [np.array([entries], dtype=bool), *factors[1:]]
                likelihood = naive.log_likelihood(cells[None] == 1, ~np.isnan(cells[None]), given, *noise)
                before = [p if entry else 1 - p for entry, p in zip(entries, prior, strict=True)]
                weights.append(np.exp(likelihood) * np.prod(before))
            places[n] += np.average(states, axis=0, weights=weights) / len(DRAWS)
    return places


@pytest.mark.parametrize("kind", ["learned", "number", "array"])
def test_placed_by_the_exact_conditional(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(placing, "MAX_TRANSFORM_DRAWS", 8000)
    table = np.random.default_rng(3).random((SHAPE[0], L))
    prior, probabilities = {
        "learned": (LearnedPrior(), [(density[0],) * L for density in DENSITIES]),
        "number": (FixedPrior.from_probabilities([0.2] * 3), [(0.2,) * L] * 2),
        # the rows of a table are those of known slices; a new one gets their mean
        "array": (FixedPrior.from_probabilities([table, 0.5, 0.5]), [table.mean(axis=0)] * 2),
    }[kind]
    found = transform_slices(DenseTensor(SLICES), make_posterior(4000), model(prior))
    expected = exact(probabilities)
    assert np.ptp(expected[:3]) > 0.3  # the slices differ
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.03)


def test_a_slice_is_placed_alike_in_any_company() -> None:
    posterior, learned = make_posterior(20), model(LearnedPrior())
    cells = np.tile(SLICES, (3, 1, 1))
    whole = transform_slices(DenseTensor(cells), posterior, learned)
    assert whole.shape == (12, L)
    np.testing.assert_array_equal(whole[:4], whole[4:8])
    for part in (slice(2, 3), slice(None, None, -1), [5, 0, 7]):
        np.testing.assert_array_equal(
            transform_slices(DenseTensor(cells[part]), posterior, learned), whole[part]
        )
    again = transform_slices(DenseTensor(cells).with_threads(3), posterior, learned)
    np.testing.assert_array_equal(again, whole)
    assert (transform_slices(DenseTensor(cells), posterior, model(LearnedPrior(), seed=2)) != whole).any()


def test_fixed_entries_of_known_slices_become_probabilities() -> None:
    table = np.tile([0.0, 1.0, 1e-320], (5, 1))
    table[0, 1] = 0.0
    fixed = FixedPrior.from_probabilities([table, 0.5, 0.5])
    log_odds = placing._prior(model(fixed), DENSITIES[0])
    assert log_odds.shape == (1, L)
    np.testing.assert_allclose(expit(log_odds), [[0, 0.8, 0]], atol=1e-12)
    np.testing.assert_allclose(placing._prior(model(LearnedPrior()), DENSITIES[0]), [[logit(0.3)]])


@pytest.mark.parametrize(("n_times", "expected"), [(1, 2), (50, 100), (51, 51), (500, 100)])
def test_a_part_of_the_draws_is_enough(n_times: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor, calls = DenseTensor(SLICES), []
    update = DenseTensor.update_factor
    monkeypatch.setattr(DenseTensor, "update_factor", lambda *args: calls.append(1) or update(*args))
    transform_slices(tensor, make_posterior(n_times), model(LearnedPrior()))
    assert len(calls) == expected * placing.UPDATES_PER_DRAW


def shares(cells: np.ndarray, factors: Sequence[np.ndarray]) -> np.ndarray:
    """Ones among the observed cells of each component's members, cell by cell."""
    expected = np.full((len(cells), L), np.nan)
    for n, l in np.ndindex(expected.shape):
        seen = [
            cells[n, i, j]
            for i, j in np.ndindex(cells.shape[1:])
            if factors[1][i, l] and factors[2][j, l] and not np.isnan(cells[n, i, j])
        ]
        if seen:
            expected[n, l] = sum(seen) / len(seen)
    return expected


def posterior_of(*draws: list[np.ndarray]) -> Posterior:
    return replace(
        make_posterior(1),
        chains=(make_trace(draws, (0.8, 0.1), 1),),
        shape=tuple(len(factor) for factor in draws[0]),
    )


def test_the_share_of_relations_shown_is_counted_from_likely_members() -> None:
    usual, rare = [factor.copy() for factor in DRAWS[0]], DRAWS[1]
    usual[1][:, 2] = False  # a component without members shows nothing
    found = share_shown(DenseTensor(SLICES), posterior_of(usual, rare, usual))
    np.testing.assert_array_equal(found, shares(SLICES, usual))
    assert np.isnan(found[:, 2]).all()
    assert np.isnan(found[3]).all()
    assert (found[:3, :2] > 0).any()
    assert (found != shares(SLICES, rare)).any()


def as_sparse(cells: np.ndarray) -> Tensor:
    return SparseTensor(np.argwhere(cells == 1), cells.shape, missing=np.argwhere(np.isnan(cells)))


@pytest.mark.parametrize("kind", ["sparse", "relational", "mirrored"])
def test_shares_are_counted_alike_in_all_kinds_of_tensors(kind: str) -> None:
    rng = np.random.default_rng(5)
    relational = RelationalTensor(rng.normal(size=(6, 70)))
    ((_, ones, observed),) = relational.blocks()
    cells = np.where(observed, ones, np.nan)
    first = rng.random((70, L)) < 0.4
    second = first if kind == "mirrored" else rng.random((70, L)) < 0.4
    if kind == "mirrored":
        below = np.tril(np.ones((70, 70), bool))
        cells = np.where(below, cells, cells.swapaxes(1, 2))
    tensor: Tensor = {
        "sparse": lambda: as_sparse(cells),
        "relational": lambda: relational,
        "mirrored": lambda: SymmetricTensor(DenseTensor(cells), (1, 2)),
    }[kind]()
    factors = [rng.random((6, L)) < 0.5, first, second]
    np.testing.assert_array_equal(share_shown(tensor, posterior_of(factors)), shares(cells, factors))
