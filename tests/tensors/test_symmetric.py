"""Two modes that share a factor: the posterior is exact, each pair counted once."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import exact
import naive
from chain import run
from exact import N_DRAWS, THIN, distance_ratio
from problems import RULES, Turn
from tensorm import InputError, TensOrMachine, datasets, load, resume, select_components
from tensorm.kernels.philox import uniforms
from tensorm.model import boolean_product
from tensorm.sampler.noise_model import count_alone
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, log_posterior
from tensorm.sampler.two_rates import Asymmetric, Rates
from tensorm.tensors import GIBBS, METROPOLIS, DenseTensor, Rule, SparseTensor, Stream
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors
from tensorm.tensors.pick import pick_storage
from tensorm.tensors.symmetric import SymmetricTensor

PAIRS = np.array([[[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 0, 1], [0, 0, 1], [0, 0, 0]]], dtype=bool)
SEEN = np.array([[[0, 1, 1], [0, 0, 1], [0, 0, 0]], [[0, 1, 1], [0, 0, 1], [0, 0, 0]]], dtype=bool)
SEEN[0, 1, 2] = False


def both_ways(ones: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return np.where(seen | seen.swapaxes(1, 2), ones | ones.swapaxes(1, 2), np.nan)


@pytest.mark.parametrize("flips", [GIBBS, METROPOLIS], ids=["gibbs", "metropolis"])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2)], ids=["last modes", "first and last mode"])
def test_the_posterior_is_exact(order: tuple[int, ...], flips: int) -> None:
    X = both_ways(PAIRS, SEEN).transpose(order)
    pair = tuple(sorted(order.index(k) for k in (1, 2)))
    tensor = SymmetricTensor(DenseTensor(X), pair)
    assert (tensor.n_observed, tensor.n_ones) == (5, 4)
    model = Target(exact.L, Asymmetric(), LearnedPrior(2.0, 1.0), np.uint64(3), flips, tied=pair)
    hours, people = exact.all_factors((2, 3))
    counts = exact.confusions(PAIRS, SEEN, [hours, people, people])
    weights = exact.log_asymmetric(1.0, 1.0, counts) + exact.log_learned(2.0, 1.0, [hours, people])
    masks = run(tensor, model, 4 * N_DRAWS // 5, chain=flips).masks[::THIN]
    starts = np.cumsum([0, *X.shape])
    hour, person, met = (slice(starts[k], starts[k + 1]) for k in np.argsort(order)[[0, 1, 2]])
    assert np.array_equal(masks[:, person], masks[:, met])
    codes = exact.code(np.hstack([masks[:, hour], masks[:, person]]))
    assert distance_ratio(codes, exact.normalise(weights)) < 1.1


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0)])
def test_what_a_component_covers_alone_is_counted_once(order: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    half = np.triu(rng.integers(0, 2, (4, 7, 7)), 1)
    cells = np.where(np.eye(7, dtype=bool), np.nan, half + half.swapaxes(1, 2)).transpose(order)
    pair = tuple(sorted(order.index(k) for k in (1, 2)))
    tensor = SymmetricTensor(DenseTensor(cells), pair)
    hours, people = rng.random((4, 3)) < 0.6, rng.random((7, 3)) < 0.6
    factors = [[hours, people, people][k] for k in order]
    masks = Factors.from_bits(factors)
    ones, zeros = count_alone(tensor, masks, factors[0])
    whole = tensor.confusion(masks)
    assert whole.observed == 4 * 7 * 6 // 2
    for l in range(3):
        without = Factors.from_bits([np.where(np.arange(3) == l, False, factor) for factor in factors])
        left = tensor.confusion(without)
        assert (ones[l], zeros[l]) == (whole.tp - left.tp, whole.fp - left.fp)


def test_the_prior_of_a_shared_factor_counts_once() -> None:
    rng = np.random.default_rng(0)
    hours, people = rng.random((4, 2)) < 0.7, rng.random((7, 2)) < 0.7
    model = Target(2, Asymmetric(), LearnedPrior(), np.uint64(0))
    state = State(Factors.from_bits([hours, people, people]), Rates(0.8, 0.1), (0.5,) * 3, 1)
    twice, once = (log_posterior(replace(model, tied=tied), state, -9.0) for tied in (None, (1, 2)))
    assert twice - once == pytest.approx(LearnedPrior().log_marginal(1, people.sum(axis=0), 7))


def small_ward():
    X = datasets.ward()
    return X.isel(person=slice(0, 40), met=slice(0, 40))


def test_the_two_factors_are_one(tmp_path) -> None:
    X = small_ward()
    model = TensOrMachine(
        4,
        symmetric=("met", "person"),
        n_chains=2,
        n_draws=20,
        random_state=0,
        noise="asymmetric",
        progress=False,
    ).fit(X, run_dir=tmp_path / "run")
    assert np.array_equal(model.factors_[1], model.factors_[2])
    assert model.posterior_.traces[0].confusion[0].sum() == 13 * 40 * 39 // 2
    assert model.transform(X).shape == (13, 4)
    again = load(tmp_path / "run" / "fit.tensorm")
    assert again._target.tied == (1, 2)
    assert np.array_equal(again.transform(X), model.transform(X))
    (tmp_path / "run" / "fit.tensorm").unlink()
    assert np.array_equal(resume(tmp_path / "run", progress=False).factors_[1], model.factors_[1])


@pytest.mark.parametrize("method", ["posterior", "occam", "cv"])
def test_the_number_of_cliques_is_found(method: str) -> None:
    rng = np.random.default_rng(1)
    hours, people = np.zeros((8, 3), bool), np.zeros((24, 3), bool)
    for l in range(3):
        hours[2 * l : 2 * l + 4, l] = people[6 * l : 6 * l + 9, l] = True
    inside = np.einsum("al,bl,cl->abc", hours, people, people)
    ones = np.triu(rng.random(inside.shape) < np.where(inside, 0.8, 0.03), 1)
    X = np.where(np.eye(24, dtype=bool), np.nan, ones | ones.swapaxes(1, 2))
    estimator = TensOrMachine(symmetric=(1, 2))
    found = select_components(X, method, [2, 3, 4], estimator=estimator, n_repeats=2, progress=False)
    assert found.best == 3


def test_bad_input_is_named() -> None:
    X = small_ward().values.copy()
    X[0, 3, 3] = 0
    model = TensOrMachine(2, symmetric=(1, 2), noise="asymmetric", progress=False)
    told = (
        "X has observed cells where mode 1 and mode 2 are the same; make these missing (NaN), or read a "
        "table with pair=['mode 1', 'mode 2'], undirected=True."
    )
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        model.fit(X)
    X[0, 3, 3], X[0, 3, 4] = np.nan, 1 - X[0, 4, 3]
    with pytest.raises(
        InputError, match=r"not the same when mode 1 and mode 2 are exchanged; make it symmetric, or"
    ):
        model.fit(X)
    with pytest.raises(InputError, match="of sizes 13 and 40; give two modes of the same size"):
        TensOrMachine(2, symmetric=(0, 1)).fit(X)
    matrix = np.where(np.eye(6, dtype=bool), np.nan, 1)
    fitted = TensOrMachine(
        1, symmetric=(0, 1), n_chains=1, n_draws=2, noise="asymmetric", progress=False
    ).fit(matrix)
    with pytest.raises(InputError, match="Mode 0 shares its factor with another mode"):
        fitted.transform(matrix)


def shared_problem(others: tuple[int, ...], N: int, L: int, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Cells (others, N, N), mirrored, some of them missing, and factors; the last two are the same."""
    rng = np.random.default_rng(seed)
    factors = [rng.random((size, L)) < 0.5 for size in (*others, N)]
    factors.append(factors[-1])
    upper = np.triu(np.ones((N, N), bool), 1)
    ones = (boolean_product(factors) ^ (rng.random((*others, N, N)) < 0.2)) & upper
    seen = (rng.random(ones.shape) < 0.8) & upper
    cells = np.where(seen | seen.swapaxes(-1, -2), ones | ones.swapaxes(-1, -2), np.nan)
    return cells, factors


