"""Chains: the same draws wherever they run, watched, stopped, interrupted, and ended by another's error."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import multiprocessing
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tensorm.datasets import simulate
from tensorm.errors import FileError
from tensorm.sampler.burnin import CHECK_EVERY, TREND_SWEEPS, steady
from tensorm.sampler.chains import Chains, run_chain, run_chains, warm_up
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.sample import Plan, Step, sample
from tensorm.sampler.state import State, Trace
from tensorm.sampler.sweep import Target, sweep
from tensorm.sampler.two_rates import Asymmetric
from tensorm.tensors import DenseTensor
from tensorm.tensors.factors import Factors

L = 3
MODEL = Target(L, Asymmetric(), LearnedPrior(), np.uint64(7))
TENSOR = DenseTensor(simulate((9, 8, 7), rank=L, missing=0.1, random_state=0).observed)
FOREVER = 2 * 10**4  # long enough to be stopped, short enough to fail


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C works in the tests also where they run as a shell's background job, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def coins(shape: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.random((size, L)) < 0.5 for size in shape]


PLAN = Plan(MODEL, n_draws=12, burn_in=5, init=coins(TENSOR.shape))


def assert_same(a: Trace | None, b: Trace | None) -> None:
    assert a is not None
    assert b is not None
    assert (a.n_components, a.burn_in, a.settled) == (b.n_components, b.burn_in, b.settled)
    for x, y in zip(a.factors, b.factors, strict=True):
        np.testing.assert_array_equal(x, y)
    for name in ("noise", "density", "log_likelihood", "accuracy"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def differ(a: Trace, b: Trace) -> bool:
    return any((np.asarray(x) != np.asarray(y)).any() for x, y in zip(a.factors, b.factors, strict=True))


def alone(chain: int, plan: Plan = PLAN, tensor: DenseTensor = TENSOR) -> Trace:
    trace = run_chain(tensor, plan, chain)
    assert trace is not None
    return trace


@pytest.mark.parametrize(("n_chains", "n_threads"), [(1, 1), (4, 1), (4, 2), (3, 8)])
def test_threads_and_neighbours_change_nothing(n_chains: int, n_threads: int) -> None:
    traces, *_, interrupted = run_chains(TENSOR, PLAN, n_chains, n_threads)
    assert not interrupted
    assert len(traces) == n_chains
    for chain, trace in enumerate(traces):
        assert_same(trace, alone(chain))


def test_threads_inside_a_chain_change_nothing() -> None:
    big = DenseTensor(simulate((70, 65, 64), rank=L, random_state=0).observed)  # large enough to be shared
    plan = Plan(MODEL, n_draws=3, burn_in=2, init=coins(big.shape))
    one, three = (run_chains(big, plan, 1, n_threads).traces[0] for n_threads in (1, 3))
    assert_same(one, three)


def test_spawned_processes_change_nothing() -> None:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:  # tensor and plan are pickled
        far = [pool.submit(run_chain, TENSOR, PLAN, chain) for chain in range(2)]
        for chain, future in enumerate(far):
            assert_same(future.result(), alone(chain))


def test_chains_and_seeds_differ() -> None:
    assert differ(alone(0), alone(1))
    other = Target(L, Asymmetric(), LearnedPrior(), np.uint64(8))
    assert differ(alone(0), alone(0, Plan(other, 12, 5, PLAN.init)))


def test_burn_in_is_sweeps_that_are_not_kept() -> None:
    short, long = alone(0, Plan(MODEL, 4, 8, PLAN.init)), alone(0, Plan(MODEL, 12, 0, PLAN.init))
    assert (short.burn_in, long.burn_in) == (8, 0)
    assert (len(short), len(long)) == (4, 12)
    assert short.settled
    assert long.settled
    np.testing.assert_array_equal(short.factors[1], long.factors[1][8:])
    np.testing.assert_array_equal(short.noise, long.noise[8:])


def test_automatic_burn_in_follows_the_rule() -> None:
    steps: list[Step] = []
    trace = run_chain(TENSOR, Plan(MODEL, 5, None, PLAN.init), 0, steps.append)
    assert trace is not None
    seen = [step.state.noise.log_likelihood(step.confusion) for step in steps if step.phase == "burn-in"]
    assert [n for n in range(len(seen) + 1) if steady(seen[:n], n)] == [len(seen)]
    assert trace.burn_in == len(seen) >= 2 * TREND_SWEEPS
    assert trace.burn_in % CHECK_EVERY == 0
    assert trace.settled


def test_automatic_burn_in_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorm.sampler.burnin.LONGEST_BURN_IN", 40)  # less than two windows
    trace = alone(0, Plan(MODEL, 3, None, PLAN.init))
    assert trace.burn_in == 40
    assert not trace.settled
    assert len(trace) == 3


def test_every_sweep_is_told() -> None:
    steps: list[Step] = []
    trace = run_chain(TENSOR, PLAN, 2, steps.append)
    assert trace is not None
    expected = [(2, "burn-in", n, 5) for n in range(1, 6)] + [(2, "draws", n, 12) for n in range(1, 13)]
    assert [step[:4] for step in steps] == expected
    assert [step.confusion.correct / step.confusion.observed for step in steps[5:]] == trace.accuracy.tolist()
    automatic: list[Step] = []
    run_chain(TENSOR, Plan(MODEL, 1, None, PLAN.init), 0, automatic.append)
    assert {step.total for step in automatic if step.phase == "burn-in"} == {None}


@pytest.mark.parametrize("sweeps", [1, 5, 6, 12])
def test_a_chain_goes_on_from_any_snapshot(sweeps: int) -> None:
    """Five sweeps are burn-in, and of the seven after them the caller kept the draws, or did not."""
    steps = list(sample(TENSOR, PLAN, 0))
    assert [step.phase for step in steps] == ["burn-in"] * 5 + ["draws"] * 12
    rest = list(sample(TENSOR, PLAN, 0, steps[sweeps - 1].snapshot))
    assert len(rest) == (17 - sweeps if sweeps < 5 else 12)  # without the draws made before, all are due
    for step, expected in zip(rest, steps[sweeps:], strict=False):
        assert step.state.sweep == expected.state.sweep
        assert step.confusion == expected.confusion
        assert step.state.factors.same_as(expected.state.factors)


def test_a_move_comes_before_every_sweep_and_may_change_the_number_of_components() -> None:
    """Here every other sweep has no component at all."""

    def move(state: State) -> State:
        return state._replace(factors=Factors.from_bits([c[:, : 2 * (state.sweep % 2)] for c in PLAN.init]))

    steps = list(sample(TENSOR, dataclasses.replace(PLAN, n_draws=4, burn_in=2, move=move), 0))
    assert [step.state.factors.n_components for step in steps] == [0, 2] * 3
    assert steps[0].confusion == (0, 0, TENSOR.n_ones, TENSOR.n_observed - TENSOR.n_ones)
    two = dataclasses.replace(MODEL, n_components=2)
    assert steps[1].confusion == sweep(TENSOR, move(steps[0].state), two, 0)[1]


def stop_after(n_sweeps: int) -> Callable[[], bool]:
    asked = iter(range(FOREVER))
    return lambda: next(asked) >= n_sweeps


def test_stopped_during_draws_keeps_those_made() -> None:
    trace = run_chain(TENSOR, PLAN, 0, stop=stop_after(5 + 4))
    assert trace is not None
    assert (len(trace), trace.burn_in, trace.settled) == (4, 5, True)
    np.testing.assert_array_equal(trace.factors[0], alone(0).factors[0][:4])


def test_stopped_during_burn_in_leaves_what_the_next_sweep_gives() -> None:
    trace = run_chain(TENSOR, PLAN, 0, stop=stop_after(3))
    assert trace is not None
    assert (len(trace), trace.burn_in, trace.settled) == (1, 3, False)
    whole = alone(0, Plan(MODEL, 12, 0, PLAN.init))
    np.testing.assert_array_equal(trace.factors[0].at(0), whole.factors[0].at(3))


def test_stopped_before_the_first_sweep_leaves_nothing() -> None:
    assert run_chain(TENSOR, PLAN, 0, stop=lambda: True) is None


def test_warming_up_leaves_no_trace() -> None:
    before = alone(0)
    warm_up(TENSOR, MODEL)
    assert_same(before, alone(0))


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_a_message_for_the_user_ends_all_chains_and_is_raised(n_threads: int) -> None:
    def watch(step: Step) -> None:
        if step.chain == min(1, n_threads - 1) and step.done > 3:
            raise FileError("The disk is full.")

    with pytest.raises(FileError, match="The disk is full"):
        run_chains(TENSOR, Plan(MODEL, FOREVER, 0, PLAN.init), 4, n_threads, watch)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tensorm-chain")]


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_a_chain_that_fails_does_not_void_the_others(n_threads: int) -> None:
    def watch(step: Step) -> None:
        if step.chain == 1 and step.done > 3:
            raise MemoryError("no room")

    traces, outcomes, error, interrupted = run_chains(TENSOR, PLAN, 3, n_threads, watch)
    assert not interrupted
    assert outcomes == ("included", "failed", "included")
    assert repr(error) == "MemoryError('no room')"
    assert len(traces) == 2
    for chain, trace in zip((0, 2), traces, strict=True):
        assert_same(trace, alone(chain))


def test_if_all_chains_fail_the_first_error_is_raised() -> None:
    def watch(step: Step) -> None:
        raise RuntimeError("chain broke")

    with pytest.raises(RuntimeError, match="chain broke"):
        run_chains(TENSOR, PLAN, 3, 2, watch)


@pytest.fixture
def press_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Interrupts the main thread from another, once it waits for the chains."""
    waits, interrupted = threading.Event(), threading.Event()

    def wait(*args: Any, **kwargs: Any) -> Any:
        try:
            waits.set()
            return concurrent.futures.wait(*args, **kwargs)
        except KeyboardInterrupt:
            interrupted.set()
            raise

    def press() -> None:
        waits.wait(60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # type: ignore[arg-type]
        interrupted.wait(60)
        time.sleep(0.2)  # until the chains are told

    monkeypatch.setattr("tensorm.sampler.chains.wait", wait)
    return press


def run_interrupted(plan: Plan, n_chains: int, *watch: Callable[[Step], None]) -> Chains:
    """Chains on two threads; pytest itself would end if Ctrl-C came through."""
    try:
        return run_chains(TENSOR, plan, n_chains, 2, *watch)
    except KeyboardInterrupt:
        pytest.fail("Ctrl-C was not caught")


needs_signals = pytest.mark.skipif(
    not hasattr(signal, "pthread_kill") or threading.current_thread() is not threading.main_thread(),
    reason="sends Ctrl-C to the main thread",
)


@needs_signals
def test_ctrl_c_keeps_the_draws_of_chains_that_are_past_burn_in(press_ctrl_c: Callable[[], None]) -> None:
    """Chain 0 makes draws while chain 1 is held in its burn-in; chains 2 and 3 never begin."""
    held = threading.Event()

    def watch(step: Step) -> None:
        if step.chain == 1:
            held.wait(60)
        elif step.phase == "draws" and step.done == 7:
            press_ctrl_c()
            held.set()

    traces, outcomes, _, interrupted = run_interrupted(Plan(MODEL, FOREVER, 5, PLAN.init), 4, watch)
    assert interrupted
    assert outcomes == ("included", "stopped", "stopped", "stopped")
    assert len(traces) == 1
    assert len(traces[0]) >= 7
    assert traces[0].settled
    np.testing.assert_array_equal(traces[0].factors[0][:7], alone(0).factors[0][:7])


@needs_signals
def test_ctrl_c_in_every_burn_in_leaves_last_states(press_ctrl_c: Callable[[], None]) -> None:
    def watch(step: Step) -> None:
        if step.done == 6 and step.chain == 0:
            press_ctrl_c()

    traces, *_, interrupted = run_interrupted(Plan(MODEL, 5, FOREVER, PLAN.init), 2, watch)
    assert interrupted
    assert not any(trace.settled for trace in traces)
    assert [len(trace) for trace in traces] == [1] * len(traces)
    assert traces[0].burn_in >= 6


def test_ctrl_c_while_chains_are_being_started(monkeypatch: pytest.MonkeyPatch) -> None:
    submit, drawn = ThreadPoolExecutor.submit, threading.Event()

    def interrupted_submit(pool: ThreadPoolExecutor, *args: Any) -> Any:
        if 1 in args:  # the second chain
            drawn.wait(60)
            raise KeyboardInterrupt
        return submit(pool, *args)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted_submit)
    traces, *_, interrupted = run_interrupted(Plan(MODEL, FOREVER, 0, PLAN.init), 4, lambda step: drawn.set())
    assert interrupted
    assert [0 < len(trace) < FOREVER for trace in traces] == [True]


