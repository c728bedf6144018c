"""Cross-validation: hide some of the observed cells, fit the rest, and score what is predicted for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.sampler.search.region import START, choose_region
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target, sweep
from tensorm.tensors import SymmetricTensor, Tensor
from tensorm.tensors.bits import Bits
from tensorm.tensors.choosing import check_share
from tensorm.tensors.holdout import check_symmetric

Floats = npt.NDArray[np.float64]

LARGEST = 2**27  # cells of a tensor that is split as a whole; of a larger one a part is
N_DRAWS = 100


class Split(NamedTuple):
    """A tensor in two parts: cells to fit, and cells to predict."""

    train: Tensor
    cells: tuple[npt.NDArray[np.intp], ...]  # K index arrays
    ones: Bits  # their values


def split_cells(tensor: Tensor, test_size: float, symmetric: Any, rng: np.random.Generator) -> Split:
    """Hold out a share of the observed cells; every index of every mode keeps one (tensors/choosing.py)."""
    pair = tensor.pair or check_symmetric(symmetric, tensor.modes, tensor.shape)
    if math.prod(tensor.shape) > LARGEST and not (tensor.lists_observed and pair is None):
        tensor = _take_part(tensor, pair, rng)
    train, cells, values = tensor.split(check_share(test_size), rng, pair)
    return Split(train, tuple(cells.T), values)


def _take_part(tensor: Tensor, pair: tuple[int, int] | None, rng: np.random.Generator) -> Tensor:
    """Return a part that is small enough; cells that mirror each other are both in it, or neither is."""
    part = choose_region(tensor, rng, START).indices
    if part is None:
        return tensor
    mirrored = pair or tensor.mirrored
    if mirrored is not None:
        part[mirrored[1]] = part[mirrored[0]]
    small = tensor.take(part)
    return small if tensor.pair is None else SymmetricTensor(small, tensor.pair)


def predict_held_out(
    split: Split, state: State, target: Target, chain: int, stop: Callable[[], bool], n_draws: int = N_DRAWS
) -> Floats:
    """Return P(x = 1) of the cells held out, averaged over draws that go on from a state (eq. 7)."""
    p = np.zeros(len(split.ones))
    for _ in range(n_draws):
        if stop():
            break
        state, info = sweep(split.train, state, target, chain)
        hit, false_alarm = info.noise
        p += np.where(state.factors.covers(split.cells), hit, false_alarm) / n_draws
    return p


def score_held_out(ones: Bits, p: Floats) -> dict[str, float]:
    """Return log-likelihood and accuracy per cell held out, and the number of these cells."""
    chance = np.clip(np.where(ones, p, 1 - p), 1e-12, 1)
    return {
        "log_likelihood": float(np.log(chance).mean()),
        "accuracy": float(((p > 0.5) == ones).mean()),
        "cells": float(len(ones)),
    }


def paired_errors(scores: Floats, best: int, test_size: float) -> Floats:
    """Return the standard errors of the differences to the best candidate, from scores (repeats, candidates).

    Repeats share cells, so their spread alone would make the errors too small: Nadeau and Bengio's
    correction adds the ratio of the cells held out to the cells fitted.
    """
    return standard_errors(scores[:, [best]] - scores, test_size)


def standard_errors(scores: Floats, test_size: float) -> Floats:
    """Return the standard errors of means over repeats, corrected for the cells that repeats share."""
    repeats = len(scores)
    if repeats < 2:
        return np.full(scores.shape[1], np.nan)
    return np.std(scores, axis=0, ddof=1) * math.sqrt(1 / repeats + test_size / (1 - test_size))


def fewest_within_error(
    scores: Floats, test_size: float, cells: float, candidates: Sequence[int]
) -> tuple[int, int]:
    """Return the best candidate by its mean score, and the smallest one that is as good.

    As good is within one standard error of the difference, or within one unit of log-likelihood (one cell of
    accuracy) over all cells held out: candidates that start from each other may differ by next to nothing,
    and by the same in every split.

    Parameters
    ----------
    scores : ndarray (repeats, candidates)
        Per cell held out.
    test_size : float
        Share of the cells held out.
    cells : float
        Their number.
    candidates : sequence of int
    """
    means = scores.mean(axis=0)
    best = int(means.argmax())
    room = np.maximum(np.nan_to_num(paired_errors(scores, best, test_size)), 1 / cells)
    return candidates[best], candidates[int(np.argmax(means[best] - means <= room))]
