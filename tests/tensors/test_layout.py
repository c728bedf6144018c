"""Where packed cells lie: which modes are packed, no two rows in one place, and what it all weighs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorm.tensors.bits import pack, words_for
from tensorm.tensors.layout import TAIL, VECTOR, WIDEST, make_layout, packed_modes

SHAPES = [
    (1, 1),
    (5, 3),
    (3, 70),
    (1, 65, 1),
    (64, 64),
    (2, 3, 129),
    (20, 20, 20),
    (9, 60, 9),
    (4, 8, 4096),  # slices a whole number of pages apart
    (2, 3, 2, 3, 2),
    (2, 2100),
]
few = settings(max_examples=100, deadline=None, derandomize=True)
shapes = st.lists(st.integers(1, 700), min_size=2, max_size=5).map(tuple)


def plans(shape: tuple[int, ...]) -> set[tuple[int, ...]]:
    return {packed_modes(shape, mode) for mode in range(len(shape))}


@few
@given(shapes)
def test_a_mode_is_read_from_cells_packed_along_others(shape: tuple[int, ...]) -> None:
    for mode in range(len(shape)):
        packed = packed_modes(shape, mode)
        others = [k for k in range(len(shape)) if k != mode]
        length = math.prod(shape[k] for k in packed)
        assert packed == tuple(sorted(set(packed) & set(others)))
        assert max(shape[k] for k in packed) == max(shape[k] for k in others)
        left_out = [shape[k] for k in others if k not in packed]
        assert not left_out or (length >= 64 and length * min(left_out) > VECTOR)


@pytest.mark.parametrize("shape", [(500, 500, 500), (300, 301, 302), (600, 80, 90), (100, 200, 90, 80)])
def test_two_packings_serve_a_large_tensor(shape: tuple[int, ...]) -> None:
    assert len(plans(shape)) == 2


def test_short_modes_are_packed_together() -> None:
    assert packed_modes((20, 20, 20), 0) == (1, 2)
    assert packed_modes((13, 75, 75), 0) == (2,)
    assert packed_modes((13, 75, 6), 0) == (1, 2)  # 450 cells fit one vector


@pytest.mark.parametrize("shape", SHAPES)
def test_no_two_rows_share_words(shape: tuple[int, ...]) -> None:
    for mode in range(len(shape)):
        layout = make_layout(shape, packed_modes(shape, mode))
        stride, offsets = layout.view(mode)
        starts = np.sort(np.add.outer(stride * np.arange(shape[mode]), offsets).ravel())
        width = words_for(layout.length)
        assert len(starts) == math.prod(shape) // layout.length
        assert starts[0] == 0
        assert np.diff(starts).min(initial=width) >= width
        assert starts[-1] + width + TAIL <= len(layout.words)  # room for a vector past the last row
        assert 1 <= len(layout.span) <= WIDEST


def test_the_rows_of_a_slice_follow_the_other_modes_in_order() -> None:
    shape = (3, 100, 4, 200)
    layout = make_layout(shape, (3,))
    stride, offsets = layout.view(1)
    index = dict(zip(layout.rows, layout.strides, strict=True))
    expected = [a * index[0] + c * index[2] for a, c in itertools.product(range(3), range(4))]
    np.testing.assert_array_equal(offsets, expected)
    assert stride == index[1]


@pytest.mark.parametrize("shape", SHAPES)
def test_write_and_read_back(shape: tuple[int, ...]) -> None:
    bits = np.random.default_rng(0).random(shape) < 0.5
    for mode in range(len(shape)):
        for along in make_layout(shape, packed_modes(shape, mode)).rows:
            layout, size = make_layout(shape, packed_modes(shape, mode)), shape[along]
            for part in reversed(np.array_split(np.arange(size), min(size, 2))):
                layout.write(layout.words, along, part[0], np.take(bits, part, axis=along))
            np.testing.assert_array_equal(layout.read(layout.words, along, 0, size, shape), bits)
            last = np.take(bits, [size - 1], axis=along)
            np.testing.assert_array_equal(layout.read(layout.words, along, size - 1, size, shape), last)
            assert np.bitwise_count(layout.words).sum() == bits.sum()  # nothing set in the gaps


@pytest.mark.parametrize(("mode", "stop"), [(0, 0), (0, 1), (0, 3), (1, 0), (1, 2), (1, 5)])
def test_the_grid_is_what_lies_before(mode: int, stop: int) -> None:
    layout = make_layout((3, 5, 70), (2,))
    layout.grid(layout.words, mode, 0, stop)[...] = pack(np.ones(70, bool))
    expected = np.zeros((3, 5, 70), bool)
    expected[(slice(None),) * mode + (slice(stop),)] = True
    np.testing.assert_array_equal(layout.read(layout.words, 0, 0, 3, (3, 5, 70)), expected)
    assert np.bitwise_count(layout.words).sum() == expected.sum()


@pytest.mark.parametrize("shape", [(500, 500, 500), (512, 512, 512), (450, 530, 500)])
def test_weight_of_a_large_tensor(shape: tuple[int, ...]) -> None:
    """Zeroed pages are not touched, so these layouts cost nothing to make."""
    weight = sum(make_layout(shape, packed).words.nbytes for packed in plans(shape)) / math.prod(shape)
    assert 0.25 <= weight <= 0.275  # two packings of a bit per cell, and a tenth for padding
    assert weight <= 0.3  # without missing cells
    assert 2 * weight <= 0.55  # with them
