"""Whole fits: what is loaded is what was saved, to the bit."""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import forge
import tensorm
from tensorm import FileError, TensOrMachine, datasets
from tensorm.sampler.chains import TRACE_COLUMNS
from tensorm.storage.fit import FORMAT_VERSION


def fit(X: object, **settings: object) -> TensOrMachine:
    settings = {
        "noise": "asymmetric",
        "n_components": 3,
        "n_chains": 2,
        "n_draws": 8,
        "burn_in": 5,
        "progress": False,
    } | settings
    return TensOrMachine(random_state=0, **settings).fit(X)  # type: ignore[arg-type]


def reload(model: TensOrMachine, folder: Path) -> TensOrMachine:
    model.save(folder / "run.tensorm")
    return tensorm.load(folder / "run.tensorm")


def assert_same(a: TensOrMachine, b: TensOrMachine) -> None:
    assert type(b) is TensOrMachine
    for x, y in zip(a.factors_, b.factors_, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)
    assert a.noise_ == b.noise_
    for method in ("predictive", "mean", "map", "best"):
        assert a.posterior_.predict_all(method).tobytes() == b.posterior_.predict_all(method).tobytes()
    assert (a.modes_, a.n_features_in_) == (b.modes_, b.n_features_in_)
    assert a.posterior_.shape == b.posterior_.shape
    assert (a.posterior_.weights, a.posterior_.explanations) == (
        b.posterior_.weights,
        b.posterior_.explanations,
    )
    assert a.contributions_ == b.contributions_
    np.testing.assert_equal(a.posterior_.shares, b.posterior_.shares)
    np.testing.assert_equal(a.get_params(), b.get_params())
    np.testing.assert_equal(a.labels_, b.labels_)


