"""Chains that go on from a checkpoint make the draws of chains that were never stopped."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import forge
from tensorm.datasets import simulate
from tensorm.errors import FileError
from tensorm.sampler.chains import run_chain
from tensorm.sampler.prior import FixedPrior, LearnedPrior
from tensorm.sampler.sample import Plan, sample
from tensorm.sampler.state import Trace
from tensorm.sampler.strength_models import ActivityModel
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric, Symmetric
from tensorm.storage.checkpoints import Checkpoints
from tensorm.tensors import DenseTensor
from tensorm.tensors.factors import Factors

SEED = np.uint64(3)
SHAPE = (12, 12, 12)
FIXED = FixedPrior.from_probabilities([0.3] * 3)
TENSOR = DenseTensor(simulate(SHAPE, rank=4, density=0.3, noise=0.2, random_state=0).observed)


def make_plan(**how) -> Plan:
    return Plan(Target(4, Asymmetric(), LearnedPrior(), SEED), n_draws=12, **how)


def keep(folder: Path, plan: Plan, run: str = "this run", **how) -> Checkpoints:
    return Checkpoints(folder, run, TENSOR, plan, **how)


@pytest.fixture(scope="module")
def tensor() -> DenseTensor:
    return TENSOR


def assert_same(a: Trace, b: Trace) -> None:
    for x, y in zip(a.factors, b.factors, strict=True):
        np.testing.assert_array_equal(x, y)
    for name in ("noise", "density", "confusion", "log_posterior"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert (a.burn_in, a.settled, a.n_components) == (b.burn_in, b.settled, b.n_components)


def stop_after(n_sweeps: int):
    left = iter(range(n_sweeps))
    return lambda: next(left, None) is None


@pytest.mark.parametrize("sweeps", [40, 70, 71, 79, 80, 81, 140, 1000])
def test_a_chain_stopped_while_it_is_heated_goes_on(tensor, tmp_path: Path, sweeps: int) -> None:
    plan = make_plan(effort=1.0)
    whole = run_chain(tensor, plan, 1)
    assert whole.burn_in > 50 + 100  # of them two rounds and more
    run_chain(tensor, plan, 1, stop=stop_after(sweeps), checkpoints=keep(tmp_path, plan))
    assert_same(whole, run_chain(tensor, plan, 1, checkpoints=keep(tmp_path, plan)))


@pytest.mark.parametrize("sweeps", [60, 119, 121, 171, 172, 300, 331])
def test_a_chain_with_strengths_stopped_while_it_is_heated_goes_on(tensor, tmp_path, sweeps: int) -> None:
    """Noise and densities are sampled in its rounds, and belong to what is kept of them."""
    plan = Plan(Target(3, ActivityModel(), LearnedPrior(), SEED), n_draws=5, effort=0.8)
    whole, steps = run_chain(tensor, plan, 1), []
    run_chain(tensor, plan, 1, steps.append, stop_after(sweeps), keep(tmp_path, plan))
    heat = steps[-1].snapshot.memory.heat
    assert heat.hot is not None or heat.rounds
    assert_same(whole, run_chain(tensor, plan, 1, checkpoints=keep(tmp_path, plan)))


@pytest.mark.parametrize("sweeps", [0, 1, 4, 5, 6, 10, 26, 49, 50, 51, 55, 61, 62])
def test_a_chain_stopped_anywhere_goes_on_as_if_never_stopped(tensor, tmp_path: Path, sweeps: int) -> None:
    """Every fifth sweep of burn-in a chain may be repaired; this one burns in for 50 sweeps."""
    plan = make_plan()
    whole = run_chain(tensor, plan, 1)
    assert whole.burn_in == 50
    run_chain(tensor, plan, 1, stop=stop_after(sweeps), checkpoints=keep(tmp_path, plan))
    assert_same(run_chain(tensor, plan, 1, checkpoints=keep(tmp_path, plan)), whole)


@pytest.mark.parametrize(
    "plan",
    [
        make_plan(init="random", burn_in=7),
        Plan(Target(70, Symmetric(), LearnedPrior(), SEED), n_draws=5, burn_in=3),
        Plan(Target(3, Asymmetric(), FIXED, SEED), n_draws=5, burn_in=9),
    ],
    ids=["random start", "masks of two words", "fixed prior"],
)
def test_every_kind_of_chain_goes_on(tensor, tmp_path: Path, plan: Plan) -> None:
    whole = run_chain(tensor, plan, 0)
    for sweeps in (2, 6, 8):
        run_chain(tensor, plan, 0, stop=stop_after(sweeps), checkpoints=keep(tmp_path, plan))
    assert_same(run_chain(tensor, plan, 0, checkpoints=keep(tmp_path, plan)), whole)


def test_a_finished_chain_makes_no_more_sweeps(tensor, tmp_path: Path) -> None:
    plan, steps = make_plan(burn_in=2), []
    whole = run_chain(tensor, plan, 0, checkpoints=keep(tmp_path, plan))
    again = run_chain(tensor, plan, 0, steps.append, checkpoints=keep(tmp_path, plan))
    assert steps == []
    assert_same(again, whole)


def test_checkpoints_are_made_by_the_clock(tensor, tmp_path: Path, monkeypatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    checkpoints, written = keep(tmp_path, make_plan(), every=10.0), []
    monkeypatch.setattr(checkpoints, "write", lambda number, snapshot: written.append(now[0]))
    assert not checkpoints.due(0)  # the clock starts with the first question
    now[0] = 9.9
    assert not checkpoints.due(0)
    now[0] = 10.0
    assert checkpoints.due(0)
    assert not checkpoints.due(1)


def write(tensor, folder: Path, sweeps: int = 1, number: int = 0) -> Path:
    """A checkpoint of a chain that made so many sweeps, the last of them draws."""
    plan = make_plan(burn_in=3)
    made: list[object] = []
    run_chain(tensor, plan, number, made.append, lambda: len(made) >= sweeps, keep(folder, plan))
    return folder / f"chain-{number}.tensorm"


def test_another_runs_checkpoint_is_refused(tensor, tmp_path: Path) -> None:
    write(tensor, tmp_path)
    with pytest.raises(FileError, match="it belongs to another run"):
        keep(tmp_path, make_plan(burn_in=3), "another").read(0)


def test_another_chains_checkpoint_is_refused(tensor, tmp_path: Path) -> None:
    write(tensor, tmp_path, number=1).rename(tmp_path / "chain-0.tensorm")
    with pytest.raises(FileError, match="it belongs to chain 1, not 0"):
        keep(tmp_path, make_plan(burn_in=3)).read(0)


def test_a_damaged_checkpoint_is_refused(tensor, tmp_path: Path) -> None:
    path = write(tensor, tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileError, match=r"chain-0\.tensorm cannot be read"):
        keep(tmp_path, make_plan(burn_in=3)).read(0)


def said(name: str, value: object, tree: str = ""):
    return lambda parts: parts.tree(tree).update({name: value})


def changed(path: str, at: object, value: object):
    return lambda parts: parts.change(path, at, value)


def replaced(path: str, array: np.ndarray):
    return lambda parts: parts.write(path, array)


def all_say(n_components: int):
    def change(parts: forge.Parts) -> None:
        parts.about["n_components"] = parts.about["draws"]["n_components"] = n_components

    return change


def hot_masks(parts: forge.Parts) -> None:
    for k in range(3):
        parts.members[f"hot_{k}.npy"] = parts.members[f"state_{k}.npy"]
    for name in ("noise", "density"):
        parts.members[f"hot_{name}.npy"] = parts.members[f"state_{name}.npy"]


def other_cells(parts: forge.Parts) -> None:
    parts.write("draws/confusion", np.roll(parts.read("draws/confusion"), 1, axis=1))


FORGED = {
    "another kind of file": (said("format", "tensorm fit"), "format is 'tensorm fit'"),
    "newer": (said("format_version", 9), "install a newer tensorm"),
    "version 0": (said("format_version", 0), "format_version is 0"),
    "no run": (said("run", None), "run is None"),
    "chain of text": (said("chain", "0"), "chain is '0'"),
    "more components": (said("n_components", 5), "there are 5 components instead of 4"),
    "more components everywhere": (all_say(65), "there are 65 components instead of 4"),
    "components 10^12": (all_say(10**12), "components instead of 4"),
    "components differ in draws": (changed("draws/factor_0", (0, 0), 16), "beyond the last"),
    "fewer rows": (replaced("state_1", np.zeros((11, 1), "u8")), r"has shape \(11, 1\), not \(12, 1\)"),
    "more words": (replaced("state_1", np.zeros((12, 2), "u8")), r"has shape \(12, 2\), not \(12, 1\)"),
    "other words": (replaced("state_1", np.zeros((12, 1), "i8")), "of type '<i8', not '<u8'"),
    "spare bits": (changed("state_2", (3, 0), 16), "state_2 has members of a component beyond the last"),
    "last spare bit": (changed("state_2", (3, 0), 2**63), "beyond the last"),
    "rates out of order": (replaced("state_noise", np.array([0.2, 0.3])), "rates that are not ordered"),
    "rate 1": (replaced("state_noise", np.array([1.0, 0.3])), "rates that are not ordered"),
    "rate nan": (replaced("state_noise", np.array([0.5, np.nan])), "rates that are not ordered"),
    "density 1": (changed("state_density", 0, 1.0), "density contains numbers"),
    "density missing": (changed("state_density", 0, np.nan), "density contains numbers"),
    "no density under a learned prior": (changed("state_density", slice(None), np.nan), "density contains"),
    "density too close to 0": (changed("state_density", 0, 1e-13), "density contains numbers"),
    "no density in draws": (changed("draws/density", slice(None), np.nan), "density contains numbers"),
    "sweep beyond all": (said("sweep", 2**40), "sweep is 1099511627776"),
    "sweep beyond the run": (said("sweep", 16), "sweep is 16, not an integer from 0 to 15"),
    "last random numbers": (said("sweep", 2**32 - 1), "sweep is 4294967295"),
    "burn-in beyond the run": (said("burn_in", 4), "burn_in is 4, not an integer from -1 to 3"),
    "burn-in cut short": (said("burn_in", 2), "burn_in is 2, not 3"),
    "burn-in in draws": (said("burn_in", 2, "draws"), "its draws say otherwise"),
    "not settled": (said("settled", 0), "settled is 0"),
    "settled otherwise in draws": (said("settled", 0, "draws"), "its draws say otherwise"),
    "sweep negative": (said("sweep", -1), "sweep is -1"),
    "settled 2": (said("settled", 2), "settled is 2"),
    "long history": (replaced("history", np.zeros(51)), "history does not contain log-likelihoods"),
    "history nan": (changed("history", 0, np.nan), "history does not contain log-likelihoods"),
    "history huge": (changed("history", 0, -1e308), "history does not contain log-likelihoods"),
    "more history than sweeps": (said("sweeps_since", 1), "history does not contain log-likelihoods"),
    "repairs of text": (said("repairs", "1"), "repairs is '1'"),
    "more repairs than sweeps allow": (said("repairs", 2), "repairs is 2"),
    "more repairs in vain than repairs": (said("in_vain", 1), "in_vain is 1"),
    "sweeps since a repair beyond all sweeps": (said("sweeps_since", 7), "sweeps_since is 7"),
    "more heat than sweeps allow": (said("heat_rounds", 1), "heat_rounds is 1"),
    "heat of too many sweeps": (said("heat_sweeps", 40), "heat_sweeps is 40"),
    "heat without scores": (said("heat_sweeps", 3), "heat_scores does not contain"),
    "scores before any heat": (replaced("heat_scores", np.full(3, -5.0)), "heat_scores does not contain"),
    "heat worth too much": (said("heat_planned", 121), "heat_planned is 121"),
    "hot factors without heat": (hot_masks, "heat_sweeps does not fit"),
    "a score without heat": (replaced("heat_score_sum", np.array([-3.0])), "heat_score_sum does not fit"),
    "no number": (replaced("heat_score_sum", np.array([np.nan])), "heat_score_sum does not fit"),
    "count negative": (changed("confusion", 0, -1), "confusion contains counts"),
    "count too large": (changed("confusion", 0, 10**6), "confusion contains counts"),
    "counts of other cells": (changed("confusion", 0, 0), "confusion contains counts of other cells"),
    "draws of other cells": (other_cells, "confusion contains counts of other cells in draws"),
    "no counts": (replaced("confusion", np.zeros(4, "i8")), "confusion contains counts"),
    "draws of another tensor": (replaced("draws/factor_0", np.zeros((11, 1), "u1")), "has shape"),
    "draw out of order": (changed("draws/noise", 0, [0.1, 0.2]), "rates that are not ordered .* in draws"),
    "state missing": (lambda parts: parts.members.pop("state_1.npy"), "'state_1' is missing"),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_no_chain_leaves_is_refused(tensor, tmp_path: Path, name: str) -> None:
    """Whatever reaches a kernel has the size and the members that the run's own chains have."""
    change, why = FORGED[name]
    path = write(tensor, tmp_path, sweeps=6)
    parts = forge.Parts(path.read_bytes())
    path.write_bytes(parts.join())
    assert keep(tmp_path, make_plan(burn_in=3)).read(0) is not None
    change(parts)
    path.write_bytes(parts.join())
    with pytest.raises(FileError, match=why):
        keep(tmp_path, make_plan(burn_in=3)).read(0)