def test_mirrored_cells_are_stored_in_the_quicker_way() -> None:
    cells, _ = shared_problem((5,), 20, 2, seed=0)
    given = SymmetricTensor(listed(cells, "missing"), (1, 2))
    picked = pick_storage(given)
    assert (given.storage, picked.storage) == ("sparse", "dense")
    assert (picked.pair, picked.n_ones, picked.n_observed) == ((1, 2), given.n_ones, given.n_observed)
    np.testing.assert_array_equal(picked.arrays()["ones"], DenseTensor(cells).arrays()["ones"])
    few = SparseTensor([(1, 2), (2, 1)], (2500, 2500), [1, 1], unlisted="missing")
    assert pick_storage(SymmetricTensor(few, (0, 1))).storage == "sparse"
    model = TensOrMachine(
        2, symmetric=(1, 2), n_chains=1, n_draws=5, random_state=0, noise="asymmetric", progress=False
    )
    draws = [model.fit(X).posterior_.traces[0].factors for X in (cells, given.tensor)]
    assert model.storage_ == "dense"
    for one, other in zip(*draws, strict=True):
        np.testing.assert_array_equal(one, other)


def listed(cells: np.ndarray, unlisted: str) -> SparseTensor:
    seen = ~np.isnan(cells)
    if unlisted == "missing":
        return SparseTensor(np.argwhere(seen), cells.shape, cells[seen], unlisted="missing")
    return SparseTensor(np.argwhere(cells == 1), cells.shape, missing=np.argwhere(~seen))


