"""Cross-validation: hide some of the observed cells, fit the rest, and score the predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorm.data.arrays import Bits, Floats, Indices
from tensorm.sampler.chains import Bookmark
from tensorm.sampler.sample import DRAWS, Plan, Snapshot, Stop, Watch, sample
from tensorm.sampler.search.region import FIRST_SEARCH, SearchSize, choose_region
from tensorm.sampler.state import State
from tensorm.sampler.sweep import Target
from tensorm.selection.bookmarks import mark_place, read_count, read_snapshot
from tensorm.tensors import Tensor
from tensorm.tensors.held_cells import check_share

LARGEST_WHOLE = 2**27  # cells up to which a tensor is split as a whole; of a larger one a part is taken
HOLDOUT_DRAWS = 100


class Holdout(NamedTuple):
    """How cells are held out, and their predictions scored."""

    test_size: float
    symmetric: Any
    scoring: str = "log_likelihood"


class Split(NamedTuple):
    """Cells to fit, and cells to predict."""

    train: Tensor
    cells: tuple[Indices, ...]  # K index arrays
    ones: Bits  # their values


def split_cells(
    tensor: Tensor, test_size: float, symmetric: tuple[int, int] | None, rng: np.random.Generator
) -> Split:
    """Hold out a share of the observed cells; every index of every mode keeps one (tensors/held_cells.py)."""
    pair = tensor.pair or symmetric
    if math.prod(tensor.shape) > LARGEST_WHOLE:
        part = choose_part(tensor, pair, rng, FIRST_SEARCH)
        tensor = tensor if part is None else tensor.take(part).tied(tensor.pair)
    train, cells, values = tensor.split(check_share(test_size), rng, pair)
    return Split(train, tuple(cells.T), values)


def choose_part(
    tensor: Tensor, pair: tuple[int, int] | None, rng: np.random.Generator, size: SearchSize
) -> list[Indices] | None:
    """Return the indices of a part that is small enough, or None for the whole."""
    return tensor.choose_part(lambda: choose_region(tensor, rng, size).indices, pair)


def predict_held_out(
    split: Split,
    state: State,
    target: Target,
    chain: int,
    watch: Watch,
    stop: Stop,
    n_draws: int = HOLDOUT_DRAWS,
    burn_in: int = 0,
    bookmark: Bookmark | None = None,
) -> Floats:
    """Return P(x = 1) of the held-out cells, averaged over draws that follow a state (eq. 7).

    Sweeps before the number ``burn_in`` are left out.
    """
    p, left, bookmark = np.zeros(len(split.ones)), n_draws, bookmark or Bookmark()

    def go_on(form: Any) -> Snapshot:
        nonlocal p, left
        p, left = read_chances(form["p"], split.ones), read_count(form["left"], n_draws)
        return read_snapshot(form, split.train, target, max(state.sweep, burn_in) + n_draws - left)

    saved = bookmark.open(go_on) or Snapshot(state)
    plan = Plan(target, left, burn_in, "random")  # nothing is searched for
    for step in sample(split.train, plan, chain, saved, watch, stop):
        if step.phase == DRAWS:
            p = p + step.state.noise.predict(step.state.factors, split.cells) / n_draws
            left -= 1
        mark_place(bookmark, step.snapshot, target, p=p, left=left)
    return p


def read_chances(form: Any, ones: Bits) -> Floats:
    """Return predictions that were kept as a list; raises ValueError or such if they are none."""
    p = np.array(form, np.float64)
    if p.shape != ones.shape or not ((p >= 0) & (p < 1.01)).all():
        raise ValueError("no predictions")
    return p


def chances(ones: Bits, p: Floats) -> Floats:
    """Return the probability of each cell's own value, given those that they are 1."""
    return np.clip(np.where(ones, p, 1 - p), 1e-12, 1)


def score_held_out(ones: Bits, p: Floats) -> dict[str, float]:
    """Return log-likelihood and accuracy per held-out cell, and the number of these cells."""
    return {
        "log_likelihood": float(np.log(chances(ones, p)).mean()),
        "accuracy": float(((p > 0.5) == ones).mean()),
        "cells": float(len(ones)),
    }


def standard_errors(scores: Floats, test_size: float) -> Floats:
    """Return the standard errors of means over repeats.

    Repeats share cells, so their spread alone would make the errors too small: Nadeau and Bengio's
    correction adds the ratio of the held-out cells to the fitted ones.
    """
    repeats = len(scores)
    if repeats < 2:
        return np.full(scores.shape[1], np.nan)
    return np.std(scores, axis=0, ddof=1) * math.sqrt(1 / repeats + test_size / (1 - test_size))


def fewest_within_error(
    scores: Floats, test_size: float, cells: float, candidates: Sequence[int]
) -> tuple[int, int]:
    """Return the best candidate by its mean score, and the smallest one that is as good.

    As good means within one standard error of the difference, or within one unit of log-likelihood (one cell
    of accuracy) over all held-out cells: candidates that start from each other may differ by next to nothing,
    and by the same in every split.

    Parameters
    ----------
    scores : ndarray (repeats, candidates)
        Per held-out cell.
    test_size : float
        Share of the cells held out.
    cells : float
        Their number.
    candidates : sequence of int
    """
    means = scores.mean(axis=0)
    best = int(means.argmax())
    errors = standard_errors(scores[:, [best]] - scores, test_size)
    room = np.maximum(np.nan_to_num(errors), 1 / cells)
    return candidates[best], candidates[int(np.argmax(means[best] - means <= room))]