@pytest.mark.parametrize("sweep", [2**32 - 1, 10**4])
def test_sweeps_that_the_plan_never_makes_are_refused_in_burn_in(tensor, tmp_path: Path, sweep: int) -> None:
    """There are 2^32 sweeps with random numbers of their own; the next would repeat those of the first."""
    plan = make_plan(effort=1.0)
    run_chain(tensor, plan, 0, stop=stop_after(4), checkpoints=keep(tmp_path, plan))
    path = tmp_path / "chain-0.tensorm"
    parts = forge.Parts(path.read_bytes())
    parts.about["sweep"] = sweep
    path.write_bytes(parts.join())
    with pytest.raises(FileError, match=f"sweep is {sweep}, not an integer from 0 to "):
        keep(tmp_path, plan).read(0)


def test_modes_that_share_a_factor_have_equal_states(tmp_path: Path) -> None:
    cells = simulate((6, 6, 4), rank=2, random_state=0).observed
    cells = (cells | cells.swapaxes(0, 1)).astype(float)
    cells[np.arange(6), np.arange(6)] = np.nan
    tensor = DenseTensor(cells).tied((0, 1))
    plan = Plan(Target(4, Asymmetric(), LearnedPrior(), SEED, tied=(0, 1)), n_draws=5, burn_in=3)
    files = Checkpoints(tmp_path, "run", tensor, plan)
    run_chain(tensor, plan, 0, checkpoints=files)
    assert files.read(0) is not None
    path = tmp_path / "chain-0.tensorm"
    parts = forge.Parts(path.read_bytes())
    parts.write("state_0", parts.read("state_0") ^ np.uint64(1))
    path.write_bytes(parts.join())
    with pytest.raises(FileError, match="modes 0 and 1 do not share a factor"):
        files.read(0)


