"""What follows from draws, against the element loops of naive.py."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import naive
import posteriors
from tensorm import TensOrMachine
from tensorm.data import memory
from tensorm.data.inputs import check_names
from tensorm.datasets import simulate
from tensorm.errors import InputError
from tensorm.posterior import cells as cells_module
from tensorm.posterior.cells import PREDICTION_METHODS
from tensorm.posterior.diagnostics import diagnose
from tensorm.posterior.draws import Posterior, check_draws_fit
from tensorm.sampler import two_rates as noise_module
from tensorm.sampler.state import Trace
from tensorm.sampler.two_rates import Rates
from tensorm.tensors import DenseTensor


@pytest.fixture(params=["kept", "not kept"])
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Probabilities of few cells are kept, those of many computed when they are asked for."""
    if request.param == "not kept":
        monkeypatch.setattr(cells_module, "FEW_CELLS", 0)


Draws = list[tuple[list[np.ndarray], Rates]]


def make_draws(shape: Sequence[int], L: int, n_draws: int, seed: int = 0) -> Draws:
    rng = np.random.default_rng(seed)
    draws: Draws = []
    for draw in range(n_draws):
        if draws and draw % 3 == 0:  # some factors come twice, with other noise
            factors = draws[-1][0]
        else:
            factors = [rng.random((size, L)) < 0.5 for size in shape]
        draws.append((factors, Rates(0.6 + 0.4 * rng.random(), 0.5 * rng.random())))
    return draws


def make_trace(draws: Draws) -> Trace:
    """A chain with these draws; errors and log posterior grow from draw to draw."""
    S = range(len(draws))
    return replace(
        posteriors.make_trace([factors for factors, _ in draws], (0.5, 0.5), 1),
        noise=np.array([noise for _, noise in draws]),
        confusion=np.array([(3, 1, sweep, 4) for sweep in S]),
        log_posterior=np.array(S, float),
    )


def make_posterior(
    *chains: Draws, weights: Sequence[float] = (), explanations: Sequence[int] = ()
) -> Posterior:
    shape = tuple(len(factor) for factor in chains[0][0][0])
    return Posterior(
        chains=tuple(map(make_trace, chains)),
        weights=tuple(weights),
        explanations=tuple(explanations),
        shape=shape,
        names=check_names(shape),
    )


SHAPES = [((4, 5), 2), ((3, 4, 2), 1), ((2, 3, 2, 3), 3), ((2, 1, 2, 3, 2), 2), ((1, 1), 1), ((3, 4), 70)]


@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize(("shape", "L"), SHAPES)
def test_predictions_are_the_papers(shape: tuple[int, ...], L: int) -> None:
    chains = make_draws(shape, L, 5, seed=1), make_draws(shape, L, 3, seed=2)  # of different lengths
    found, draws = make_posterior(*chains), chains[0] + chains[1]
    factors, noises = [factors for factors, _ in draws], [noise for _, noise in draws]
    means = [np.mean([draw[k] for draw in factors], axis=0) for k in range(len(shape))]
    for mean, expected in zip(found.factors, means, strict=True):
        np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-14)
    hits, false_alarms = [noise.hit for noise in noises], [noise.false_alarm for noise in noises]
    assert found.noise["hit"] == pytest.approx(np.mean(hits))
    assert found.noise["false_alarm"] == pytest.approx(np.mean(false_alarms))

    expected = {
        "predictive": naive.predictive(factors, hits, false_alarms),
        "mean": naive.mean_reconstruction(means),
        "map": naive.product([mean > 0.5 for mean in means]),
        "best": naive.product(chains[0][-1][0]),  # the log posterior rises from draw to draw
    }
    every = np.array(list(itertools.product(*map(range, shape))))
    for method, cells in expected.items():
        np.testing.assert_allclose(found.predict_all(method), cells, rtol=0, atol=1e-12)
        some = found.predict_cells(tuple(every.T), method)
        np.testing.assert_allclose(some, cells.ravel(), rtol=0, atol=1e-12)
        for mode, size in enumerate(shape):
            for n in range(size):
                part = found.predict_slice(mode, n, method)
                np.testing.assert_allclose(part, cells.take(n, axis=mode), rtol=0, atol=1e-12)
        for max_cells in (1, 7, 10**6):
            whole = np.full(shape, np.nan)
            for where, block in found.blocks(method, max_cells):
                assert block.size <= max(max_cells, whole[0].size)
                whole[where] = block
            np.testing.assert_allclose(whole, cells, rtol=0, atol=1e-12)


