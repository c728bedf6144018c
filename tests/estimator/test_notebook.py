"""What a fit shows in a notebook, and gives to pandas, networkx, AnnData and scikit-learn."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV

import tensorm
from tensorm import InputError, TensOrMachine, datasets
from tensorm.posterior.align import similarity

QUICK: dict[str, Any] = {"n_chains": 2, "n_draws": 20, "effort": 0, "noise": "asymmetric", "progress": False}
X = datasets.ward()


@pytest.fixture(scope="module")
def fitted() -> TensOrMachine:
    return TensOrMachine(7, **QUICK).fit(X)


# Cards and tables


def test_a_fit_is_a_card_in_a_notebook(fitted: TensOrMachine) -> None:
    shown = fitted._repr_mimebundle_()["text/html"]
    assert "7 components explain" in shown
    assert fitted.diagnostics_.conclusion in shown
    assert shown.count("<tr>") == 8
    assert "doctor 01" in shown
    assert ">met</th>" not in shown  # as person
    assert "08-11 (3 of 13)" in shown
    assert "doctor" in repr(fitted._repr_html_())


def test_the_picture_shows_the_predictions(fitted: TensOrMachine) -> None:
    packed = re.search(r"base64,([^\"]*)", fitted._repr_html_())
    assert packed
    data = base64.b64decode(packed[1])
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert (width, height) == (75, 75)
    start = data.index(b"IDAT")
    length = struct.unpack(">I", data[start - 4 : start])[0]
    lines = np.frombuffer(zlib.decompress(data[start + 4 : start + 4 + length]), np.uint8)
    pixels = lines.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3)
    shares = (255 - pixels[..., 0]) / (255 - 38)
    predicted = fitted.predict_proba().mean(axis=0)
    most = float(re.search(r"at most ([\d.]+)", fitted._repr_html_())[1])
    assert most == pytest.approx(predicted.max(), abs=0.006)
    np.testing.assert_allclose(np.sort(shares * most, axis=None), np.sort(predicted, axis=None), atol=0.01)


def test_a_card_escapes_labels() -> None:
    cells = pd.DataFrame(
        np.kron(np.eye(2, dtype=int), np.ones((4, 4), int)), columns=[f"<b>{n}" for n in range(8)]
    )
    shown = TensOrMachine(2, **QUICK).fit(tensorm.read(cells, wide=True))._repr_html_()
    assert "&lt;b&gt;0" in shown
    assert "<b>0" not in shown


def test_an_estimator_without_a_fit_shows_its_settings() -> None:
    assert "TensOrMachine" in TensOrMachine(3)._repr_html_()


def test_results_are_tables(fitted: TensOrMachine) -> None:
    scores, top = fitted.scores(X), fitted.top_cells("person", "doctor 04", n=3)
    for result, columns in (
        (fitted.diagnostics_, ["chain", "explanation", "weight"]),
        (fitted.contributions_, ["component", "covered", "explained"]),
        (top, ["hour", "person", "met"]),
        (scores, ["model", "constant"]),
        (scores.calibration, ["predicted", "found", "low"]),
    ):
        table = result.to_dataframe()
        assert table.columns[: len(columns)].tolist() == columns
        assert columns[-1] in result._repr_html_()
    assert top.to_dataframe()["probability"].tolist() == top.probabilities.tolist()
    assert set(top.to_dataframe()["person"]) == {"doctor 04"}
    assert scores.to_dataframe().loc["auc", "model"] == scores.model.auc
    assert fitted.contributions_.to_dataframe()["alone"].tolist() == [
        row.alone for row in fitted.contributions_
    ]
    assert fitted.diagnostics_.conclusion in fitted.diagnostics_._repr_html_()


def test_a_selection_shows_its_candidates() -> None:
    found = tensorm.select_components(X[:3], method="mdl", candidates=[1, 2], random_state=0)
    assert found.reason in found._repr_html_()


# Labels


def test_cells_are_predicted_by_label(fitted: TensOrMachine) -> None:
    hours, people, _ = fitted.posterior_.labels
    expected = fitted.predict_proba([[2, 3, 4], [0, 1, 1]])
    cells = [[hours[2], people[3], people[4]], [hours[0], people[1], people[1]]]
    table = pd.DataFrame(cells, columns=["hour", "person", "met"])
    for given in (cells, np.array(cells), table[["met", "hour", "person"]], pl.from_pandas(table)):
        np.testing.assert_array_equal(fitted.predict_proba(given), expected)
    np.testing.assert_array_equal(fitted.predict(table), (expected > 0.5).astype(np.int8))


def test_numbers_in_a_table_are_labels() -> None:
    table = pd.DataFrame({"day": [10, 10, 20, 30], "id": [7, 8, 7, 9]})
    model = TensOrMachine(1, **QUICK).fit(table)
    np.testing.assert_array_equal(
        model.predict_proba(pd.DataFrame({"day": [30], "id": [7]})), model.predict_proba([[2, 0]])
    )


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        (
            [["night", "nobody", "doctor 01"]],
            r"Unknown person 'nobody' in row 0 of indices; labels look like 'doctor 01'",
        ),
        (pd.DataFrame({"hour": ["night"], "person": ["doctor 01"]}), "The table has no column 'met'"),
        (
            pd.DataFrame({"hour": ["noon"], "person": ["doctor 01"], "met": ["doctor 01"]}),
            "Unknown hour 'noon' in row 0",
        ),
        ([["night", "doctor 01"]], r"indices"),
    ],
)
def test_unknown_labels_are_named(fitted: TensOrMachine, cells: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        fitted.predict_proba(cells)


# Two fits


def test_fits_with_other_seeds_are_compared(fitted: TensOrMachine) -> None:
    again = TensOrMachine(7, **QUICK, random_state=1).fit(X)
    found = tensorm.compare_fits(fitted, again)
    assert found.conclusion == "Both fits found the same 7 components."
    assert all(alike > 0.95 for *_, alike in found.matches)
    assert found.to_dataframe().shape == (7, 3)


def test_a_comparison_names_what_one_fit_lacks(fitted: TensOrMachine) -> None:
    fewer = TensOrMachine(5, **QUICK).fit(X)
    found, back = tensorm.compare_fits(fitted, fewer), tensorm.compare_fits(fewer.posterior_, fitted)
    only = [match.first for match in found.matches if match.second is None]
    assert only
    expected = similarity(fitted.factors_, fewer.factors_).max(axis=1)
    assert [match.similarity for match in found.matches] == pytest.approx(expected)
    assert "only the first found component" in found.conclusion
    assert sorted(match.second for match in back.matches if match.first is None) == only
    assert str(found).splitlines()[-1] == found.conclusion
    assert found.conclusion in found._repr_html_()


def test_fits_of_other_things_are_refused(fitted: TensOrMachine) -> None:
    with pytest.raises(InputError, match=r"The fits have shapes \(13, 75, 75\) and \(3, 75, 75\)"):
        tensorm.compare_fits(fitted, TensOrMachine(1, **QUICK).fit(X[:3]))
    with pytest.raises(InputError, match="second is 3; give a fitted model"):
        tensorm.compare_fits(fitted, 3)


# Other libraries


def test_members_are_a_graph(fitted: TensOrMachine) -> None:
    networkx = pytest.importorskip("networkx")
    graph, members = fitted.to_networkx(), fitted.members()
    assert networkx.is_bipartite(graph)
    assert graph.number_of_edges() == len(members)
    assert graph.number_of_nodes() == 13 + 75 + 75 + 7
    row = members.iloc[0]
    assert (
        graph.edges[(row["mode"], row["label"]), ("component", row["component"])]["weight"]
        == row["probability"]
    )


def test_memberships_become_anndata(fitted: TensOrMachine) -> None:
    anndata = pytest.importorskip("anndata")
    found = fitted.to_anndata()
    np.testing.assert_array_equal(found.obsm["X_tensorm"], fitted.factors_[0])
    np.testing.assert_array_equal(found.varm["tensorm"], fitted.factors_[1])
    np.testing.assert_array_equal(found.uns["tensorm"]["factors"]["met"], fitted.factors_[2])
    assert found.obs_names[1] == "08-09"
    given = anndata.AnnData(np.zeros((13, 75), np.float32))
    assert fitted.to_anndata(given) is given
    assert "X_tensorm" in given.obsm
    with pytest.raises(InputError, match=r"give an AnnData object of shape \(13, 75\), as in fit"):
        fitted.to_anndata(anndata.AnnData(np.zeros((3, 75), np.float32)))


def test_anndata_with_memberships_can_be_written(fitted: TensOrMachine, tmp_path: Any) -> None:
    anndata = pytest.importorskip("anndata")
    fitted.to_anndata().write_h5ad(tmp_path / "found.h5ad")
    again = anndata.read_h5ad(tmp_path / "found.h5ad")
    np.testing.assert_array_equal(again.varm["tensorm"], fitted.factors_[1])


# Scores of new slices


def test_a_grid_search_finds_enough_components() -> None:
    sim = datasets.simulate((60, 20, 15), rank=3, density=0.3, noise=0.05, random_state=0)
    search = GridSearchCV(TensOrMachine(1, **QUICK), {"n_components": [1, 3]}, cv=3).fit(
        np.asarray(sim.observed)
    )
    few, enough = search.cv_results_["mean_test_score"]
    assert enough > 0.93
    assert few < enough - 0.05


def test_new_slices_are_predicted_from_half_of_their_cells() -> None:
    sim = datasets.simulate((60, 20, 15), rank=3, density=0.3, noise=0.05, random_state=1)
    cells = np.asarray(sim.observed)
    model = TensOrMachine(3, **QUICK).fit(cells[:40])
    assert model.score(cells[40:]) > 0.93
    assert (
        0.4 < model.score(np.random.default_rng(0).random((20, 20, 15)) < 0.5) < 0.6
    )  # coins cannot be foreseen


def test_slices_with_other_labels_are_new() -> None:
    sim = datasets.simulate((40, 30), rank=2, density=0.4, noise=0.0, random_state=0)
    table = pd.DataFrame(np.asarray(sim.observed).astype(int), index=[f"row {n:02}" for n in range(40)])
    model = TensOrMachine(2, **QUICK).fit(tensorm.read(table[:20], wide=True))
    assert model.score(tensorm.read(table[20:], wide=True)) > 0.9
    assert model.score(table[20:].to_numpy()) < 0.9  # taken as the fitted rows