@pytest.mark.parametrize("sweeps", [1, 5, 12])
def test_densities_under_a_fixed_prior_are_missing_or_those_of_a_repair(
    tensor, tmp_path: Path, sweeps: int
) -> None:
    plan = replace(make_plan(burn_in=9), target=replace(make_plan().target, prior=FIXED))
    run_chain(tensor, plan, 0, stop=stop_after(sweeps), checkpoints=keep(tmp_path, plan))
    kept = keep(tmp_path, plan).read(0)
    assert kept is not None
    path = tmp_path / "chain-0.tensorm"
    parts = forge.Parts(path.read_bytes())
    if kept.draws is None:
        parts.change("state_density", slice(None), [0.5, np.nan, 0.5])
    else:
        parts.change("draws/density", slice(None), 0.5)
    path.write_bytes(parts.join())
    with pytest.raises(FileError, match="density contains numbers that its prior does not allow"):
        keep(tmp_path, plan).read(0)


def test_one_error_rate_is_the_same_inside_and_outside(tensor, tmp_path: Path) -> None:
    plan = Plan(Target(4, Symmetric(), LearnedPrior(), SEED), n_draws=3, burn_in=2)
    run_chain(tensor, plan, 0, checkpoints=keep(tmp_path, plan))
    path = tmp_path / "chain-0.tensorm"
    for array in ("state_noise", "draws/noise"):
        parts = forge.Parts(path.read_bytes())
        parts.change(array, ..., [0.9, 0.2])
        forged = tmp_path / array
        forged.mkdir(parents=True)
        (forged / "chain-0.tensorm").write_bytes(parts.join())
        with pytest.raises(FileError, match="noise contains rates of errors that differ"):
            keep(forged, plan).read(0)


def test_words_without_spare_bits_may_be_full(tensor, tmp_path: Path) -> None:
    plan = Plan(Target(64, Asymmetric(), LearnedPrior(), SEED), n_draws=2, burn_in=1)
    snapshot = next(sample(tensor, plan, 0)).snapshot
    full = Factors(tuple(np.full((12, 1), 2**64 - 1, np.uint64) for _ in SHAPE), 64)
    keep(tmp_path, plan).write(0, snapshot._replace(state=snapshot.state._replace(factors=full)))
    assert keep(tmp_path, plan).read(0).state.factors.same_as(full)


def test_what_a_killed_process_was_writing_is_cleared_away(tmp_path: Path) -> None:
    for name in ("chain-0", "run", "fit"):
        (tmp_path / f".{name}.tensorm.x1.part").write_bytes(b"half")
    (tmp_path / "mine.part").write_bytes(b"not ours")
    keep(tmp_path, make_plan(burn_in=3))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.part"]