STORAGES = {
    "dense": DenseTensor,
    "zeros": lambda cells: listed(cells, "zero"),
    "missing": lambda cells: listed(cells, "missing"),
}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("rule", ["gibbs", "metropolis", "greedy"])
@pytest.mark.parametrize(
    ("others", "N", "order"),
    [
        ((), 9, (0, 1)),
        ((3,), 8, (0, 1, 2)),  # packed with the other mode
        ((3,), 8, (1, 2, 0)),
        ((3,), 8, (1, 0, 2)),  # in between
        ((70,), 6, (0, 1, 2)),  # a mode of the rows
        ((2, 70), 5, (2, 0, 3, 1)),  # a mode of the rows, beside another
        ((2,), 70, (0, 1, 2)),  # packed alone
    ],
)
def test_rows_take_turns(storage: str, rule: str, others: tuple, N: int, order: tuple[int, ...]) -> None:
    """Row by row as the paper's loops would, the shared factor renewed for both modes after each."""
    L = 3 if N == 70 else 5
    cells, factors = shared_problem(others, N, L, seed=len(others) + N)
    cells, factors = cells.transpose(order), [factors[k] for k in order]
    first, second = sorted((order.index(len(others)), order.index(len(others) + 1)))
    rng = np.random.default_rng(5)
    prior = rng.choice([0.0, 1.0, 0.5, 0.4], size=(N, L))
    turn = Turn(first, Rates(0.8, 0.3), prior, rng.permutation(L), rule, Stream(np.uint64(7), 0, 0, first))
    numbers = np.array([uniforms(turn.stream, n, L) for n in range(N)])
    rows = np.arange(N) if N < 70 else np.arange(0, N, 9)
    expected = [factor.copy() for factor in factors]
    ones, seen = cells == 1, ~np.isnan(cells)
    for n in rows:
        for l in turn.order:
            if prior[n, l] in (0, 1):
                new = bool(prior[n, l])
            else:
                counts = naive.counts(ones, seen, expected, first, n, l)
                odds = naive.log_odds(*counts, *turn.noise, prior[n, l])
                new = naive.decide(rule, bool(expected[first][n, l]), odds, numbers[n, l])
            expected[first][n, l] = new
        expected[second] = expected[first].copy()
    with np.errstate(divide="ignore"):
        log_odds = np.log(prior) - np.log1p(-prior)
    how = Rule(turn.order, RULES[rule], turn.noise.weights, log_odds)
    tensor = SymmetricTensor(STORAGES[storage](cells), (first, second))
    masks = Factors.from_bits(factors)
    new = tensor.update_factor(first, masks, how, turn.stream, None if N < 70 else rows)
    np.testing.assert_array_equal(unpack(new, L), expected[first])
    assert not np.array_equal(expected[first], factors[first])
    np.testing.assert_array_equal(masks.bits()[first], factors[first])  # what was given is left alone
