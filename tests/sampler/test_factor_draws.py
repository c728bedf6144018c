"""Draws of a factor are those of a plain array, whatever moves in it."""

from __future__ import annotations

import numpy as np
import pytest

from tensorm.sampler.factor_draws import FactorDraws, FactorRecorder, differing_rows
from tensorm.tensors.bits import pack, unpack

S, N = 7, 12


def plain(L: int, moving: list[int], seed: int = 0) -> np.ndarray:
    """Draws (S, N, L) in which only some rows move, and not in every draw."""
    rng = np.random.default_rng(seed)
    draws = np.repeat(rng.random((1, N, L)) < 0.5, S, axis=0)
    for s in range(1, S):
        draws[s] = draws[s - 1]
        for row in moving:
            if rng.random() < 0.6:
                draws[s, row] = rng.random(L) < 0.5
    return draws


def record(draws: np.ndarray, before: FactorDraws | None = None) -> FactorDraws:
    recorder = FactorRecorder(draws.shape[2], before)
    for draw in draws:
        recorder.record(pack(draw))
    return recorder.draws()


CASES = [(L, moving) for L in (1, 8, 9, 65) for moving in ([], [3], [0, 5, 11], list(range(N)))]


@pytest.mark.parametrize(("L", "moving"), CASES)
def test_draws_are_those_of_a_plain_array(L: int, moving: list[int]) -> None:
    draws, rng = plain(L, moving), np.random.default_rng(1)
    kept = record(draws)
    assert set(kept.rows.tolist()) <= set(moving)
    assert kept.moves.shape[1] == len(kept.rows)
    assert len(kept) == S
    np.testing.assert_array_equal(kept.bits(L), draws)
    np.testing.assert_array_equal(kept[2:5].bits(L), draws[2:5])
    np.testing.assert_allclose(kept.mean(L), draws.mean(axis=0), rtol=1e-14)
    for s in (0, S - 1, -1):
        np.testing.assert_array_equal(unpack(kept.masks_at(s, L), L), draws[s])
    rows, components = rng.integers(N, size=40), rng.integers(L, size=40)
    np.testing.assert_array_equal(kept.entries(rows, components), draws[:, rows, components])
    order = rng.permutation(L)[: max(1, L - 1)]
    np.testing.assert_array_equal(kept.reorder(order, L).bits(len(order)), draws[..., order])
    index = rng.integers(N, size=20)  # some twice
    taken = kept.take(index)
    np.testing.assert_array_equal(taken.bits(L), draws[:, index])
    np.testing.assert_array_equal(taken.entries(rows, components), draws[:, index][:, rows, components])


@pytest.mark.parametrize(("L", "moving"), CASES)
@pytest.mark.parametrize("stop", [1, 4])
def test_a_recorder_that_continues_ends_as_one_that_never_stopped(
    L: int, moving: list[int], stop: int
) -> None:
    draws = plain(L, moving, seed=2)
    whole, parts = record(draws), record(draws[stop:], record(draws[:stop]))
    for part in ("first", "rows", "moves"):
        np.testing.assert_array_equal(getattr(parts, part), getattr(whole, part))
    same = FactorDraws.from_all(np.asarray(whole))
    for part in ("first", "rows", "moves"):
        np.testing.assert_array_equal(getattr(same, part), getattr(whole, part))


def test_rows_that_differ_are_found_in_and_between_chains() -> None:
    first, second = plain(9, [2, 7]), plain(9, [5])
    second[:, 10] ^= True
    second[:, [0, 1, 2, 3, 4, 6, 7, 8, 9, 11]] = first[0, [0, 1, 2, 3, 4, 6, 7, 8, 9, 11]]
    both = np.concatenate([first, second])
    expected = np.flatnonzero((both != both[0]).any(axis=(0, 2)))
    assert {5, 10} <= set(expected.tolist())
    np.testing.assert_array_equal(differing_rows([record(first), record(second)]), expected)
