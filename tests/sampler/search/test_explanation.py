"""The explanation of a search: what it computes of the components that are there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln

from explanations import small_explanation
from tensorm.sampler.search.explanation import losses


def test_score_is_the_log_posterior_with_rates_and_densities_integrated_out() -> None:
    explanation = small_explanation()
    tp, fp, fn, tn = explanation.confusion
    expected = betaln(1 + tp, 1 + fp) + betaln(1 + fn, 1 + tn)
    for bits in explanation.bits:
        expected += betaln(1 + bits.sum(), 1 + (~bits).sum())
    assert explanation.score == pytest.approx(expected)


def test_losses_are_what_the_score_loses() -> None:
    explanation = small_explanation()
    expected = [explanation.score - explanation.emptied([l]).score for l in range(3)]
    np.testing.assert_allclose(losses(explanation), expected, atol=1e-9)
