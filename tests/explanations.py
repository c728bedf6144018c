"""Explanations to search and to improve."""

from __future__ import annotations

import numpy as np

from tensorm.datasets import simulate
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric
from tensorm.tensors import DenseTensor
from tensorm.tensors.factors import Factors


def make_model(L: int, noise=None, prior=None) -> Target:
    return Target(L, noise or Asymmetric(), prior or LearnedPrior(), np.uint64(1))


def make_explanation(X: np.ndarray, factors: list[np.ndarray], **parts) -> Explanation:
    model = make_model(factors[0].shape[1], **parts)
    return Explanation(DenseTensor(X), model, Factors.from_bits(factors))


def small_explanation() -> Explanation:
    sim = simulate((7, 6, 5), rank=3, density=0.4, noise=0.1, missing=0.2, random_state=1)
    return make_explanation(sim.observed, sim.factors)
