"""Strengths or two rates: what the cells choose, and that a fit with the choice is the fit itself."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import makers
import tensorm
from interrupting import CtrlC
from problems import Problem
from tensorm import DenseTensor, FileError, InputError, RelationalTensor, TensOrMachine, select_components
from tensorm.datasets import simulate
from tensorm.estimator.plan import make_plan
from tensorm.sampler.sample import Step
from tensorm.sampler.state import Trace
from tensorm.selection import noise as choosing
from tensorm.selection.noise import EVEN_Z, NoiseChoice, choose_noise, choose_untried, unevenness
from tensorm.tensors import Tensor
from tensorm.tensors.factors import Factors

SHORT: dict[str, Any] = {"n_chains": 2, "n_draws": 12, "random_state": 0, "progress": False, "effort": 0}
PLAIN = simulate((18, 17, 17), rank=2, density=0.3, noise=0.1, random_state=0).observed


def plant() -> np.ndarray:
    """Two components, one of which makes nearly all of its cells 1, and the other a third."""
    factors = [np.repeat(np.eye(2, dtype=bool), 6, axis=0) for _ in range(3)]
    p = 1 - (1 - 0.03) * (1 - np.einsum("al,bl,cl,l->abc", *factors, [0.95, 0.3]))
    return np.random.default_rng(1).random(p.shape) < p


STRONG = plant()


def choose(tensor: Tensor, **settings: Any) -> NoiseChoice:
    return choose_noise(tensor, make_plan(TensOrMachine(2, **SHORT | settings), tensor).target)


def assert_same(a: Trace, b: Trace) -> None:
    assert a.parameters is b.parameters
    for mine, other in zip((*a.factors, a.noise), (*b.factors, b.noise), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_cells_choose() -> None:
    strong, reason = choose(DenseTensor(STRONG))
    assert strong
    assert reason.startswith(
        "Strengths were chosen: they predict hidden cells better (change in mean log probability: +"
    )
    strong, reason = choose(DenseTensor(PLAIN))
    assert not strong
    assert reason.startswith("Two rates are enough: neither components nor indices differ")
    few = simulate((12, 11, 10), rank=2, density=0.3, noise=0.1, random_state=0).observed
    strong, reason = choose(DenseTensor(few))
    assert strong
    assert reason.startswith(
        "Strengths were chosen: there are too few cells to decide, and strengths cost little"
    )


def test_few_cells_take_the_mean_of_all_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a short trial of few cells says is mostly chance."""
    tried: list[int] = []
    gains = {2: -0.002, 3: 0.003, 4: -0.004, 5: 0.003}

    def pretend(tensor: Tensor, target: Any, *given: Any) -> np.ndarray:
        tried.append(target.n_components)
        return np.full(1000, gains[target.n_components])

    monkeypatch.setattr(choosing, "_try_splits", pretend)
    few, many = DenseTensor(PLAIN[:16]), DenseTensor(PLAIN)  # 4,624 cells and 5,202
    for tensor, numbers, strong, used in (
        (few, (3, 5, 4), True, [3, 5, 4]),
        (few, (3, 4, 2), False, [3, 4, 2]),
        (few, (), True, [2]),
        (many, (3, 4, 5), False, [3]),
    ):
        tried.clear()
        choice = choose_noise(tensor, make_plan(TensOrMachine(2, **SHORT), tensor).target, numbers=numbers)
        assert choice.strong is strong
        assert tried == used
        assert ("too few cells to decide" in choice.reason) is (tensor is few)
    gains[3] = 0.01
    assert not choose_noise(many, make_plan(TensOrMachine(2, **SHORT), many).target, numbers=(3, 4, 2)).strong
    assert tried == [3, 3, 2]


@pytest.mark.parametrize(
    ("gain", "few", "strong"),
    [
        (0.01, False, True),
        (0.005, False, False),  # too little in all
        (0.005, True, True),
        (-0.005, True, True),
        (-0.01, True, False),
        (-0.01, False, False),
    ],
)
def test_what_gains_decide(gain: float, few: bool, strong: bool) -> None:
    assert choosing._judge(np.full(1000, gain), few).strong is strong


def test_few_cells_that_are_not_sure_keep_strengths() -> None:
    """A fit of a few thousand cells would else lose a tenth where a short trial errs."""
    spread = np.tile([0.3, -0.3], 500)  # the standard error is .0095
    assert choosing._judge(-0.015 + spread, True).strong
    assert not choosing._judge(-0.03 + spread, True).strong
    assert not choosing._judge(-0.015 + spread, False).strong
    assert "too few cells to decide" in choosing._judge(0.015 + spread, True, True).reason
    assert "too few cells to decide" in choosing._judge(-0.015 + spread, True, True).reason
    assert "predict hidden cells better" in choosing._judge(0.03 + spread, True, True).reason


