"""Permuting the rows, modes or components of what is given permutes the posterior.

Random numbers belong to rows and components, so a permuted run is another run: its posterior means must
agree within the error of both. What takes no random numbers is compared bit for bit in tests/contract.
Every entry has a prior of its own, so that no two components, rows or modes mean the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from chain import batch_means, run
from tensorm.sampler.prior import FixedPrior
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric
from tensorm.tensors import DenseTensor

L, N_SWEEPS = 3, 6000
ROWS, MODES, COMPONENTS = [(2, 0, 1), (3, 0, 2, 1), (1, 4, 3, 0, 2)], (2, 0, 1), (1, 2, 0)


class Given(NamedTuple):
    cells: np.ndarray
    priors: list[np.ndarray]


def given() -> Given:
    rng = np.random.default_rng(4)
    cells = (rng.random((3, 4, 5)) < 0.5).astype(float)
    cells[rng.random(cells.shape) < 0.1] = np.nan
    return Given(cells, [rng.uniform(0.1, 0.9, (N, L)) for N in cells.shape])


def permute(what: str, data: Given) -> Given:
    cells, priors = data
    if what == "rows":
        return Given(
            cells[np.ix_(*ROWS)], [prior[list(order)] for prior, order in zip(priors, ROWS, strict=True)]
        )
    if what == "modes":
        return Given(cells.transpose(MODES), [priors[k] for k in MODES])
    return Given(cells, [prior[:, COMPONENTS] for prior in priors])


def permute_means(what: str, means: list[np.ndarray]) -> list[np.ndarray]:
    """What the permutation makes of something that each entry has."""
    return permute(what, Given(given().cells, means)).priors


def posterior(data: Given, chain: int) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray, np.ndarray]:
    """Means and errors of the entries of each factor, then of the noise."""
    model = Target(L, Asymmetric(), FixedPrior.from_probabilities(data.priors), np.uint64(6))
    draws = run(DenseTensor(data.cells), model, N_SWEEPS, chain)
    means, errors = batch_means(draws.factors(L))
    ends = np.cumsum(data.cells.shape)[:-1]
    return np.split(means, ends), np.split(errors, ends), *batch_means(draws.noise)


@cache
def original() -> Any:
    return posterior(given(), 0)


@pytest.mark.parametrize("what", ["rows", "modes", "components"])
def test_a_permuted_input_has_the_permuted_posterior(what: str) -> None:
    means, errors, noise, noise_error = original()
    new_means, new_errors, new_noise, new_noise_error = posterior(permute(what, given()), 1)

    def scores(old: list[np.ndarray], old_errors: list[np.ndarray]) -> np.ndarray:
        triples = zip(new_means, old, new_errors, old_errors, strict=True)
        return np.concatenate([((a - b) / np.hypot(c, d)).ravel() for a, b, c, d in triples])

    z = scores(permute_means(what, means), permute_means(what, errors))
    z = np.append(z, (new_noise - noise) / np.hypot(new_noise_error, noise_error))
    assert np.abs(z).max() < 4.5
    if what != "modes":  # or there was nothing to permute
        assert np.abs(scores(means, errors)).max() > 20
