"""Components of different chains are told apart and put in one order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from posteriors import make_trace
from tensorm.posterior.align import (
    NEGLIGIBLE_LOG_ODDS,
    align,
    count_finders,
    factor_means,
    group_chains,
    match,
    pair_components,
    same_components,
    similarity,
    unpaired,
    worse,
)
from tensorm.sampler import factor_draws
from tensorm.sampler.state import Trace

SHAPE = (7, 6, 5)


def trace_of(draws: Sequence[Sequence[np.ndarray]], *heights: float) -> Trace:
    """A chain with these factors, and their log-likelihoods one after another, or one for all."""
    S = len(draws)
    values = np.array(list(itertools.islice(itertools.cycle(heights or (0.0,)), S)), float)
    return replace(
        make_trace(draws, (0.9, 0.1), 1),
        confusion=np.tile([6, 1, 2, 1], (S, 1)),
        log_likelihood=values,
        log_posterior=values,
        burn_in=9,
    )


def random_draws(seed: int, n_draws: int, L: int, shape: Sequence[int] = SHAPE) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [[rng.random((size, L)) < 0.4 for size in shape] for _ in range(n_draws)]


def align_to(traces: Sequence[Trace], lead: int) -> list[Trace]:
    return align(traces, [factor_means(trace) for trace in traces], lead)


@pytest.mark.parametrize("L", [1, 3, 8, 9, 64, 70])
@pytest.mark.parametrize("at_once", [1, 300, 2**22])
def test_factor_means(L: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factor_draws, "SUMMED_AT_ONCE", at_once)
    draws = random_draws(L, 10, L)
    trace = trace_of(draws)
    for mode in range(3):
        expected = np.mean([draw[mode] for draw in draws], axis=0)
        np.testing.assert_allclose(factor_means(trace)[mode], expected, rtol=0, atol=1e-15)


def test_similarity_is_the_product_of_cosines() -> None:
    rng = np.random.default_rng(0)
    a, b = [rng.random((size, 3)) for size in SHAPE], [rng.random((size, 4)) for size in SHAPE]
    found = similarity(a, b)
    assert found.shape == (3, 4)
    for i, j in itertools.product(range(3), range(4)):
        expected = 1.0
        for x, y in zip(a, b, strict=True):
            expected *= x[:, i] @ y[:, j] / np.sqrt((x[:, i] @ x[:, i]) * (y[:, j] @ y[:, j]))
        assert found[i, j] == pytest.approx(expected)
    np.testing.assert_allclose(np.diag(similarity(a, a)), 1)


def test_an_empty_component_is_like_no_other() -> None:
    a = [np.ones((size, 2)) for size in SHAPE]
    a[1][:, 0] = 0
    np.testing.assert_allclose(similarity(a, a), [[0, 0], [0, 1]])


@pytest.mark.parametrize("L", [1, 2, 5, 70])
def test_match_undoes_a_permutation(L: int) -> None:
    rng = np.random.default_rng(L)
    means = [rng.random((40, L)) for _ in range(3)]
    order = rng.permutation(L)
    shuffled = [mean[:, order] + 0.05 * rng.random(mean.shape) for mean in means]
    found = match(means, shuffled)
    np.testing.assert_array_equal(order[found], np.arange(L))


def test_match_is_the_best_of_all() -> None:
    rng = np.random.default_rng(3)
    a, b = [rng.random((4, 4)) for _ in range(2)], [rng.random((4, 4)) for _ in range(2)]
    alike = similarity(a, b)
    best = max(itertools.permutations(range(4)), key=lambda order: sum(alike[range(4), order]))
    assert match(a, b) == list(best)


def test_align_puts_all_chains_in_the_order_of_one() -> None:
    rng = np.random.default_rng(0)
    truth = [rng.random((30, 4)) < 0.4 for _ in range(3)]
    orders = [rng.permutation(4) for _ in range(3)]
    traces = [
        trace_of([[factor[:, order] ^ (rng.random(factor.shape) < 0.05) for factor in truth]] * 3, height)
        for order, height in zip(orders, (-9.0, -1.0, -5.0), strict=True)
    ]
    aligned = align_to(traces, 1)
    assert aligned[1] is traces[1]
    for trace in aligned:
        for mode, factor in enumerate(truth):
            assert (trace.bits(mode)[0] == factor[:, orders[1]]).mean() > 0.9
    for before, after in zip(traces, aligned, strict=True):  # nothing else has changed
        np.testing.assert_array_equal(before.log_likelihood, after.log_likelihood)
        np.testing.assert_array_equal(before.noise, after.noise)
        for mode in range(3):
            rows = [sorted(map(tuple, trace.bits(mode)[0].T.tolist())) for trace in (before, after)]
            assert rows[0] == rows[1]


def test_align_moves_a_component_as_a_whole() -> None:
    """Reordered the same way in every mode and draw, so that the product stays the same."""
    traces = [trace_of(random_draws(seed, 5, 3), height) for seed, height in ((1, -1.0), (2, -2.0))]
    before, after = traces[1], align_to(traces, 0)[1]
    orders = {
        tuple(
            next(
                l
                for l in range(3)
                if all((after.bits(m)[s, :, i] == before.bits(m)[s, :, l]).all() for m in range(3))
            )
            for i in range(3)
        )
        for s in range(5)
    }
    assert len(orders) == 1
    assert sorted(orders.pop()) == [0, 1, 2]


def test_chains_of_dead_components_can_be_aligned() -> None:
    nothing = [[np.zeros((size, 3), np.bool_) for size in SHAPE]]
    aligned = align_to([trace_of(nothing), trace_of(random_draws(0, 1, 3)), trace_of(nothing)], 1)
    assert [trace.n_components for trace in aligned] == [3, 3, 3]
    assert not aligned[2].bits(0).any()


def test_a_chain_far_below_the_best_is_worse() -> None:
    frozen = random_draws(0, 4, 3)
    best, small = trace_of(frozen, 0.0), NEGLIGIBLE_LOG_ODDS
    heights = [0.0, -small + 0.01, -small - 0.01, -500.0]
    assert [worse(best, trace_of(frozen, height)) for height in heights] == [False, False, True, True]


def test_how_far_below_depends_on_how_far_the_best_wanders() -> None:
    spread = 10 * np.random.default_rng(0).normal(size=400)
    best = trace_of(random_draws(0, 400, 1), *spread)
    others = [trace_of(random_draws(1, 400, 1), *(spread - drop)) for drop in (20, 30, 45, 60)]
    assert [worse(best, other) for other in others] == [False, False, True, True]


def group(*traces: Trace) -> list[int]:
    return group_chains(traces, [factor_means(trace) for trace in traces])


def test_chains_with_the_same_components_have_one_explanation() -> None:
    truth = [np.random.default_rng(k).random((20, 3)) < 0.4 for k in range(3)]
    turned, slightly = [factor[:, [2, 0, 1]] for factor in truth], [factor.copy() for factor in truth]
    slightly[0][0] ^= True
    assert group(trace_of([truth], -2.0), trace_of([turned], -1.0), trace_of([slightly], -3.0)) == [0, 0, 0]
    assert group(trace_of([truth], -2.0)) == [0]


def test_the_density_of_noise_parameters_makes_no_other_explanation() -> None:
    """With activities it differs by tens between chains that explain the data alike."""
    truth = [np.random.default_rng(k).random((20, 3)) < 0.4 for k in range(3)]
    chain = trace_of([truth] * 5, -9)
    assert group(chain, replace(chain, log_posterior=chain.log_posterior - 100)) == [0, 0]


def test_other_components_or_a_worse_fit_are_another_explanation() -> None:
    """The median decides which is the best; one lucky draw does not."""
    truth = [np.random.default_rng(k).random((20, 3)) < 0.4 for k in range(3)]
    other, fewer = [factor.copy() for factor in truth], [factor.copy() for factor in truth]
    other[1][:, 1] ^= True
    fewer[2][:, 0] = False
    lucky = trace_of([truth] * 5, -9, -9, 50, -9, -9)
    chains = [lucky, trace_of([other] * 5, -4), trace_of([truth] * 5, -90), trace_of([fewer] * 5, -5)]
    assert group(*chains, trace_of([other] * 5, -5)) == [2, 0, 3, 1, 0]


def test_components_that_are_not_in_use_do_not_matter() -> None:
    truth = [np.random.default_rng(k).random((20, 3)) < 0.4 for k in range(3)]
    truth[1][:, 2] = False
    rest = [truth[0].copy(), *truth[1:]]
    rest[0][:, 2] ^= True
    assert group(trace_of([truth]), trace_of([rest])) == [0, 0]


def test_finders_are_counted_wherever_they_have_a_component() -> None:
    truth = [np.random.default_rng(k).random((20, 3)) < 0.4 for k in range(3)]
    truth[1][:, 2] = False
    turned, lost = [factor[:, [1, 0, 2]] for factor in truth], [factor.copy() for factor in truth]
    lost[0][:, 0] ^= True
    means = [factor_means(trace_of([draw])) for draw in (truth, turned, lost)]
    assert count_finders(means[0], means) == [2, 3, 0]


def test_two_components_are_not_found_by_one() -> None:
    """Else "all chains found components 0 and 1" stands beside a chain that has one component."""
    truth = [np.random.default_rng(k).random((20, 3)) < 0.4 for k in range(3)]
    twins = [factor[:, [0, 0, 2]] for factor in truth]
    twins[2][np.flatnonzero(twins[2][:, 1])[0], 1] = False
    single = [factor & [True, False, True] for factor in truth]
    means = [factor_means(trace_of([draw])) for draw in (twins, single)]
    assert count_finders(means[0], means) == [2, 1, 2]
    assert not same_components(*means)
    assert not same_components(*means[::-1])
    assert unpaired(means[0], pair_components(*means)) == [1]


def test_a_component_of_few_draws_is_not_found() -> None:
    """Cosines do not see how often a component is there; halfway counts, less does not."""
    truth = [np.random.default_rng(k).random((20, 2)) < 0.4 for k in range(3)]
    without = [truth[0] & [True, False], *truth[1:]]
    means = [factor_means(trace_of([truth] * n + [without] * (20 - n))) for n in (20, 9, 4)]
    assert count_finders(means[0], means) == [3, 2]
    assert [same_components(means[0], other) for other in means] == [True, True, False]