def test_a_small_gain_has_to_be_certain() -> None:
    gains = np.full(10_000, 0.001)
    assert choosing._judge(gains, False).strong
    assert not choosing._judge(gains + np.tile([0.06, -0.06], 5000), False).strong


def test_strengths_that_make_up_for_missing_components_are_not_chosen() -> None:
    sim = simulate((30,) * 3, 12, 0.2, 0.1, random_state=5)
    tensor = DenseTensor(sim.observed)
    target = make_plan(TensOrMachine(3, **SHORT), tensor).target
    assert choose_noise(tensor, target).strong
    assert not choose_noise(tensor, target, numbers=(3, 12)).strong


def test_rates_that_are_evener_than_chance_are_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorm.selection.noise.unevenness", lambda *_: -13.3)
    strong, reason = choose(DenseTensor(PLAIN))
    assert not strong
    assert reason == (
        "Two rates are enough: components and indices differ even less in their rates of ones than by chance "
        "(z = -13.3)."
    )


def naive_unevenness(X: np.ndarray, factors: Factors) -> float:
    """Sum up Pearson's chi-squared group by group, from the cells themselves; NaN is missing."""
    holds = np.einsum("al,bl,cl->abcl", *factors.bits())
    outside, groups = ~holds.any(axis=-1), []
    for mode, size in enumerate(X.shape):
        groups.append([np.take(np.where(outside, X, np.nan), n, axis=mode) for n in range(size)])
    alone = holds & (holds.sum(axis=-1, keepdims=True) == 1)
    groups.append([X[alone[..., l]] for l in range(factors.n_components)])
    excess = freedom = 0.0
    for group in groups:
        seen = [cells[~np.isnan(cells)] for cells in group]
        seen = [cells for cells in seen if len(cells)]
        rate = (sum(cells.sum() for cells in seen) + 0.5) / (sum(map(len, seen)) + 1)
        terms = [(cells.sum() - rate * len(cells)) ** 2 / (len(cells) * rate * (1 - rate)) for cells in seen]
        excess, freedom = excess + sum(terms) - (len(seen) - 1), freedom + len(seen) - 1
    return excess / np.sqrt(2 * freedom)


def test_unevenness_is_what_it_says() -> None:
    rng = np.random.default_rng(3)
    X = np.where(rng.random((9, 7, 5)) < 0.2, np.nan, rng.random((9, 7, 5)) < 0.4)
    factors = Factors.from_bits([rng.random((size, 4)) < 0.5 for size in X.shape])
    assert unevenness(DenseTensor(X), factors) == pytest.approx(naive_unevenness(X, factors))


def test_unevenness_of_two_rates_is_chance_and_of_strengths_is_not() -> None:
    found = []
    for seed in range(60):
        sim = simulate((20,) * 3, 5, 0.3, 0.2, random_state=seed)
        found.append(unevenness(DenseTensor(sim.observed), Factors.from_bits(sim.factors)))
    assert abs(np.mean(found)) < 4 / np.sqrt(60)
    assert 0.7 < np.std(found) < 1.4
    whole = np.repeat(np.eye(2, dtype=bool), 6, axis=0)
    assert unevenness(DenseTensor(STRONG), Factors.from_bits([whole] * 3)) > 2 * EVEN_Z
    busy = np.random.default_rng(0).random((20, 20, 20)) < np.linspace(0.05, 0.25, 20)
    assert unevenness(DenseTensor(busy), Factors.empty((20, 20, 20), 2)) > 2 * EVEN_Z


def test_even_rates_need_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing.NoiseTrial, "predict", None)
    tensor = DenseTensor(simulate((20,) * 3, rank=2, density=0.3, noise=0.1, random_state=0).observed)
    strong, reason = choose(tensor)
    assert not strong
    assert reason.startswith("Two rates are enough: neither components nor indices differ")


@pytest.mark.parametrize("largest", [2**18, 1000])
def test_storage_changes_nothing(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "TRIAL_SIZE", choosing.TRIAL_SIZE._replace(whole=largest, part=largest))
    problem = Problem(STRONG, None, [])
    first, *others = [choose(make(problem)) for make in (makers.dense, makers.sparse, makers.sharded)]
    assert others == [first] * 2


