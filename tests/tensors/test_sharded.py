"""Shards: how many rounds a sweep takes, what travels, and what does not fit together."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from shard_hosts import ShardHost, cut, shard
from tensorm import datasets, model, select_components
from tensorm.errors import InputError
from tensorm.sampler.prior import LearnedPrior
from tensorm.sampler.sweep import Target, start, sweep
from tensorm.sampler.two_rates import Asymmetric, Rates
from tensorm.tensors import GREEDY, DenseTensor, RelationalTensor, Rule, SparseTensor, Stream, Weights
from tensorm.tensors.bits import unpack
from tensorm.tensors.factors import Factors
from tensorm.tensors.sharded import ShardedTensor


def sharded(X: np.ndarray, parts: int = 3) -> tuple[ShardedTensor, ShardHost]:
    tensor = shard([DenseTensor(X[part]) for part in cut(len(X), parts)])
    tensor._host.rounds.clear()
    return tensor, tensor._host


def planted(shape: tuple[int, ...], L: int = 4) -> tuple[np.ndarray, Factors]:
    """Cells with no noise: whoever starts at the truth stays there."""
    rng = np.random.default_rng(0)
    factors = [rng.random((N, L)) < 0.4 for N in shape]
    return model.boolean_product(factors), Factors.from_bits(factors)


def test_a_sweep_at_rest_takes_a_round_for_each_mode() -> None:
    X, masks = planted((30, 20, 10))
    tensor, host = sharded(X)
    target = Target(4, Asymmetric(), LearnedPrior(), np.uint64(0))
    state = start(target, masks.bits())._replace(noise=Rates(0.999, 0.001))
    new, confusion = sweep(tensor, state, target, 0)
    assert [verb for verb, _ in host.rounds] == ["update", "counts", "counts"]  # the confusion came along
    assert confusion == DenseTensor(X).confusion(new.factors)


def test_flips_in_components_that_share_nothing_take_one_round() -> None:
    """Each of four disjoint blocks is found at once; with a common row each flip waits for the last."""
    blocks = [np.repeat(np.eye(4, dtype=bool), 3, axis=0)] * 3
    X = model.boolean_product(blocks)
    empty = [np.zeros_like(blocks[0]), blocks[1], blocks[2]]
    rule, stream = (
        Rule(np.arange(4), GREEDY, Weights(1.0, 1.0), np.zeros((1, 1))),
        Stream(np.uint64(0), 0, 0, 1),
    )
    apart, host = sharded(X)
    # All four are on, and in each row three of them flip.
    factors = Factors.from_bits([blocks[0], ~empty[0], blocks[2]])
    np.testing.assert_array_equal(unpack(apart.update_factor(1, factors, rule, stream), 4), blocks[1])
    assert [verb for verb, _ in host.rounds] == ["counts"]
    bits = factors.bits()
    bits[0][0] = bits[2][0] = True
    together = Factors.from_bits(bits)
    host.rounds.clear()
    new = apart.update_factor(1, together, rule, stream)
    np.testing.assert_array_equal(new, DenseTensor(X).update_factor(1, together, rule, stream))
    assert len(host.rounds) > 1
    assert host.rounds[-1][1] < host.rounds[0][1]  # only open rows and components are counted again


def test_the_confusion_is_right_after_any_number_of_flips() -> None:
    sim = datasets.simulate((12, 9, 70), rank=5, density=0.4, noise=0.2, random_state=0)
    rng = np.random.default_rng(1)
    X = np.where(rng.random(sim.observed.shape) < 0.2, np.nan, sim.observed)
    tensor, host = sharded(X)
    plain, known = DenseTensor(X), Target(5, Asymmetric(), LearnedPrior(), np.uint64(3))
    here = there = start(known, [rng.random((N, 5)) < 0.5 for N in X.shape])
    for _ in range(15):
        here, confusion = sweep(tensor, here, known, 1)
        there, expected = sweep(plain, there, known, 1)
        assert confusion == expected
        np.testing.assert_array_equal(np.concatenate(here.factors.masks), np.concatenate(there.factors.masks))
    assert "confusion" not in {verb for verb, _ in host.rounds}
    bits = here.factors.bits()
    bits[0][0, 0] ^= True
    changed = Factors.from_bits(bits)
    assert tensor.confusion(changed) == plain.confusion(changed)


def test_what_travels_does_not_grow_with_the_cells() -> None:
    """Twice the slices are twice the cells, but a row of mode 0 more is a mask there, and one back if new."""
    sizes = {}
    for N in (200, 400):
        for share in (0.0, 0.5):
            X, masks = planted((N, 30, 20))
            hidden = np.random.default_rng(0).random(X.shape) < share
            tensor, host = sharded(np.where(hidden, np.nan, X))
            for mode in range(3):
                rule = Rule(np.arange(4), GREEDY, Weights(1.0, 1.0), np.zeros((1, 1)))
                tensor.update_factor(mode, masks, rule, Stream(np.uint64(0), 0, 0, mode))
            sizes[N, share] = [sent for _, sent in host.rounds]
            assert len(sizes[N, share]) == 3
    slack = 100  # pickles write large numbers a little longer
    for share in (0.0, 0.5):
        grown = np.subtract(sizes[400, share], sizes[200, share])
        np.testing.assert_allclose(grown, [200 * 16, 200 * 8, 200 * 8], atol=slack)
    np.testing.assert_allclose(sizes[400, 0.0], sizes[400, 0.5], atol=slack)
    assert max(sizes[400, 0.5]) < 400 * 30 * 20 / 8  # far fewer than the cells, packed


def test_parts_must_fit_together() -> None:
    with pytest.raises(InputError, match=r"part 1 has shape \(2, 3\) and part 0 \(2, 4\); parts may differ"):
        shard([DenseTensor(np.zeros((2, 4))), DenseTensor(np.zeros((2, 3)))])


def test_labels_are_put_together() -> None:
    import xarray as xr

    X = xr.DataArray(np.eye(4), dims=("who", "what"), coords={"who": list("abcd"), "what": list("wxyz")})
    tensor = shard([DenseTensor(X[:3]), DenseTensor(X[3:])])
    assert tensor.modes == ("who", "what")
    assert [list(labels) for labels in tensor.labels] == [list("abcd"), list("wxyz")]
    with pytest.raises(InputError, match="Part 1 and part 0 have different labels for 'what'"):
        shard([DenseTensor(X[:2]), DenseTensor(X[2:, ::-1])])


@pytest.mark.parametrize("missing", [0.0, 0.2, 0.7])
def test_a_digest_knows_cells_again_and_every_change_of_them(missing: float) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((9, 5, 4)) < missing, np.nan, rng.random((9, 5, 4)) < 0.5)
    known = sharded(X)[0].digest()
    listed = SparseTensor(np.argwhere(~np.isnan(X)), X.shape, X[~np.isnan(X)], "missing")
    unlisted = SparseTensor(np.argwhere(X == 1), X.shape, missing=np.argwhere(np.isnan(X)))
    assert {tensor.digest() for tensor in (DenseTensor(X), listed, unlisted)} == {known}
    assert shard([DenseTensor(X[:2]), DenseTensor(X[2:])]).digest() == known
    for cell in np.ndindex(X.shape):
        for value in {0.0, 1.0} - {X[cell]}:
            other = X.copy()
            other[cell] = value
            assert sharded(other)[0].digest() != known


def test_two_cells_that_change_places_change_the_digest() -> None:
    """Counts of every index stay as they are: 2 x 2 corners exchanged."""
    X = np.zeros((4, 4, 2))
    X[0, 0, 0] = X[1, 1, 0] = 1
    Y = np.zeros((4, 4, 2))
    Y[0, 1, 0] = Y[1, 0, 0] = 1
    assert sharded(X)[0].digest() != sharded(Y)[0].digest()


def test_components_are_chosen_as_in_one_piece(tmp_path: Path) -> None:
    X = datasets.simulate((9, 8, 7), rank=2, density=0.3, noise=0.05, random_state=0).observed
    choose = partial(select_components, method="mdl", candidates=[1, 2, 3], n_repeats=1, progress=False)
    tensor, _ = sharded(X)
    assert choose(tensor, run_dir=tmp_path).table == choose(X).table


def test_relational_shards() -> None:
    """As they are: a normalised matrix would depend on all objects."""
    matrix, make = np.random.default_rng(0).random((9, 6)), partial(RelationalTensor, normalise=None)
    whole, parted = make(matrix), shard([make(matrix[:4]), make(matrix[4:])])
    assert (parted.shape, parted.n_ones, parted.n_observed) == (whole.shape, whole.n_ones, whole.n_observed)
    masks = Factors.from_bits([np.random.default_rng(1).random((N, 3)) < 0.6 for N in whole.shape])
    for mode in range(3):
        np.testing.assert_array_equal(parted.counts(mode, masks), whole.counts(mode, masks))
    assert parted.confusion(masks) == whole.confusion(masks)
    ones = [tensor.sample_ones(np.random.default_rng(2), 20) for tensor in (whole, parted)]
    np.testing.assert_array_equal(*ones)
