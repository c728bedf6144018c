"""Which noise model: strengths where they predict hidden cells clearly better than two rates do.

A fifth of the cells is hidden. One chain searches the rest for components with two rates, without heating,
and is then sampled on with either model, so that only the noise differs. Strengths are chosen if they make
the hidden cells at least 1,000 times as probable. Where the noise is that of two rates they hardly ever do;
with real data they nearly always do (docs/decisions/0021-noise-by-hidden-cells.md). How to add a
noise model: sampler/parameters.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tensorm.errors import InputError
from tensorm.posterior.align import NEGLIGIBLE
from tensorm.sampler.sample import Plan, Snapshot, Watch, sample
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target
from tensorm.selection.validation import Floats, Split, predict_held_out, split_cells
from tensorm.tensors.protocol import Tensor

HIDDEN = 0.2  # share of the cells
CELLS, MOST_SPLITS = 1500, 5  # a small tensor is split again until so many cells were hidden
N_DRAWS = 50
MOST_ONES = 2**22  # beyond, strengths would take long: their time goes with the ones
N_COMPONENTS = 10  # where their number is yet to be chosen
TRYING = "noise"


class NoiseChoice(NamedTuple):
    """Whether components get strengths, and a sentence that says why."""

    strong: bool
    reason: str

    @classmethod
    def decode(cls, form: Any) -> NoiseChoice:
        """Return a choice that was kept as a list; raises ValueError if it is none."""
        strong, reason = form
        if type(strong) is not bool or type(reason) is not str:
            raise ValueError("no choice")
        return cls(strong, reason)


def two_rates(target: Target) -> Target:
    """Return a target with two rates in place of strengths, or with the noise that it has."""
    return replace(target, noise=target.noise.stand_in)


def has_choice(tensor: Tensor, target: Target) -> bool:
    """Whether this kind of tensor takes strengths."""
    try:
        target.noise.hold(tensor)
    except InputError:
        return False
    return True


def choose_noise(tensor: Tensor, target: Target, watch: Watch = lambda step: None) -> NoiseChoice:
    """Choose between the noise model of a target, which has strengths, and its stand-in of two rates."""
    if not has_choice(tensor, target):
        return NoiseChoice(False, "Two rates of ones: strengths are not available for this kind of tensor.")
    if tensor.n_ones > MOST_ONES:
        few = f"strengths are only tried with up to {MOST_ONES:,} ones, and X has {tensor.n_ones:,}"
        return NoiseChoice(False, f"Two rates of ones: {few}.")
    rng, gains = np.random.default_rng([int(target.seed), 4]), np.zeros(0)
    for _ in range(MOST_SPLITS):
        try:
            split = split_cells(tensor, HIDDEN, None, rng)
        except InputError:
            return NoiseChoice(False, "Two rates of ones: there are too few cells to hide any.")
        tried = _try_both(split, target, lambda step: watch(step._replace(phase=TRYING)))
        gains = np.append(gains, tried)
        if len(gains) >= CELLS:
            break
    gain, error = float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))
    told = f"{'raise' if gain > 0 else 'lower'} the mean log probability of hidden cells by {abs(gain):.4f}"
    if gains.sum() > NEGLIGIBLE:
        return NoiseChoice(True, f"Strengths were chosen: they {told} ± {error:.4f}.")
    return NoiseChoice(False, f"Two rates of ones are enough: strengths {told} ± {error:.4f}.")


def _try_both(split: Split, target: Target, watch: Watch) -> Floats:
    """Return by how much the log probability of each hidden cell rises with strengths."""
    start = _burn_in(split, Plan(two_rates(target), 0), None, watch)
    # Two rates get as many more sweeps as strengths need, so that nobody gains by having searched longer.
    strong = _burn_in(split, Plan(target, 0, init="random"), start, watch)
    plain = _burn_in(split, Plan(two_rates(target), 0, strong.sweep, "random"), start, watch)
    return _predict(split, strong, target, watch) - _predict(split, plain, two_rates(target), watch)


def _burn_in(split: Split, plan: Plan, start: State | None, watch: Watch) -> State:
    """Return the state of a chain after burn-in; one that has a start is not repaired."""
    *_, last = sample(split.train, plan, 0, None if start is None else Snapshot(start), watch)
    return last.state


def _predict(split: Split, state: State, target: Target, watch: Watch) -> Floats:
    """Return the log probability of each hidden cell, by the draws that follow a state."""
    p = predict_held_out(split, state, target, 0, watch, lambda: False, N_DRAWS)
    return np.log(np.clip(np.where(split.ones, p, 1 - p), 1e-12, 1))
