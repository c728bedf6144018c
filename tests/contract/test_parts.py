"""The verbs that seeding needs: random one-cells, and a small tensor out of a large one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from makers import Maker
from tensorm.tensors.factors import Factors

SHAPES = [(7, 5), (1, 4), (6, 5, 4), (70, 3, 9), (3, 2, 4, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_sampled_ones_are_ones(make: Maker, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    ones, observed = rng.random(shape) < 0.4, rng.random(shape) < 0.8
    cells = make(ones, observed).sample_ones(np.random.default_rng(1), 500)
    assert cells.shape == (500, len(shape))
    assert (ones & observed)[tuple(cells.T)].all()


def test_every_one_is_as_likely(make: Maker) -> None:
    rng = np.random.default_rng(0)
    ones, observed = rng.random((5, 4, 3)) < 0.4, rng.random((5, 4, 3)) < 0.8
    cells = make(ones, observed).sample_ones(np.random.default_rng(1), 20_000)
    times = np.zeros(ones.shape, int)
    np.add.at(times, tuple(cells.T), 1)
    assert chisquare(times[ones & observed]).pvalue > 0.001
    first = cells[: len(cells) // 2, 0].mean()
    assert abs(first - cells[:, 0].mean()) < 0.05  # the order tells nothing either


def test_no_ones_give_no_cells(make: Maker) -> None:
    cells = make(np.zeros((3, 4, 2), bool), None).sample_ones(np.random.default_rng(0), 5)
    assert cells.shape == (0, 3)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_taking_cells_keeps_them(make: Maker, shape: tuple[int, ...], missing: bool) -> None:
    rng = np.random.default_rng(2)
    ones, observed = rng.random(shape) < 0.5, rng.random(shape) < 0.7
    part = [np.sort(rng.choice(N, max(1, N // 2), replace=False)) for N in shape]
    small = make(ones, observed if missing else None).take(part)
    (_, found, seen), *rest = small.blocks()
    assert not rest
    assert small.shape == found.shape == tuple(map(len, part))
    np.testing.assert_array_equal(seen, observed[np.ix_(*part)] if missing else True)
    np.testing.assert_array_equal(found, (ones & observed if missing else ones)[np.ix_(*part)])


@pytest.mark.parametrize("shape", [(3, 200, 5), (2, 4, 150), (70, 30), (5, 66, 6, 3)])
def test_what_is_taken_can_be_counted(make: Maker, shape: tuple[int, ...]) -> None:
    """Runs of neighbours, single slices and indices in any order, seen from every mode."""
    rng = np.random.default_rng(5)
    ones, observed = rng.random(shape) < 0.5, rng.random(shape) < 0.7
    factors = Factors.from_bits([rng.random((N, 4)) < 0.6 for N in shape])
    tensor = make(ones, observed)
    whole = [np.arange(N) for N in shape]
    parts = [[n[len(n) // 5 :] for n in whole], [rng.permutation(n) for n in whole]]
    parts += [[n if j != k else n[-1:] for j, n in enumerate(whole)] for k in range(len(shape))]
    for part in parts:
        masks = factors.take(part)
        taken, fresh = tensor.take(part), make(ones[np.ix_(*part)], observed[np.ix_(*part)])
        assert (taken.n_ones, taken.n_observed) == (fresh.n_ones, fresh.n_observed)
        assert taken.confusion(masks) == fresh.confusion(masks)
        for mode in range(len(shape)):
            np.testing.assert_array_equal(taken.counts(mode, masks), fresh.counts(mode, masks))
