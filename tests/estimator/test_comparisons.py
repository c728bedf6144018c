"""Fits of comparisons that count once: the way from values to sentences, files and pictures."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import expit

import tensorm
from tensorm import InputError, RelationalTensor, TensOrMachine
from tensorm.datasets import simulate
from tensorm.sampler import prior
from tensorm.sampler.comparisons import Comparisons

SETTINGS = {"n_components": 2, "n_chains": 2, "n_draws": 30, "random_state": 0, "progress": False}
QUICK = SETTINGS | {"effort": 0}  # where it does not matter how hard components are to find


def plant(seed: int = 0, size: int = 24) -> np.ndarray:
    """Values in which eight objects have three attributes up, and eight others four down."""
    values = np.random.default_rng(seed).normal(size=(size, 12))
    values[:8, :3] += 3
    values[8:16, 8:] -= 3
    return values


@pytest.fixture(scope="module")
def held() -> tuple[RelationalTensor, RelationalTensor]:
    return RelationalTensor(plant(), normalise=None).hold_out(0.2)


@pytest.fixture(scope="module")
def model(held: tuple[RelationalTensor, RelationalTensor]) -> TensOrMachine:
    return TensOrMachine(**SETTINGS).fit(held[0])


def test_comparisons_are_the_default_of_relational_tensors(model: TensOrMachine) -> None:
    assert set(model.noise_) == {"agreement", "explained"}
    assert 0.85 < model.noise_["agreement"] < 1
    assert 0.5 < model.noise_["explained"] < 1


def test_members_are_found(model: TensOrMachine) -> None:
    found = [np.stack([factor[:, l] > 0.5 for l in range(2)]) for factor in model.factors_]
    up = int(np.argmax(found[1][:, 0] & ~found[1][:, 5]))
    assert found[0][up, :8].all()
    np.testing.assert_array_equal(np.flatnonzero(found[1][up] & ~found[2][up]), [0, 1, 2])
    down = 1 - up
    assert found[0][down, 8:16].all()
    np.testing.assert_array_equal(np.flatnonzero(found[2][down] & ~found[1][down]), [8, 9, 10, 11])


def test_held_out_pairs_are_predicted(
    model: TensOrMachine, held: tuple[RelationalTensor, RelationalTensor]
) -> None:
    old = TensOrMachine(noise="asymmetric", **QUICK).fit(held[0])
    scores = model.scores(held[1])
    assert scores.baseline == 0.5
    assert scores.model.log_loss < old.scores(held[1]).model.log_loss
    assert scores.model.log_loss < scores.constant.log_loss


@pytest.mark.parametrize("method", ["predictive", "mean", "map", "best"])
def test_mirror_images_are_opposites(model: TensOrMachine, method: str) -> None:
    p = model.posterior_.predict_all(method)
    np.testing.assert_allclose(p + p.swapaxes(1, 2), 1)
    cells = np.argwhere(p != 0.5)[:50]
    np.testing.assert_allclose(model.posterior_.predict_cells([*cells.T], method), p[tuple(cells.T)])
    part = [np.array([1, 9]), np.array([0, 9, 3]), np.array([8, 1])]
    np.testing.assert_allclose(model.posterior_.predict_part(part), model.predict_proba()[np.ix_(*part)])
    with pytest.raises(InputError, match="the same attributes on both sides"):
        model.posterior_.take(part)


def test_new_objects_get_memberships(
    model: TensOrMachine, held: tuple[RelationalTensor, RelationalTensor]
) -> None:
    new = model.transform(RelationalTensor(plant(seed=1), normalise=None))
    known = model.factors_[0] > 0.5
    assert ((new > 0.5) == known)[:16].mean() > 0.8
    assert model.transform(held[0], kind="share").shape == (24, 2)


def test_a_fit_in_a_folder_can_be_resumed_and_loaded(
    held: tuple[RelationalTensor, RelationalTensor], tmp_path: Path
) -> None:
    model = TensOrMachine(**QUICK).fit(held[0], run_dir=tmp_path / "run")
    (tmp_path / "run" / "fit.tensorm").unlink()
    (tmp_path / "run" / "chain-1.tensorm").unlink(missing_ok=True)
    again = tensorm.resume(tmp_path / "run", progress=False)
    again.save(tmp_path / "fit.tensorm")
    loaded = tensorm.load(tmp_path / "fit.tensorm")
    for other in (again, loaded):
        np.testing.assert_array_equal(other.factors_[1], model.factors_[1])
        assert other.noise_ == model.noise_
        assert other.contributions_ == model.contributions_
    assert loaded.transform(held[0]).shape == (24, 2)
    assert loaded.to_datatree(held[1])["posterior"]["agreement"].shape == (2, 30)


def test_it_is_told_and_drawn(
    model: TensOrMachine, held: tuple[RelationalTensor, RelationalTensor], tmp_path: Path
) -> None:
    texts = model.describe()
    assert (
        "% of the comparisons that the components predict are correct (90% interval). Counting the "
        "remaining comparisons as half correct, " in texts[-1]
    )
    model.report(tmp_path / "page.html", held[0])
    assert (tmp_path / "page.html").stat().st_size > 10_000
    model.plot("slice", at={"object": 0})
    plt.close("all")
    assert [c.log_likelihood_lost > 0 for c in model.contributions_] == [True, True]


def test_groups_with_codes_are_told_with_the_name_of_the_mode() -> None:
    names = [f"p{n}" for n in range(24)], [f"g{n}" for n in range(12)]
    tensor = RelationalTensor(plant(), normalise=None, modes=("patient", "gene", "other"), labels=names)
    model = TensOrMachine(**QUICK).fit(tensor)
    codes, words = np.repeat(["THCA", "BRCA"], 12), np.repeat(["woman", "man"], 12)
    for groups, pattern in (
        (codes, r" - in \d+ of 12 THCA(, \d+ of 12 BRCA)? patients: g0 "),
        (words, r" - in \d+ of 12 women(, \d+ of 12 men)?: g0 "),
    ):
        assert any(re.search(pattern, text) for text in model.describe({0: groups}))


def test_the_old_models_are_still_there(held: tuple[RelationalTensor, RelationalTensor]) -> None:
    for noise in ("asymmetric", "symmetric"):
        old = TensOrMachine(noise=noise, **QUICK).fit(held[0])
        assert "hit" in old.noise_
    published = TensOrMachine.as_published(2, random_state=0, progress=False).fit(held[0])
    assert set(published.noise_) >= {"hit", "false_alarm"}
    assert published.noise_["hit"] == pytest.approx(1 - published.noise_["false_alarm"])


def test_other_tensors_keep_theirs() -> None:
    X = simulate((18, 17, 17), rank=1, density=0.3, noise=0.1, random_state=0).observed
    assert "hit" in TensOrMachine(**QUICK).fit(X).noise_
    with pytest.raises(InputError, match="noise='comparisons' needs cells that compare attributes"):
        TensOrMachine(noise="comparisons", **SETTINGS).fit(X)


@pytest.mark.parametrize("n_sets", [0, 3])
def test_the_planted_number_is_found(n_sets: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(45, 18))
    for number in range(n_sets):
        objects, attributes = slice(15 * number, 15 * number + 13), slice(6 * number, 6 * number + 5)
        values[objects, attributes] += 3 * (-1) ** number
    tensor = RelationalTensor(values, normalise=None)
    found = tensorm.select_components(tensor, n_jobs=1, progress=False)
    assert found.best == max(n_sets, 1)
    assert "each had less weight" in found.reason
    if not n_sets:
        assert "improves on a constant rate" in found.reason


def test_short_sides_cost_attributes_in_proportion_to_cells() -> None:
    """24 objects x 12 attributes x 8e-4 nats; the planted sets are worth more."""
    tensor = RelationalTensor(plant(), normalise=None)
    p = float(expit(-24 * 12 * 8e-4))
    short, same = (TensOrMachine(factor_prior=prior, **QUICK).fit(tensor) for prior in ("short", [0.5, p, p]))
    for one, other in zip(short.factors_, same.factors_, strict=True):
        np.testing.assert_allclose(one, other)
    test_members_are_found(short)


def test_the_number_is_chosen_with_densities_of_sides() -> None:
    assert Comparisons().counting_prior(prior.ShortSides.for_cells((9, 5, 5))) == prior.SidesPrior()