def test_where_strengths_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = RelationalTensor(np.random.default_rng(0).random((6, 5)))
    strong = make_plan(TensOrMachine(2), DenseTensor(PLAIN)).target
    few = DenseTensor(np.ma.array(np.eye(5), mask=~np.eye(5, dtype=bool)))
    monkeypatch.setattr(choosing.NoiseTrial, "search", lambda *given: pytest.fail("strengths were tried"))
    monkeypatch.setattr(choosing, "MOST_ONES", 10)
    for choice, why in (
        (choose(few), "too few cells to hide any"),
        (choose_untried(ranks, strong), "not available for this kind of tensor"),
        (choose_untried(DenseTensor(PLAIN), strong), "only tried with up to 10 ones"),
    ):
        assert choice is not None
        assert not choice.strong
        assert choice.reason.startswith("Two rates were used because ")
        assert why in choice.reason
    assert choose_untried(few, strong) is None


def test_of_a_large_tensor_a_part_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a prior for each entry, of which the part has its own."""
    tried: list[tuple[int, ...]] = []
    real = choosing.NoiseTrial.search

    def watch(trial: Any, split: Any, target: Any) -> Any:
        tried.append(split.train.shape)
        return real(trial, split, target)

    monkeypatch.setattr(choosing.NoiseTrial, "search", watch)
    monkeypatch.setattr(choosing, "TRIAL_SIZE", choosing.TRIAL_SIZE._replace(whole=1000, part=1000))
    prior = [np.full((size, 2), 0.3) for size in STRONG.shape]
    assert choose(DenseTensor(STRONG), factor_prior=prior).strong
    assert tried[0] == (10, 10, 10)
    pairs = np.where(np.eye(12, dtype=bool)[:, :, None], np.nan, STRONG | STRONG.swapaxes(0, 1))
    assert choose(DenseTensor(pairs).tied((0, 1))).strong
    assert tried[-1][0] == tried[-1][1]


@pytest.mark.parametrize(("cells", "noise"), [(PLAIN, "asymmetric"), (STRONG, "strengths")])
def test_a_fit_with_what_was_chosen(
    cells: np.ndarray, noise: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = TensOrMachine(2, **SHORT).fit(cells, run_dir=tmp_path / "run")
    wanted = TensOrMachine(2, noise=noise, **SHORT).fit(cells)
    for mine, other in zip(model.posterior_.chains, wanted.posterior_.chains, strict=True):
        assert_same(mine, other)
    assert model.get_params()["noise"] == "auto"
    assert wanted.noise_choice_ is None
    model.save(tmp_path / "fit.tensorm")
    for again in (model, tensorm.load(tmp_path / "fit.tensorm"), tensorm.load(tmp_path / "run")):
        assert again.noise == "auto"
        assert again.describe()[-1] == f"{wanted.describe()[-1]} {model.noise_choice_}"
        again.summary()
        assert model.noise_choice_ in capsys.readouterr().out
        again.report(tmp_path / "page.html")
        assert f"{model.noise_choice_}</p>" in (tmp_path / "page.html").read_text(encoding="utf-8")
        assert_same(again.posterior_.chains[0], model.posterior_.chains[0])
        np.testing.assert_array_equal(again.transform(cells[:3]), model.transform(cells[:3]))


def test_a_run_goes_on_with_what_was_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = TensOrMachine(2, noise="auto", **SHORT).fit(STRONG)

    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tensorm.estimator.machine.run_chains", stop)
        with pytest.raises(KeyboardInterrupt):
            TensOrMachine(2, noise="auto", **SHORT).fit(STRONG, run_dir=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(choosing, "_try_splits", lambda *given: pytest.fail("chosen again"))
        model = tensorm.resume(tmp_path, progress=False)
    assert model.noise_choice_ == whole.noise_choice_
    assert_same(model.posterior_.chains[0], whole.posterior_.chains[0])


@pytest.mark.parametrize("settings", [{"noise_update": "map"}, {"lambda_start": 0.5}], ids=str)
def test_settings_that_only_two_rates_know(settings: Any) -> None:
    model = TensOrMachine(2, **SHORT, **settings).fit(STRONG)
    assert model.noise_choice_ is None
    assert "hit" in model.noise_
    with pytest.raises(InputError, match=next(iter(settings))):
        TensOrMachine(2, noise="strengths", **SHORT, **settings).fit(STRONG)


@pytest.fixture(scope="module")
def chosen() -> tuple[list[tuple[int, str]], TensOrMachine]:
    """The sweeps in which the noise is chosen, and the fit."""
    steps: list[tuple[int, str]] = []
    with pytest.MonkeyPatch.context() as patch:
        watch = nullcontext(partial(note, steps))
        patch.setattr("tensorm.estimator.machine.watching", lambda *given: watch)
        return steps, TensOrMachine(2, **SHORT).fit(STRONG)


def note(steps: list[tuple[int, str]], step: Step) -> None:
    steps.extend([(step.state.sweep, type(step.state.noise).__name__)] * (step.phase == "noise"))


@pytest.mark.parametrize("at", [1, 20, 45, 70])  # in the search, with each model, in another split
def test_stopped_while_the_noise_is_chosen(
    at: int,
    chosen: tuple[list[tuple[int, str]], TensOrMachine],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No sweep is made twice, and the run ends as if it had never been stopped."""
    made, whole = chosen
    steps: list[tuple[int, str]] = []

    def watch(step: Step) -> bool:
        note(steps, step)
        return len(steps) >= at

    with monkeypatch.context() as patch:
        CtrlC(patch, watch).watch_in("tensorm.estimator.machine")
        with pytest.raises(KeyboardInterrupt):
            TensOrMachine(2, **SHORT).fit(STRONG, run_dir=tmp_path)
    assert at <= len(steps) < len(made)
    with monkeypatch.context() as patch:
        patch.setattr("tensorm.estimator.machine.watching", lambda *given: nullcontext(watch))
        model = tensorm.resume(tmp_path, progress=False)
    assert steps == made
    assert model.noise_choice_ == whole.noise_choice_
    for mine, other in zip(model.posterior_.chains, whole.posterior_.chains, strict=True):
        assert_same(mine, other)