def test_counts_and_explained() -> None:
    found = make_posterior(make_draws((3, 4), 2, 5), make_draws((3, 4), 2, 2))
    assert (found.n_draws, found.n_components) == (7, 2)
    explained = [3 / (3 + sweep) for sweep in (0, 1, 2, 3, 4, 0, 1)]
    assert found.noise["explained"] == pytest.approx(np.mean(explained))


def test_a_chain_without_weight_does_not_count() -> None:
    good, stuck = make_draws((3, 4), 2, 5), make_draws((3, 4), 2, 3, seed=9)
    alone, both = make_posterior(good), make_posterior(stuck, good, weights=(0, 1), explanations=(1, 0))
    assert len(both.chains) == 2
    assert (both.n_draws, len(both.traces)) == (5, 1)
    assert both.noise == alone.noise
    np.testing.assert_array_equal(both.factors[1], alone.factors[1])
    for method in PREDICTION_METHODS:
        np.testing.assert_array_equal(both.predict_all(method), alone.predict_all(method))


def test_equal_factors_are_multiplied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = make_draws((3, 4, 2), 2, 1) * 50
    calls = []
    product = noise_module.add_product
    monkeypatch.setattr(noise_module, "add_product", lambda *args: calls.append(1) or product(*args))
    make_posterior(draws, draws).predict_all()
    assert len(calls) == 1


@pytest.mark.usefixtures("each_way")
def test_cells_may_come_in_any_order_and_twice() -> None:
    found = make_posterior(make_draws((3, 4, 2), 2, 4))
    indices = tuple(np.array([[2, 3, 1], [0, 0, 0], [2, 3, 1]]).T)
    np.testing.assert_allclose(found.predict_cells(indices), found.predict_all()[indices])
    assert found.predict_cells(tuple(np.empty((3, 0), np.intp))).shape == (0,)


@pytest.mark.usefixtures("each_way")
def test_a_part_predicts_what_the_whole_does() -> None:
    whole = posteriors.ward_posterior()
    indices = [np.array([5, 0]), np.array([7, 6, 0]), np.arange(8)]
    part = whole.take(indices)
    assert part.shape == (2, 3, 8)
    assert part.labels[1].tolist() == ["nurse 04", "nurse 03", "doctor 01"]
    for method in PREDICTION_METHODS:
        np.testing.assert_allclose(part.predict_all(method), whole.predict_all(method)[np.ix_(*indices)])


def test_what_is_found_is_kept_until_the_draws_change() -> None:
    tensor, found = (
        DenseTensor(np.eye(4, 5)),
        make_posterior(make_draws((4, 5), 2, 8), make_draws((4, 5), 2, 8)),
    )
    first = diagnose(found)
    assert diagnose(found.measure(tensor)) is first
    assert diagnose(found.take([np.arange(3), np.arange(5)])).entries.total == 2 * 8


def test_all_cells_are_refused_where_they_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    ((factors, _),) = make_draws((3, 4, 2), 2, 1)
    found = make_posterior([(factors, Rates(0.55, 0.45))])
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * 24 - 1)
    with pytest.raises(
        InputError, match=r"^All 24 cells take .* GB and this machine has .* GB; give indices"
    ):
        found.predict_all()
    decided = found.decide_all()  # takes a byte for each
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * 24)
    np.testing.assert_array_equal(decided, found.predict_all() > 0.5)


def test_draws_that_do_not_fit_are_refused_with_numbers() -> None:
    check_draws_fit((300, 300, 300), n_components=64, n_chains=4, n_draws=1000)
    for settings in [(10**9, 4, 250), (5, 10**12, 250), (5, 4, 10**12)]:
        with pytest.raises(InputError) as caught:
            check_draws_fit((10, 10), *settings)
        L, n_chains, n_draws = settings
        start = f"n_components is {L:,}, n_chains {n_chains:,} and n_draws {n_draws:,}: these draws take "
        assert str(caught.value).startswith(start)
        assert str(caught.value).endswith(" GB; reduce one of the three.")


def test_priors_of_their_own_follow_the_components() -> None:
    """New slices get the prior of the component that they are placed in, wherever it stood."""
    sim = simulate((12, 10, 8), rank=2, density=0.4, noise=0.05, random_state=1)
    tables = [np.full((size, 2), 0.5) for size in sim.observed.shape]
    tables[0][:11, 1] = 0  # only the last index can be in component 1
    chains = {"n_chains": 2, "n_draws": 20, "effort": 0, "random_state": 0, "progress": False}
    unknown = np.full((1, 10, 8), np.nan)
    for columns in ([0, 1], [1, 0]):
        prior = [table[:, columns] for table in tables]
        model = TensOrMachine(2, noise="asymmetric", factor_prior=prior, **chains).fit(sim.observed)
        (narrow,) = np.flatnonzero((model.factors_[0][:11] == 0).all(axis=0))
        assert model.transform(unknown)[0, narrow] < 0.2 < model.transform(unknown)[0, 1 - narrow]


