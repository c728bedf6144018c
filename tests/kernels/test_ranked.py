"""Components with strengths: updates, counts and activities against loops over single cells."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from strong_cases import STORED, Case, Store, make_case
from tensorm.kernels.philox import uniforms
from tensorm.tensors import GIBBS, GREEDY, METROPOLIS, Rule, Stream
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors

KINDS = {"gibbs": GIBBS, "metropolis": METROPOLIS, "greedy": GREEDY}


def naive_update(case: Case, mode: int, kind: str, prior: np.ndarray, stream: Stream) -> np.ndarray:
    """The strongest first, each with the random number of its rank."""
    factors, (N, L) = [bits.copy() for bits in case.factors], case.factors[mode].shape
    modes = case.pair if case.pair is not None and mode in case.pair else (mode,)
    for n in range(N):
        numbers = uniforms(stream, n, L)
        for rank, l in enumerate(np.argsort(-case.noise.strength)):
            odds = prior[n, l] + naive.strength_odds(
                case.ones, case.facts, factors, (mode, n, l), case.noise.strength, case.background, case.pair
            )
            new = naive.decide(kind, bool(factors[mode][n, l]), odds, numbers[rank])
            for k in modes:
                factors[k][n, l] = new
    return factors[mode]


@pytest.mark.parametrize(("store", "symmetric"), STORED)
@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("kind", list(KINDS))
def test_updates_as_by_loops(symmetric: bool, active: bool, kind: str, store: Store) -> None:
    for seed in range(25):
        case = make_case(seed, symmetric, active)
        rng = np.random.default_rng(seed)
        mode = int(rng.integers(len(case.factors)))
        if case.pair is not None and mode == case.pair[1]:
            mode = case.pair[0]
        prior = rng.normal(size=case.factors[mode].shape)
        stream = Stream(np.uint64(seed), 0, 1, mode)
        rule = Rule(np.arange(prior.shape[1]), KINDS[kind], case.noise.weights, prior)
        new = case.store(store).update_factor(mode, Factors.from_bits(case.factors), rule, stream)
        wanted = naive_update(case, mode, kind, prior, stream)
        np.testing.assert_array_equal(unpack(new, prior.shape[1]), wanted, err_msg=f"case {seed}")


@pytest.mark.parametrize(("store", "symmetric"), STORED)
def test_cells_by_who_decides_them(symmetric: bool, store: Store) -> None:
    for seed in range(20):
        case = make_case(seed, symmetric, False)
        order = np.argsort(-case.noise.strength)
        ranked = [bits[:, order] for bits in case.factors]
        L = len(order)
        probe = seed % L
        wanted = np.zeros((2, 2, L + 1), int)
        for index in naive.cells(ranked):
            if case.facts[index]:
                held = [l for l in range(L) if all(f[n, l] for f, n in zip(ranked, index, strict=True))]
                others = [l for l in held if l != probe]
                wanted[int(probe in held), 1, others[0] if others else L] += 1
                wanted[int(probe in held), 0, others[0] if others else L] += case.ones[index]
        counts = case.store(store).ranked().count_decided(Factors.from_bits(ranked), probe)
        np.testing.assert_array_equal(counts, wanted, err_msg=f"case {seed}")
