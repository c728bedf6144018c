"""The evidence of sets of components, what a component is worth, and what is removed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import betaln

from tensorm import datasets
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.sweep import Target
from tensorm.sampler.two_rates import Asymmetric
from tensorm.selection.occam import (
    add_empty,
    find_components,
    keep_components,
    list_stages,
    log_evidence,
    prune,
    remove_in_turn,
    worths,
)
from tensorm.tensors import DenseTensor
from tensorm.tensors.factors import Factors

SIM = datasets.simulate((14, 12, 10), rank=3, density=0.3, noise=0.1, missing=0.1, random_state=2)


def explanation(factors: list[np.ndarray]) -> Explanation:
    model = Target(factors[0].shape[1], Asymmetric(), LearnedPrior(), np.uint64(0))
    return Explanation(DenseTensor(SIM.observed), model, Factors.from_bits(factors))


def naive_evidence(factors: list[np.ndarray]) -> float:
    """Log of n! p(X, F | n), every integral a Beta function; components that cover nothing do not count."""
    used = np.logical_and.reduce([factor.any(axis=0) for factor in factors])
    factors = [factor[:, used] for factor in factors]
    inside = np.einsum("al,bl,cl->abc", *(factor.astype(int) for factor in factors)) > 0
    observed = ~np.isnan(SIM.observed)
    value = math.lgamma(used.sum() + 1)
    for part in (inside & observed, ~inside & observed):
        ones = np.nansum(SIM.observed[part])
        value += betaln(1 + ones, 1 + part.sum() - ones)
    return value + sum(betaln(1 + f.sum(), 1 + f.size - f.sum()) for f in factors)


def with_columns(factors: list[np.ndarray], *more: list[np.ndarray]) -> list[np.ndarray]:
    return [np.column_stack([f, *(columns[k] for columns in more)]) for k, f in enumerate(factors)]


def test_worth_is_the_fall_of_the_evidence():
    junk = [np.arange(size) == 2 for size in SIM.noise_free.shape]
    factors = with_columns(SIM.factors, junk)
    full = naive_evidence(factors)
    assert log_evidence(explanation(factors)) == pytest.approx(full)
    without = [naive_evidence([np.delete(f, l, axis=1) for f in factors]) for l in range(4)]
    assert worths(explanation(factors)) == pytest.approx(full - np.array(without))


def test_only_one_of_two_alike_is_taken_out():
    twice = with_columns(SIM.factors, [factor[:, 0] for factor in SIM.factors])
    both = worths(explanation(twice))
    assert both[0] < 0
    assert both[3] < 0
    assert remove_in_turn(explanation(twice), np.array([0, 3])).tolist() == [1, 2, 3]
    assert remove_in_turn(explanation(twice), np.array([3, 0])).tolist() == [0, 1, 2]
    assert prune(explanation(twice)).target.n_components == 3


def test_the_evidence_peaks_at_the_planted_number_on_the_way_down():
    junk = [np.arange(size) < 1 for size in SIM.noise_free.shape]
    stages = list_stages(add_empty(explanation(with_columns(SIM.factors, junk)), 2))
    assert [stage.n_components for stage in stages] == [4, 3, 2, 1]  # empty ones are left out at once
    assert max(stages, key=lambda stage: stage.evidence).n_components == 3
    assert [stage.least > 0 for stage in stages] == [False, True, True, True]


def test_keep_and_widen_keep_the_columns():
    wide = add_empty(explanation(SIM.factors), 2)
    assert wide.target.n_components == 5
    assert wide.unused.tolist() == [3, 4]
    back = keep_components(wide, np.array([2, 0]))
    for bits, factor in zip(back.bits, SIM.factors, strict=True):
        assert np.array_equal(bits, factor[:, [2, 0]])


def test_the_razor_leaves_what_contributes():
    model = Target(8, Asymmetric(), LearnedPrior(), np.uint64(0))
    found = find_components(DenseTensor(SIM.observed), model, chain=0)
    assert found.n_components == 3
    assert found.least > 10
    assert found.evidence >= naive_evidence(SIM.factors) - 1e-6
    assert all(shares.shape[0] >= 3 for shares in found.seen)
    assert all(shares.min() >= 0 and shares.max() <= 1 + 1e-9 for shares in found.seen)


def test_a_chain_goes_on_from_what_it_found_and_keeps_the_better():
    tensor, model = DenseTensor(SIM.observed), Target(6, Asymmetric(), LearnedPrior(), np.uint64(0))
    first = find_components(tensor, replace(model, n_components=2), chain=0)
    found = find_components(tensor, model, chain=0, before=first)
    assert (first.n_components, found.n_components) == (2, 3)
    assert found.evidence > first.evidence
    unbeaten = found._replace(evidence=found.evidence + 100)
    assert find_components(tensor, model, chain=0, before=unbeaten) is unbeaten
    assert find_components(tensor, model, chain=0, stop=lambda: True, before=first) is first
