"""Draws as ArviZ takes them; its own functions are run on them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import xarray

from posteriors import HOURS, PEOPLE, bits, make_posterior, ward_posterior
from tensorm import InputError, TensOrMachine, model
from tensorm.data import memory
from tensorm.posterior.datatree import name_dimensions, to_datatree
from tensorm.sampler.two_rates import Rates
from tensorm.tensors import DenseTensor


@pytest.fixture(scope="module")
def fitted() -> tuple[TensOrMachine, np.ndarray]:
    X = np.random.default_rng(0).random((5, 4, 3)).round()
    X[0, 0, 0] = X[2, 3, 1] = np.nan
    settings = {"n_components": 2, "n_chains": 2, "n_draws": 60, "burn_in": 20, "random_state": 0}
    return TensOrMachine(**settings, noise="asymmetric", progress=False).fit(X), X


def test_groups_variables_and_dimensions(fitted: tuple[TensOrMachine, np.ndarray]) -> None:
    estimator, X = fitted
    posterior = estimator.posterior_
    tree = to_datatree(posterior, estimator.get_params(), DenseTensor(X), all_chains=True)
    assert set(tree.children) == {"posterior", "sample_stats", "observed_data", "constant_data"}
    assert dict(tree["posterior"].sizes) == {
        "chain": 2, "draw": 60, "mode_0": 5, "mode_1": 4, "mode_2": 3, "component": 2, "mode": 3,
    }  # fmt: skip
    for chain, trace in enumerate(posterior.chains):
        for k in range(3):
            factor = tree[f"posterior/factor_mode_{k}"][chain]
            assert factor.dims == ("draw", f"mode_{k}", "component")
            assert factor.dtype == np.int8
            np.testing.assert_array_equal(factor, trace.bits(k))
        np.testing.assert_array_equal(tree["posterior/hit"][chain], trace.noise[:, 0])
        np.testing.assert_array_equal(tree["posterior/false_alarm"][chain], trace.noise[:, 1])
        np.testing.assert_array_equal(tree["posterior/density"][chain], trace.density)
        np.testing.assert_array_equal(tree["sample_stats/lp"][chain], trace.log_posterior)
        np.testing.assert_array_equal(tree["sample_stats/log_likelihood"][chain], trace.log_likelihood)
        np.testing.assert_array_equal(tree["sample_stats/accuracy"][chain], trace.accuracy)
    np.testing.assert_array_equal(tree["observed_data/x"], X)
    assert tree["constant_data/n_observed"].item() == 58
    assert tree["constant_data"].attrs["n_components"] == 2
    assert tree["posterior"].attrs["inference_library"] == "tensorm"


def test_labels_become_coordinates() -> None:
    tree = to_datatree(ward_posterior(), {})
    factor = tree["posterior/factor_person"]
    assert factor.dims == ("chain", "draw", "person", "component")
    assert factor.coords["person"].values.tolist() == PEOPLE.tolist()
    assert factor.sel(person="nurse 01", component=0).all()
    assert tree["posterior/factor_hour"].coords["hour"].values.tolist() == HOURS.tolist()
    assert tree["posterior/density"].coords["mode"].values.tolist() == ["hour", "person", "met"]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1, "x", None, 2.5, True], object),
        np.array([10**400, 1, 2, 3, 4], object),
        np.array([2**62, 1, 2, 3, 4], "M8[Y]"),
        np.array([2**62, 1, 2, 3, 4], "m8[Y]"),
    ],
    ids=["mixed", "large", "late", "long"],
)
def test_labels_that_no_file_holds_become_text(labels: np.ndarray, tmp_path: Path) -> None:
    posterior = make_posterior([[[bits(5, [0, 1]), bits(2, [0])]] * 2], labels=(labels, None))
    tree = to_datatree(posterior, {})
    assert tree["posterior/factor_mode_0"].coords["mode_0"].values.tolist() == list(map(str, labels))
    tree.to_netcdf(tmp_path / "x.nc", engine="h5netcdf")


def test_complete_data_stay_small(fitted: tuple[TensOrMachine, np.ndarray]) -> None:
    estimator, X = fitted
    tree = to_datatree(estimator.posterior_, {}, DenseTensor(np.nan_to_num(X)))
    assert tree["observed_data/x"].dtype == np.int8


def test_the_log_likelihood_of_each_cell(fitted: tuple[TensOrMachine, np.ndarray]) -> None:
    estimator, X = fitted
    tree = to_datatree(estimator.posterior_, {}, DenseTensor(X), log_likelihood=True, all_chains=True)
    cells = tree["log_likelihood/x"]
    assert cells.sizes == {"chain": 2, "draw": 60, "cell": 58}
    np.testing.assert_allclose(cells.sum("cell"), tree["sample_stats/log_likelihood"])
    trace = estimator.posterior_.chains[1]
    product = model.boolean_product([trace.bits(k)[7] for k in range(3)])
    hit, false_alarm = trace.noise[7]
    for cell in (0, 17, 57):
        place = tuple(int(cells.coords[f"mode_{k}"][cell]) for k in range(3))
        rate = hit if product[place] else false_alarm
        assert cells.values[1, 7, cell] == pytest.approx(np.log(rate if X[place] else 1 - rate))


def test_log_likelihood_needs_data_and_room(
    fitted: tuple[TensOrMachine, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    estimator, X = fitted
    with pytest.raises(InputError, match=r"a fit keeps no data; give X, the data of the fit\.$"):
        to_datatree(estimator.posterior_, {}, log_likelihood=True)
    monkeypatch.setattr(memory, "available_memory", lambda: 40_000)
    with pytest.raises(InputError, match=r"The log-likelihood takes .* leave log_likelihood out"):
        to_datatree(estimator.posterior_, {}, DenseTensor(X), log_likelihood=True)
    monkeypatch.setattr(memory, "available_memory", lambda: 3_000)
    with pytest.raises(InputError, match=r"The draws take .* posterior_"):
        to_datatree(estimator.posterior_, {})
    monkeypatch.setattr(memory, "available_memory", lambda: 2 * 2_900)
    with pytest.raises(InputError, match=r"X takes .* leave X out"):
        to_datatree(
            dataclasses.replace(estimator.posterior_, explanations=(0, 1)),
            {},
            DenseTensor(np.zeros((80, 40))),
            all_chains=False,
        )


def test_chains_are_chosen_and_cut_to_the_shortest() -> None:
    draw = [bits(3, [0, 2]), bits(2, [1])]
    posterior = make_posterior([[draw] * 5, [draw] * 3, [draw] * 4])
    with pytest.warns(UserWarning, match="all were cut to the shortest, 3 draws"):
        tree = to_datatree(posterior, {})
    assert tree["posterior"].sizes["draw"] == 3
    assert tree["posterior"].attrs["draws_left_out"] == 3
    some = dataclasses.replace(posterior, explanations=(1, 0, 1), weights=(0.2, 0.5, 0.3))
    tree = to_datatree(some, {}, all_chains=False)
    assert tree["posterior"].coords["chain"].values.tolist() == [1]
    assert tree["posterior"].attrs["draws_left_out"] == 0
    with pytest.warns(UserWarning, match="cut"):
        tree = to_datatree(some, {})
    assert tree["constant_data/weight"].values.tolist() == [0.2, 0.5, 0.3]
    assert tree["constant_data/explanation"].values.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("modes", "names"),
    [
        (("mode 0", "mode 1"), ("mode_0", "mode_1")),
        (("chain", "draw", "component"), ("chain_0", "draw_1", "component_2")),
        (("person", "person"), ("person", "person_1")),
        (("a", "a_1", "a"), ("a", "a_1", "a_2")),
        (("a", "a_2", "a"), ("a", "a_2", "a_2_")),
        (("hit", "x", "lp"), ("hit_0", "x_1", "lp")),
        (("a/b", "", "  "), ("a_b", "mode_1", "mode_2")),
        (("mode_1", ""), ("mode_1", "mode_1_1")),
        (("a", "factor_a"), ("a", "factor_a_1")),
        (("factor_a_1", "a_0"), ("factor_a_1_0", "a_0")),
    ],
)
def test_names_of_dimensions(modes: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert name_dimensions(modes, Rates.AXES) == names
    draw = [bits(2, [0]) for _ in modes]
    tree = to_datatree(make_posterior([[draw] * 2], modes), {})
    assert set(names) <= set(tree["posterior"].dims)


def test_fixed_priors_have_no_density() -> None:
    posterior = ward_posterior()
    chains = tuple(
        dataclasses.replace(trace, density=np.full_like(trace.density, np.nan)) for trace in posterior.chains
    )
    assert "density" not in to_datatree(dataclasses.replace(posterior, chains=chains), {})["posterior"]


@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")  # of few draws
def test_arviz_takes_it(fitted: tuple[TensOrMachine, np.ndarray]) -> None:
    import arviz_stats

    estimator, X = fitted
    tree = to_datatree(estimator.posterior_, estimator.get_params(), DenseTensor(X), True, all_chains=True)
    rates = ["hit", "false_alarm", "density"]
    table = arviz_stats.summary(tree, var_names=rates)
    assert table.index.tolist() == ["hit", "false_alarm", *(f"density[mode_{k}]" for k in range(3))]
    hit = np.concatenate([trace.noise[:, 0] for trace in estimator.posterior_.chains])
    assert float(table.loc["hit", "mean"]) == pytest.approx(hit.mean(), abs=0.01)
    assert np.isfinite(arviz_stats.rhat(tree, var_names=rates)["hit"].item())
    assert arviz_stats.ess(tree, group="sample_stats", var_names="lp")["lp"].item() > 1
    with np.errstate(all="ignore"):  # entries that never change have no R-hat
        rhat = arviz_stats.rhat(tree, var_names="factor_mode_1")["factor_mode_1"]
    assert rhat.dims == ("mode_1", "component")
    elpd = arviz_stats.loo(tree)
    assert elpd.n_data_points == 58
    assert elpd.elpd < 0


@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")
def test_draws_on_a_grid_may_tie() -> None:
    """What docs/how-to/scanpy-arviz-xarray.md advises where activities make log-likelihoods equal."""
    import arviz_stats

    X = np.random.default_rng(1).random((9, 8, 7)) < 0.15
    settings = {"noise": "strengths", "n_chains": 2, "n_draws": 100, "burn_in": 30, "random_state": 0}
    model = TensOrMachine(1, **settings, progress=False).fit(X)
    tree = model.to_datatree(X, log_likelihood=True)
    noise, factors = (getattr(model.posterior_.chains[1], f"{name}_at")(7) for name in ("noise", "factors"))
    p = noise.predict(factors, np.indices(X.shape).reshape(3, -1))
    found = tree["log_likelihood/x"][1, 7]
    np.testing.assert_allclose(found, np.log(np.where(X.ravel(), p, 1 - p)))
    plain = tree["log_likelihood/x"].copy()
    spread = np.random.default_rng(0).uniform(-0.01, 0.01, plain.shape)
    tree["log_likelihood"]["x"] = plain + spread
    elpd = arviz_stats.loo(tree).elpd
    whole = -np.log(np.exp(-plain).mean(("chain", "draw"))).sum()  # without smoothed weights
    assert elpd == pytest.approx(float(whole), abs=1)


def test_it_can_be_kept_in_a_file(fitted: tuple[TensOrMachine, np.ndarray], tmp_path: Path) -> None:
    estimator, X = fitted
    tree = to_datatree(estimator.posterior_, estimator.get_params(), DenseTensor(X), True)
    tree.to_netcdf(tmp_path / "tree.nc", engine="h5netcdf")
    with xarray.open_datatree(tmp_path / "tree.nc", engine="h5netcdf") as again:
        xarray.testing.assert_identical(again["posterior"].to_dataset(), tree["posterior"].to_dataset())
        np.testing.assert_array_equal(again["log_likelihood/x"], tree["log_likelihood/x"])
