"""Kernels check nothing: what does not fit ends in one sentence before any of them sees it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from makers import Kind
from problems import make_problem
from tensorm.errors import InputError
from tensorm.tensors import GIBBS, Rule, Stream, Tensor, Weights
from tensorm.tensors.factors import Factors

STREAM = Stream(np.uint64(0), 0, 0, 0)
RULE = Rule(np.arange(2), GIBBS, Weights(1.0, 1.0), np.zeros((1, 1)))


def whole(tensor: Tensor, **changes: np.ndarray) -> list[np.ndarray]:
    """All indices, but for those of some modes."""
    return [changes.get(f"mode{k}", np.arange(size)) for k, size in enumerate(tensor.shape)]


BAD: dict[str, tuple[Callable[[Tensor, Factors], object], str]] = {
    "index too large": (
        lambda t, f: t.take(whole(t, mode1=np.array([0, 99]))),
        "mode 1 has values from 0 to 99",
    ),
    "index below 0": (
        lambda t, f: t.take(whole(t, mode2=np.array([-1]))),
        "mode 2 has values from -1",
    ),
    "index of cells": (
        lambda t, f: t.read_cells(whole(t, mode0=np.array([-5]))),
        "mode 0 has values from -5",
    ),
    "index not whole": (lambda t, f: t.take(whole(t, mode0=np.array([0.5]))), "mode 0 has .* dtype float64"),
    "table of indices": (lambda t, f: t.take(whole(t, mode0=np.zeros((2, 2), int))), "mode 0 has shape"),
    "too few modes": (lambda t, f: t.take([np.array([0])]), "indices is .*; give 3 arrays"),
    "rank too large": (lambda t, f: t.ones_at(np.array([10**6])), "ranks has values from 1000000 to"),
    "rank below 0": (lambda t, f: t.ones_at(np.array([-1])), "ranks has values from -1"),
    "mode": (lambda t, f: t.counts(3, f), "mode is 3; give a number from 0 to 2"),
    "mode below 0": (lambda t, f: t.update_factor(-1, f, RULE, STREAM), "mode is -1; give"),
    "component": (
        lambda t, f: t.counts(0, f, [0, 2]),
        "components has values from 0 to 2; give",
    ),
    "component below 0": (lambda t, f: t.counts(0, f, [-1]), "components has values from -1"),
    "row": (lambda t, f: t.counts(0, f, None, np.array([99])), "rows has values from 99"),
    "row of update": (
        lambda t, f: t.update_factor(0, f, RULE, STREAM, np.array([-1])),
        "rows has values",
    ),
    "shape of a prior": (
        lambda t, f: t.update_factor(0, f, RULE._replace(prior=np.zeros((3, 1))), STREAM),
        r"prior has shape \(3, 1\); give",
    ),
    "size of a factor": (lambda t, f: t.confusion(f.replace(1, f[1][:-1].copy())), "factors has sizes"),
    "sizes in counts": (lambda t, f: t.counts(0, f.replace(2, f[2][:1].copy())), "factors has sizes"),
    "sizes in an update": (
        lambda t, f: t.update_factor(0, f.replace(0, f[0][:1].copy()), RULE, STREAM),
        "factors has sizes",
    ),
    "number of factors": (lambda t, f: t.confusion(Factors(f.masks[:2], 2)), "factors has sizes"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit(kind: Kind, name: str) -> None:
    tensor, problem = kind.store(make_problem((4, 5, 6), 2, 0, 0.2, 0.5))
    call, sentence = BAD[name]
    with pytest.raises(InputError, match=sentence):
        call(tensor, problem.masks)


@pytest.mark.parametrize(
    ("masks", "sentence"),
    [
        (np.full((4, 1), 4, np.uint64), "members of components beyond the last, number 1"),
        (np.full((4, 1), 2**63, np.uint64), "members of components beyond the last, number 1"),
        (np.zeros((4, 2), np.uint64), "shape (4, 2) and dtype uint64; give uint64 words (N, 1)"),
        (np.zeros((4, 1)), "shape (4, 1) and dtype float64; give uint64 words (N, 1)"),
        (np.zeros(4, np.uint64), "shape (4,) and dtype uint64; give uint64 words (N, 1)"),
    ],
)
def test_masks_have_no_other_components(masks: np.ndarray, sentence: str) -> None:
    frozen = masks.copy()
    frozen.flags.writeable = False
    for given in (masks, frozen):
        with pytest.raises(InputError, match=re.escape(sentence)):
            Factors((given,), 2)
        with pytest.raises(InputError, match=re.escape(sentence)):
            Factors.empty((3, 4), 2).replace(1, given)


def test_factors_of_different_widths() -> None:
    with pytest.raises(InputError, match="A factor has"):
        Factors.from_bits([np.ones((2, 2), bool), np.ones((3, 3), bool)])
