"""R-hat and effective sample sizes: arviz-stats where something moves, names where nothing does."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from arviz_stats.base import array_stats

from posteriors import make_trace
from tensorm.posterior import convergence
from tensorm.posterior.convergence import (
    Mixing,
    _measure_worst,
    assess,
    assess_entries,
    entry_draws,
    entry_ess,
    entry_rhat,
    measure,
)
from tensorm.sampler.state import Trace


def noise(n_chains, n_draws, seed=0, shift=0.0):
    draws = np.random.default_rng(seed).normal(size=(n_chains, n_draws))
    return draws + shift * np.arange(n_chains)[:, None]


def entries(n_chains, n_draws, n, seed=0, stay=0.8):
    """Binary chains that stay as they are with some probability."""
    rng = np.random.default_rng(seed)
    stays = rng.random((n_chains, n_draws, n)) < stay
    values = rng.random((n_chains, n_draws, n)) < 0.4
    for s in range(1, n_draws):
        values[:, s] = np.where(stays[:, s], values[:, s - 1], values[:, s])
    return values


def trace_of(bits, L, length=None) -> Trace:
    """A chain whose mode 0 has the entries (draws, N * L), and whose mode 1 never changes."""
    draws = bits.reshape(len(bits), -1, L)
    return make_trace([[draw, np.ones((2, L), bool)] for draw in draws[:length]], (0.8, 0.1), 0.9)


@pytest.mark.parametrize("shape", [(4, 250), (2, 101), (4, 4), (7, 33)])
def test_numbers_are_arvizs(shape) -> None:
    draws = noise(*shape, shift=0.2)
    found = measure("x", draws)
    assert (found.name, found.state) == ("x", "moving")
    assert found.rhat == array_stats.rhat(draws, chain_axis=0, draw_axis=1, method="rank")
    assert found.ess == array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk")
    tail = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="tail", prob=(0.05, 0.95))
    assert found.ess_tail == tail


def test_chains_apart_have_a_large_rhat() -> None:
    assert measure("x", noise(4, 200)).rhat < 1.02
    assert measure("x", noise(4, 200, shift=1.0)).rhat > 1.3


def test_what_does_not_move_has_a_name_and_no_number() -> None:
    constant = np.full((4, 50), 0.3)
    assert measure("x", constant) == Mixing("x", "constant")
    stuck = constant + np.arange(4)[:, None]
    assert measure("x", stuck) == Mixing("x", "stuck")
    with np.errstate(divide="ignore"):  # what arviz gives
        assert array_stats.rhat(stuck, chain_axis=0, draw_axis=1) > 1e10
    once = np.repeat([[0.0] * 25 + [1.0] * 25], 4, axis=0)  # each half is constant
    assert measure("x", once).state == "stuck"
    assert measure("x", noise(4, 3)).state == "unknown"
    one_moves = constant.copy()
    one_moves[2] = noise(1, 50)[0]
    assert measure("x", one_moves).state == "moving"
    assert 1 < measure("x", one_moves).rhat < convergence.MAX_RHAT


def test_the_middle_draw_alone_is_not_movement() -> None:
    draws = np.zeros((2, 5))
    draws[0, 2] = 1
    assert measure("x", draws).state == "constant"


def test_a_single_chain_is_compared_with_itself() -> None:
    drifting = np.linspace(0, 3, 100)[None] + 0.1 * noise(1, 100)
    assert measure("x", drifting).rhat > 2
    assert measure("x", noise(1, 400)).rhat < 1.05
    assert measure("x", noise(1, 7)).state == "unknown"
    assert measure("x", noise(1, 8)).state == "moving"


def test_noise_and_log_likelihood_are_assessed() -> None:
    traces = [trace_of(entries(1, 40, 6, seed)[0], 3) for seed in range(3)]
    rates = 0.5 + 0.4 * np.random.default_rng(0).random((3, 40, 2)) * [1, -1]
    for trace, noise in zip(traces, rates, strict=True):
        trace.noise[:] = noise
    hit, false_alarm, fit = assess(traces, str)
    assert [row.name for row in (hit, false_alarm, fit)] == [
        "rate of ones inside",
        "rate of ones outside",
        "log-likelihood",
    ]
    assert hit == measure("rate of ones inside", rates[..., 0])
    assert false_alarm == measure("rate of ones outside", rates[..., 1])
    assert fit == measure("log-likelihood", np.array([trace.log_likelihood for trace in traces]))


@pytest.mark.parametrize("stay", [0.0, 0.5, 0.95])
def test_the_plain_rhat_of_an_entry_is_the_rank_normalised_one(stay) -> None:
    draws = entries(4, 120, 30, stay=stay).astype(float)
    ranked = array_stats.rhat(draws, chain_axis=0, draw_axis=1, method="rank")
    np.testing.assert_allclose(entry_rhat(draws), ranked)
    bulk = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk")
    np.testing.assert_allclose(entry_ess(draws), bulk)


def test_entries_are_read_from_packed_draws() -> None:
    bits = entries(3, 20, 5 * 11)
    traces = [trace_of(chain, 11) for chain in bits]
    rows, components = np.array([0, 4, 2, 2]), np.array([10, 0, 7, 8])
    found = entry_draws(traces, 0, rows, components)
    np.testing.assert_array_equal(found, bits.reshape(3, 20, 5, 11)[:, :, rows, components])


def test_entries_are_sorted_into_constant_stuck_and_moving() -> None:
    bits = entries(3, 60, 12, stay=0.9)
    bits[:, :, 0] = True  # the same everywhere
    bits[:, :, 1] = np.array([True, False, False])[:, None]  # a vote of chains
    bits[:, :, 2] = False
    bits[1, 30, 2] = True  # one draw
    found = assess_entries([trace_of(chain, 4) for chain in bits])
    assert (found.total, found.constant, found.stuck, found.examined) == (12 + 8, 1 + 8, 1, 10)
    moving = bits[:, :, 2:].astype(float)
    assert found.rhat == pytest.approx(entry_rhat(moving).max())
    assert found.ess == pytest.approx(entry_ess(moving).min())
    assert found.poor == (entry_rhat(moving) > 1.1).sum() > 0


def test_chains_are_cut_to_the_shortest() -> None:
    bits = entries(3, 60, 6)
    bits[:, :40, 0], bits[2, 40:, 0] = True, False  # changes after the cut only
    cut = [trace_of(bits[0], 3), trace_of(bits[1], 3, length=40), trace_of(bits[2], 3)]
    assert assess_entries(cut).constant == 1 + 6
    assert assess_entries(cut) == assess_entries([trace_of(chain[:40], 3) for chain in bits])
    assert assess_entries(cut) != assess_entries([trace_of(chain, 3) for chain in bits])
    assert len(assess(cut, str)) == 3


def test_many_entries_are_sampled_evenly(monkeypatch) -> None:
    monkeypatch.setattr(convergence, "MAX_ENTRIES", 10)
    bits = entries(2, 30, 64)
    bits[:, :, -1] = False
    bits[1, -15:, -1] = True  # the worst is the last of all
    bits[0, -1, -1] = True
    found = assess_entries([trace_of(chain, 4) for chain in bits])
    assert found.examined == 10
    assert found.rhat == pytest.approx(entry_rhat(bits[:, :, -1:].astype(float))[0])


def test_a_change_half_way_is_a_large_number_not_infinity() -> None:
    bits = np.zeros((2, 20, 1), bool)
    bits[0, 10:] = True
    assert entry_rhat(bits.astype(float))[0] == convergence.MAX_RHAT
    middle = np.zeros((2, 21, 1))
    middle[0, 10] = 1
    assert entry_rhat(middle)[0] == 1


def test_too_few_draws() -> None:
    bits = entries(3, 3, 6)
    found = assess_entries([trace_of(chain, 3) for chain in bits])
    assert (found.examined, found.rhat, found.ess) == (0, None, None)
    np.testing.assert_array_equal(entry_ess(bits.astype(float)), [3] * 6)


def test_arviz_itself_is_never_imported() -> None:
    code = "import sys, numpy; from tensorm.posterior.convergence import measure; "
    code += "print('arviz_stats' in sys.modules); "
    code += (
        "measure('x', numpy.random.rand(2, 9)); print('arviz_stats' in sys.modules, 'arviz' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True", "False"]


def test_the_worst_of_many_quantities_is_that_of_a_loop() -> None:
    """Some constant, some stuck, some that take few values, chains of any number and length."""
    rng, states = np.random.default_rng(0), set()
    for turn in range(40):
        c, s, n = (int(rng.integers(low, high)) for low, high in ((1, 5), (2, 60), (1, 20)))
        draws = rng.normal(size=(c, s, n)) + rng.normal(size=(c, 1, n)) * rng.random()
        for i, kind in enumerate(rng.integers(5, size=n) * (turn > 2)):  # the first few are constant
            if kind == 0:
                draws[:, :, i] = 1.0
            elif kind == 1 and turn % 3 == 0:
                draws[:, :, i] = np.arange(c)[:, None]
            elif kind == 2:
                draws[:, :, i] = np.round(draws[:, :, i])
        each = [measure("", draws[:, :, i]) for i in range(n)]
        worst = max(range(n), key=lambda i: (each[i].state == "stuck", each[i].rhat or 0.0))
        assert repr(_measure_worst(draws)) == repr((worst, each[worst]))
        states.add(each[worst].state)
    assert states == {"moving", "stuck", "constant", "unknown"}
