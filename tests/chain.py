"""Long runs of the sampler for the tests of exactness, and honest errors of means over their draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tensorm.model import Confusion
from tensorm.sampler.sample import Plan, Snapshot, sample
from tensorm.sampler.sweep import Target, random_factors, start
from tensorm.sampler.two_rates import PAPERS_RATES, Rates, TwoRates
from tensorm.tensors import Tensor
from tensorm.tensors.bits import unpack

BURN_IN = 200


@dataclass(frozen=True)
class GivenNoise(TwoRates):
    """A noise model that is not updated: the rates are known."""

    noise: Rates = PAPERS_RATES

    def start(self, shape: Any, n_components: int) -> Rates:
        return self.noise

    def draw(self, confusion: Confusion, noise: Rates, u: Any) -> Rates:
        return self.noise

    fit = log_prior = log_marginal = None


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
