"""TensOrMachine from the outside: what goes in, what comes out, and that it is the same every time."""

from __future__ import annotations

import copy
import doctest
import itertools
import pickle
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray as xr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

import definitions
import naive
from tensorm import DenseTensor, InputError, Posterior, TensOrMachine, model, read, select_components
from tensorm.datasets import simulate, ward
from tensorm.estimator import machine
from tensorm.estimator.plan import INITS
from tensorm.estimator.progress import forecast_run
from tensorm.posterior.align import match
from tensorm.sampler.models import BACKGROUNDS, NOISE_UPDATES, list_choices
from tensorm.sampler.sweep import FLIPS
from tensorm.selection.choose import SELECTION_METHODS

SIM = simulate((10, 9, 8), rank=3, density=0.3, noise=0.05, random_state=0)
X = SIM.observed
QUICK: dict[str, Any] = {
    "noise": "asymmetric",
    "n_chains": 2,
    "n_draws": 12,
    "burn_in": 8,
    "random_state": 0,
    "progress": False,
}


def fit(X: Any = X, n_components: int = 3, **settings: Any) -> TensOrMachine:
    return TensOrMachine(n_components, **{**QUICK, **settings}).fit(X)


def same(a: TensOrMachine, b: TensOrMachine) -> bool:
    """Whether two fits have the same draws, to the last bit."""
    return all(
        len(x) == len(y)
        and all(np.array_equal(f, g) for f, g in zip(x.factors, y.factors, strict=True))
        and np.array_equal(x.noise, y.noise)
        and np.array_equal(x.density, y.density, equal_nan=True)
        for x, y in zip(a.posterior_.chains, b.posterior_.chains, strict=True)
    )


@pytest.fixture(scope="module")
def fitted() -> TensOrMachine:
    return fit()


# What comes out


def test_names_and_shapes(fitted: TensOrMachine) -> None:
    assert [factor.shape for factor in fitted.factors_] == [(10, 3), (9, 3), (8, 3)]
    assert all(
        factor.dtype == np.float64 and 0 <= factor.min() <= factor.max() <= 1 for factor in fitted.factors_
    )
    assert set(fitted.noise_) == {"hit", "false_alarm", "explained"}
    assert all(type(value) is float and 0 < value < 1 for value in fitted.noise_.values())
    assert isinstance(fitted.posterior_, Posterior)
    assert fitted.posterior_.n_draws == 24
    assert fitted.modes_ == ("mode 0", "mode 1", "mode 2")
    assert fitted.labels_ == (None, None, None)
    assert fitted.n_features_in_ == 9
    assert fitted.predict_proba().shape == fitted.predict().shape == X.shape
    assert fitted.predict().dtype == np.int8
    assert fitted.predict_proba([[0, 1, 2], [9, 8, 7]]).shape == (2,)
    assert fitted.predict([[0, 1, 2], [9, 8, 7]], method="map").shape == (2,)
    assert fitted.transform(X[:4]).shape == (4, 3)
    assert type(fitted.score(X)) is float


