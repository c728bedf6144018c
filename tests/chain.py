"""Long runs of the sampler for the tests of exactness, and honest errors of means over their draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tensorm.model import Confusion
from tensorm.sampler.sample import Plan, Snapshot, sample
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, random_factors, start, sweep
from tensorm.sampler.two_rates import PAPERS_RATES, Rates, TwoRates
from tensorm.tensors import Tensor
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors

BURN_IN = 200


@dataclass(frozen=True)
class GivenNoise(TwoRates):
    """A noise model that is not updated: the rates are known."""

    noise: Rates = PAPERS_RATES

    def start(self, shape: Any, n_components: int) -> Rates:
        return self.noise

    def draw(self, confusion: Confusion, noise: Rates, u: Any) -> Rates:
        return self.noise

    fit = log_marginal = None


class Draws(NamedTuple):
    masks: np.ndarray  # (draws, rows of all modes), the first words
    noise: np.ndarray  # (draws, 2)
    density: np.ndarray  # (draws, K)

    def factors(self, L: int) -> np.ndarray:
        """Entries (draws, rows of all modes, L)."""
        return unpack(self.masks[..., None], L)


def run(tensor: Tensor, model: Target, n_sweeps: int, chain: int = 0) -> Draws:
    """The states after burn-in, one per sweep."""
    saved = Snapshot(start(model, random_factors(tensor, model, chain)))
    steps = sample(tensor, Plan(model, n_sweeps, BURN_IN, init="random"), chain, saved)
    states = [step.state for step in steps if step.phase == "draws"]
    return Draws(
        np.array([np.concatenate(state.factors)[:, 0] for state in states]),
        np.array([state.noise for state in states]),
        np.array([state.density for state in states]),
    )


def batch_means(values: np.ndarray, n_batches: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """The mean of correlated draws along the first axis, and its standard error from means of batches."""
    size = len(values) // n_batches
    means = values[: size * n_batches].reshape(n_batches, size, *values.shape[1:]).mean(axis=1)
    return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(n_batches)


def z_scores(values: np.ndarray, expected: Any, error: Any = 0.0) -> np.ndarray:
    """How far means of correlated draws lie from what is expected (known within ``error``)."""
    mean, own_error = batch_means(values)
    return (mean - expected) / np.hypot(own_error, error)


def disturb(factors: Factors, L: int, rng: np.random.Generator, rows: int) -> Factors:
    """Factors with an entry flipped in some rows of some modes, as burn-in may do it."""
    new = [masks.copy() for masks in factors]
    for k in rng.permutation(len(new))[: rng.integers(1, len(new) + 1)]:
        for n in rng.integers(len(new[k]), size=rows):
            l = int(rng.integers(L))
            new[k][n, l // 64] ^= np.uint64(1) << np.uint64(l % 64)
    return Factors(tuple(new), L)


def sweep_both(keeping: Tensor, plain: Tensor, state: State, model: Target) -> State:
    """Compare a sweep of both tensors, and return the state after it."""
    (found, counts), (expected, expected_counts) = (
        sweep(tensor, state, model, 0) for tensor in (keeping, plain)
    )
    for a, b in zip(found.factors, expected.factors, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (found[1:], counts) == (expected[1:], expected_counts)
    return expected
