"""Chains that go on from a checkpoint make the draws of chains that were never stopped."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from tensorm.datasets import simulate
from tensorm.errors import FileError
from tensorm.sampler.chains import run_chain
from tensorm.sampler.noise import Asymmetric, Symmetric
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.sample import Plan, sample
from tensorm.sampler.state import Trace
from tensorm.sampler.sweep import Target
from tensorm.storage.checkpoints import Checkpoints
from tensorm.tensors import DenseTensor

SEED = np.uint64(3)


def make_plan(**how) -> Plan:
    return Plan(Target(4, Asymmetric(), LearnedPrior(), SEED), n_draws=12, **how)


@pytest.fixture(scope="module")
def tensor() -> DenseTensor:
    return DenseTensor(simulate((12, 12, 12), rank=4, density=0.3, noise=0.2, random_state=0).observed)


def assert_same(a: Trace, b: Trace) -> None:
    for x, y in zip(a.factors, b.factors, strict=True):
        np.testing.assert_array_equal(x, y)
    for name in ("noise", "density", "confusion", "log_posterior"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert (a.burn_in, a.settled, a.n_components) == (b.burn_in, b.settled, b.n_components)


def stop_after(n_sweeps: int):
    left = iter(range(n_sweeps))
    return lambda: next(left, None) is None


@pytest.mark.parametrize("sweeps", [0, 1, 4, 5, 6, 10, 26, 60, 109, 110, 111, 115, 121, 122])
def test_a_chain_stopped_anywhere_goes_on_as_if_never_stopped(tensor, tmp_path: Path, sweeps: int) -> None:
    """Every fifth sweep of burn-in a chain may be repaired; this one burns in for 110 sweeps."""
    plan = make_plan()
    whole = run_chain(tensor, plan, 1)
    assert whole.burn_in == 110
    run_chain(tensor, plan, 1, stop=stop_after(sweeps), checkpoints=Checkpoints(tmp_path, SEED))
    assert_same(run_chain(tensor, plan, 1, checkpoints=Checkpoints(tmp_path, SEED)), whole)


@pytest.mark.parametrize(
    "plan",
    [
        make_plan(init="random", burn_in=7),
        Plan(Target(70, Symmetric(), LearnedPrior(), SEED), n_draws=5, burn_in=3),
        Plan(Target(3, Asymmetric(), FixedPrior.from_probabilities([0.3] * 3), SEED), n_draws=5, burn_in=9),
    ],
    ids=["random start", "masks of two words", "fixed prior"],
)
def test_every_kind_of_chain_goes_on(tensor, tmp_path: Path, plan: Plan) -> None:
    whole = run_chain(tensor, plan, 0)
    for sweeps in (2, 6, 8):
        run_chain(tensor, plan, 0, stop=stop_after(sweeps), checkpoints=Checkpoints(tmp_path, SEED))
    assert_same(run_chain(tensor, plan, 0, checkpoints=Checkpoints(tmp_path, SEED)), whole)


def test_a_finished_chain_makes_no_more_sweeps(tensor, tmp_path: Path) -> None:
    plan, steps = make_plan(burn_in=2), []
    whole = run_chain(tensor, plan, 0, checkpoints=Checkpoints(tmp_path, SEED))
    again = run_chain(tensor, plan, 0, steps.append, checkpoints=Checkpoints(tmp_path, SEED))
    assert steps == []
    assert_same(again, whole)


def test_checkpoints_are_made_by_the_clock(tensor, tmp_path: Path, monkeypatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    checkpoints, written = Checkpoints(tmp_path, SEED, every=10.0), []
    monkeypatch.setattr(checkpoints, "write", lambda number, snapshot: written.append(now[0]))
    assert not checkpoints.due(0)  # the clock starts with the first question
    now[0] = 9.9
    assert not checkpoints.due(0)
    now[0] = 10.0
    assert checkpoints.due(0)
    assert not checkpoints.due(1)


def test_another_runs_checkpoint_is_refused(tensor, tmp_path: Path) -> None:
    Checkpoints(tmp_path, SEED).write(0, next(sample(tensor, make_plan(), 0)).snapshot)
    with pytest.raises(FileError, match="another run"):
        Checkpoints(tmp_path, np.uint64(4)).read(0)


def test_a_damaged_checkpoint_is_refused(tensor, tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, SEED)
    checkpoints.write(0, next(sample(tensor, make_plan(), 0)).snapshot)
    path = tmp_path / "chain-0.nc"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileError, match=r"chain-0\.nc cannot be read"):
        checkpoints.read(0)


def test_what_a_killed_process_was_writing_is_cleared_away(tmp_path: Path) -> None:
    for name in ("chain-0", "run", "fit"):
        (tmp_path / f".{name}.nc.x1.part").write_bytes(b"half")
    (tmp_path / "mine.part").write_bytes(b"not ours")
    Checkpoints(tmp_path, SEED)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.part"]
