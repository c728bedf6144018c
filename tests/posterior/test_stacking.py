"""Weights of chains: equal where they agree, and otherwise by how well they predict cells together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import makers
import naive
from posteriors import make_trace
from problems import make_problem
from tensorm import TensOrMachine, datasets
from tensorm.posterior.draws import Posterior
from tensorm.posterior.stacking import MAX_WEIGHED_CELLS, TOWARDS_EQUAL, sample_cells, stack, weigh_chains
from tensorm.sampler.state import Trace
from tensorm.sampler.two_rates import Rates
from tensorm.tensors import DenseTensor, blocks

NOISE = Rates(0.9, 0.1)


def planted(seed: int = 0) -> tuple[DenseTensor, list[np.ndarray], list[np.ndarray]]:
    """Cells with two components, and factors that have both, and only the first."""
    rng = np.random.default_rng(seed)
    factors = [rng.random((20, 2)) < 0.6 for _ in range(3)]
    half = [factors[0] & [True, False], *factors[1:]]
    ones = naive.product(factors) ^ (rng.random((20, 20, 20)) < 0.1)
    return DenseTensor(ones), factors, half


def chain(factors: list[np.ndarray], n_draws: int = 3) -> Trace:
    return make_trace([factors] * n_draws, NOISE, 0.9)


def test_chains_that_agree_count_alike() -> None:
    tensor, both, _ = planted()
    found = Posterior.from_traces([chain(both), chain(both), chain(both)], tensor)
    assert found.weights == pytest.approx((1 / 3,) * 3)
    assert found.explanations == (0, 0, 0)
    found = Posterior.from_traces([chain(both), chain(both, 1)], tensor)  # stopped early
    assert found.weights == pytest.approx((0.75, 0.25))


def test_weights_favour_the_better_of_two_explanations() -> None:
    tensor, both, half = planted()
    found = Posterior.from_traces([chain(half), chain(both), chain(half)], tensor)
    assert found.explanations == (1, 0, 1)
    assert found.weights[1] > 0.75  # a third if they were equal
    assert found.weights[0] == pytest.approx(found.weights[2])
    assert sum(found.weights) == pytest.approx(1)


def test_explanations_that_each_see_half_are_averaged() -> None:
    tensor, both, first = planted()
    second = [both[0] & [False, True], *both[1:]]
    assert 0.2 < weigh_chains(tensor, [chain(first), chain(second)], [0, 1])[0] < 0.8


def test_the_weights_are_the_best_of_all() -> None:
    rng = np.random.default_rng(3)
    densities, cells, equal = rng.random((2, 500)), rng.random(500), np.array([0.7, 0.3])

    def loss(w: float) -> float:
        score = cells @ np.log(w * densities[0] + (1 - w) * densities[1]) / cells.sum()
        return -score - TOWARDS_EQUAL / 500 * (0.7 * np.log(w) + 0.3 * np.log(1 - w))

    best = minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-8}).x
    np.testing.assert_allclose(stack(densities, cells, equal), [best, 1 - best], atol=1e-3)


@pytest.mark.parametrize("kind", sorted(makers.KINDS.keys() - makers.SLOW))
def test_every_kind_of_tensor_gives_its_cells(kind: str) -> None:
    tensor, problem = makers.KINDS[kind].store(make_problem((5, 6, 6), 2, 1, 0.2, 0.4))
    sample = sample_cells(tensor)
    seen = problem.seen[sample.indices]
    assert seen.all()
    np.testing.assert_array_equal(sample.ones, problem.ones[sample.indices])
    assert len(sample.ones) == np.count_nonzero(problem.seen)
    assert sample.weights.sum() == pytest.approx(tensor.n_observed)
    assert sample.weights[sample.ones].sum() == pytest.approx(tensor.n_ones)


@pytest.mark.parametrize("kind", sorted(makers.KINDS.keys() - makers.SLOW))
def test_a_large_tensor_is_sampled(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same cells each time, with weights that make up for what was left out."""
    monkeypatch.setattr(blocks, "READ_WHOLE", 300)
    tensor, problem = makers.KINDS[kind].store(make_problem((7, 9, 9), 2, 2, 0.2, 0.4))
    sample, again = sample_cells(tensor, 40), sample_cells(tensor, 40)
    assert 20 < len(sample.ones) <= 40
    assert problem.seen[sample.indices].all()
    np.testing.assert_array_equal(sample.ones, problem.ones[sample.indices])
    assert sample.weights.sum() == pytest.approx(tensor.n_observed)
    for mine, other in zip((*sample.indices, sample.weights), (*again.indices, again.weights), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_sample_of_cells_gives_nearly_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = datasets.simulate((40, 40, 40), rank=3, density=0.3, noise=0.3, random_state=0)
    tensor, factors = DenseTensor(sim.observed), [np.asarray(factor, bool) for factor in sim.factors]
    parts = [[factors[0] & (np.arange(3) != l), *factors[1:]] for l in (0, 1, 2)]
    traces = [replace(chain(part), noise=np.tile((0.7, 0.3), (3, 1))) for part in parts]
    exact = weigh_chains(tensor, traces, [0, 1, 2])
    assert np.prod(tensor.shape) > MAX_WEIGHED_CELLS
    monkeypatch.setattr(blocks, "READ_WHOLE", 2**14)
    np.testing.assert_allclose(weigh_chains(tensor, traces, [0, 1, 2]), exact, atol=0.1)


def test_all_cells_of_one_value() -> None:
    _, both, half = planted()
    for cells in (np.zeros((20, 20, 20)), np.ones((20, 20, 20))):
        weights = weigh_chains(DenseTensor(cells), [chain(both), chain(half)], [0, 1])
        assert np.isfinite(weights).all()
        assert weights.sum() == pytest.approx(1)


def test_a_fit_predicts_with_all_of_its_chains() -> None:
    X = datasets.simulate((12, 12, 12), rank=4, density=0.3, noise=0.1, random_state=0).observed
    model = TensOrMachine(
        4, init="random", burn_in=0, n_draws=6, random_state=0, noise="asymmetric", progress=False
    ).fit(X)
    found = model.posterior_
    assert len(set(found.explanations)) > 1
    alone = [Posterior((trace,), found.shape, found.names).predict_all() for trace in found.chains]
    np.testing.assert_allclose(model.predict_proba(), np.tensordot(found.weights, alone, 1))