@pytest.mark.parametrize(
    ("shape", "L"),
    [
        ((7, 6), 2),
        ((5, 4, 6), 3),
        ((3, 4, 2, 3), 2),
        ((2, 3, 2, 3, 2), 2),
        ((5, 4, 3), 1),
        ((5, 4, 3), 70),
        ((4, 3), 64),
        ((1, 5, 4), 2),
        ((5, 1, 4), 2),
        ((1, 1), 2),
        ((1, 1, 1, 1), 3),
    ],
)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_predictions_follow_from_the_draws(shape: tuple[int, ...], L: int, missing: float) -> None:
    rng = np.random.default_rng(0)
    cells = np.where(rng.random(shape) < missing, np.nan, rng.random(shape) < 0.4)
    cells.flat[0] = 1
    found = fit(cells, L, n_draws=4, burn_in=3)
    posterior = found.posterior_
    predictive, means = np.zeros(shape), {}
    for trace, weight, number in zip(
        posterior.chains, posterior.weights, posterior.explanations, strict=True
    ):
        draws = [[trace.bits(k)[s] for k in range(len(shape))] for s in range(len(trace))]
        noises = [model.Noise(*noise) for noise in trace.noise]
        alone = definitions.predictive(draws, noises)
        np.testing.assert_allclose(alone, naive.predictive(draws, *zip(*noises, strict=True)))
        predictive += weight * alone
        mean = [np.mean([draw[k] for draw in draws], axis=0) for k in range(len(shape))]
        means.setdefault(number, []).append((weight, mean))
    explained = [  # chains have as many draws, so those of an explanation have equal weights
        (
            sum(w for w, _ in own),
            [np.mean(parts, axis=0) for parts in zip(*(mean for _, mean in own), strict=True)],
        )
        for _, own in sorted(means.items())
    ]
    for mine, mean in zip(found.factors_, explained[0][1], strict=True):
        assert mine.shape == mean.shape
        np.testing.assert_allclose(mine, mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.predict_proba(), predictive, rtol=0, atol=1e-12)
    every = np.array(list(itertools.product(*map(range, shape))))
    np.testing.assert_allclose(found.predict_proba(every), predictive.ravel(), rtol=0, atol=1e-12)
    expected = {
        "predictive": predictive > 0.5,
        "mean": sum(w * definitions.mean_reconstruction(mean) for w, mean in explained) > 0.5,
        "map": sum(w * model.boolean_product([m > 0.5 for m in mean]) for w, mean in explained) > 0.5,
    }
    for method, ones in expected.items():
        np.testing.assert_array_equal(found.predict(method=method), ones)
        np.testing.assert_array_equal(found.predict(every, method=method), ones.ravel())
    seen = ~np.isnan(cells)
    assert found.score(cells) == pytest.approx((expected["predictive"] == cells)[seen].mean())
    assert found.transform(cells[:1]).shape == (1, L)


def test_draws_explain_what_they_say(fitted: TensOrMachine) -> None:
    for trace in fitted.posterior_.traces:
        for s in range(len(trace)):
            factors = [trace.bits(k)[s] for k in range(3)]
            product = model.boolean_product(factors)
            assert trace.accuracy[s] == pytest.approx((product == X).mean())
            assert trace.explained[s] == pytest.approx(product[X == 1].mean())
            assert trace.covered[s] == pytest.approx(product.mean())
            noise = model.Noise(*trace.noise[s])
            assert trace.log_likelihood[s] == pytest.approx(
                definitions.log_likelihood(X == 1, None, factors, noise)
            )
    explained = [trace.explained for trace in fitted.posterior_.traces]
    assert fitted.noise_["explained"] == pytest.approx(np.mean(explained))


def test_planted_factors_are_kept() -> None:
    sim = simulate((20, 18, 16), rank=3, density=0.25, noise=0.1, random_state=1)
    found = fit(sim.observed, init=sim.factors, n_draws=50)
    order = match([factor.astype(float) for factor in sim.factors], found.factors_)
    for mine, truth in zip(found.factors_, sim.factors, strict=True):
        assert ((mine[:, order] > 0.5) == truth).mean() > 0.98
    assert (found.predict() == sim.noise_free).mean() > 0.995
    assert found.noise_["hit"] == pytest.approx(0.9, abs=0.03)
    assert found.noise_["false_alarm"] == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("noise", ["symmetric", "asymmetric"])
def test_planted_factors_are_found(noise: str) -> None:
    sim = simulate((20, 20, 20), rank=3, density=0.3, noise=0.1, random_state=2)
    found = TensOrMachine(3, n_chains=2, n_draws=30, noise=noise, random_state=0, progress=False)
    found.fit(sim.observed)
    assert (found.predict() == sim.noise_free).mean() > 0.99
    assert all(trace.burn_in >= 50 and trace.settled for trace in found.posterior_.chains)


def test_the_strongest_component_comes_first() -> None:
    """Blocks of 18 x 18, 12 x 12 and 8 x 8 cells."""
    cells, truth = np.zeros((38, 38)), np.zeros((38, 3))
    for l, (start, stop) in enumerate([(8, 26), (26, 38), (0, 8)]):
        cells[start:stop, start:stop], truth[start:stop, l] = 1, 1
    for seed in range(3):
        found = fit(cells, random_state=seed, init=[truth[:, [2, 0, 1]]] * 2)
        np.testing.assert_array_equal(found.factors_[0] > 0.5, truth)


