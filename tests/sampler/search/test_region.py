"""Parts of a tensor: how they are chosen, and what is found in them carried over to the whole."""

from __future__ import annotations

import numpy as np

from explanations import make_explanation, make_model
from tensorm.datasets import simulate
from tensorm.model import boolean_product
from tensorm.sampler.prior import FixedPrior
from tensorm.sampler.search.explanation import Explanation
from tensorm.sampler.search.region import FIRST_SEARCH, RARE_ONES, SearchSize, choose_region
from tensorm.sampler.search.seeding import begin
from tensorm.tensors import DenseTensor, SparseTensor, Tensor
from tensorm.tensors.factors import Factors


def nothing(tensor: Tensor, L: int) -> Explanation:
    return Explanation(tensor, make_model(L), Factors.empty(tensor.shape, L))


def test_large_tensors_are_searched_in_part() -> None:
    sim = simulate((170, 150, 130), rank=5, density=0.2, noise=0.1, random_state=0)
    tensor, rng = DenseTensor(sim.observed), np.random.default_rng(0)
    part, planted = choose_region(tensor, rng, FIRST_SEARCH), make_explanation(sim.observed, sim.factors)
    small = part.cut(planted)
    assert 2**18 < np.prod(small.tensor.shape) <= 2**20
    assert (part.n_ones, part.drawn) == (FIRST_SEARCH.ones, True)
    for found, factor, index in zip(small.bits, sim.factors, part.indices, strict=True):
        np.testing.assert_array_equal(found, factor[index])
    whole = part.spread(small, nothing(tensor, 5))
    for found, factor in zip(whole.bits, sim.factors, strict=True):
        np.testing.assert_array_equal(found, factor)
    np.testing.assert_array_equal(boolean_product(begin(tensor, make_model(5), rng).bits), sim.noise_free)


def test_a_given_prior_weighs_as_much_in_a_part_as_in_the_whole() -> None:
    """Entries have fewer cells there, so their log-odds are smaller in the same proportion."""
    tensor = DenseTensor(np.random.default_rng(0).random((300, 200)) < 0.5)
    whole = Explanation(
        tensor,
        make_model(2, prior=FixedPrior.from_probabilities([0.5, 1e-30])),
        Factors.empty(tensor.shape, 2),
    )
    part = choose_region(tensor, np.random.default_rng(0), SearchSize(600, 9, 1))
    n = [len(index) for index in part.indices]
    assert np.prod(n) <= 600
    first, second = part.cut(whole).target.prior.tables
    assert (first == 0).all()
    np.testing.assert_allclose(second, np.log(1e-30 / (1 - 1e-30)) * n[0] / 300)


def test_small_tensors_are_searched_as_a_whole() -> None:
    explanation, other = (make_explanation(np.eye(6), [np.eye(6, 2, dtype=bool)] * 2) for _ in range(2))
    part = choose_region(explanation.tensor, np.random.default_rng(0), SearchSize(36, 9, 1))
    assert part.indices is None
    assert part.cut(explanation) is explanation
    assert part.spread(other, explanation) is other
    assert (
        choose_region(explanation.tensor, np.random.default_rng(0), SearchSize(35, 9, 1)).indices is not None
    )


def test_where_ones_are_rare_a_part_holds_those_that_nothing_explains() -> None:
    shape = (2000, 1500, 1000)
    blocks = [np.argwhere(np.ones((10, 10, 10))) + first for first in (0, 500)]
    tensor = SparseTensor(np.concatenate(blocks), shape)
    explanation, all_rows = nothing(tensor, 1), np.r_[0:10, 500:510]
    for explained, left in ((0, all_rows), (10, all_rows[10:]), (510, [0])):
        known = explanation.replaced(0, [np.arange(size) < explained for size in shape])
        part = choose_region(tensor, np.random.default_rng(0), FIRST_SEARCH, known)
        assert (part.n_ones, part.drawn) == (RARE_ONES.ones, False)
        for index in part.indices:
            np.testing.assert_array_equal(index, left)
