"""Random numbers by counting: the published answers, and uniforms that have nothing to do with each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numba import njit
from scipy import stats

from tensorm.kernels.philox import philox, uniforms
from tensorm.tensors import Stream

# Random123's kat_vectors for philox4x32 with 10 rounds: counter, key, answer.
ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
SEED = 20240607


@njit
def known_answer(counter, key):
    words = philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1])
    return np.array([words[0], words[1], words[2], words[3]], dtype=np.uint32)


def numbers(
    seed: int = SEED, chain: int = 0, sweep: int = 0, purpose: int = 0, rows: int = 200
) -> np.ndarray:
    """A table (rows, 50) of one stream's numbers."""
    stream = Stream(np.uint64(seed), chain, sweep, purpose)
    return np.array([uniforms(stream, row, 50) for row in range(rows)])


@pytest.mark.parametrize(("counter", "key", "answer"), ANSWERS)
def test_published_answers(counter: str, key: str, answer: str) -> None:
    words = [np.array([int(word, 16) for word in text.split()], np.uint32) for text in (counter, key, answer)]
    np.testing.assert_array_equal(known_answer(*words[:2]), words[2])


def test_numbers_follow_from_the_published_generator() -> None:
    """A number is the first 52 bits of the answer to the counter (row, component + mode, sweep, chain)."""
    counter = np.array([7, 3 | 2 << 24, 11, 5], np.uint32)
    first, second, _, _ = known_answer(counter, np.array([0x89ABCDEF, 0x01234567], np.uint32)).tolist()
    bits = (first << 32 | second) >> 12
    stream = Stream(np.uint64(0x0123456789ABCDEF), chain=5, sweep=11, purpose=2)
    assert uniforms(stream, 7, 4)[3] == (bits + 0.5) / 2**52


def test_strictly_inside_the_unit_interval_and_uniform() -> None:
    table = np.concatenate([numbers(sweep=sweep) for sweep in range(10)]).ravel()
    assert 0 < table.min() < 1e-4
    assert 1 - 1e-4 < table.max() < 1
    assert stats.kstest(table, "uniform").pvalue > 1e-3
    low_digits = table * 2**32 % 1  # the bits that come from the second word
    assert stats.kstest(low_digits, "uniform").pvalue > 1e-3


def test_every_decision_has_a_number_of_its_own() -> None:
    keys = itertools.product(
        [0, 1, 1 << 32, 2**64 - 1],  # seeds: both words of the key
        [0, 1, 2**31],  # chains
        [0, 1, 2**32 - 1],  # sweeps
        [0, 1, 2, 250, 251],  # modes and other purposes
        [0, 1, 2**16, 2**32 - 1],  # rows
    )
    table = [
        uniforms(Stream(np.uint64(seed), *stream), row, 70) for seed, *stream, row in keys
    ]  # 70 components: more than a mask's word
    drawn = np.concatenate(table)
    assert len(np.unique(drawn)) == len(drawn) == 720 * 70


def test_rows_may_share_their_numbers() -> None:
    shared = Stream(np.uint64(SEED), 1, 2, 3, by_row=0)
    own = Stream(np.uint64(SEED), 1, 2, 3)
    np.testing.assert_array_equal(uniforms(shared, 5, 70), uniforms(shared, 0, 70))
    np.testing.assert_array_equal(uniforms(shared, 5, 70), uniforms(own, 0, 70))
    assert len(np.unique(uniforms(shared, 5, 70))) == 70


@pytest.mark.parametrize(
    "other",
    [
        numbers()[1:, :],
        numbers()[:, 1:],
        numbers(purpose=1),
        numbers(sweep=1),
        numbers(chain=1),
        numbers(seed=SEED + 1),
        numbers(seed=SEED + (1 << 32)),
    ],
    ids=["row", "component", "mode", "sweep", "chain", "seed", "seed's high word"],
)
def test_neighbours_are_uncorrelated(other: np.ndarray) -> None:
    rows, columns = other.shape
    here = numbers()[:rows, :columns]
    for x, y in [(here, other), ((here - 0.5) ** 2, (other - 0.5) ** 2)]:
        r = np.corrcoef(x.ravel(), y.ravel())[0, 1]
        assert abs(r) * np.sqrt(here.size) < 4