def test_ctrl_c_in_the_moment_a_chain_is_handed_over_loses_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    submit, drawn = ThreadPoolExecutor.submit, threading.Event()

    def interrupted_submit(pool: ThreadPoolExecutor, *args: Any) -> Any:
        submit(pool, *args)
        drawn.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted_submit)
    traces, *_, interrupted = run_interrupted(Plan(MODEL, FOREVER, 0, PLAN.init), 4, lambda step: drawn.set())
    assert interrupted
    assert [0 < len(trace) < FOREVER for trace in traces] == [True]


SCRIPT = """
import contextlib, json, signal, sys, time, warnings
import tensorm.estimator.machine
from tensorm import TensOrMachine, datasets

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin without

@contextlib.contextmanager
def watching(n_chains, shown, forecast=None):
    there = {"burn-in": set(), "draws": set()}
    def watch(step):
        chains = there[step.phase]
        if step.done > 2 and step.chain not in chains:
            chains.add(step.chain)
            if len(chains) == n_chains:
                print(step.phase, flush=True)
        if step.chain in chains:
            time.sleep(PAUSE)
    yield watch

tensorm.estimator.machine.watching = watching
X = datasets.simulate((30, 30, 30), rank=3, random_state=0).observed
model = TensOrMachine(3, noise="asymmetric", n_chains=2, n_jobs=2, random_state=0, SETTINGS)
try:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    print(json.dumps({
        "warnings": [[type(w.message).__name__, str(w.message), w.filename == __file__] for w in caught],
        "draws": model.posterior_.n_draws,
        "score": model.score(X),
        "proba": list(model.predict_proba([[0, 0, 0]])),
        "place": list(model.transform(X[:2]).shape),
    }))
except KeyboardInterrupt:
    print(json.dumps({"fitted": hasattr(model, "factors_"), "attributes": sorted(vars(model))}))
"""


