"""Bars on a terminal, and nothing anywhere else."""

from __future__ import annotations

import io
import logging
import re
import threading
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from rich.console import Console

from tensorm.estimator.progress import COMPILING, Forecast, announcing_compilation, forecast_run, watching
from tensorm.model import Confusion
from tensorm.sampler.noise_model import NoiseModel
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.sample import Plan, Snapshot, Step
from tensorm.sampler.state import State
from tensorm.sampler.strength_models import ActivityModel
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric, Rates
from tensorm.tensors import DenseTensor
from tensorm.tensors.factors import Factors

COUNTS = Confusion(40, 10, 5, 45)
NOTHING = Factors.empty((3, 3), 1)


def make_step(chain: int, phase: str, done: int, total: int | None) -> Step:
    state = State(NOTHING, Rates(0.81, 0.12), (0.5, 0.5), done)
    return Step(chain, phase, done, total, state, COUNTS, Snapshot(state))


def make_forecast(n_draws: int, n_chains: int = 3) -> Forecast:
    """Of chains with 435 bytes in a draw, two at a time: 12 MB if three make 10,000 draws."""
    plan = Plan(Target(58, Asymmetric(), LearnedPrior(), np.uint64(0)), n_draws, burn_in=0)
    return partial(forecast_run, DenseTensor(np.eye(30)), plan, n_chains, 2)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    screen = Terminal()

    def console(stderr: bool) -> Console:
        assert stderr
        return Console(file=screen, width=120)

    monkeypatch.setattr("tensorm.estimator.progress.Console", console)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return screen


def shows(terminal: Terminal, *texts: str) -> bool:
    """Whether all of that was on the screen at some time, however it was coloured."""
    return all(text in terminal.getvalue() for text in texts)


def test_one_bar_per_chain_with_what_it_found(terminal: Terminal) -> None:
    with watching(2, shown=True) as watch:
        watch(make_step(0, "burn-in", 7, None))
        watch(make_step(1, "draws", 250, 250))
    assert shows(terminal, "chain 0", "burn-in", "7/?", "chain 1", "draws", "250/250")
    assert shows(terminal, "explains 89% of the ones", "noise 0.81/0.12")


def test_time_left_is_told_once_it_is_known(terminal: Terminal) -> None:
    with watching(1, shown=True) as watch:
        for done in range(1, 5):
            watch(make_step(0, "draws", done, 400))
            time.sleep(0.11)
    assert shows(terminal, "/400")
    assert re.search(r"0:\d\d:\d\d", terminal.getvalue())


def test_a_long_run_is_announced(terminal: Terminal) -> None:
    with watching(1, True, make_forecast(n_draws=10_000)) as watch:
        for done in range(1, 4):
            watch(make_step(0, "burn-in", done, None))
            time.sleep(0.02)
    assert terminal.getvalue().count("at least 10000 sweeps") == 1
    assert shows(terminal, "3 chains")
    assert "12 MB" in " ".join(terminal.getvalue().split())  # wherever the line is broken
    assert make_forecast(n_draws=10, n_chains=1)(5.9) is None
    assert "3 chains of at least 10 sweeps take about 2 min" in make_forecast(n_draws=10)(6.0)


@pytest.mark.parametrize(
    ("noise", "effort", "init", "sweeps"),
    [
        (Asymmetric(), 0.0, "data", 60),
        (Asymmetric(), 1.0, "data", 100),  # there may be one round only
        (Asymmetric(), 1.0, "random", 60),
        (ActivityModel(), 0.0, "data", 210),
        (ActivityModel(), 1.0, "data", 210 + 5 * 55 + 115),
    ],
)
def test_the_forecast_knows_of_heating(noise: NoiseModel, effort: float, init: str, sweeps: int) -> None:
    plan = Plan(Target(2, noise, LearnedPrior(), np.uint64(0)), 10, init=init, effort=effort)
    assert f"at least {sweeps} sweeps" in forecast_run(DenseTensor(np.eye(3)), plan, 1, 1, 6.0)


def test_without_a_terminal_a_long_run_is_announced_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "tensorm"), watching(2, True, make_forecast(n_draws=10_000)) as watch:
        for chain in (1, 2, 1, 2, 2):  # the first is done already
            watch(make_step(chain, "burn-in", 1, None))
            time.sleep(0.02)
    assert [("12 MB" in record.message) for record in caplog.records] == [True]


def test_the_last_step_is_always_shown(terminal: Terminal) -> None:
    with watching(1, shown=True) as watch:
        for done in range(1, 41):  # too fast for all to be drawn
            watch(make_step(0, "draws", done, 40))
    assert shows(terminal, "40/40")


def test_chains_may_report_from_their_own_threads(terminal: Terminal) -> None:
    with watching(4, shown=True) as watch:
        threads = [
            threading.Thread(target=lambda c=c: [watch(make_step(c, "draws", n, 50)) for n in range(51)])
            for c in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert terminal.getvalue().count("50/50") >= 4


def test_the_bars_are_gone_at_the_end(terminal: Terminal) -> None:
    with watching(1, shown=True) as watch:
        watch(make_step(0, "draws", 1, 1))
    assert terminal.getvalue().endswith("\x1b[1A\x1b[2K")  # up, and the line erased


def test_quiet_when_not_wanted(terminal: Terminal) -> None:
    with watching(2, shown=False) as watch:
        watch(make_step(0, "draws", 1, 2))
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("force_color", [None, "1"])
def test_quiet_when_not_on_a_terminal(
    force_color: str | None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if force_color:
        monkeypatch.setenv("FORCE_COLOR", force_color)
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    with watching(2, shown=True) as watch, announcing_compilation(shown=True, after=0.0):
        watch(make_step(0, "draws", 1, 2))
        time.sleep(0.05)
    assert pipe.getvalue() == ""
    assert capfd.readouterr() == ("", "")


def test_an_error_is_not_held_back(terminal: Terminal) -> None:
    with pytest.raises(RuntimeError, match="broke"), watching(1, shown=True):
        raise RuntimeError("broke")
    with pytest.raises(RuntimeError, match="broke"), announcing_compilation(shown=True):
        raise RuntimeError("broke")
    assert comes(lambda: not timers())


def timers() -> list[threading.Timer]:
    return [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def comes(what: Callable[[], bool]) -> bool:
    """Wait for something that other threads do, however busy the machine is."""
    end = time.monotonic() + 60
    while not what() and time.monotonic() < end:
        time.sleep(0.01)
    return what()


def test_compiling_is_announced_when_it_takes_long(terminal: Terminal) -> None:
    with announcing_compilation(shown=True, after=0.01):
        assert comes(lambda: shows(terminal, COMPILING))


def test_compiling_is_not_announced_when_it_is_quick(terminal: Terminal) -> None:
    with announcing_compilation(shown=True, after=60):
        pass
    assert comes(lambda: not timers())  # none is left that might say so
    assert terminal.getvalue() == ""


def test_compiling_is_logged_where_there_is_no_terminal(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="tensorm"), announcing_compilation(shown=False, after=0.01):
        assert comes(lambda: caplog.messages == [COMPILING])
