"""The studies of cancer, on made-up tumours with planted types and pathways; and small runs on real ones."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import comb
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray
from click.testing import CliRunner
from scipy.linalg import hadamard

from experiments import cancer, cancer_paper, forests, pathways, record, trials, tumours
from experiments.study import Fitted
from tensorm import RelationalTensor

TYPES = np.array(["A", "B", "C", "D"])[np.array([0, 2, 1] * 20 + [3])]  # in no order, and one patient of D
GENES = 40
FACTS = {"seconds": 1.0, "processor seconds": 1.0, "resumed": False}


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> xarray.DataArray:
    """Expression that stands for all data: ten genes of each type are high; later genes vary more."""
    values = np.random.default_rng(0).normal(size=(len(TYPES), GENES))
    for number, name in enumerate("ABC"):
        values[np.ix_(name == TYPES, np.arange(10 * number, 10 * number + 10))] += 3
    values *= 1 + np.arange(GENES) / 10
    coords = {
        "patient": [f"p{i}" for i in range(len(TYPES))],
        "gene": [f"g{i}_1" for i in range(GENES)],
        "cancer": ("patient", TYPES),
    }
    M = xarray.DataArray(values, dims=("patient", "gene"), coords=coords)
    monkeypatch.setattr(tumours, "ensure", lambda kind: None)
    monkeypatch.setattr(tumours.datasets, "cancer", lambda kind: M)
    monkeypatch.setattr(forests, "TREES", 5)
    monkeypatch.setattr(forests, "FOLDS", 2)
    return M


def test_forests_are_asked_about_patients_they_have_not_seen_in_folds_that_stay() -> None:
    rng = np.random.default_rng(0)
    noise, types = rng.normal(size=(90, 3)), np.repeat(["A", "B", "C"], 30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forests, "TREES", 5)
        found = {forests.forest_accuracy(noise, types) for _ in range(4)}
    assert len(found) == 1
    assert max(found) < 0.5


def test_directions_hold_nearly_all_of_the_variance() -> None:
    apart = hadamard(8)[:, 1:]
    assert forests.directions(apart) == 7
    assert forests.directions(100.0 * apart[:, :2] @ [[1, 0, 1, 0], [0, 1, 0, 1]] + 5) == 2
    scaled = forests.scale(apart * np.arange(1, 8) + 3)
    np.testing.assert_allclose(scaled, apart)
    np.testing.assert_array_equal(forests.scale(np.full((4, 1), 7)), np.zeros((4, 1)))


def test_components_without_relations_say_nothing() -> None:
    model: Any = SimpleNamespace(transform=lambda X, kind: np.array([[0.2, np.nan]]))
    np.testing.assert_array_equal(forests.strengths_of(model, None), [[0.2, 0.5]])


def test_the_largest_standard_error_is_told() -> None:
    assert forests.tell_error([0.9, 0.5, 0.1], 100) == "Standard error of an accuracy: at most 0.050."


def test_a_sample_has_types_that_can_be_split_and_attributes_that_vary(made_up: xarray.DataArray) -> None:
    assert sorted(set(tumours.sample("mirna", 0, 0).cancer.values)) == ["A", "B", "C"]
    M = tumours.sample("mirna", 40, 8)
    deviations = made_up.values.std(axis=0)
    assert list(M.gene.values) == [f"g{i}_1" for i in sorted(np.argsort(-deviations)[:8])]
    assert 20 < len(M) <= 40
    assert np.all(np.diff([int(name[1:]) for name in M.patient.values]) > 0)


def fit_to(M: xarray.DataArray, components: int) -> Fitted:
    """A fit that found components of patients at random."""
    means = np.random.default_rng(1).random((len(M), components))
    strengths = np.random.default_rng(2).random((len(M), components))
    model: Any = SimpleNamespace(
        n_components_=components, factors_=[means], transform=lambda X, kind: strengths
    )
    return Fitted(model, None, FACTS)


def test_each_method_has_its_own_features(made_up: xarray.DataArray, monkeypatch: pytest.MonkeyPatch) -> None:
    bits, fitted = np.random.default_rng(3).random((len(made_up), 6)) < 0.5, fit_to(made_up, 6)
    monkeypatch.setattr(
        cancer.baselines,
        "BooleanALS",
        lambda *_, **__: SimpleNamespace(fit=lambda X: SimpleNamespace(factors_=[bits])),
    )
    tensor: Any = None
    found = {each.name: each for each in cancer.features_of(made_up, fitted, tensor, tensor)}
    values = {name: each.values for name, each in found.items()}
    np.testing.assert_array_equal(values["Boolean ALS"], bits)
    np.testing.assert_array_equal(values["tensorm, membership"], fitted.model.factors_[0] > 0.5)
    np.testing.assert_array_equal(values["tensorm, strength"], fitted.model.transform(None, "share"))
    np.testing.assert_array_equal(values["expression itself"], made_up.values)
    z = forests.scale(made_up.values)
    variances = np.linalg.svd(z)[1][:6] ** 2 / len(z)
    np.testing.assert_allclose(values["PCA of z-scores"].var(axis=0), variances, rtol=1e-6)
    assert {name: each.shape[1] for name, each in values.items() if "PCA" in name} == {
        "PCA of expression": 6,
        "PCA of z-scores": 6,
        "PCA of z-scores, above the mean or not": 6,
        "PCA of z-scores, as many directions as strengths": forests.directions(values["tensorm, strength"]),
        "PCA of ranks within patients": 6,
    }
    assert {name: each.paper for name, each in found.items() if each.paper} == {
        "tensorm, membership": 0.91,
        "PCA of z-scores": 0.86,
        "Boolean ALS": 0.81,
    }


def test_steps_go_from_the_first_features_to_the_second() -> None:
    names = dict.fromkeys(name for _, *pair in cancer.STEPS for name in pair)
    rows = [{"features": name, "accuracy": 0.5, "the paper": ""} for name in names]
    by_name = {row["features"]: row for row in rows}
    by_name["tensorm, membership"].update({"accuracy": 0.75, "the paper": 0.91})
    by_name["Boolean ALS"].update({"accuracy": 0.8, "the paper": 0.81})
    steps = {row["step"]: row for row in cancer.take_steps(rows)}
    als = steps["Boolean ALS instead of tensorm, both yes or no"]
    assert (als["accuracy"], als["the paper"]) == ("+0.050", "-0.10")
    costs = steps["yes or no instead of numbers, tensorm"]
    assert (costs["accuracy"], costs["the paper"]) == ("+0.250", "")


def test_types_of_a_component_are_those_it_holds_most_of() -> None:
    factor = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.9], [0.2, 0.8], [0.1, 0.1]])
    types = np.array(["A", "A", "B", "B", "B"])
    assert tumours.types_of(factor, types) == [{"A": 1.0}, {"B": pytest.approx(2 / 3)}]


def test_places_move_apart_as_little_as_need_be() -> None:
    moved = cancer.move_apart(np.array([0.0, 10.0, 11.0, 30.0]), 3.0)
    np.testing.assert_allclose(moved, [0, 9, 12, 30])


def test_patients_are_drawn_by_type_and_labels_do_not_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []

    @contextmanager
    def saving(name: str) -> Iterator[Any]:
        yield drawn.append

    monkeypatch.setattr(cancer, "saving", saving)
    types = np.array([*"BA" * 200, "C", "D", "C"])
    factor = np.column_stack([types == "B", types == "A", types == "D"]).astype(float)
    cancer.draw("any", factor, types)
    ax = drawn[0].axes[0]
    shown = np.zeros((3, len(types)))
    shown[0, :200] = shown[1, 200:400] = shown[2, -1] = 1  # components in the order of their types
    np.testing.assert_array_equal(ax.images[0].get_array(), shown)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "0", "2"]
    places = [text.xyann[0] for text in ax.texts]
    assert [text.get_text() for text in ax.texts] == [*"ABCD"]
    assert np.diff(places).min() > 5  # the middles of C and D are 1.5 patients apart
    import matplotlib.pyplot as plt

    plt.close(drawn[0])


@pytest.mark.slow
def test_a_run_on_made_up_tumours(
    made_up: xarray.DataArray, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scales: list[Any] = []

    def relate(M: Any, normalise: str = "zscore") -> RelationalTensor:
        scales.append((M.shape[1], normalise))
        return RelationalTensor(M, normalise=normalise)

    monkeypatch.setattr(cancer, "MOST_VARYING", 24)
    monkeypatch.setattr(cancer, "RelationalTensor", relate)  # of Boolean ALS
    arguments = ["--components", "4", "--als-attributes", "12", "--normalise", "rank"]
    assert CliRunner().invoke(cancer.main, arguments, catch_exceptions=False).exit_code == 0
    assert scales == [(12, "rank"), (12, "rank")]
    for name, genes in (("cancer_sample", 24), ("cancer", GENES)):
        found = json.loads((out / "other" / f"{name}.json").read_text())
        assert found["shape"] == [60, genes, genes]
        assert found["facts"]["normalise"] == "rank"
        accuracy = {row["features"]: row["accuracy"] for row in found["accuracy"]}
        assert accuracy["tensorm, membership"] > 0.6
        section = (out / "other" / f"{name}.md").read_text()
        assert "Boolean ALS uses the 12 miRNAs" in section
        assert "(the most common has 33% of the patients)" in section
        assert ", 0 more than 80% of all patients." in section
        for kind in ("html", "png"):
            assert (out / "other" / f"{name}.{kind}").stat().st_size > 1000


@pytest.mark.parametrize(
    ("study", "arguments"),
    [
        (cancer.main, ["--patients", "-5"]),
        (cancer.main, ["--attributes", "-1"]),
        (cancer.main, ["--als-attributes", "-1"]),
        (cancer.main, ["--components", "0"]),
        (pathways.main, ["--genes", "-1"]),
        (pathways.main, ["--components", "0"]),
    ],
)
def test_counts_below_nothing_are_refused(study: Any, arguments: list[str]) -> None:
    done = CliRunner().invoke(study, arguments)
    assert done.exit_code == 2
    assert "is not in the range" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--patients", "3"], "No type of cancer has 5 of the 3 patients"),
        (["--components", "30", "--attributes", "20"], "use fewer components"),
    ],
)
def test_too_few_of_anything_ends_in_a_sentence(
    made_up: xarray.DataArray, out: Path, arguments: list[str], said: str
) -> None:
    done = CliRunner().invoke(cancer.main, arguments)
    assert done.exit_code == 1
    assert said in done.stderr


def test_trials_compare_features_of_one_fit(made_up: xarray.DataArray) -> None:
    found = trials.measure(0, 0, 4, "zscore", "asymmetric", 0)
    assert tuple(found) == trials.FEATURES
    assert min(found.values()) > 0.6


def test_changes_are_told_beside_what_starts_differ_by() -> None:
    rows = [{**trials.USUAL, **change, **dict.fromkeys(trials.FEATURES, 0.5)} for change in trials.CHANGES]
    for row, accuracy in zip(rows, (0.72, 0.75, 0.70, 0.73, 0.71), strict=False):
        row["membership"] = accuracy
    found = {row["change"]: row["membership"] for row in trials.compare_changes(rows)}
    assert found["3 starts, largest difference"] == "0.050"
    assert found["ranks instead of z-scores"] == "+0.010"
    assert found["one noise rate instead of two"] == "-0.010"


def test_pathways_are_tested_by_hand_counted_draws() -> None:
    genes = [f"g{i}" for i in range(20)]
    sets = {"five": genes[:5], "small": genes[:4], "apart": [*genes[10:15], "unknown"]}
    found = pathways.enrich({"+": [[0, 1, 2, 3, 4], []], "-": [[0, 9, 10, 11]]}, genes, sets)
    assert len(found) == 4  # two pathways are large enough, and one side has no members
    first = found[0]
    assert (first.component, first.sign, first.pathway, first.both) == (0, "+", "five", 5)
    assert first.expected == pytest.approx(5 * 5 / 20)
    assert first.q == pytest.approx(4 / 15504)  # one of C(20, 5) draws, four tests
    assert str(first) == "five (5 genes, 1.2 expected, q 3e-04)"


def test_pathways_of_table_1_are_weighed_against_as_many_by_chance() -> None:
    names = [*pathways.TABLE_1[4:], *(f"other {i}" for i in range(294)), *pathways.TABLE_1[:4]]
    tests = [pathways.Enriched(l, "+", name, 3, 2.0, 0.01) for l in range(2) for name in names]
    sure = [row for row in tests if row.pathway in names[:113]]
    found = pathways.weigh(tests, [sure[0]._replace(both=8), *sure[1:]])
    assert (found["pathways"], found["hit"], found["of Table 1"]) == (304, 113, 10)
    assert found["again"] == list(pathways.TABLE_1[4:])
    assert found["median enrichment"] == 1.5
    assert found["by chance"] == pytest.approx(10 * 113 / 304)
    draws = sum(comb(113, k) * comb(191, 10 - k) for k in range(6, 11))
    assert found["p"] == pytest.approx(draws / comb(304, 10))
    assert "3.7 would be on average, and 6 or more with a probability of 0.12" in pathways.tell(found)


UP, DOWN = range(8), range(8, 20)  # of the planted component; ten genes are in no pathway
SETS = {
    "up": [f"g{i}" for i in range(6)],
    "down": [f"g{i}" for i in range(8, 14)],
    "hardly up": ["g0", "g6", "g7", "g20", "g21", "g22"],
    "rest": [f"g{i}" for i in range(14, 30)],
}


def plant(M: xarray.DataArray, *_: Any) -> tuple[None, Fitted]:
    """A fit with one component, in patients of type B, and an empty one."""
    genes = [int(name[1:]) for name in tumours.symbols_of(M)]
    factors = [
        np.column_stack([found, np.zeros(len(found))]).astype(float)
        for found in (M.cancer.values == "B", np.isin(genes, UP), np.isin(genes, DOWN))
    ]
    model: Any = SimpleNamespace(factors_=factors, posterior_=SimpleNamespace(shape=M.shape))
    return None, Fitted(model, None, FACTS)


def test_pathways_of_a_planted_component(
    made_up: xarray.DataArray, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pathways, "fit", plant)
    monkeypatch.setattr(pathways, "write_study_report", lambda *_: None)
    monkeypatch.setattr(pathways.datasets, "kegg", lambda: SETS)
    assert CliRunner().invoke(pathways.main, [], catch_exceptions=False).exit_code == 0
    found = json.loads((out / "pathways.json").read_text())
    assert found["tests"] == 8
    sure = {row["pathway"]: row for row in found["sure"]}
    assert {name: row["sign"] for name, row in sure.items()} == {"up": "+", "down": "-"}
    assert sure["up"]["expected"] == pytest.approx(6 * 8 / 30)  # of the genes that some pathway has
    assert sure["up"]["q"] == pytest.approx(8 * 28 / 593775)  # C(8, 6) of C(30, 6) draws, eight tests
    tests = pathways.enrich({"+": [UP], "-": [DOWN]}, [f"g{i}" for i in range(30)], SETS)
    assert any(0.05 < row.q < 0.5 for row in tests)  # and so not told
    section = (out / "pathways.md").read_text()
    assert "60 patients, 30 genes (all of those in KEGG)" in section
    assert "sides contain 27% to 40% of the genes" in section
    assert "| 0 (+) | 8 | B | up (6 genes, 1.6 expected, q 4e-04) |" in section
    assert "| 0 (-) | 12 | B | down (6 genes, 2.4 expected, q 6e-03) |" in section
    assert "They involve 2 of the 4 pathways" in section
    assert "only 3 types of cancer (A, B, C)" in section


def test_results_of_other_settings_are_kept_apart(
    made_up: xarray.DataArray, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pathways, "fit", plant)
    monkeypatch.setattr(pathways, "write_study_report", lambda *_: None)
    monkeypatch.setattr(pathways.datasets, "kegg", lambda: {"rest": SETS["rest"]})
    for arguments, where in ((["--fresh"], out), (["--genes", "9"], out / "other")):
        with monkeypatch.context() as patch:
            patch.setattr(record, "OUT", out)
            assert CliRunner().invoke(pathways.main, arguments, catch_exceptions=False).exit_code == 0
        assert "No pathway is enriched." in (where / "pathways.md").read_text()
    assert "9 genes (those that vary most of those" in (out / "other" / "pathways.md").read_text()


@pytest.mark.slow  # the same on made-up tumours is above
@pytest.mark.skipif(not os.environ.get("TENSORM_DATA"), reason="TENSORM_DATA does not name a folder of data")
def test_small_runs_on_real_tumours(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forests, "TREES", 20)
    monkeypatch.setattr(forests, "FOLDS", 2)
    for study in (cancer.main, pathways.main):
        with monkeypatch.context() as patch:
            patch.setattr(record, "OUT", out)
            assert CliRunner().invoke(study, ["--quick"], catch_exceptions=False).exit_code == 0
    assert not (out / "quick" / "cancer.json").exists()  # which is of all miRNAs
    found = json.loads((out / "quick" / "cancer_sample.json").read_text())
    accuracy = {row["features"]: row["accuracy"] for row in found["accuracy"]}
    assert accuracy["expression itself"] > 0.6
    by_chance = 0.12  # the share of the commonest type
    assert accuracy["tensorm, membership"] > 2 * by_chance
    assert accuracy["tensorm, strength"] > 3 * by_chance
    assert json.loads((out / "quick" / "pathways.json").read_text())["shape"] == [1106, 100, 100]
    assert (out / "quick" / "pathways.html").stat().st_size > 200


def test_each_start_of_each_method_predicts_types(
    made_up: xarray.DataArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancer_paper, "LEGEND", {"A": "first", "B": "second", "Z": "elsewhere"})
    for method in ("published", "from data", "ours", "als", "pca"):
        found = cancer_paper.measure("mirna", 20, 0, 4, method, 1)
        assert tuple(found) == cancer_paper.FEATURES[method]
        for row in found.values():
            assert 0 < row["used"] <= row["number"] == 4
            assert row["balanced"] == pytest.approx(row["accuracy"])  # types are of one size
    trials = [
        {
            "method": "ours",
            "start": n,
            **{name: {**row, "accuracy": 0.8 + 0.1 * n} for name in cancer_paper.FEATURES["ours"]},
        }
        for n in range(2)
    ]
    (line, _) = cancer_paper.tabulate(cancer_paper.gather(trials))
    assert (line["accuracy"], line["starts"]) == ("0.850 ± 0.071", 2)


def test_features_are_drawn_by_type_for_four_methods(
    made_up: xarray.DataArray, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancer_paper, "LEGEND", {"A": "first", "B": "second"})
    found = {}
    for method in ("ours", "from data", "als"):
        for name, row in cancer_paper.measure("mirna", 20, 0, 4, method, 0).items():
            found[name] = [{"start": 0, **row}]
    said = cancer_paper.draw("any", tumours.sample("mirna", 0, 20), 4, found)
    assert (out / "any.png").stat().st_size > 10_000
    assert "tensorm" in said
    assert "Boolean ALS" in said
