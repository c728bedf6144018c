"""Fits that Ctrl-C stops while the number of components is being chosen, or SIGTERM while they sample."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tensorm
from interrupting import CtrlC, terminate
from tensorm import TensOrMachine, datasets
from tensorm.cli import main
from tensorm.sampler.sample import Step

X = datasets.simulate((12, 12, 12), rank=2, density=0.3, noise=0.1, random_state=0).observed
MACHINE = "tensorm.estimator.machine"


def make_model() -> TensOrMachine:
    return TensOrMachine("auto", noise="asymmetric", n_chains=2, n_draws=10, n_jobs=2, random_state=0)


def during(phase: str) -> Callable[[Step], bool]:
    return lambda step: step.phase == phase and step.done > 1


@pytest.fixture(scope="module")
def whole() -> TensOrMachine:
    return make_model().set_params(progress=False).fit(X)


def assert_same(a: TensOrMachine, b: TensOrMachine) -> None:
    assert a.selection_.to_json() == b.selection_.to_json()
    for x, y in zip(a.posterior_.chains, b.posterior_.chains, strict=True):
        for f, g in zip(x.factors, y.factors, strict=True):
            np.testing.assert_array_equal(f, g)
        np.testing.assert_array_equal(x.noise, y.noise)


@pytest.mark.parametrize(
    ("phase", "at"), [("burn-in", 20), ("pruning", 2), ("counting", 20), ("counting", 150)]
)
def test_a_run_stopped_in_the_choice_ends_as_if_never_stopped(
    phase: str, at: int, whole: TensOrMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before: dict[int, Step] = {}
    after: dict[int, Step] = {}

    def reached(step: Step) -> bool:
        before[step.chain] = step
        return step.phase == phase and step.done >= at

    with monkeypatch.context() as patch:
        CtrlC(patch, reached).watch_in(MACHINE)
        with pytest.raises(KeyboardInterrupt):
            make_model().fit(X, run_dir=tmp_path)
    assert not (tmp_path / "selection.json").exists()
    finished = {path.name for path in (tmp_path / "choice").glob("chain-*[0-9].json")}
    assert (len(finished) == 2) == (phase == "counting")
    with monkeypatch.context() as patch:
        first = nullcontext(lambda step: after.setdefault(step.chain, step))
        patch.setattr(f"{MACHINE}.watching", lambda *_: first)
        assert_same(tensorm.resume(tmp_path, progress=False), whole)
    for last, step in ((before[chain], after[chain]) for chain in before):
        if last.phase == "pruning":  # neither burn-in nor a finished search is made again
            assert (step.phase, step.done) == ("pruning", last.done)
        elif step.phase == last.phase:  # no sweep is made twice
            assert step.state.sweep == last.state.sweep + 1
    assert tensorm.resume(tmp_path).selection_.complete


def test_a_run_may_be_stopped_again_and_again(
    whole: TensOrMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CtrlC(monkeypatch, during("pruning")).watch_in(MACHINE)
    with pytest.raises(KeyboardInterrupt):
        make_model().fit(X, run_dir=tmp_path)
    CtrlC(monkeypatch, during("counting")).watch_in(MACHINE)
    with pytest.raises(KeyboardInterrupt):
        tensorm.resume(tmp_path)
    CtrlC(monkeypatch, during("draws")).watch_in(MACHINE)
    with pytest.warns(RuntimeWarning, match="this fit is based on"):
        tensorm.resume(tmp_path)
    assert (tmp_path / "selection.json").exists()
    assert_same(tensorm.resume(tmp_path, progress=False), whole)


def test_a_command_stopped_in_the_choice_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "cells.npy", X)
    out = tmp_path / "run"
    words = ["fit", str(tmp_path / "cells.npy"), "--chains", "2", "--draws", "10", "--jobs", "2"]
    CtrlC(monkeypatch, during("pruning")).watch_in(MACHINE)
    stopped = CliRunner().invoke(main, [*words, "--out", str(out)])
    assert stopped.exit_code == 130
    assert f"To continue:  tensorm resume {out}" in stopped.stderr
    resumed = CliRunner().invoke(main, ["resume", str(out), "--json"])
    assert resumed.exit_code == 0
    assert json.loads(resumed.stdout)["n_components"] == 2


@pytest.mark.parametrize(("phase", "at", "method"), [("pruning", 3, "occam"), ("counting", 90, "posterior")])
def test_without_a_folder_the_fit_goes_on_with_what_was_found(
    phase: str, at: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    CtrlC(monkeypatch, lambda step: step.phase == phase and step.done > at).watch_in(MACHINE)
    with pytest.warns(RuntimeWarning, match="the choice of 2 components is based on") as caught:
        model = make_model().fit(X)
    assert caught[0].filename == __file__
    assert (model.selection_.method, model.selection_.complete) == (method, False)
    assert model.n_components_ == model.selection_.best == 2
    assert model.posterior_.n_draws > 0


def test_without_anything_found_ctrl_c_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model()
    CtrlC(monkeypatch, during("burn-in")).watch_in(MACHINE)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not [name for name in vars(model) if name.endswith("_")]


def wait_deaf(futures: Sequence[Future[Any]], return_when: str) -> None:
    """Wait, and lose the exception of a signal, as callbacks of libraries do."""
    while not all(future.done() for future in futures):
        with suppress(KeyboardInterrupt):
            time.sleep(0.01)


@pytest.mark.parametrize("heard", [True, False])
def test_a_fit_that_sigterm_stops_says_so(
    heard: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []
    if not heard:
        monkeypatch.setattr("tensorm.sampler.chains.wait", wait_deaf)

    def watch(step: Step) -> None:
        if step.done == 20 and not sent:
            time.sleep(0.5)  # until the main thread waits: it may still be starting this one
            sent.append(terminate())
            time.sleep(0.2)  # until the chains are told

    monkeypatch.setattr("tensorm.estimator.machine.watching", lambda *_: nullcontext(watch))
    model = TensOrMachine(2, noise="asymmetric", n_chains=1, burn_in=0, n_draws=10**5, random_state=0)
    stopped = pytest.warns(RuntimeWarning, match=r"^Stopped by SIGTERM: this fit is based on \d+ draws")
    with stopped, pytest.raises(SystemExit):
        model.fit(np.eye(6, dtype=np.int8), run_dir=tmp_path)