def test_from_traces_orders_all_chains_alike() -> None:
    rng = np.random.default_rng(0)
    truth = [rng.random((12, 3)) < p for p in (0.4, 0.5, 0.5)]
    truth[0][:, 0], truth[0][:, 2] = (
        [0] * 11 + [1],
        [1] * 12,
    )  # the last is the largest, the first the smallest
    ones = naive.product(truth)
    tensor = DenseTensor(ones)
    chains = [[([f[:, order] for f in truth], Rates(0.99, 0.01))] for order in ([0, 1, 2], [1, 2, 0])]
    found = Posterior.from_traces([make_trace(chain) for chain in chains], tensor)
    assert (found.shape, found.modes, found.labels) == (tensor.shape, tensor.modes, tensor.labels)
    for trace in found.traces:
        for mode in range(3):
            np.testing.assert_array_equal(trace.bits(mode)[0], truth[mode][:, [2, 1, 0]])
            np.testing.assert_array_equal(found.factors[mode], truth[mode][:, [2, 1, 0]])


@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize(("shape", "L"), SHAPES)
def test_predictions_average_all_chains_by_their_weights(shape: tuple[int, ...], L: int) -> None:
    """Every method but "best" is the weighted mean of what each explanation alone would say."""
    chains = [make_draws(shape, L, n, seed) for n, seed in ((5, 1), (3, 2), (4, 3))]
    weights, explanations = (0.5, 0.3, 0.2), (1, 0, 1)
    found = make_posterior(*chains, weights=weights, explanations=explanations)
    alone = [make_posterior(chain) for chain in chains]
    factors = [make_posterior(chains[1]), make_posterior(chains[0], chains[2])]
    expected = {
        "predictive": sum(w * one.predict_all() for w, one in zip(weights, alone, strict=True)),
        **{
            method: 0.3 * factors[0].predict_all(method) + 0.7 * factors[1].predict_all(method)
            for method in ("mean", "map")
        },
        "best": alone[1].predict_all("best"),
    }
    every = np.array(list(itertools.product(*map(range, shape))))
    for method, cells in expected.items():
        np.testing.assert_allclose(found.predict_all(method), cells, atol=1e-12)
        np.testing.assert_allclose(found.predict_cells(tuple(every.T), method), cells.ravel(), atol=1e-12)
        np.testing.assert_allclose(found.predict_slice(0, 0, method), cells[0], atol=1e-12)
    summary = found.cell_summary(every)
    np.testing.assert_allclose(summary.mean, expected["predictive"].ravel(), atol=1e-12)
    above = sum(w * one.cell_summary(every).above for w, one in zip(weights, alone, strict=True))
    np.testing.assert_allclose(summary.above, above, atol=1e-12)
    for mine, means in zip(found.factors, alone[1].factors, strict=True):  # of explanation 0
        np.testing.assert_array_equal(mine, means)


def test_a_chain_that_is_far_below_is_an_explanation_of_its_own() -> None:
    good = make_trace(make_draws((4, 5), 2, 3))
    lower = {name: getattr(good, name) - 100 for name in ("log_likelihood", "log_posterior")}
    stuck = replace(good, **lower)
    found = Posterior.from_traces([stuck, good], DenseTensor(np.eye(4, 5)))
    assert found.explanations == (1, 0)
    assert found.n_draws == 6  # nothing is left out
    assert found.weights == pytest.approx((0.5, 0.5))  # they predict the same


def test_a_posterior_cannot_be_changed() -> None:
    found: Any = make_posterior(make_draws((3, 4), 2, 1))
    with pytest.raises(AttributeError):
        found.shape = (1, 1)


@pytest.mark.usefixtures("each_way")
def test_no_probability_exceeds_one() -> None:
    """Weights of many distinct draws add up to a little more than 1."""
    rng = np.random.default_rng(0)
    draws = [([rng.random((4, 2)) < 0.999 for _ in range(3)], Rates(1 - 1e-16, 0.1)) for _ in range(7)]
    for seed in range(60):
        weights = np.random.default_rng(seed).dirichlet(np.ones(3))
        found = make_posterior(draws, draws, draws, weights=[*weights], explanations=(0, 1, 2))
        cells = [np.arange(4)] * 3
        assert found.predict_cells(cells).max() <= 1
        assert found.predict_all().max() <= 1