# What goes in


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.astype(bool),
        lambda X: X.astype(np.uint64),
        lambda X: X.astype(np.float16),
        lambda X: X.astype(">f8"),
        lambda X: X.tolist(),
        lambda X: tuple(map(list, X)),
        np.asfortranarray,
        lambda X: np.flip(np.flip(X, 1).copy(), 1),
        lambda X: np.repeat(X, 2, axis=2)[:, :, ::2],
        lambda X: np.ma.array(X),
        lambda X: np.ma.array(X, mask=np.zeros(X.shape, bool)),
        lambda X: X.view(type("Cells", (np.ndarray,), {})),
        xr.DataArray,
        DenseTensor,
    ],
)
def test_the_kind_of_array_changes_nothing(fitted: TensOrMachine, convert: Any) -> None:
    cells = convert(X)
    assert same(fit(cells), fitted)
    assert fitted.score(cells) == fitted.score(X)


def test_input_is_only_read(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "cells", dtype=np.int8, mode="w+", shape=X.shape)
    mapped[:] = X
    mapped.flush()
    read_only = np.memmap(tmp_path / "cells", dtype=np.int8, mode="r", shape=X.shape)
    assert same(fit(read_only), fit(mapped))
    np.testing.assert_array_equal(mapped, X)


def test_missing_cells_may_hold_anything() -> None:
    hidden = np.random.default_rng(0).random(X.shape) < 0.3
    with_nan = np.where(hidden, np.nan, X)
    found = fit(with_nan)
    assert same(found, fit(np.ma.array(X, mask=hidden)))
    assert same(found, fit(np.ma.array(np.where(hidden, 7, X), mask=hidden)))
    assert same(found, fit(np.ma.array(with_nan)))
    assert not same(found, fit(X))
    assert found.score(with_nan) == pytest.approx((found.predict() == X)[~hidden].mean())
    assert np.isfinite(found.predict_proba()).all()


def test_a_slice_of_which_nothing_is_known_is_predicted() -> None:
    cells = X.astype(float)
    cells[4], cells[:, 2] = np.nan, np.nan
    found = fit(cells)
    assert all(np.isfinite(factor).all() for factor in found.factors_)
    assert ((found.predict_proba() > 0) & (found.predict_proba() < 1)).all()


def test_names_and_labels_are_kept() -> None:
    contacts = ward()[:, ::5, ::5]
    found = fit(contacts)
    assert found.modes_ == ("hour", "person", "met")
    assert [list(labels) for labels in found.labels_] == [list(contacts[dim].values) for dim in contacts.dims]
    table = pd.DataFrame({"a": pd.array([1, None, 0], dtype="Int8"), "b": [True, False, True]}, list("xyz"))
    found = fit(table)
    assert [list(labels) for labels in found.labels_] == [["x", "y", "z"], ["a", "b"]]
    assert found.posterior_.labels is found.labels_


