"""Pictures: what is drawn, how rows are ordered and named, and that names never overlap."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

from posteriors import HOURS, PEOPLE, ROLES, bits, make_posterior, ward_posterior
from tensorm import InputError
from tensorm.report.plots import plot_factor, plot_factors

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def names(ax) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def shades(ax) -> np.ndarray:
    (image,) = ax.get_images()
    return np.asarray(image.get_array())


def wide(size: int) -> object:
    """A mode too long to name each row, next to a short one."""
    return make_posterior([[[bits(size, range(0, size, 2)), bits(3, [0])]]])


def test_shades_are_posterior_means_between_0_and_1() -> None:
    posterior = ward_posterior()
    ax = plot_factor(posterior, "met")
    np.testing.assert_array_equal(shades(ax), posterior.factors[2])
    assert ax.get_images()[0].get_clim() == (0, 1)
    assert ax.get_title() == "met"
    assert ax.get_xlabel() == "component"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1"]


def test_rows_have_their_labels() -> None:
    assert names(plot_factor(ward_posterior(), "hour")) == list(HOURS)


def test_it_draws_where_it_is_told_to() -> None:
    figure, (left, right) = pyplot.subplots(1, 2)
    assert plot_factor(ward_posterior(), 0, ax=right) is right
    assert not left.get_images()
    bars = [ax for ax in figure.axes if ax not in (left, right)]
    assert [bar.get_ylabel() for bar in bars] == ["probability"]
    assert len(pyplot.get_fignums()) == 1


def test_no_colour_bar_when_there_is_none_wanted() -> None:
    ax = plot_factor(ward_posterior(), 0, colorbar=False)
    assert ax.figure.axes == [ax]


def test_groups_bring_rows_together() -> None:
    order = np.array([4, 0, 5, 1, 6, 2, 7, 3])  # nurses and doctors in turn
    posterior = ward_posterior()
    mixed = make_posterior(
        [[[bits(6, [1]), bits(8, [0, 1, 2]), bits(8, [0])]]],
        ("hour", "person", "met"),
        (HOURS, PEOPLE[order], PEOPLE),
    )
    ax = plot_factor(mixed, "person", groups=ROLES[order])
    assert names(ax) == [*PEOPLE[4:], *PEOPLE[:4]]
    np.testing.assert_array_equal(np.flatnonzero(shades(ax)), [0, 1, 4])
    assert [text.get_text() for text in ax.texts] == ["nurse", "doctor"]
    lines = [line for line in ax.lines if line.get_linewidth() > 0.5]
    assert [line.get_ydata()[0] for line in lines] == [3.5]
    assert not plot_factor(posterior, "person").texts


def test_long_modes_name_groups_in_place_of_rows() -> None:
    groups = ["control"] * 60 + ["treated"] * 140
    assert names(plot_factor(wide(200), 0, groups=groups)) == ["control", "treated"]


def test_long_modes_name_some_rows() -> None:
    shown = names(plot_factor(wide(1000), 0))
    assert shown[0] == "0"
    assert 5 < len(shown) < 50
    assert len({int(b) - int(a) for a, b in itertools.pairwise(shown)}) == 1


@pytest.mark.parametrize("size", [13, 40, 75, 1000])
@pytest.mark.parametrize("n_groups", [0, 4, 60])
def test_names_do_not_overlap(size, n_groups) -> None:
    groups = {0: np.sort(np.arange(size) % n_groups)} if n_groups else None
    figure = plot_factors(wide(size), groups)
    figure.draw_without_rendering()
    for texts in (figure.axes[0].get_yticklabels(), figure.axes[0].texts):
        boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: box.y0)
        assert all(below.y1 <= above.y0 + 1 for below, above in itertools.pairwise(boxes))


def test_all_modes_side_by_side() -> None:
    figure = plot_factors(ward_posterior(), {"person": ROLES, "met": ROLES})
    hour, person, met, bar = figure.axes
    assert [ax.get_title() for ax in (hour, person, met)] == ["hour", "person", "met"]
    assert names(hour) == list(HOURS)
    assert names(person) == list(PEOPLE)
    assert names(met) == []  # the names to its left serve it too
    assert bar.get_ylabel() == "probability"
    assert {ax.get_xlim() for ax in (hour, person, met)} == {(-0.5, 1.5)}


def test_any_number_of_modes_and_components() -> None:
    posterior = make_posterior([[[bits(3, *[[0]] * 70) for _ in range(5)]]])
    figure = plot_factors(posterior)
    assert len(figure.axes) == 5 + 1
    assert len(figure.axes[0].get_xticks()) <= 16


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="Unknown mode 'role'; the modes are"):
        plot_factor(ward_posterior(), "role")
    with pytest.raises(InputError, match=r"groups for 'hour' has shape \(8,\)"):
        plot_factor(ward_posterior(), "hour", groups=ROLES)
    assert not pyplot.get_fignums()


def test_without_matplotlib_it_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "tensorm\[plot\]"'):
        plot_factor(ward_posterior(), 0)


def test_rows_are_ordered_by_values_within_groups() -> None:
    age = [50, 20, 40, 30, 10, 80, 70, 60]
    assert names(plot_factor(ward_posterior(), "person", order=age)) == list(PEOPLE[np.argsort(age)])
    ax = plot_factor(ward_posterior(), "person", groups=ROLES, order=age)
    assert names(ax) == [f"doctor {n:02d}" for n in (2, 4, 3, 1)] + [f"nurse {n:02d}" for n in (1, 4, 3, 2)]


def test_rows_of_modes_without_an_order_are_ordered_by_component() -> None:
    figure = plot_factors(ward_posterior())
    assert names(figure.axes[0]) == list(HOURS)  # most of them touch
    assert names(figure.axes[1]) == names(plot_factor(ward_posterior(), "person", order="component"))
    assert names(figure.axes[2]) == []  # in the same order
    assert names(plot_factor(ward_posterior(), "person", order="given")) == list(PEOPLE)


def test_rows_are_ordered_by_component() -> None:
    figure = plot_factors(ward_posterior(), order="component")
    hour, person, met, _ = figure.axes
    assert names(hour) == ["08-09", "09-10", "10-11", "night", "12-13", "11-12"]
    assert names(person) == list(PEOPLE)
    assert names(met) == []
    figure = plot_factors(ward_posterior(), order={"met": range(8, 0, -1)})
    assert names(figure.axes[0]) == list(HOURS)
    assert names(figure.axes[2]) == list(PEOPLE[::-1])
    with pytest.raises(InputError, match=r"order for 'hour' has shape \(8,\); give \(6,\)"):
        plot_factors(ward_posterior(), order={"hour": range(8)})
    with pytest.raises(InputError, match=r"order for 'hour' has shape \(\)"):
        plot_factor(ward_posterior(), "hour", order="age")
