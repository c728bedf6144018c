"""Pictures of components, cells and associations: what is drawn, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from posteriors import PEOPLE, ROLES, bits, make_posterior, ward_posterior
from tensorm import InputError, TensOrMachine
from tensorm.datasets import simulate
from tensorm.posterior.contributions import Contribution, Measured
from tensorm.report.associations import associate
from tensorm.report.plots import (
    plot_associations,
    plot_component,
    plot_contributions,
    plot_members,
    plot_reconstruction,
    plot_slice,
)
from tensorm.report.plots.calibration import bin_cells

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def names(axis) -> list[str]:
    return [text.get_text() for text in axis.get_ticklabels()]


def test_members_are_listed_with_their_probabilities() -> None:
    ax = plot_members(ward_posterior(), 1, "met", threshold=0.2)
    assert names(ax.yaxis) == ["nurse 02", "nurse 03", "nurse 04 (0.25)"]
    assert [bar.get_width() for bar in ax.patches][:3] == [1, 1, 0.25]
    assert ax.get_title() == "met (3 of 8)"
    assert names(plot_members(ward_posterior(), 1, "met").yaxis) == ["nurse 02", "nurse 03"]


def test_members_are_ordered_by_what_they_contribute() -> None:
    both = [bits(4, [0, 1, 2], [3]), bits(5, [0, 1, 2, 3], [0, 4])]
    X = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 0], [1, 0, 0, 0, 0], [1, 0, 0, 0, 1]])
    ax = plot_members(make_posterior([[both]]), 0, 0, X=X)
    assert names(ax.yaxis) == ["1", "0", "2"]
    assert [bar.get_width() for bar in ax.patches] == [1, 0.5, 0.25] * 2  # light, dark: all ones are its own
    other = [bits(4, [0, 1, 2], [0]), bits(5, [0, 1, 2, 3], [0, 4])]  # index 0 has a cell in both
    ax = plot_members(make_posterior([[other]]), 0, 0, X=X)
    assert [bar.get_width() for bar in ax.patches] == [1, 0.5, 0.25, 1, 0.25, 0.25]
    figure = plot_component(make_posterior([[other]]), 0, X=X)
    assert names(figure.axes[1].yaxis) == ["0", "1", "2", "3"]


def test_a_fit_knows_what_its_members_contribute() -> None:
    X = np.zeros((6, 5))
    X[:3, :4] = X[0, 4] = 1
    X[2, 1:3] = 0
    model = TensOrMachine(1, n_chains=1, n_draws=5, effort=0, random_state=0, progress=False).fit(X)
    told, counted = (
        model.plot("members", component=0, mode=0),
        model.plot("members", component=0, mode=0, X=X),
    )
    assert names(told.yaxis) == names(counted.yaxis)
    assert [bar.get_width() for bar in told.patches] == [bar.get_width() for bar in counted.patches]


def test_without_at_the_fullest_slice_is_drawn() -> None:
    draw = [bits(3, [1], [1, 2]), bits(6, [0, 1], [2, 3, 4]), bits(5, [0], [3, 4])]
    ax = plot_slice(make_posterior([[draw]], ("hour", "i", "j")))
    assert ax.get_title() == "hour 1"  # both components are there
    expected = make_posterior([[draw]]).predict_all()[1]
    np.testing.assert_allclose(ax.get_images()[0].get_array(), expected)


def test_slices_are_in_the_order_of_the_components() -> None:
    draw = [bits(4, [1, 3], [0]), bits(3, [0], [2])]
    labels = np.array(["ann", "bob", "cat", "dan"]), np.array([1, 2, 3])
    posterior = make_posterior([[draw]], ("who", "year"), labels)
    assert names(plot_slice(posterior).yaxis) == ["bob", "dan", "ann", "cat"]
    assert names(plot_slice(posterior).xaxis) == ["1", "2", "3"]  # numbers have an order of their own
    assert names(plot_slice(posterior, order="given").yaxis) == ["ann", "bob", "cat", "dan"]
    with pytest.raises(InputError, match=r"^order is 'x'; choose 'auto', 'component' or 'given'\.$"):
        plot_slice(posterior, order="x")


def test_calibration_has_bins_with_enough_ones_and_their_errors() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.3, 6, 40_000)
    ones = rng.random(len(p)) < p
    found = bin_cells(p, ones, np.ones(len(p)), 8)
    assert len(found) == 8
    assert sum(one.cells for one in found) == len(p)
    assert max(one.cells for one in found) > 20 * min(one.cells for one in found)  # most cells are zeros
    expected = [one.cells * min(one.predicted, 1 - one.predicted) for one in found]
    assert max(expected) < 1.3 * min(expected)
    assert sum(one.low <= one.predicted <= one.high for one in found) >= 6
    wrong = bin_cells(np.clip(2 * p, 0, 1), ones, np.ones(len(p)), 8)  # twice too high
    assert sum(one.low <= one.predicted <= one.high for one in wrong) <= 2


def test_calibration_weighs_cells_that_stand_for_others() -> None:
    p, ones = np.full(1100, 0.1), np.arange(1100) < 100
    (one,) = bin_cells(p, ones, np.where(ones, 1.0, 0.9), 5)
    assert (one.observed, one.cells) == (pytest.approx(0.1), 1000)


def test_calibration_is_drawn() -> None:
    sim = simulate((12, 12, 6), rank=2, noise=0.1, random_state=0)
    model = TensOrMachine(2, n_draws=20, n_chains=1, noise="asymmetric", random_state=0, progress=False)
    ax = model.fit(sim.observed).plot("calibration", X=sim.observed)
    dots = ax.lines[-1].get_xydata()
    np.testing.assert_allclose(dots[:, 0], dots[:, 1], atol=0.1)
    counts = sum(int(text.get_text().replace(",", "")) for text in ax.texts)
    assert counts == sim.observed.size


def test_long_lists_are_cut_and_empty_ones_drawn() -> None:
    posterior = make_posterior([[[bits(100, range(50), []), bits(3, [0], [])]]])
    ax = plot_members(posterior, 0, 0)
    assert len(ax.patches) == 2 * 40  # light and dark
    assert names(ax.yaxis)[-1] == "and 10 more"
    assert plot_members(posterior, 1, 0).get_title() == "mode 0 (0 of 100)"


def test_a_component_is_a_list_for_each_mode() -> None:
    figure = plot_component(ward_posterior(), 0)
    assert [ax.get_title() for ax in figure.axes] == ["hour (3 of 6)", "person (5 of 8)", "met (5 of 8)"]
    assert len({ax.get_ylim() for ax in figure.axes}) == 1  # bars are equally thick
    for component in (2, -1, "x"):
        with pytest.raises(InputError, match="component is"):
            plot_component(ward_posterior(), component)


def test_a_slice_of_predictions_or_data() -> None:
    posterior = ward_posterior()
    ax = plot_slice(posterior, {"hour": "09-10"})
    shown = np.asarray(ax.get_images()[0].get_array())
    np.testing.assert_allclose(shown, posterior.predict_slice("hour", 2))
    assert (ax.get_title(), ax.get_ylabel(), ax.get_xlabel()) == ("hour 09-10", "person", "met")
    assert names(ax.yaxis)[0] == PEOPLE[0]
    X = np.random.default_rng(0).integers(0, 2, (6, 8, 8)).astype(float)
    X[2, 0, 0] = np.nan
    seen = plot_slice(posterior, {0: 2}, X).get_images()[0].get_array()
    assert seen.mask[0, 0]
    np.testing.assert_array_equal(seen.astype(float).filled(np.nan), X[2])


def test_a_matrix_needs_no_slice_and_many_modes_need_several() -> None:
    matrix = make_posterior([[[bits(3, [0]), bits(4, [1])]]])
    assert plot_slice(matrix).get_images()[0].get_array().shape == (3, 4)
    four = make_posterior([[[bits(n, [0]) for n in (2, 3, 4, 5)]]])
    ax = plot_slice(four, {1: 2, 3: 0})
    np.testing.assert_allclose(ax.get_images()[0].get_array(), four.predict_all()[:, 2, :, 0])
    with pytest.raises(InputError, match=r"at names 1 of the modes .* give an index for 2 of them"):
        plot_slice(four, {1: 2})
    with pytest.raises(InputError, match="at is 3; give an index for some modes"):
        plot_slice(four, 3)
    with pytest.raises(InputError, match="at names 0 of the modes"):
        plot_reconstruction(ward_posterior(), np.zeros((6, 8, 8)), {})
    with pytest.raises(InputError, match=r"^Unknown hour 'noon'; labels look like 'night'"):
        plot_slice(ward_posterior(), {"hour": "noon"})
    with pytest.raises(InputError, match=r"X has shape \(2, 2\)"):
        plot_slice(ward_posterior(), {"hour": 0}, np.eye(2))


def test_data_and_reconstruction_side_by_side() -> None:
    figure = plot_reconstruction(ward_posterior(), np.ones((6, 8, 8)), {"hour": 0})
    left, right, bar = figure.axes
    assert (left.get_title(), right.get_title()) == ("data", "reconstruction")
    assert left.get_images()[0].get_array().min() == 1
    assert right.get_images()[0].get_array().min() < 0.1
    assert bar.get_ylabel() == "probability"


def test_contributions() -> None:
    rows = (Contribution(0, 10, 8, 8, 2, 5, 2, 0.1, 3.0), Contribution(1, 6, 4, 1, 1, 1, 1, 0.0, 1.0))
    ax = plot_contributions(replace(ward_posterior(), measures=(Measured(tuple(rows)),)))
    spans = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    assert spans == [(0, 5), (0, 1), (5, 3), (1, 3), (0, -2), (0, -1)]
    fitted = TensOrMachine(2, n_chains=1, n_draws=3, burn_in=2, noise="asymmetric", progress=False).fit(
        np.eye(4)
    )
    assert len(plot_contributions(fitted.posterior_).patches) == 6
    with pytest.raises(InputError, match="has no contributions"):
        plot_contributions(ward_posterior())


def test_associations() -> None:
    found = associate(ward_posterior(), {"person": ROLES})
    ax = plot_associations(ward_posterior(), {"person": ROLES}, q=0.1)
    values = ax.get_images()[0].get_array()
    assert values.shape == (2, 2)
    by_name = dict(zip(names(ax.yaxis), values, strict=True))
    row = next(row for row in found.rows if (row.component, row.category) == (0, "doctor"))
    assert by_name["person, group: doctor"][0] == pytest.approx(-np.log10(row.q))
    assert len(ax.lines) == (1 if found.below(0.1) else 0)
    assert len(plot_associations(ward_posterior(), {"person": ROLES}, q=1.0).lines[0].get_xdata()) == 4
    ages = {"met": {"label": [f"doctor 0{n}" for n in range(1, 5)] + [f"nurse 0{n}" for n in range(1, 5)]}}
    ages["met"]["age"] = range(8)
    marks = plot_associations(ward_posterior(), ages, q=1.0).lines
    assert {line.get_marker() for line in marks} <= {"^", "v"}
    with pytest.raises(InputError, match="metadata has nothing to test"):
        plot_associations(ward_posterior(), {"person": {"label": PEOPLE, "ward": ["north"] * 8}})