def test_sparse_matrices() -> None:
    assert same(fit(scipy.sparse.csr_array(X[0])), fit(X[0]))


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("noise", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("noise_update", ["sample", "map"])
def test_a_constant_tensor(value: int, noise: str, noise_update: str) -> None:
    found = fit(np.full((5, 4, 3), value), noise=noise, noise_update=noise_update, n_draws=40)
    assert found.score(np.full((5, 4, 3), value)) == 1
    assert np.isfinite(found.predict_proba()).all()


# Settings


@pytest.mark.parametrize("noise", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("noise_update", ["sample", "map"])
def test_noise_rates_keep_their_order(noise: str, noise_update: str) -> None:
    nothing_there = np.random.default_rng(0).random((6, 6, 6)) < 0.5
    for cells in (X, nothing_there, np.zeros((3, 4)), np.ones((3, 4))):
        found = fit(cells, noise=noise, noise_update=noise_update, n_draws=60)
        for trace in found.posterior_.chains:
            hit, false_alarm = trace.noise.T
            log_odds = np.log(hit / (1 - hit)) - np.log(false_alarm / (1 - false_alarm))
            assert log_odds.min() >= 0.0999
            if noise == "symmetric":
                np.testing.assert_array_equal(false_alarm, 1 - hit)


def test_map_is_the_papers_plug_in() -> None:
    found = fit(noise="symmetric", noise_update="map", noise_prior=(3, 2))
    for trace in found.posterior_.chains:
        np.testing.assert_allclose(trace.noise[:, 0], (3 + trace.accuracy * X.size) / (5 + X.size))


def test_a_strong_noise_prior_is_obeyed() -> None:
    found = fit(noise="symmetric", noise_prior=(8e6, 2e6))
    assert found.noise_["hit"] == pytest.approx(0.8, abs=0.002)


def test_burn_in_is_exactly_so_many_sweeps() -> None:
    long = fit(burn_in=0, n_draws=12, init="random").posterior_.chains
    short = fit(burn_in=7, n_draws=5, init="random").posterior_.chains
    for chain in range(2):
        assert (long[chain].burn_in, short[chain].burn_in) == (0, 7)
        np.testing.assert_array_equal(short[chain].noise, long[chain].noise[7:])


def test_what_a_run_takes_is_foretold(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        "tensorm.estimator.machine.forecast_run", lambda *given: told.append(forecast_run(*given[:-1], 60.0))
    )
    monkeypatch.setattr("tensorm.estimator.progress.memory_for_counts", lambda *given: 5 * 2**20)
    for settings in ({}, {"n_draws": 32}, {"burn_in": "auto"}):
        fit(n_jobs=1, **settings)
    for forecast, sweeps in zip(told, (20, 40, 102), strict=True):
        assert f"2 chains of at least {sweeps} sweeps take about {2 * sweeps} min" in forecast
        assert "about 5 MB" in forecast


def test_burn_in_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorm.sampler.burnin.LONGEST_BURN_IN", 20)
    message = r"^The log-likelihood of 2 of 2 chains was still rising after 20 sweeps of burn-in; "
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        found = fit(burn_in="auto", effort=0)
    assert caught[0].filename == __file__
    assert found.posterior_.n_draws == 24


def test_given_factors_are_where_chains_start() -> None:
    """Without noise in the data and with strong rates, one sweep from the truth stays at the truth."""
    clean = simulate((12, 12, 12), rank=3, density=0.3, noise=0, random_state=1)
    found = fit(clean.noise_free, init=clean.factors, burn_in=0, n_draws=1, noise_prior=(1, 1))
    assert found.posterior_.chains[0].accuracy[0] > 0.99
    found = fit(clean.noise_free, init=[np.zeros_like(f) for f in clean.factors], burn_in=0, n_draws=1)
    assert found.posterior_.chains[0].accuracy[0] < 0.9


def test_a_number_is_the_prior_of_every_entry() -> None:
    shared = fit(factor_prior=0.3, init="random")
    assert same(shared, fit(factor_prior=[0.3, 0.3, 0.3], init="random"))
    assert same(shared, fit(factor_prior=np.array(0.3), init="random"))
    assert same(shared, fit(factor_prior=[np.full((size, 3), 0.3) for size in X.shape], init="random"))
    assert same(shared, fit(factor_prior=[np.full((10, 3), 0.3), 0.3, np.full((8, 3), 0.3)], init="random"))
    assert not same(shared, fit(factor_prior=0.4, init="random"))
    assert all(np.isnan(trace.density).all() for trace in shared.posterior_.chains)


@pytest.mark.parametrize("init", ["data", "random", "given"])
def test_priors_of_0_and_1_fix_entries_in_every_draw(init: str) -> None:
    rng = np.random.default_rng(0)
    tables = [rng.choice([0.0, 0.5, 1.0], size=(size, 3)) for size in X.shape]
    start = [rng.random((size, 3)) < 0.5 for size in X.shape] if init == "given" else init
    found = fit(factor_prior=tables, init=start, burn_in=0, n_draws=30)
    for trace in found.posterior_.chains:
        for k, (order, table) in enumerate(zip([fixed_order(found, tables)] * 3, tables, strict=True)):
            bits = trace.bits(k)
            assert bits[:, table[:, order] == 1].all()
            assert not bits[:, table[:, order] == 0].any()
            free = bits[:, table[:, order] == 0.5]
            assert 0 < free.mean() < 1


def fixed_order(found: TensOrMachine, tables: list[np.ndarray]) -> list[int]:
    """The order in which the components of the tables are returned."""
    for order in itertools.permutations(range(3)):
        if all(
            (mine[table[:, order] == 1] == 1).all() and (mine[table[:, order] == 0] == 0).all()
            for mine, table in zip(found.factors_, tables, strict=True)
        ):
            return list(order)
    raise AssertionError("some entry was not held")


def test_all_entries_fixed() -> None:
    for value in (0, 1):
        found = fit(factor_prior=value)
        assert all((factor == value).all() for factor in found.factors_)


def test_learned_densities() -> None:
    sim = simulate((60, 60), rank=2, density=0.1, noise=0.02, random_state=0)
    found = fit(sim.observed, 2, n_draws=100)
    density = np.concatenate([trace.density for trace in found.posterior_.traces])
    assert ((density > 0) & (density < 1)).all()
    expected = [factor.mean() for factor in sim.factors]
    np.testing.assert_allclose(density.mean(axis=0), expected, atol=0.08)


def test_flips_and_order_agree_on_the_posterior() -> None:
    noisy = simulate((10, 9, 8), rank=2, density=0.4, noise=0.25, random_state=0)
    found = [
        fit(noisy.observed, 2, flips=flips, order=order, init=noisy.factors, n_draws=400)
        for flips, order in itertools.product(["gibbs", "metropolis"], ["fixed", "random"])
    ]
    for one, other in itertools.combinations(found, 2):
        assert not same(one, other)
        np.testing.assert_allclose(one.predict_proba(), other.predict_proba(), atol=0.15)


# The same every time


def test_the_same_seed_gives_the_same_bits(fitted: TensOrMachine) -> None:
    assert same(fit(), fitted)
    for n_jobs in (1, 2, 3, -1):
        assert same(fit(n_jobs=n_jobs), fitted)
    assert not same(fit(random_state=1), fitted)
    again = copy.deepcopy(fitted).fit(X)
    assert same(again, fitted)


def test_every_core_of_a_large_tensor_gives_the_same_bits() -> None:
    cells = simulate((70, 65, 64), rank=2, random_state=0).observed  # large enough for threads in a chain
    settings = {"n_chains": 1, "n_draws": 2, "burn_in": 2}
    one, two = (fit(cells, 2, n_jobs=n_jobs, **settings) for n_jobs in (1, 2))
    assert same(one, two)
    np.testing.assert_array_equal(one.transform(cells), two.transform(cells))


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_random_states(make: Any) -> None:
    state = make(5)
    first, second = fit(random_state=state), fit(random_state=state)
    assert not same(first, second)  # the state has moved on
    assert same(first, fit(random_state=make(5)))
    assert not same(fit(random_state=None), fit(random_state=None))
    assert same(fit(random_state=np.int64(3)), fit(random_state=3))
    assert not same(fit(random_state=2**70), fit(random_state=2**70 + 1))


def test_the_global_random_state_is_left_alone() -> None:
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    fit(random_state=None)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_two_fits_at_once(fitted: TensOrMachine) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert all(same(found, fitted) for found in pool.map(lambda _: fit(n_jobs=2), range(8)))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_child_can_fit() -> None:
    """Also after its parent used threads, which do not come along."""
    code = """
import os, signal
from tensorm import TensOrMachine, datasets
X = datasets.simulate((70, 65, 64), rank=2, random_state=0).observed
settings = {"n_chains": 1, "n_draws": 2, "burn_in": 2, "noise": "asymmetric", "progress": False}
model = TensOrMachine(2, n_jobs=2, random_state=0, **settings)
before = model.fit(X).noise_["hit"]
child = os.fork()
if child == 0:
    signal.alarm(120)
    os._exit(0 if model.fit(X).noise_["hit"] == before else 1)
print(os.waitpid(child, 0)[1])
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    assert done.stdout.strip() == "0"
    assert done.stderr == ""


# New slices


def test_known_slices_are_placed_where_they_were(fitted: TensOrMachine) -> None:
    sim = simulate((30, 20, 20), rank=3, density=0.3, noise=0.1, random_state=1)
    found = fit(sim.observed, init=sim.factors, n_draws=60)
    placed = found.transform(sim.observed)
    assert abs(placed - found.factors_[0]).max() < 0.25
    assert ((placed > 0.5) == (found.factors_[0] > 0.5)).mean() > 0.98
    np.testing.assert_array_equal(found.fit_transform(sim.observed), placed)


def test_new_slices_are_placed() -> None:
    """The first 30 slices are fitted, the others are new."""
    sim = simulate((60, 20, 20), rank=3, density=0.3, noise=0.1, random_state=1)
    found = fit(sim.observed[:30], init=[sim.factors[0][:30], *sim.factors[1:]], n_draws=60)
    order = match([f.astype(float) for f in sim.factors[1:]], found.factors_[1:])
    placed = found.transform(sim.observed[30:])[:, order]
    assert ((placed > 0.5) == sim.factors[0][30:]).mean() > 0.97
    hidden = np.where(np.random.default_rng(0).random((30, 20, 20)) < 0.5, np.nan, sim.observed[30:])
    assert ((found.transform(hidden)[:, order] > 0.5) == sim.factors[0][30:]).mean() > 0.95


def test_a_slice_is_placed_alike_in_any_company(fitted: TensOrMachine) -> None:
    whole = fitted.transform(X)
    np.testing.assert_array_equal(fitted.transform(X[::-1]), whole[::-1])
    np.testing.assert_array_equal(fitted.transform(X[3:4]), whole[3:4])
    np.testing.assert_array_equal(np.vstack([fitted.transform(X[:2]), fitted.transform(X[2:])]), whole)
    np.testing.assert_array_equal(fitted.transform(X), whole)


def test_transform_gives_tables_with_names(fitted: TensOrMachine) -> None:
    names = ["component0", "component1", "component2"]
    assert fitted.get_feature_names_out().tolist() == names
    table = clone(fitted).set_output(transform="pandas").fit_transform(X)
    assert list(table.columns) == names
    np.testing.assert_array_equal(table.to_numpy(), fitted.transform(X))
    with pytest.raises(NotFittedError):
        TensOrMachine().get_feature_names_out()


def test_transform_says_what_slices_show(fitted: TensOrMachine) -> None:
    shown = fitted.transform(X, kind="share")
    rows, columns = (factor[:, 0] > 0.5 for factor in fitted.factors_[1:])
    np.testing.assert_allclose(shown[:, 0], X[:, rows][:, :, columns].mean(axis=(1, 2)))
    with pytest.raises(ValueError, match=r"kind is 'power'; choose 'membership' or 'share'\.$"):
        fitted.transform(X, kind="power")


def test_score_is_the_share_of_cells_predicted(fitted: TensOrMachine) -> None:
    assert fitted.score(X) == pytest.approx((fitted.predict() == X).mean())
    assert fitted.score(1 - X) == pytest.approx(1 - fitted.score(X))
    other = np.full(X.shape, np.nan)
    other[3, 4, 5] = fitted.predict([[3, 4, 5]])[0]
    assert fitted.score(other) == 1


# scikit-learn


class Binarised(TensOrMachine):
    """Takes the numbers of scikit-learn's checks, as what lies above the median. For tests only.

    ``predict`` and ``predict_proba`` are hidden: they take indices of cells, where the checks give samples.
    """

    @property
    def predict(self) -> Any:
        raise AttributeError("predict")

    @property
    def predict_proba(self) -> Any:
        raise AttributeError("predict_proba")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = False
        return tags

    def fit(self, X: Any, y: Any = None) -> Binarised:
        X = validate_data(self, X)
        self.threshold_ = np.median(X, axis=0)
        return super().fit(self.threshold_ < X)

    def transform(self, X: Any) -> Any:
        return super().transform(self._bits(X))

    def score(self, X: Any, y: Any = None) -> float:
        return super().score(self._bits(X))

    def _bits(self, X: Any) -> Any:
        X = validate_data(self, X, reset=False)
        return self.threshold_ < X


def test_scikit_learn_checks() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            Binarised(2, noise="asymmetric", n_chains=2, n_draws=10, burn_in=3, progress=False),
            on_fail=None,
            on_skip=None,
        )
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {}
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}  # runs where SCIPY_ARRAY_API is set
    assert sum(result["status"] == "passed" for result in results) >= 46


def test_tags() -> None:
    tags = get_tags(TensOrMachine())
    assert tags.input_tags.two_d_array
    assert tags.input_tags.three_d_array
    assert tags.input_tags.allow_nan
    assert not tags.target_tags.required


def test_parameters(fitted: TensOrMachine) -> None:
    settings = {**QUICK, "n_components": 3}
    assert settings.items() <= fitted.get_params().items()
    bare = clone(fitted)
    assert not hasattr(bare, "factors_")
    assert bare.get_params() == fitted.get_params()
    assert "n_components=3" in repr(fitted)
    assert bare.set_params(n_components=2).fit(X).factors_[0].shape == (10, 2)
    given = TensOrMachine(3, init=SIM.factors, factor_prior=[np.full((size, 3), 0.3) for size in X.shape])
    assert repr(clone(given)).startswith("TensOrMachine(factor_prior=[array(")


def test_a_pickled_model_is_the_same(fitted: TensOrMachine) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    assert same(again, fitted)
    np.testing.assert_array_equal(again.predict_proba(), fitted.predict_proba())
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))


def test_pipeline() -> None:
    sim = simulate((80, 30), rank=3, density=0.3, noise=0.05, random_state=0)
    y = sim.factors[0][:, 0]
    pipeline = make_pipeline(TensOrMachine(3, **QUICK), LogisticRegression())
    assert pipeline.fit(sim.observed[:50], y[:50]).score(sim.observed[50:], y[50:]) > 0.9


def test_a_second_fit_forgets_the_first(fitted: TensOrMachine) -> None:
    found = fit(ward()[:, :6, :6])
    found.predict_proba()
    assert same(found.fit(X), fitted)
    assert found.modes_ == ("mode 0", "mode 1", "mode 2")
    np.testing.assert_array_equal(found.predict_proba(), fitted.predict_proba())


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    fit(progress=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("documented", "name", "choices"),
    [
        (TensOrMachine, "noise", ["auto", *list_choices()]),
        (TensOrMachine, "background", BACKGROUNDS),
        (TensOrMachine, "noise_update", NOISE_UPDATES),
        (TensOrMachine, "init", INITS),
        (TensOrMachine, "flips", FLIPS),
        (select_components, "method", SELECTION_METHODS),
    ],
)
def test_the_documentation_lists_every_choice(documented: Any, name: str, choices: Any) -> None:
    line = re.search(rf"^    {name} : (.*?), default", documented.__doc__, re.MULTILINE)
    assert line is not None
    assert set(re.findall('"([^"]+)"', line[1])) == set(choices)


def test_the_example_in_the_documentation() -> None:
    failures, examples = doctest.testmod(machine)
    assert failures == 0
    assert examples >= 4


def test_options_of_the_reader_may_be_given_to_fit_and_to_select_components() -> None:
    rows = [(f"p{i}", f"q{j}", f"r{k}", X[i, j, k]) for i, j, k in np.ndindex(X.shape)]
    table = pd.DataFrame(rows, columns=["who", "what", "where", "said"])
    options: dict[str, Any] = {"modes": ["what", "who", "where"], "value": "said", "unlisted": "missing"}
    tensor = read(table, **options)
    quick = TensOrMachine(2, **QUICK)
    assert same(quick.fit(tensor), clone(quick).fit(table, **options))
    settings: dict[str, Any] = {"candidates": [1, 2], "method": "occam", "progress": False}
    mine, other = select_components(table, **settings, **options), select_components(tensor, **settings)
    assert (mine.best, mine.table) == (other.best, other.table)
    with pytest.raises(InputError, match=r"^mode is not an option of tensorm.read; did you mean 'modes'\?$"):
        quick.fit(table, mode=["who"])
    with pytest.raises(
        InputError, match=r"^hue is not an option of tensorm.read; choose from modes, value, "
    ):
        quick.fit(table, hue=1)
