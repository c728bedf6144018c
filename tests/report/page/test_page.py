"""The report as a file: what it says without its script, what it never loads, and how it is written."""

from __future__ import annotations

import json
import os
import re
import zlib
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from posteriors import HOURS, PEOPLE, ROLES, bits, make_posterior, ward_posterior
from tensorm import FileError, InputError, TensOrMachine
from tensorm.posterior.diagnostics import diagnose
from tensorm.report.page import render_report, write_page
from tensorm.report.page.write import SCRIPTS
from tensorm.report.selection import Candidate, Selection, Trial

HOSTILE = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", '"><b>', "{{ 7*7 }} $title"]
SELECTION = Selection(
    "cv",
    2,
    "Two are enough.",
    (Trial(1, 0, -3.0, {}), Trial(2, 0, -1.0, {})),
    (Candidate(1, -3.0, 0.5), Candidate(2, -1.0, float("nan"))),
    "held-out log-likelihood",
)
NAMESPACE = "http://www.w3.org/2000/svg"  # a name, which nobody loads


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


def test_without_its_script_the_page_says_what_was_found(ward) -> None:
    model, page = ward
    text = Reader(page).text
    wanted = [
        "The ward",
        "7 components explain",
        "of the ones in 13 × 75 × 75 cells (hour × person × met)",
        model.diagnostics_.conclusion,
        "Component 0 - hour:",
        "Two are enough.",
    ]
    places = [text.find(part) for part in wanted]
    assert -1 not in places
    assert places == sorted(places)


def test_everything_a_view_shows_is_in_the_data(ward) -> None:
    model, page = ward
    data = Reader(page).data()
    assert data["selection"]["tried"] == [[1, -3, 0.5], [2, -1, None]]
    assert data["recipe"].splitlines()[3] == (
        "model = tensorm.TensOrMachine(n_components=7, n_chains=2, n_draws=20, random_state=0).fit(X)"
    )
    assert data["associations"]["rows"][0]["metadata"].startswith("role: ")
    assert [row["weight"] for row in data["fit"]["chains"]] == [0.5, 0.5]
    assert {row["quantity"] for row in data["fit"]["quantities"]} >= {"log-likelihood"}
    assert data["modes"][1]["columns"][0]["values"][:12] == ["doctor"] * 12
    half = data["levels"]["told"][data["levels"]["at"][9]]
    for counts, row in zip(half["counts"], model.contributions_, strict=True):
        assert counts[:2] == [row.covered, row.explained]


def test_what_to_do_suits_python_and_the_command_line(ward_fit) -> None:
    _, model = ward_fit
    command = "tensorm fit '<b>.csv' --modes hour,person,met"
    plain, typed = (Reader(render_report(model.posterior_, command=given)) for given in (None, command))
    for page in (plain, typed):
        assert "use at least" in page.text
        assert "n_draws" not in page.text
    assert command in typed.text
    assert typed.data()["command"] == command
    assert "b" not in {tag for tag, _ in typed.tags}


def test_the_ward_fits_into_a_mail(ward) -> None:
    assert len(ward[1].encode()) < 200_000


def test_every_script_is_in_the_page(ward) -> None:
    folder = files("tensorm.report.page").joinpath("scripts")
    assert {f"{name}.js" for name in SCRIPTS} == {path.name for path in folder.iterdir()}
    for name in SCRIPTS:
        assert folder.joinpath(f"{name}.js").read_text("utf-8") in ward[1]


def test_nothing_is_loaded_and_only_our_own_script_may_run(ward) -> None:
    reader = Reader(ward[1])
    links = [value for _, attrs in reader.tags for name, value in attrs.items() if name in ("href", "src")]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    code = "".join(reader.raw["style"] + reader.raw["script"][1:]).replace(NAMESPACE, "")
    assert not re.search(r"url\(|@import|https?:|innerHTML|insertAdjacentHTML|document\.write|eval\(", code)
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
    assert HOSTILE[3] in reader.text
    assert reader.data()["modes"][0]["labels"] == labels[0].tolist()
    assert page.count("<script>alert") == 0


def test_other_explanations_and_weights_are_there() -> None:
    draw, other = [bits(3, [0], [1]), bits(4, [0], [1])], [bits(3, [0], [2]), bits(4, [0], [2])]
    found = replace(make_posterior([[draw] * 4, [other] * 4]), weights=(0.8, 0.2), explanations=(0, 1))
    reader = Reader(render_report(found))
    assert "The 2 chains found 2 explanations of the data" in reader.text
    data = reader.data()
    assert "Chain 1 (weight 0.20) did not find component 1 but found 1 other." in data["fit"]["texts"]
    told = diagnose(found).sentences()
    assert [*data["fit"]["texts"], data["fit"]["conclusion"]] == told
    assert [line["explanation"] for line in data["traces"]] == [0, 1]
    assert [row["weight"] for row in data["fit"]["chains"]] == [0.8, 0.2]


def test_the_same_fit_gives_the_same_page(tmp_path) -> None:
    paths = [tmp_path / name for name in ("a.html", "b.html")]
    for path in paths:
        write_page(ward_posterior(), path, metadata={"person": ROLES})
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["a.html", "b.html"]


def test_what_cannot_be_written_is_one_sentence(tmp_path) -> None:
    with pytest.raises(
        FileError, match=r"report.html cannot be written: no such file or directory; choose another path\."
    ):
        write_page(ward_posterior(), tmp_path / "nowhere" / "report.html")
    with pytest.raises(FileError, match="give the name of a file"):
        write_page(ward_posterior(), None)
    with pytest.raises(InputError, match=r"X has shape \(2, 2\); give \(6, 8, 8\), as in fit"):
        write_page(ward_posterior(), tmp_path / "report.html", X=np.eye(2))
    with pytest.raises(InputError, match="has the unknown label 'x' in row 0"):
        write_page(ward_posterior(), tmp_path / "report.html", metadata={"hour": {"label": ["x"]}})
    assert not os.listdir(tmp_path)


def test_arrays_in_settings_are_named_by_their_shape(tmp_path) -> None:
    X = np.eye(4)
    init = [np.eye(4)[:, :2], np.eye(4)[:, :2]]
    model = TensOrMachine(
        2, init=init, n_chains=1, n_draws=3, burn_in=2, noise="asymmetric", progress=False
    ).fit(X)
    model.report(tmp_path / "page.html")
    data = Reader((tmp_path / "page.html").read_text(encoding="utf-8")).data()
    assert "TensOrMachine(n_components=2, n_chains=1, n_draws=3, burn_in=2, init=" in data["recipe"]
    assert "init=[<array of shape (4, 2)>, <array of shape (4, 2)>]" in data["recipe"]
    assert data["settings"]["random_state"] == "None"
    assert HOURS[0] not in str(data)
