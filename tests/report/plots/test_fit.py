"""Pictures of components, cells and associations: what is drawn, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from posteriors import PEOPLE, ROLES, bits, make_posterior, ward_posterior
from tensorm import InputError, TensOrMachine
from tensorm.posterior.contributions import Contribution
from tensorm.report.associations import associate
from tensorm.report.plots import (
    plot_associations,
    plot_component,
    plot_contributions,
    plot_members,
    plot_reconstruction,
    plot_slice,
)

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def names(axis) -> list[str]:
    return [text.get_text() for text in axis.get_ticklabels()]


def test_members_are_listed_with_their_probabilities() -> None:
    ax = plot_members(ward_posterior(), 1, "met", threshold=0.2)
    assert names(ax.yaxis) == ["nurse 02", "nurse 03", "nurse 04"]
    assert [bar.get_width() for bar in ax.patches] == [1, 1, 0.25]
    assert ax.get_title() == "met (3 of 8)"
    assert names(plot_members(ward_posterior(), 1, "met").yaxis) == ["nurse 02", "nurse 03"]


def test_long_lists_are_cut_and_empty_ones_drawn() -> None:
    posterior = make_posterior([[[bits(100, range(50), []), bits(3, [0], [])]]])
    ax = plot_members(posterior, 0, 0)
    assert len(ax.patches) == 40
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
        plot_reconstruction(ward_posterior(), np.zeros((6, 8, 8)))
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
    rows = (Contribution(0, 10, 8, 8, 5, 2, 0.1, 3.0), Contribution(1, 6, 4, 1, 1, 1, 0.0, 1.0))
    ax = plot_contributions(replace(ward_posterior(), contributions=rows))
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
