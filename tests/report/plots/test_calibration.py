"""The picture of a calibration curve."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tensorm import InputError, score_cells
from tensorm.report.plots import plot_calibration

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def made(n=2000, seed=0):
    p = np.random.default_rng(seed).random(n)
    return score_cells(np.random.default_rng(seed + 1).random(n) < p, p)


def test_points_bars_and_numbers_are_those_of_the_curve() -> None:
    curve = made().calibration
    ax = plot_calibration(curve)
    diagonal, points = ax.lines
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    np.testing.assert_array_equal(points.get_xydata(), np.stack([curve.predicted, curve.found], axis=1))
    (bars,) = ax.collections
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, np.stack([curve.low, curve.high], axis=1))
    assert [text.get_text() for text in ax.texts] == [f"{cells:,}" for cells in curve.cells]
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 1), (0, 1))


def test_scores_carry_their_curve_and_axes_are_used() -> None:
    figure, (left, right) = pyplot.subplots(1, 2)
    assert plot_calibration(made(), ax=right) is right
    assert not left.lines
    assert len(pyplot.get_fignums()) == 1
    figure.draw_without_rendering()


def test_numbers_stay_inside_and_apart() -> None:
    ax = plot_calibration(made(200_000))
    ax.figure.draw_without_rendering()
    frame = ax.get_window_extent()
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.x0)
    assert len(boxes) == 10
    assert all(frame.y0 < box.y0 and box.y1 < frame.y1 for box in boxes)
    assert all(a.x1 <= b.x0 for a, b in itertools.pairwise(boxes))


def test_something_else_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"^curve is a list; give what model.scores or score_cells return\.$"
    ):
        plot_calibration([0.1, 0.2])
    assert not pyplot.get_fignums()
