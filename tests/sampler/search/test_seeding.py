"""Components found in the data, and repairs: what they compute, and that they find what was planted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln

import naive
from explanations import make_explanation, make_model, small_explanation
from tensorm.datasets import simulate
from tensorm.model import boolean_product
from tensorm.sampler.prior import FixedPrior
from tensorm.sampler.search import seeding
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.search.region import Region, SearchSize
from tensorm.sampler.search.seeding import CandidatePool, begin, repair, search
from tensorm.sampler.two_rates import Asymmetric, Symmetric
from tensorm.tensors import DenseTensor, SparseTensor
from tensorm.tensors.factors import Factors


def test_candidates_are_counted_on_what_is_left() -> None:
    """As an entry of a component of its own would be, the other candidates being absent."""
    rng = np.random.default_rng(3)
    ones, observed = rng.random((4, 3, 5)) < 0.5, rng.random((4, 3, 5)) < 0.8
    factors = [rng.random((N, 2)) < 0.5 for N in ones.shape]
    columns = [rng.random((N, 3)) < 0.6 for N in ones.shape]
    explanation = make_explanation(np.where(observed, ones, np.nan), factors)
    pool = CandidatePool(explanation, columns, purity=0.7)
    for mode, size in enumerate(ones.shape):
        pos, tot = pool.count(mode)
        for c in range(3):
            joined = [np.column_stack([f, column[:, c]]) for f, column in zip(factors, columns, strict=True)]
            for n in range(size):
                assert (pos[n, c], tot[n, c]) == naive.counts(ones, observed, joined, mode, n, 2)


def test_rises_are_what_the_log_posterior_gains_at_the_pools_rates() -> None:
    explanation = small_explanation()
    rng = np.random.default_rng(5)
    columns = [rng.random((N, 4)) < 0.5 for N in explanation.tensor.shape]
    pool = CandidatePool(explanation.emptied([1]), columns, purity=0.6)
    _, _, fn, tn = pool.explanation.confusion
    outside = (fn + 1) / (fn + tn + 2)
    inside = outside + 0.6 * (1 - outside)
    before = pool.explanation.confusion
    for c, rise in enumerate(pool.rises()):
        added = pool.explanation.replaced(1, [column[:, c] for column in columns])
        assert added.used == pool.explanation.used + 1 == 3
        pos, neg = added.confusion.tp - before.tp, added.confusion.fp - before.fp
        expected = pos * np.log(inside / outside) + neg * np.log((1 - inside) / (1 - outside))
        for new, old in zip(added.bits, pool.explanation.bits, strict=True):
            old = np.delete(old, 1, axis=1)  # an empty component costs nothing
            expected += betaln(1 + new.sum(), 1 + (~new).sum()) - betaln(1 + old.sum(), 1 + (~old).sum())
        assert rise == pytest.approx(expected)


@pytest.mark.parametrize("noise", [Asymmetric(), Symmetric()])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("shape", [(60, 50), (20, 20, 20), (30, 8, 25), (12, 10, 11, 9)])
def test_planted_components_are_found(shape, missing, noise) -> None:
    """At density 0.1 without noise, where sampling from a random start loses components."""
    sim = simulate(shape, rank=3, density=0.1, noise=0.0, missing=missing, random_state=4)
    explanation = begin(DenseTensor(sim.observed), make_model(3, noise=noise), np.random.default_rng(0))
    np.testing.assert_array_equal(boolean_product(explanation.bits), sim.noise_free)


def test_two_blocks_under_one_component_are_parted() -> None:
    """The way a chain gets stuck: one component over two blocks, another one idle."""
    factors = [np.zeros((20, 2), bool) for _ in range(3)]
    for factor in factors:
        factor[2:8, 0] = factor[10:16, 1] = True
    X = boolean_product(factors).astype(float)
    merged = [np.column_stack([factor.any(axis=1), np.zeros(20, bool)]) for factor in factors]
    explanation, rng = make_explanation(X, merged), np.random.default_rng(0)
    for turn in range(10):
        explanation, better = repair(explanation, rng, n_out=1 + turn % 2)
        if better:
            break
    np.testing.assert_array_equal(boolean_product(explanation.bits), X == 1)


def test_a_block_in_two_components_is_merged_to_free_one() -> None:
    factors = [np.zeros((20, 2), bool) for _ in range(3)]
    for factor in factors:
        factor[2:9, 0] = factor[12:16, 1] = True
    X = boolean_product(factors).astype(float)
    halves = [np.zeros((20, 2), bool) for _ in range(3)]
    halves[0][2:5, 0] = halves[0][5:9, 1] = True
    for factor in halves[1:]:
        factor[2:9] = True
    explanation, rng = make_explanation(X, halves), np.random.default_rng(0)
    for turn in range(20):
        explanation, _ = repair(explanation, rng, n_out=1 + turn % 2)
    np.testing.assert_array_equal(boolean_product(explanation.bits), X == 1)


def test_repairs_only_ever_improve() -> None:
    rng = np.random.default_rng(2)
    sim = simulate((12, 12, 12), rank=4, density=0.3, noise=0.2, random_state=6)
    explanation = make_explanation(sim.observed, [rng.random((12, 4)) < 0.4 for _ in range(3)])
    improved = 0
    for turn in range(12):
        after, better = repair(explanation, rng, n_out=1 + turn % 2)
        if better:
            assert after.score > explanation.polished().score
            improved += 1
        else:
            assert after is explanation
        explanation = after
    assert improved


def test_to_drop_a_component_that_does_not_pay_is_no_repair() -> None:
    """Sampled states have such components all the time: repairs would never end."""
    sim = simulate((16, 16, 16), rank=3, density=0.2, noise=0.05, random_state=1)
    cell = np.argwhere((sim.observed == 1) & ~sim.noise_free)[0]
    pairs = zip(sim.factors, cell, strict=True)
    explanation = make_explanation(sim.observed, [np.column_stack([f, np.arange(16) == n]) for f, n in pairs])
    assert explanation.emptied([3]).polished().score > explanation.polished().score + 5
    for seed in range(4):
        assert repair(explanation, np.random.default_rng(seed), n_out=1) == (explanation, False)


def test_fixed_entries_stay_fixed() -> None:
    sim = simulate((15, 15, 15), rank=3, density=0.3, noise=0.0, random_state=0)
    tables = [np.full((15, 3), 0.5) for _ in range(3)]
    tables[0][:5, 1], tables[2][3, :] = 0.0, 1.0
    model = make_model(3, prior=FixedPrior.from_probabilities(tables))
    rng = np.random.default_rng(0)
    explanation = begin(DenseTensor(sim.observed), model, rng)
    explanation, _ = repair(explanation, rng, n_out=2)
    assert not explanation.bits[0][:5, 1].any()
    assert explanation.bits[2][3].all()


def test_repairs_of_large_tensors_are_tried_in_part_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two components that nothing covers are found in a part; the planted ones are left alone there."""
    monkeypatch.setattr(seeding, "REPAIR", SearchSize(2**16, 2**15, 2048))
    sim = simulate((90, 80, 70), rank=5, density=0.25, noise=0.1, random_state=0)
    explanation = make_explanation(sim.observed, sim.factors).emptied([1, 3])
    spread, spread_to_all = Region.spread, []
    monkeypatch.setattr(Region, "spread", lambda *given: spread_to_all.append(1) or spread(*given))
    explanation, better = repair(explanation, np.random.default_rng(0), n_out=1)
    assert better
    np.testing.assert_array_equal(boolean_product(explanation.bits), sim.noise_free)
    spread_to_all.clear()
    looked = []
    monkeypatch.setattr(seeding, "search", lambda *given: looked.append(1) or search(*given))
    sampled = [
        np.where(np.random.default_rng(1).random(bits.shape) < 0.02, ~bits, bits) for bits in explanation.bits
    ]
    for state in (explanation, make_explanation(sim.observed, sampled)):
        for seed in range(3):
            assert repair(state, np.random.default_rng(seed), n_out=1) == (state, False)
    assert len(looked) == 6 * seeding.TRIES > 6
    assert not spread_to_all