def interrupted_fit(
    tmp_path: Any, settings: str, phase: str, times: int = 1, pause: float = 0.002
) -> dict[str, Any]:
    """What a script says about its fit, sent Ctrl-C so many times once it is in the phase."""
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(SCRIPT).replace("SETTINGS", settings).replace("PAUSE", str(pause)))
    with subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            while (line := process.stdout.readline().strip()) != phase:
                assert line, "the script ended before it was in the phase"
            for _ in range(times):
                process.send_signal(signal.SIGINT)
                time.sleep(0.3)
            said, _ = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0
    result: dict[str, Any] = json.loads(said.splitlines()[-1])
    return result


posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")


@posix
def test_ctrl_c_during_draws_gives_a_usable_model(tmp_path: Any) -> None:
    found = interrupted_fit(tmp_path, f"n_draws={FOREVER}, burn_in=5", "draws")
    (kind, message, at_the_call) = found["warnings"][0]
    assert len(found["warnings"]) == 1
    assert kind == "RuntimeWarning"
    assert at_the_call
    assert message == f"Stopped by Ctrl-C: this fit is based on {found['draws']} draws from 2 of 2 chains."
    assert found["draws"] > 4
    assert found["score"] > 0.8
    assert 0 < found["proba"][0] < 1
    assert found["place"] == [2, 3]


@posix
def test_ctrl_c_during_burn_in_gives_a_usable_model(tmp_path: Any) -> None:
    found = interrupted_fit(tmp_path, f"burn_in={FOREVER}", "burn-in")
    assert [kind for kind, _, _ in found["warnings"]] == ["RuntimeWarning"]
    assert found["warnings"][0][1] == (
        "Stopped by Ctrl-C: this fit is based on 2 draws from 2 of 2 chains, drawn before burn-in ended."
    )
    assert found["draws"] == 2
    assert 0 < found["proba"][0] < 1


@posix
def test_a_second_ctrl_c_gives_up(tmp_path: Any) -> None:
    """Chains that take seconds for a sweep are waited for after one Ctrl-C, and dropped after two."""
    found = interrupted_fit(tmp_path, "burn_in=5", "burn-in", times=2, pause=2.0)
    assert found["fitted"] is False
    assert not [name for name in found["attributes"] if name.endswith("_") or name.startswith("_")]