@pytest.mark.parametrize(
    "forged", [{"p": [0.5]}, {"left": -1}, {"left": "x"}, {"p": "x"}, {"sweep": -1}], ids=str
)
def test_a_trial_from_a_stranger(forged: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Step] = []
    with monkeypatch.context() as patch:
        CtrlC(patch, lambda step: steps.append(step) or len(steps) == 40).watch_in(
            "tensorm.estimator.machine"
        )
        with pytest.raises(KeyboardInterrupt):
            TensOrMachine(2, **SHORT).fit(STRONG, run_dir=tmp_path)
    (part,) = (tmp_path / "choice").glob("*-part.json")
    kept = json.loads(part.read_text())
    part.write_text(json.dumps(kept | {"result": kept["result"] | forged}))
    with pytest.raises(InputError, match="in run_dir is damaged; delete its file to run it again"):
        tensorm.resume(tmp_path, progress=False)


def test_a_choice_from_a_stranger(tmp_path: Path) -> None:
    """What steers a terminal is written out; what is no choice is refused."""
    TensOrMachine(2, **SHORT).fit(PLAIN, run_dir=tmp_path)
    (tmp_path / "fit.tensorm").unlink()
    place = tmp_path / "choice" / "noise.json"
    kept = json.loads(place.read_text())
    place.write_text(json.dumps(kept | {"result": [False, "\x1b]0;owned\x07"]}))
    assert tensorm.resume(tmp_path, progress=False).noise_choice_ == r"\x1b]0;owned\x07"
    (tmp_path / "fit.tensorm").unlink()
    place.write_text(json.dumps(kept | {"result": ["yes", "because"]}))
    with pytest.raises(InputError, match="The saved result of noise in run_dir is damaged"):
        tensorm.resume(tmp_path, progress=False)


@pytest.mark.parametrize(
    "cells", [PLAIN, pytest.param(STRONG, marks=pytest.mark.slow)], ids=["plain", "strong"]
)
def test_the_number_is_chosen_alike_with_and_without_a_fit(cells: np.ndarray) -> None:
    """Both choose the noise first, and then the number with that noise."""
    model = TensOrMachine("auto", **SHORT).fit(cells)
    found = select_components(cells, random_state=0, progress=False)
    assert found.table == model.selection_.table
    assert found.method == model.selection_.method
    assert found.reason == f"{model.selection_.reason} {model.noise_choice_}"
    by_hidden_cells = select_components(cells, "cv", [1, 2], n_repeats=2, progress=False)
    assert by_hidden_cells.reason.endswith(str(model.noise_choice_))


def test_a_stopped_selection_keeps_the_noise_that_it_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"candidates": [1, 2], "n_repeats": 2}
    whole = select_components(STRONG, **given, progress=False)
    with monkeypatch.context() as patch:
        CtrlC(patch, lambda step: step.done > 0).watch_in("tensorm.estimator.select")
        with pytest.raises(KeyboardInterrupt):
            select_components(STRONG, **given, run_dir=tmp_path)
    monkeypatch.setattr(choosing, "_try_splits", lambda *given: pytest.fail("chosen again"))
    again = select_components(STRONG, **given, run_dir=tmp_path, progress=False)
    assert again.to_json() == whole.to_json()
    other = TensOrMachine(noise="strengths")
    with pytest.raises(FileError, match="a different noise; give another run_dir"):
        select_components(STRONG, **given, estimator=other, run_dir=tmp_path, progress=False)


def test_the_number_may_be_open_too() -> None:
    model = TensOrMachine("auto", noise="auto", **SHORT).fit(PLAIN)
    assert model.n_components_ == 2
    assert "Two rates" in model.noise_choice_
    assert "strengths" not in model.selection_.reason
