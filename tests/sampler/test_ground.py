"""The ground of a search: what it computes of the components that are there."""

from __future__ import annotations

import numpy as np
import pytest
from grounds import small_ground
from scipy.special import betaln

from tensorm.model import boolean_product
from tensorm.sampler.ground import covered, losses


def test_score_is_the_log_posterior_with_rates_and_densities_integrated_out() -> None:
    ground = small_ground()
    tp, fp, fn, tn = ground.confusion
    expected = betaln(1 + tp, 1 + fp) + betaln(1 + fn, 1 + tn)
    for bits in ground.bits:
        expected += betaln(1 + bits.sum(), 1 + (~bits).sum())
    assert ground.score == pytest.approx(expected)


def test_losses_are_what_the_score_loses() -> None:
    ground = small_ground()
    expected = [ground.score - ground.emptied([l]).score for l in range(3)]
    np.testing.assert_allclose(losses(ground), expected, atol=1e-9)


def test_covered_cells_are_those_of_the_product() -> None:
    ground = small_ground()
    cells = np.argwhere(np.ones(ground.tensor.shape))
    expected = boolean_product(ground.bits)[tuple(cells.T)]
    np.testing.assert_array_equal(covered(ground, cells), expected)
