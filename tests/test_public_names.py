"""The names that are kept stable: each exists, takes what it is said to take, and does what it says."""

from __future__ import annotations

import inspect
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest

import tensorm
from tensorm import TensOrMachine
from tensorm.cli import main

SETTINGS = {  # each with values that it takes
    "n_components": (3, "auto"),
    "n_chains": (2,),
    "n_draws": (10,),
    "burn_in": ("auto", 5),
    "init": ("data", "random"),
    "noise": ("strengths", "asymmetric", "symmetric"),
    "background": ("activity", "constant"),
    "noise_update": ("sample", "map"),
    "factor_prior": ("learned", 0.5),
    "symmetric": (None,),
    "n_jobs": (None, 1),
    "random_state": (0,),
    "progress": (False,),
}
QUICK = {"n_chains": 2, "n_draws": 10, "burn_in": 20, "random_state": 0, "progress": False}
SHAPE = (8, 9, 10)
SIM = tensorm.datasets.simulate(shape=SHAPE, rank=3, density=0.3, noise=0.05, random_state=0)
X = SIM.observed


@pytest.fixture(scope="module")
def model() -> TensOrMachine:
    return TensOrMachine(3, noise="strengths", background="activity", **QUICK).fit(X)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    cells = np.argwhere(X == 1)
    pd.DataFrame(cells, columns=["hour", "person", "met"]).to_csv(tmp_path / "contacts.csv", index=False)
    return tmp_path / "contacts.csv"


def test_simulated_data_know_what_was_planted() -> None:
    assert X.shape == SIM.noise_free.shape == SHAPE
    assert [factor.shape for factor in SIM.factors] == [(N, 3) for N in SHAPE]
    assert 0 < (SIM.noise_free != X).mean() < 0.1


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in SETTINGS for value in SETTINGS[name]])
def test_a_setting_takes_its_values(name: str, value: object) -> None:
    changed = {name: value, "noise": "asymmetric"} if name == "noise_update" else {name: value}
    model = TensOrMachine(**{"n_components": 3, **QUICK, **changed})
    assert model.get_params()[name] == value
    if value != "auto" or name != "n_components":  # choosing takes long, and has tests of its own
        assert len(model.fit(X).factors_) == 3


def test_the_paper_s_algorithm() -> None:
    model = TensOrMachine.as_published(5)
    assert (model.n_components, model.noise, model.noise_update) == (5, "symmetric", "map")
    assert (model.n_chains, model.n_draws, model.factor_prior) == (1, 50, 0.5)
    assert TensOrMachine.as_published(5, n_draws=7).n_draws == 7


def test_what_a_fit_knows(model: TensOrMachine) -> None:
    assert [factor.shape for factor in model.factors_] == [(N, 3) for N in SHAPE]
    assert {"strength", "explained"} <= {*model.noise_}
    assert model.posterior_.n_draws == 20
    assert [one.explained > 0 for one in model.contributions_] == [True] * 3
    assert model.diagnostics_.conclusion.endswith(".")
    assert len(model.strengths_) == 3
    assert len(model.activity_) == sum(SHAPE)


def test_what_a_fit_does(model: TensOrMachine) -> None:
    p = model.predict_proba()
    assert p.shape == SHAPE
    for method in ("predictive", "mean", "map", "best"):
        assert (model.predict(method=method) == SIM.noise_free).mean() > 0.9
    np.testing.assert_array_equal(model.predict(), p > 0.5)
    assert model.score(X) > 0.9
    assert model.transform(X).shape == (SHAPE[0], 3)


def test_what_a_fit_says_and_writes(model: TensOrMachine, tmp_path: Path) -> None:
    assert "Component 0 - " in str(model.describe())
    model.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!")
    assert {"component", "mode", "label", "probability"} <= {*model.members().columns}
    model.save(tmp_path / "run.tensorm")
    np.testing.assert_array_equal(
        tensorm.load(tmp_path / "run.tensorm").predict_proba(), model.predict_proba()
    )


def test_a_file_is_read_fitted_and_loaded_from_its_folder(table: Path, tmp_path: Path) -> None:
    cells = tensorm.read(table, modes=["hour", "person", "met"])
    assert cells.modes == ("hour", "person", "met")
    model = TensOrMachine(2, **QUICK).fit(cells, run_dir=tmp_path / "run")
    np.testing.assert_array_equal(tensorm.load(tmp_path / "run").factors_[0], model.factors_[0])
    wanted = {"modes", "value", "time", "pair", "wide", "missing", "threshold"}
    assert wanted <= {*inspect.signature(tensorm.read).parameters}


def test_other_names() -> None:
    for kind in (tensorm.DenseTensor, tensorm.SparseTensor, tensorm.RelationalTensor, tensorm.DaskTensor):
        assert issubclass(kind, tensorm.tensors.Tensor)
    found = tensorm.select_components(X, method="mdl", candidates=[1, 2], progress=False)
    assert found.best in {row.n_components for row in found.table}
    assert found.plot() is not None
    for rival in (tensorm.baselines.BooleanALS, tensorm.baselines.WalkNMerge):
        assert rival(3).fit(X).predict().shape == SHAPE


def test_commands() -> None:
    wanted = {"demo", "fit", "select", "predict", "show", "report", "resume", "simulate", "datasets"}
    assert wanted <= {*main.list_commands(click.Context(main))}
