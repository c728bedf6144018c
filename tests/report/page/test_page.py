"""The report as a text: what it says, in which order, what it never loads, and how it is written."""

from __future__ import annotations

import json
import os
import re
import sys
import zlib
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pytest

from posteriors import HOURS, PEOPLE, ROLES, bits, make_posterior, ward_posterior
from tensorm import FileError, InputError, TensOrMachine, datasets
from tensorm.report.page import render_report, write_report
from tensorm.report.page.cells import component_cells, slice_cells, thin
from tensorm.report.page.charts import chart_selection, ticks
from tensorm.report.selection import Candidate, Selection, Trial
from tensorm.tensors import read

HOSTILE = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", '"><b>', "{{ 7*7 }}"]
SELECTION = Selection(
    "cv",
    2,
    "Two are enough.",
    (Trial(1, 0, -3.0, {}), Trial(2, 0, -1.0, {})),
    (Candidate(1, -3.0, 0.5), Candidate(2, -1.0, float("nan"))),
    "held-out log-likelihood",
)


class Reader(HTMLParser):
    """Collects tags with their attributes and the text outside of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.words: list[str] = []
        self._inside = None
        self.feed(page)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in self.raw else None

    def handle_endtag(self, tag) -> None:
        self._inside = None

    def handle_data(self, data) -> None:
        if self._inside:
            self.raw[self._inside].append(data)
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def data(self):
        return json.loads(zlib.decompress(b64decode(self.raw["script"][0])))


@pytest.fixture(scope="module")
def ward(ward_fit, tmp_path_factory):
    X, model = ward_fit
    page = tmp_path_factory.mktemp("report") / "ward.html"
    model.report(page, X, metadata={"person": X.role, "met": X.role}, selection=SELECTION, title="The ward")
    return model, page.read_text(encoding="utf-8")


def test_the_page_says_everything_in_its_order(ward) -> None:
    model, page = ward
    text = Reader(page).text
    wanted = [
        "The ward",
        model.diagnostics_.conclusion,
        "What was found",
        "person and met",
        "Who is in which component",
        "Component by component",
        "Data and reconstruction",
        "Components and metadata",
        "role: doctor",
        "Do the chains agree?",
        "R-hat",
        "Why 2 components? Two are enough.",
        "how to repeat this fit",
        "TensOrMachine(n_components=7, n_chains=2, n_draws=20, random_state=0).fit(X)",
    ]
    places = [text.find(part) for part in wanted]
    assert -1 not in places
    assert places == sorted(places)


def test_numbers_known_of_members_and_the_command_are_there(ward_fit) -> None:
    X, model = ward_fit
    age = np.where(X.role == "patient", 80, 40) + np.arange(75) % 20
    command = "tensorm fit '<b>.csv' --modes hour,person,met"
    metadata = {"person": {"label": X.person.values, "age": age}}
    settings = {"n_components": 7}
    page = render_report(model.posterior_, metadata=metadata, command=command, settings=settings)
    reader = Reader(page)
    assert re.search(r"\d person age median \d\d(\.5)? \d\d(\.5)? elsewhere \d", reader.text)
    assert f"In a terminal {command} In Python" in reader.text
    assert "b" not in {tag for tag, _ in reader.tags}


def test_the_ward_fits_into_a_mail(ward) -> None:
    assert len(ward[1].encode()) < 200_000


def test_nothing_is_loaded_and_only_our_own_script_may_run(ward) -> None:
    reader = Reader(ward[1])
    links = [value for _, attrs in reader.tags for name, value in attrs.items() if name in ("href", "src")]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"url\(|@import|https?:", "".join(reader.raw["style"] + reader.raw["script"][1:]))
    (policy,) = (attrs["content"] for tag, attrs in reader.tags if attrs.get("http-equiv"))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    (style,), (_, script) = reader.raw["style"], reader.raw["script"]
    for rule, text in (("style-src", style), ("script-src", script)):
        assert rules[rule] == f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
    assert "unsafe" not in policy
    names = {name for _, attrs in reader.tags for name in attrs}
    assert "style" not in names
    assert not any(name.startswith("on") for name in names)


def test_the_script_gets_the_probabilities_as_they_are(ward) -> None:
    model, page = ward
    data = Reader(page).data()
    assert data["components"] == 7
    for mode, factor in zip(data["modes"], model.factors_, strict=True):
        np.testing.assert_allclose(np.reshape(mode["means"], factor.shape) / 1e4, factor, atol=5.1e-5)
    assert data["modes"][1]["columns"][0]["values"][:12] == ["doctor"] * 12
    cells = np.array(data["slices"]["predicted"]).reshape(model.posterior_.shape) / 100
    np.testing.assert_allclose(cells, model.predict_proba(), atol=0.0051)
    X = datasets.ward()
    np.testing.assert_array_equal(
        np.array(data["slices"]["data"]).reshape(X.shape), np.nan_to_num(X.values, nan=-1)
    )


@pytest.mark.parametrize("modes", [("hour", "person", "met"), ("<i>", "</script>", "<script>alert(2)")])
def test_labels_are_never_markup(modes) -> None:
    labels = (np.array([*HOSTILE, "a", "b"]), np.array([*HOSTILE, *PEOPLE[:4]]), PEOPLE)
    draw = [bits(6, [0, 1, 2, 3]), bits(8, [0, 1, 2, 3]), bits(8, [0])]
    posterior = make_posterior([[draw] * 3], modes, labels)
    metadata = {1: {"label": labels[1], "<u>": [*HOSTILE[:2] * 4]}}
    page = render_report(posterior, metadata=metadata, title=HOSTILE[0], command=HOSTILE[0])
    reader = Reader(page)
    assert [tag for tag, _ in reader.tags].count("script") == 2
    assert not {"img", "i", "u", "b"} & {tag for tag, _ in reader.tags}
    assert HOSTILE[0] in reader.text
    assert "{{ 7*7 }}" in reader.text
    assert reader.data()["modes"][0]["labels"] == labels[0].tolist()
    assert page.count("<script>alert") == 0


def test_a_posterior_by_itself_has_no_data_settings_or_selection() -> None:
    reader = Reader(render_report(ward_posterior()))
    text = reader.text
    assert "Reconstruction" in text
    assert "pass the data" in text
    for absent in ("Data and reconstruction", "Why ", "All settings", "Components and metadata"):
        assert absent not in text
    assert reader.data()["slices"]["data"] is None
    assert [attrs["id"] for tag, attrs in reader.tags if tag == "article"] == ["component-0", "component-1"]


def test_empty_components_and_chains_in_doubt_are_named() -> None:
    draw = [bits(3, [0], [], [1]), bits(4, [0, 1], [], [2])]
    other = [bits(3, [0], [], []), bits(4, [0, 1], [], [])]
    text = Reader(render_report(make_posterior([[draw] * 4, [other] * 4, [other] * 4]))).text
    assert "Empty, or found by too few chains to describe: 1, 2." in text
    assert "Caution." in text


def test_other_explanations_and_weights_are_there() -> None:
    draw, other = [bits(3, [0], [1]), bits(4, [0], [1])], [bits(3, [0], [2]), bits(4, [0], [2])]
    found = replace(make_posterior([[draw] * 4, [other] * 4]), weights=(0.8, 0.2), explanations=(0, 1))
    text = Reader(render_report(found)).text
    assert "The 2 chains found 2 explanations of the data" in text
    assert "Chain 1 (weight 0.20) lacks component 1 but has 1 other." in text
    assert "chain 1, explanation 1" in text
    assert "0.80" in text


@pytest.mark.parametrize("shape", [(5, 4), (3, 2, 5, 4)])
def test_any_number_of_modes(shape) -> None:
    factors = [bits(size, [0, 1], [size - 1]) for size in shape]
    X = np.random.default_rng(0).random(shape) < 0.5
    data = Reader(render_report(make_posterior([[factors] * 4]), X=X)).data()["slices"]
    K = len(shape)
    assert (data["rows"], data["columns"]) == (K - 2, K - 1)
    assert len(data["titles"]) == np.prod(shape[:-2], dtype=int)
    np.testing.assert_array_equal(np.reshape(data["data"], shape), X)


def test_large_tensors_are_thinned_out() -> None:
    factors = [bits(400, range(0, 400, 2)), bits(300, range(30)), bits(50, [3])]
    posterior = make_posterior([[factors]])
    rng = np.random.default_rng(0)
    X = rng.random((400, 300, 50)) < 0.5
    tensor = read(X)
    slices = slice_cells(posterior, tensor)
    assert (len(slices.row_indices), len(slices.column_indices), len(slices.titles)) == (160, 160, 24)
    assert not slices.complete
    member = [n % 2 == 0 for n in slices.row_indices]
    assert 0.4 < np.mean(member) < 0.6
    n = int(slices.titles[5].removeprefix("mode 2 "))
    where = np.ix_(slices.row_indices, slices.column_indices, [n])
    np.testing.assert_array_equal(np.reshape(slices.data[5], (160, 160)), X[where][..., 0])
    expected = posterior.predict_slice(2, n)[np.ix_(slices.row_indices, slices.column_indices)]
    np.testing.assert_allclose(np.reshape(slices.predicted[5], (160, 160)) / 100, expected, atol=0.0051)
    block = component_cells(posterior, tensor, 0)
    assert (len(block.row_indices), len(block.column_indices), block.complete) == (60, 30, False)
    cells = X[np.ix_(block.row_indices, block.column_indices, [3])]
    np.testing.assert_array_equal(np.reshape(block.shares, (60, 30)) / 100, cells[..., 0])


def test_the_cells_of_a_component_are_shares_of_observed_ones() -> None:
    posterior = ward_posterior()
    X = np.zeros((6, 8, 8))
    X[[1, 2], 0, 1] = 1
    X[1, 0, 2] = np.nan
    X[1:4, 1, 1] = np.nan
    block = component_cells(posterior, read(X), 0)
    shares = np.reshape(block.shares, (5, 5))
    assert (shares[0, 1], shares[0, 2], shares[1, 1], shares[2, 2]) == (67, 0, -1, 0)
    predicted = component_cells(posterior, None, 0)
    assert set(predicted.shares) == {59}
    assert component_cells(make_posterior([[[bits(2, []), bits(2, [])]]]), None, 0) is None


def test_thinning_keeps_the_ends() -> None:
    np.testing.assert_array_equal(thin(np.arange(10), 4), [0, 3, 6, 9])
    np.testing.assert_array_equal(thin(np.arange(3), 4), [0, 1, 2])


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-9721, -9713), (3, 3), (0.9431, 0.9432), (-1e6, 1e6)])
def test_ticks_are_few_and_in_range(low, high) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 6
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)


def test_the_picture_of_a_choice_marks_it() -> None:
    chart = chart_selection(SELECTION)
    assert chart.mark == chart.dots[1][0]
    (_, top, bottom), (_, same, as_well) = chart.bars
    assert top < chart.dots[0][1] < bottom
    assert same == as_well == chart.dots[1][1]


def test_the_same_fit_gives_the_same_page(tmp_path) -> None:
    paths = [tmp_path / name for name in ("a.html", "b.html")]
    for path in paths:
        write_report(ward_posterior(), path, metadata={"person": ROLES})
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["a.html", "b.html"]


def test_what_cannot_be_written_is_one_sentence(tmp_path) -> None:
    with pytest.raises(FileError, match=r"report.html cannot be written: no such file or directory\."):
        write_report(ward_posterior(), tmp_path / "nowhere" / "report.html")
    with pytest.raises(FileError, match="give the name of a file"):
        write_report(ward_posterior(), None)
    with pytest.raises(InputError, match=r"X has shape \(2, 2\); give \(6, 8, 8\), as in fit"):
        write_report(ward_posterior(), tmp_path / "report.html", X=np.eye(2))
    with pytest.raises(InputError, match="has the unknown label 'x' in row 1"):
        write_report(ward_posterior(), tmp_path / "report.html", metadata={"hour": {"label": ["x"]}})
    assert not os.listdir(tmp_path)


def test_without_jinja_it_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'tensorm\[report\]'"):
        render_report(ward_posterior())


def test_arrays_in_settings_are_named_by_their_shape(tmp_path) -> None:
    X = np.eye(4)
    init = [np.eye(4)[:, :2], np.eye(4)[:, :2]]
    model = TensOrMachine(2, init=init, n_chains=1, n_draws=3, burn_in=2, progress=False).fit(X)
    model.report(tmp_path / "page.html")
    text = Reader((tmp_path / "page.html").read_text(encoding="utf-8")).text
    assert "TensOrMachine(n_components=2, n_chains=1, n_draws=3, burn_in=2, init=" in text
    assert "init=[<array of shape (4, 2)>, <array of shape (4, 2)>]" in text
    assert "No random seed" in text
    assert HOURS[0] not in text
