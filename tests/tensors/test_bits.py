"""Bits and words: packing there and back, and the masks of index tuples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tensorm.tensors.bits import combine, pack, unpack, words_for

LENGTHS = [1, 7, 8, 63, 64, 65, 127, 128, 129, 200]


@pytest.mark.parametrize(("bits", "words"), [(0, 0), (1, 1), (64, 1), (65, 2), (128, 2), (129, 3)])
def test_words_for(bits: int, words: int) -> None:
    assert words_for(bits) == words


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("leading", [(), (3,), (2, 5)])
def test_round_trip(length: int, leading: tuple[int, ...]) -> None:
    bits = np.random.default_rng(length).random((*leading, length)) < 0.5
    words = pack(bits)
    assert words.dtype == np.uint64
    assert words.shape == (*leading, words_for(length))
    np.testing.assert_array_equal(unpack(words, length), bits)
    assert unpack(words, length).dtype == np.bool_


@pytest.mark.parametrize("length", LENGTHS)
def test_bit_l_of_a_mask_is_component_l(length: int) -> None:
    for l in {0, length // 2, length - 1}:
        words = pack(np.arange(length) == l).tolist()
        assert sum(word << 64 * m for m, word in enumerate(words)) == 1 << l


def test_unpack_takes_any_memory_order() -> None:
    bits = np.random.default_rng(0).random((6, 5, 130)) < 0.5
    turned = pack(bits).transpose(1, 0, 2)
    np.testing.assert_array_equal(unpack(turned, 130), bits.transpose(1, 0, 2))


@pytest.mark.parametrize("n_components", [1, 5, 64, 70, 130])
@pytest.mark.parametrize("sizes", [(4,), (3, 4), (2, 3, 4)])
def test_combine_is_the_and_over_modes(sizes: tuple[int, ...], n_components: int) -> None:
    rng = np.random.default_rng(1)
    factors = [rng.random((size, n_components)) < 0.7 for size in sizes]
    expected = [
        np.logical_and.reduce([factor[n] for factor, n in zip(factors, index, strict=True)])
        for index in itertools.product(*map(range, sizes))
    ]
    combined = combine([pack(factor) for factor in factors], n_components)
    np.testing.assert_array_equal(unpack(combined, n_components), expected)


@pytest.mark.parametrize("n_components", [1, 63, 64, 65])
def test_no_mode_leaves_one_tuple_in_every_component_and_no_other(n_components: int) -> None:
    masks = combine([], n_components)
    assert masks.shape == (1, words_for(n_components))
    assert np.bitwise_count(masks).sum() == n_components
    assert unpack(masks, n_components).all()