@pytest.mark.parametrize("shape", [(30, 20, 25), (3000, 2000, 2500)], ids=["whole", "part by its ones"])
def test_only_parts_drawn_at_random_are_searched_again(shape, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another look at the whole, or at what nothing explains, would see the same."""
    columns = [np.arange(size)[:, None] // 5 == np.arange(2) for size in shape]
    block = np.argwhere(np.ones((5, 5, 5)))
    tensor = SparseTensor(np.concatenate([block, block + 5]), shape)
    explanation, looked = Explanation(tensor, make_model(2), Factors.from_bits(columns)), []
    monkeypatch.setattr(seeding, "search", lambda *given: looked.append(1) or search(*given))
    assert repair(explanation, np.random.default_rng(0), n_out=1) == (explanation, False)
    assert len(looked) == 1


def test_what_a_part_finds_goes_to_components_that_are_unused_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if another one, which the part has no member of, comes first."""
    first, second = np.repeat([[True, False], [False, True]], 10, axis=0).T
    columns = [np.stack([first, second], axis=1)] * 3
    explanation = make_explanation(boolean_product(columns), columns).emptied([1])
    part = Region([np.flatnonzero(second), np.arange(20), np.arange(20)], 500)
    monkeypatch.setattr(seeding, "choose_region", lambda *given: part)
    found = search(explanation, np.random.default_rng(0), 0.99)
    np.testing.assert_array_equal(boolean_product(found.bits), boolean_product(columns))


def test_nothing_to_find_is_no_trouble() -> None:
    for value in (0.0, 1.0):
        X = np.full((4, 5, 3), value)
        X[0, 0, 0] = np.nan
        explanation = begin(DenseTensor(X), make_model(2), np.random.default_rng(0))
        explanation, _ = repair(explanation, np.random.default_rng(1), n_out=1)
        rates = np.where(boolean_product(explanation.bits), *explanation.noise)
        assert (np.abs(rates - value) < 0.05)[~np.isnan(X)].all()
