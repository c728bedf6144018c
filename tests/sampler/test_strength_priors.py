"""Priors of strengths and activities that are given: what they do to draws, and that files keep them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorm
from tensorm import TensOrMachine
from tensorm.datasets import simulate
from tensorm.errors import FileError
from tensorm.sampler.strength_models import ActivityModel

SIM = simulate((12, 12, 12), rank=3, density=0.4, noise=0.1, random_state=0)
GIVEN = {"typical": (2.0, 3.0), "spread": (0.01, 0.5), "rate": (0.01, 1.0), "evenness": (1.0, 4.0)}


def fit(prior: Any = None, **others: Any) -> TensOrMachine:
    settings = {"noise": "strengths", "n_chains": 1, "n_draws": 150, "random_state": 0, "progress": False}
    return TensOrMachine(3, **settings | others, strength_prior=prior).fit(SIM.observed)


def uneven() -> np.ndarray:
    """Cells of two blocks that are 1 by 90% and by 30%."""
    rng, p = np.random.default_rng(1), np.full((16, 16, 16), 0.02)
    p[:8, :8, :8], p[8:, 8:, 8:] = 0.9, 0.3
    return rng.random(p.shape) < p


def test_the_spread_says_how_alike_strengths_are() -> None:
    settings = {"noise": "strengths", "background": "constant", "n_chains": 1, "n_draws": 100}
    found = {}
    for spread in ((0.0001, 0.0001), (1.0, 1.0)):
        model = TensOrMachine(
            2, **settings, random_state=0, progress=False, strength_prior={"spread": spread}
        )
        noise = model.fit(uneven()).posterior_.chains[0].noise_fields
        np.testing.assert_allclose(noise["spread"], spread[0])
        found[spread[0]] = np.ptp(noise["strength"], axis=1).mean()
    assert found[1.0] > 0.5  # .9 and .3
    assert found[0.0001] < 0.1  # as with two rates


def test_a_strong_prior_of_the_typical_strength_is_obeyed() -> None:
    for a, b in ((8e5, 2e5), (1e5, 9e5)):
        model = fit({"typical": (a, b)})
        assert model.noise_["typical"] == pytest.approx(a / (a + b), abs=0.002)
    usual, pulled = fit(), fit({"typical": (1e5, 9e5), "spread": (0.0001, 0.0001)})
    assert min(usual.noise_["strength"]) > 0.6
    assert max(pulled.noise_["strength"]) < 0.3  # the prior weighs as much as 10,000 cells


def test_rates_and_shapes_stay_where_they_are_told() -> None:
    noise = fit({"rate": (0.2, 0.2), "evenness": (512, 512)}).posterior_.chains[0].noise_fields
    np.testing.assert_allclose(noise["rate"], 0.2, rtol=1 / 16)
    np.testing.assert_array_equal(noise["evenness"], 512)
    assert np.abs(np.log(noise["activity"])).max() < 5 / np.sqrt(512) + 1 / 16
    free = fit({"evenness": (0.25, 0.25)}).posterior_.chains[0].noise_fields
    assert np.log(free["activity"]).std() > 2 * np.log(noise["activity"]).std()


def test_limits_that_an_error_message_shows_are_accepted() -> None:
    assert ActivityModel(rate_least=2.061e-09, rate_most=20.09)._bounds == ActivityModel()._bounds
    assert len(ActivityModel(evenness_least=3.0, evenness_most=3.0)._shapes[0]) == 1


def test_files_keep_priors(tmp_path: Path) -> None:
    model = fit(GIVEN, n_draws=10)
    model.save(tmp_path / "fit.tensorm")
    again = tensorm.load(tmp_path / "fit.tensorm")
    assert again.strength_prior == GIVEN
    assert again._target == model._target
    assert again._target.noise.typical_b == 3.0
    run = TensOrMachine(**model.get_params()).fit(SIM.observed, run_dir=tmp_path / "run")
    (tmp_path / "run" / "fit.tensorm").unlink()
    resumed = tensorm.resume(tmp_path / "run", progress=False)
    np.testing.assert_array_equal(resumed.predict_proba(), run.predict_proba())


def test_a_file_with_an_impossible_prior_is_refused(tmp_path: Path) -> None:
    model = fit(GIVEN, n_draws=2)
    object.__setattr__(model._target.noise, "evenness_least", 8.0)
    model.save(tmp_path / "fit.tensorm")
    with pytest.raises(FileError, match=r"'evenness'\] is \(8, 4\); give two numbers from 0\.25 to 512"):
        tensorm.load(tmp_path / "fit.tensorm")
