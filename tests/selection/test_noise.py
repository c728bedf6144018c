"""Strengths or two rates: what the cells choose, and that a fit with the choice is the fit itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorm
from tensorm import DenseTensor, InputError, RelationalTensor, TensOrMachine
from tensorm.datasets import simulate
from tensorm.estimator.plan import make_plan
from tensorm.sampler.state import Trace
from tensorm.selection import noise as choosing
from tensorm.selection.noise import NoiseChoice, choose_noise
from tensorm.tensors import Tensor

SHORT: dict[str, Any] = {"n_chains": 2, "n_draws": 12, "random_state": 0, "progress": False}
PLAIN = simulate((12, 11, 10), rank=2, density=0.3, noise=0.1, random_state=0).observed


def plant() -> np.ndarray:
    """Two components, one of which makes nearly all of its cells 1, and the other a third."""
    factors = [np.repeat(np.eye(2, dtype=bool), 6, axis=0) for _ in range(3)]
    p = 1 - (1 - 0.03) * (1 - np.einsum("al,bl,cl,l->abc", *factors, [0.95, 0.3]))
    return np.random.default_rng(1).random(p.shape) < p


STRONG = plant()


def choose(tensor: Tensor) -> NoiseChoice:
    return choose_noise(tensor, make_plan(TensOrMachine(2, noise="auto", **SHORT), tensor).target)


def assert_same(a: Trace, b: Trace) -> None:
    assert a.parameters is b.parameters
    for mine, other in zip((*a.factors, a.noise), (*b.factors, b.noise), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_cells_choose() -> None:
    strong, reason = choose(DenseTensor(STRONG))
    assert strong
    assert reason.startswith("Strengths were chosen: they raise the mean log probability of hidden cells by ")
    strong, reason = choose(DenseTensor(PLAIN))
    assert not strong
    assert reason.startswith("Two rates of ones are enough: strengths ")


def test_where_strengths_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = RelationalTensor(np.random.default_rng(0).random((6, 5)))
    cases = [
        (ranks, "this kind of tensor"),
        (DenseTensor(np.ma.array(np.eye(5), mask=~np.eye(5, dtype=bool))), "too few"),
    ]
    monkeypatch.setattr(choosing, "_try_both", lambda *given: pytest.fail("strengths were tried"))
    for tensor, why in cases:
        strong, reason = choose(tensor)
        assert not strong
        assert why in reason
    monkeypatch.setattr(choosing, "MOST_ONES", 10)
    assert "up to 10 ones" in choose(DenseTensor(PLAIN)).reason


@pytest.mark.parametrize(("cells", "noise"), [(PLAIN, "asymmetric"), (STRONG, "strengths")])
def test_a_fit_with_what_was_chosen(
    cells: np.ndarray, noise: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = TensOrMachine(2, noise="auto", **SHORT).fit(cells, run_dir=tmp_path / "run")
    wanted = TensOrMachine(2, noise=noise, **SHORT).fit(cells)
    for mine, other in zip(model.posterior_.chains, wanted.posterior_.chains, strict=True):
        assert_same(mine, other)
    assert model.get_params()["noise"] == "auto"
    assert model.describe()[-1] == model.noise_choice_
    model.summary()
    assert model.noise_choice_ in capsys.readouterr().out
    assert not hasattr(wanted, "noise_choice_")
    model.save(tmp_path / "fit.tensorm")
    for again in (tensorm.load(tmp_path / "fit.tensorm"), tensorm.load(tmp_path / "run")):
        assert again.noise == "auto"
        assert_same(again.posterior_.chains[0], model.posterior_.chains[0])
        np.testing.assert_array_equal(again.transform(cells[:3]), model.transform(cells[:3]))
    with pytest.raises(InputError, match="noise_update is 'map'"):
        TensOrMachine(2, noise="auto", noise_update="map", **SHORT).fit(cells)


def test_a_run_goes_on_with_what_was_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = TensOrMachine(2, noise="auto", **SHORT).fit(STRONG)

    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tensorm.estimator.machine.run_chains", stop)
        with pytest.raises(KeyboardInterrupt):
            TensOrMachine(2, noise="auto", **SHORT).fit(STRONG, run_dir=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("tensorm.estimator.machine.choose_noise", lambda *given: pytest.fail("chosen again"))
        model = tensorm.resume(tmp_path, progress=False)
    assert model.noise_choice_ == whole.noise_choice_
    assert_same(model.posterior_.chains[0], whole.posterior_.chains[0])


def test_the_number_may_be_open_too() -> None:
    model = TensOrMachine("auto", noise="auto", **SHORT).fit(PLAIN)
    assert model.n_components_ == 2
    assert "Two rates" in model.noise_choice_
    assert "strengths" not in model.selection_.reason
