"""Comparisons that count once: every count against loops over pairs, and every update against its counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import naive
from tensorm import DenseTensor, InputError, RelationalTensor
from tensorm.kernels.philox import uniforms
from tensorm.sampler.comparisons import Agreement, Comparisons
from tensorm.sampler.models import find_suitable
from tensorm.tensors import GIBBS, METROPOLIS, Rule, Stream, slices
from tensorm.tensors.compared import ComparedTensor
from tensorm.tensors.factors import Factors

Q = 0.8
WEIGHTS = Agreement(Q).weights


def make_case(seed: int) -> tuple[ComparedTensor, np.ndarray, np.ndarray, list[np.ndarray]]:
    """A tensor with ties, gaps or held-out pairs, its ones and observed cells, and factors that overlap."""
    rng = np.random.default_rng(seed)
    O, A, L = rng.integers(1, 4), rng.integers(2, 6), rng.integers(1, 4)
    matrix = rng.integers(rng.choice([3, 50]), size=(O, A)).astype(float)
    matrix[rng.random(matrix.shape) < rng.choice([0, 0.2])] = np.nan
    tensor = RelationalTensor(matrix, normalise=None)
    if seed % 3 == 0:
        tensor = tensor.hold_out(0.3, seed)[seed % 2]
    _, ones, observed = next(tensor.blocks())
    factors = [rng.random((size, L)) < rng.choice([0.4, 0.7]) for size in tensor.shape]
    return tensor.compared(), ones, observed, factors


def odds(
    ones: np.ndarray, observed: np.ndarray, factors: list[np.ndarray], mode: int, n: int, l: int
) -> float:
    both = (naive.with_entry(factors, mode, n, l, entry) for entry in (True, False))
    on, off = (naive.comparison_likelihood(ones, observed, some, Q) for some in both)
    return on - off


@pytest.mark.parametrize("first", range(0, 300, 60))
def test_counts_are_those_of_loops_over_pairs(first: int) -> None:
    for seed in range(first, first + 60):
        tensor, ones, observed, factors = make_case(seed)
        packed = Factors.from_bits(factors)
        for mode, factor in enumerate(factors):
            pos, tot = tensor.counts(mode, packed)
            for n, l in np.ndindex(factor.shape):
                expected = odds(ones, observed, factors, mode, n, l)
                assert WEIGHTS.log_ratio(l, pos[n, l], tot[n, l]) == pytest.approx(expected, abs=1e-9)
        model, confusion = Comparisons(), tensor.confusion(packed)
        assert model.log_likelihood(tensor, packed, confusion, Agreement(Q)) == pytest.approx(
            naive.comparison_likelihood(ones, observed, factors, Q)
        )
        assert confusion.tp + confusion.fn == tensor.n_ones
        assert confusion.observed == tensor.n_observed


@pytest.mark.parametrize("kind", [GIBBS, METROPOLIS])
@pytest.mark.parametrize("mode", range(3))
def test_rows_of_attributes_take_turns(mode: int, kind: int) -> None:
    rule = Rule(np.arange(3), kind, WEIGHTS, np.zeros((1, 1)))
    for seed in range(20):
        tensor, ones, observed, factors = make_case(seed)
        L = factors[0].shape[1]
        stream = Stream(np.uint64(seed), 1, 2, mode)
        new = tensor.update_factor(
            mode, Factors.from_bits(factors), rule._replace(order=np.arange(L)), stream
        )
        now = [factor.copy() for factor in factors]
        for n in range(len(now[mode])):
            u = uniforms(stream, n, L)
            for l in range(L):
                name = "gibbs" if kind == GIBBS else "metropolis"
                log_odds = odds(ones, observed, now, mode, n, l)
                log_odds = 0.0 if abs(log_odds) < 1e-9 else log_odds
                now[mode][n, l] = naive.decide(name, bool(now[mode][n, l]), log_odds, u[l])
        np.testing.assert_array_equal(new, Factors.from_bits(now)[mode])


@pytest.mark.parametrize("L", [3, 70])
def test_many_attributes_and_components(L: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "WORTH_THREADS", 0)
    rng = np.random.default_rng(L)
    plain = RelationalTensor(rng.random((9, 140)), normalise=None).hold_out(0.2)[0]
    tensor, factors = plain.compared(), [rng.random((n, L)) < 0.5 / math.sqrt(L) for n in plain.shape]
    packed = Factors.from_bits(factors)
    _, ones, observed = next(plain.blocks())
    said = np.einsum("ol,al,bl->oab", *(factor.astype(np.int16) for factor in factors)) > 0

    def likelihood(factors: list[np.ndarray]) -> float:
        said = np.einsum("ol,al,bl->oab", *(factor.astype(np.int16) for factor in factors)) > 0
        p = 0.5 + (Q - 0.5) * (said.astype(float) - said.swapaxes(1, 2))
        return float(np.log(np.where(ones, p, 1 - p))[observed].sum() / 2)

    assert (said & said.swapaxes(1, 2)).any()
    for mode in range(3):
        counts = np.array(tensor.counts(mode, packed))
        np.testing.assert_array_equal(tensor.with_threads(3).counts(mode, packed), counts)
        for _ in range(12):
            n, l = (int(rng.integers(size)) for size in factors[mode].shape)
            on, off = (naive.with_entry(factors, mode, n, l, entry) for entry in (True, False))
            expected = likelihood(on) - likelihood(off)
            assert WEIGHTS.log_ratio(l, *counts[:, n, l]) == pytest.approx(expected, abs=1e-7)
        rule = Rule(rng.permutation(L), GIBBS, WEIGHTS, np.zeros((1, 1)))
        stream = Stream(np.uint64(3), 0, 0, mode)
        updated = [
            some.update_factor(mode, packed, rule, stream) for some in (tensor, tensor.with_threads(2))
        ]
        np.testing.assert_array_equal(*updated)


def test_a_part_knows_which_of_its_cells_are_mirror_images() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.random((4, 12))
    above, below = np.array([0, 2, 3, 5, 8]), np.array([1, 2, 5, 8, 9, 11])
    whole = RelationalTensor(matrix, normalise=None)
    part = whole.compared().take([np.arange(4), above, below])
    _, ones, _ = next(whole.blocks())
    here = np.zeros((4, 12, 12), bool)
    here[:, above[:, None], below] = True
    here &= ~np.eye(12, dtype=bool)
    observed = here | here.swapaxes(1, 2)
    small = [rng.random((n, 3)) < 0.6 for n in part.shape]
    factors = [small[0], np.zeros((12, 3), bool), np.zeros((12, 3), bool)]
    factors[1][above], factors[2][below] = small[1], small[2]
    for mode, index in enumerate((np.arange(4), above, below)):
        pos, tot = part.counts(mode, Factors.from_bits(small))
        for n, l in np.ndindex(pos.shape):
            expected = odds(ones, observed, factors, mode, int(index[n]), l)
            assert WEIGHTS.log_ratio(l, pos[n, l], tot[n, l]) == pytest.approx(expected, abs=1e-9)


def test_a_pair_is_held_out_with_its_mirror_image() -> None:
    tensor = RelationalTensor(np.random.default_rng(0).random((6, 20))).compared()
    held = tensor.split(0.2, np.random.default_rng(0))
    assert isinstance(held.train, ComparedTensor)
    cells = {tuple(cell): one for cell, one in zip(held.cells.tolist(), held.values, strict=True)}
    assert cells
    for (o, a, b), one in cells.items():
        assert cells[o, b, a] != one


def test_predictions_of_mirror_images_add_up_to_one() -> None:
    rng, noise = np.random.default_rng(0), Agreement(0.9)
    factors = Factors.from_bits([rng.random((n, 3)) < 0.5 for n in (5, 8, 8)])
    cells = np.indices((5, 8, 8)).reshape(3, -1)
    p = noise.predict(factors, cells).reshape(5, 8, 8)
    np.testing.assert_allclose(p + p.swapaxes(1, 2), 1)
    assert set(np.round(p, 6).ravel()) == {0.1, 0.5, 0.9}
    box = np.zeros((5 * 8, 8))
    rest = noise.add_box(box, factors, [slice(0, 5), slice(0, 8), slice(0, 8)], 1.0)
    np.testing.assert_allclose(box.reshape(5, 8, 8) + rest, p)


def test_cells_that_are_no_comparisons_are_refused() -> None:
    tensor = DenseTensor(np.eye(3))
    with pytest.raises(InputError, match="its cells do not compare attributes"):
        tensor.compared()
    with pytest.raises(InputError, match="noise='comparisons' needs cells that compare attributes"):
        Comparisons().hold(tensor)
    assert find_suitable(tensor) is None


def test_comparisons_are_the_noise_of_their_cells() -> None:
    tensor = RelationalTensor(np.random.default_rng(0).random((4, 5)))
    assert find_suitable(tensor) == find_suitable(tensor.compared()) == "comparisons"
