"""The log posterior of a draw: that of element loops, up to a constant that all draws of a fit share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import naive
from tensorm import TensOrMachine
from tensorm.estimator.plan import make_plan, make_tensor
from tensorm.sampler.chains import run_chains

SHAPE, L = (5, 4, 4), 3
RNG = np.random.default_rng(0)
TABLES = [RNG.uniform(0.05, 0.95, (N, L)) for N in SHAPE]
TABLES[0][0, 0], TABLES[1][2, 1] = 0.0, 1.0  # these entries are fixed
COLUMNS = [np.tile([0.1, 0.4, 0.8], (N, 1)) for N in SHAPE]
PRIORS: dict[str, Any] = {
    "learned": "learned",
    "a number": 0.3,
    "a number for each mode": [0.2, 0.5, 0.7],
    "components": COLUMNS,
    "entries": TABLES,
}


def cells() -> np.ndarray:
    """Next to no pattern, so that some components are empty in some draws."""
    rng = np.random.default_rng(3)
    X = (rng.random(SHAPE) < 0.35).astype(float)
    X[rng.random(SHAPE) < 0.1] = np.nan
    return X


def expected(X: np.ndarray, model: TensOrMachine, factors: list[np.ndarray], rates: np.ndarray) -> float:
    hit, false_alarm = rates
    value = naive.log_likelihood(X == 1, ~np.isnan(X), factors, hit, false_alarm)
    given = model.factor_prior
    for mode, factor in enumerate(factors[:2] if model.symmetric else factors):
        if isinstance(given, str):
            value += naive.log_factor_learned(factor, 1.0, 1.0)
        else:
            prior = np.broadcast_to(given[mode] if isinstance(given, list) else given, factor.shape)
            value += naive.log_factor_given(factor, prior)
    return value


def assert_exact(
    X: np.ndarray, n_components: int = L, halved: np.ndarray | None = None, **settings: Any
) -> int:
    """Compare draw by draw; returns in how many draws some component is empty.

    Components are left in the order that the chains have them in, which single entries' priors refer to.
    """
    settings = {"noise": "asymmetric", "noise_prior": (2.0, 1.5)} | settings
    model = TensOrMachine(n_components, n_draws=25, burn_in=5, random_state=1, **settings)
    tensor = make_tensor(X, model.symmetric)
    traces = run_chains(tensor, make_plan(model, tensor), n_chains=2, n_threads=1).traces
    found, wanted, empty = [], [], 0
    for trace in traces:
        bits = [trace.bits(mode) for mode in range(X.ndim)]
        for draw, value in enumerate(trace.log_posterior):
            factors = [factor[draw] for factor in bits]
            found.append(value)
            wanted.append(expected(X if halved is None else halved, model, factors, trace.noise[draw]))
            empty += not np.logical_and.reduce([factor.any(axis=0) for factor in factors]).all()
    assert np.ptp(wanted) > 1
    np.testing.assert_allclose(np.subtract(found, found[0]), np.subtract(wanted, wanted[0]), atol=1e-8)
    return empty


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("noise", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("update", ["sample", "map"])
def test_it_is_that_of_element_loops(prior: str, noise: str, update: str) -> None:
    empty = assert_exact(cells(), factor_prior=PRIORS[prior], noise=noise, noise_update=update)
    assert empty or prior != "learned"


def test_a_shared_factor_counts_once_and_a_pair_is_one_observation() -> None:
    half = np.triu(np.random.default_rng(4).random((3, 6, 6)) < 0.4, 1)
    X = (half | half.swapaxes(1, 2)).astype(float)
    X[:, range(6), range(6)] = np.nan
    halved = X.copy()
    halved[:, *np.tril_indices(6)] = np.nan
    assert_exact(X, 2, halved, symmetric=(1, 2))