SHAPES = [(6, 5), (4, 5, 3), (3, 2, 4, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", ["symmetric", "asymmetric"])
def test_a_fit_comes_back_to_the_bit(shape: tuple[int, ...], noise: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).random(shape) < 0.4
    model = fit(X, noise=noise, noise_update="map" if len(shape) == 2 else "sample")
    again = reload(model, tmp_path)
    assert_same(model, again)
    new = np.random.default_rng(1).random((7, *shape[1:])) < 0.4
    assert model.transform(new).tobytes() == again.transform(new).tobytes()
    assert model.score(X) == again.score(X)


def test_labels_arrays_and_priors_come_back(tmp_path: Path) -> None:
    model = forge.small_fit()
    again = reload(model, tmp_path)
    assert_same(model, again)
    X = np.random.default_rng(0).random((2, 5, 3)) < 0.4
    assert model.transform(X).tobytes() == again.transform(X).tobytes()


def test_the_ward_comes_back_with_its_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a short fit may say that it is one
        model = fit(datasets.ward(), n_components=8, n_draws=50, burn_in="auto")
    again = reload(model, tmp_path)
    assert_same(model, again)
    model.summary()
    before = capsys.readouterr().out
    again.summary()
    assert capsys.readouterr().out == before
    assert (
        tmp_path / "run.tensorm"
    ).stat().st_size < 40_000  # 2 x 50 draws of 5 rates and densities are 4 kB


def test_chains_of_different_length_and_chains_left_out(tmp_path: Path) -> None:
    import dataclasses

    model = fit(np.random.default_rng(0).random((6, 5)) < 0.4)
    first, second = model.posterior_.chains
    short = dataclasses.replace(
        second,
        factors=tuple(factor[:3] for factor in second.factors),
        **{name: getattr(second, name)[:3] for name in TRACE_COLUMNS},
    )
    for weights, explanations in [((), ()), ((0.25, 0.75), (1, 0))]:
        changes = {"chains": (first, short), "weights": weights, "explanations": explanations}
        model._keep(dataclasses.replace(model.posterior_, **changes), model._target)
        assert_same(model, reload(model, tmp_path))


def test_chains_that_are_not_counted_stay_so(tmp_path: Path) -> None:
    import dataclasses

    model = fit(np.random.default_rng(0).random((6, 5)) < 0.4)
    assert reload(model, tmp_path).posterior_.outcomes == ("included", "included")
    lost = ("failed", "included", "stopped", "included")
    model._keep(dataclasses.replace(model.posterior_, outcomes=lost), model._target)
    again = reload(model, tmp_path)
    assert (again.posterior_.outcomes, again.posterior_.numbers) == (lost, [1, 3])
    assert str(again.diagnostics_) == str(model.diagnostics_)
    path = tmp_path / "run.tensorm"
    parts = forge.Parts(path.read_bytes())
    del parts.about["outcomes"]  # as files were before there were any
    path.write_bytes(parts.join())
    assert tensorm.load(path).posterior_.outcomes == ("included", "included")


def test_settings_changed_after_the_fit_do_not_change_what_was_fitted(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((6, 5)) < 0.4
    model = fit(X, flips="gibbs").set_params(flips="metropolis", n_components=7, random_state=9)
    again = reload(model, tmp_path)
    assert again.get_params()["flips"] == "metropolis"
    assert model.transform(X).tobytes() == again.transform(X).tobytes()
    assert again.factors_[0].shape == (6, 3)


def test_a_random_generator_is_forgotten_but_its_seed_is_kept(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((6, 5)) < 0.4
    model = TensOrMachine(2, n_chains=1, n_draws=4, burn_in=2, noise="asymmetric", progress=False)
    model.set_params(random_state=np.random.RandomState(3)).fit(X)
    again = reload(model, tmp_path)
    assert again.random_state is None
    assert again._target.seed == model._target.seed
    assert model.transform(X).tobytes() == again.transform(X).tobytes()


def test_a_loaded_fit_can_be_saved_cloned_and_fitted_again(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((6, 5)) < 0.4
    again = reload(fit(X), tmp_path)
    first = (tmp_path / "run.tensorm").read_bytes()
    again.save(tmp_path / "run.tensorm")
    assert (tmp_path / "run.tensorm").read_bytes() == first
    assert_same(clone(again).fit(X), again)


def test_saving_needs_a_fit(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        TensOrMachine().save(tmp_path / "run.tensorm")


def test_names_of_modes_may_be_anything(tmp_path: Path) -> None:
    import xarray

    X = np.random.default_rng(0).random((4, 3, 2)) < 0.5
    for names in [("draw", "chain", "component"), ("a/b", "", "x" * 5000), ("\x1b", "ü", "mode_0")]:
        model = fit(xarray.DataArray(X, dims=names))
        again = reload(model, tmp_path)
        assert again.modes_ == names


def test_the_file_is_documented(tmp_path: Path) -> None:
    """What docs/files.md promises to other programs."""
    model = forge.small_fit()
    model.save(tmp_path / "fit.tensorm")
    arrays = np.load(tmp_path / "fit.tensorm", allow_pickle=False)
    about = json.loads(arrays["about.json"])
    assert about["format"] == "tensorm fit"
    assert about["format_version"] == FORMAT_VERSION == 6
    assert about["tensorm_version"] == tensorm.__version__
    assert [mode["name"] for mode in about["modes"]] == ["gene", "day", "mouse"]
    assert about["model"]["seed"] == model._target.seed
    assert arrays["mode_0"].tolist() == ["BRCA2", "TP53", "Österreich", "a\tb"]
    assert arrays["mode_1"].dtype.kind == "M"
    draws = np.repeat(arrays["chain_1/factor_2"][None], len(arrays["chain_1/noise"]), axis=0)
    draws[:, arrays["chain_1/rows_2"]] = arrays["chain_1/moves_2"]
    bits = np.unpackbits(draws, axis=-1, count=9, bitorder="little")
    np.testing.assert_array_equal(bits, model.posterior_.chains[1].bits(2))
    np.testing.assert_array_equal(arrays["chain_0/noise"], model.posterior_.chains[0].noise)
    page = Path(__file__).parents[2] / "docs" / "files.md"
    named = {re.sub(r"_[kn]$", "_k", name) for name in re.findall(r"`(\w+)`", page.read_text())}
    written = [path.rpartition("/")[2] for path in arrays if path != "about.json"]
    said = [name for tree in (about, about["model"], about["chain_0"]) for name in tree]
    assert {re.sub(r"_\d+$", "_k", name) for name in (*written, *said)} <= named | {"chain_k"}


def test_no_ending_promises_another_format(tmp_path: Path) -> None:
    with pytest.raises(
        FileError, match=r"ends in \.nc, but fits are saved as \.tensorm files; .*to_netcdf\(path\)\.$"
    ):
        forge.small_fit().save(tmp_path / "run.nc")
    for name in ("fit.csv", "fit.csv.gz", "fit.npz"):
        with pytest.raises(FileError, match=r"give a name that ends in \.tensorm\.$"):
            forge.small_fit().save(tmp_path / name)
    assert not list(tmp_path.iterdir())
    for name in ("run.tensorm", "run", "run.v2"):
        forge.small_fit().save(tmp_path / name)
        assert_same(forge.small_fit(), tensorm.load(str(tmp_path / name)))


def test_no_pickle_anywhere() -> None:
    source = Path(sys.modules["tensorm"].__file__ or "").parent
    for path in set(source.rglob("*.py")) - {source / "kernels" / "stored.py"}:  # which checks a seal first
        assert not re.search(r"^\s*(import|from) +(pickle|cloudpickle|dill|joblib)\b", path.read_text(), re.M)


def test_a_newer_file_says_so(tmp_path: Path) -> None:
    parts = forge.Parts(forge.saved(tmp_path))
    parts.about |= {"format_version": 7, "tensorm_version": "9.0", "new": "thing"}
    with pytest.raises(FileError, match=r"tensorm '9.0' wrote it in format 7, .* install a newer tensorm\.$"):
        forge.load_bytes(tmp_path, parts.join())
