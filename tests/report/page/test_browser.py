"""The report in a real browser: what a reader clicks, types and takes away; nothing is loaded.

Runs in the system's Chromium. Where there is none, these tests are skipped, unless TENSORM_NEEDS_BROWSER is
set. The pages forbid eval, so that Playwright's wait_for_function cannot be used on them.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest

from posteriors import PEOPLE, ROLES, bits, make_posterior, ward_posterior
from tensorm import RelationalTensor, TensOrMachine, datasets
from tensorm.report.card import render_card
from tensorm.report.describe import describe_components, percent
from tensorm.report.export import list_members
from tensorm.report.metadata import groups_of
from tensorm.report.page import write_page
from tensorm.report.selection import Candidate, Selection
from tensorm.tensors import read

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = [
    "--no-sandbox",  # Chromium refuses to sandbox root, and these pages are our own
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VERBS = {"seat": ["retired", "retired", "met", "met", "nurse", "nurse"]}
PLACES = {"seat": ["coast", "coast", "north", "north", "south", "coast"]}
HOSTILE = ["<script>window.hit=1</script>", "</script><img src=x onerror=window.hit=1>", "'\"><b>", "=1+1"]


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not os.environ.get("TENSORM_NEEDS_BROWSER"):
        pytest.importorskip("playwright.sync_api")
        if program is None:
            pytest.skip("there is no Chromium here (Debian: apt-get install chromium)")
    assert program, f"none of {BROWSERS} is installed"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=program, args=QUIET)
        yield running
        running.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory, ward_fit):
    """A fitted ward, the small ward with someone in doubt, hostile labels, many labels, other noise."""
    folder = tmp_path_factory.mktemp("reports")
    X, model = ward_fit
    model.report(folder / "ward.html", X, metadata={"person": X.role, "met": X.role})
    score = {"label": PEOPLE, "role": ROLES, "score": [50, -5, 40, 30, -10, 80, 70, 60]}
    write_page(ward_posterior(), folder / "small.html", metadata={"person": score})
    hours = np.array([*HOSTILE, "lone \udc80", "\x1b[31m\u202e$x^$"])
    hostile = make_posterior(
        [[[bits(6, range(6)), bits(8, [0, 1]), bits(8, [0])]] * 4],
        ("<i>hour</i>", *HOSTILE[:2]),
        (hours, PEOPLE, PEOPLE),
    )
    known = {0: {"label": hours, "<u>": HOSTILE[:2] * 3}}
    write_page(hostile, folder / "hostile.html", metadata=known, title=HOSTILE[0])
    rng = np.random.default_rng(0)
    many = [rng.random((size, 100)) < share for size, share in ((5000, 0.03), (40, 0.2), (6, 0.4))]
    many[2][0] = True
    labels = (np.array([f"patient {n:04d}" for n in range(5000)]), None, None)
    write_page(make_posterior([[many]], ("patient", "gene", "visit"), labels), folder / "many.html")
    quick = {"n_chains": 2, "n_draws": 6, "burn_in": 6, "effort": 0, "random_state": 0, "progress": False}
    part = X[:, :20, :20]
    strong = TensOrMachine(2, noise="strengths", background="activity", **quick).fit(part)
    strong.report(folder / "strong.html", part)
    ranks = RelationalTensor(np.add.outer(rng.random(12), 3 * (np.arange(9) > 3)) + rng.random((12, 9)))
    compared = TensOrMachine(2, **quick).fit(ranks)
    compared.report(folder / "compared.html", ranks)
    for name, draw in (("empty", []), ("single", [1])):
        found = make_posterior([[[bits(3, draw), bits(4, draw)]] * 3] * 2)
        write_page(found, folder / f"{name}.html", X=np.eye(3, 4))
    benches = np.array(["bench 1", "bench 2", "bench 3", "bench 7", "chair, red", "desk"])
    draws = [[bits(6, range(5)), bits(3, range(n))] for n in (3, 3, 2, 1)]  # 1, 0.75 and 0.5
    gaps = make_posterior([draws] * 2, ("seat", "room"), (benches, None))
    write_page(gaps, folder / "gaps.html")
    verbs = make_posterior([[[bits(6, [0, 2, 4]), bits(3, [0])]] * 2] * 2, ("seat", "room"), (benches, None))
    write_page(verbs, folder / "verbs.html", metadata=VERBS)
    write_page(verbs, folder / "places.html", metadata=PLACES)
    seats = np.array([f"seat {letter}" for letter in "abcdefghijklmnopqrstuvwx"])
    open_to_doubt = [
        [bits(24, range(first, 16), range(14, 24)), bits(6, range(rooms), [3, 4, 5])]
        for first, rooms in ((0, 4), (3, 4), (6, 3), (0, 4), (0, 2))
    ]
    doubts = make_posterior([open_to_doubt] * 2, ("seat", "room"), (seats, None))
    nations = np.array(["china", "cuba", "egypt"])
    pair = [[bits(3, [0, 1]), bits(9, range(4)), bits(3, [1])]] * 2
    toward = np.zeros((3, 9, 3))
    toward[0, :6, 1] = toward[1, :3, 0] = toward[2, 0, 0] = 1
    directed = make_posterior([pair] * 2, ("head", "relation", "tail"), (nations, None, nations))
    tried = Candidate(1, -0.0541, 0.003), Candidate(2, -0.04263, 0.0002), Candidate(3, -0.0426, 0.0)
    chosen = Selection("cv", 2, "2 will do.", (), tried, "log-likelihood per held-out cell")
    write_page(directed, folder / "directed.html", X=toward, selection=chosen)
    X = (rng.random((24, 6)) < 0.2) | (doubts.predict_all() > 0.4) & (rng.random((24, 6)) < 0.7)
    X = np.where(rng.random((24, 6)) < 0.1, np.nan, X)
    cells = read(X)
    for trace in doubts.chains:
        trace.confusion[:] = [cells.n_ones, 0, 0, cells.n_observed - cells.n_ones]
    doubts = doubts.measure(cells)
    write_page(doubts, folder / "doubts.html", X=X)
    models = {"verbs": verbs, "places": verbs, "gaps": gaps, "doubts": doubts, "ward": model}
    models |= {"strong": strong, "compared": compared, "cells": cells, "array": X}
    return folder, models


@pytest.fixture
def visit(browser, reports):
    """Open a page; at the end nothing may have gone wrong in it or have been asked for outside of it."""
    opened, wrong = [], []

    def open_page(name, width=1280, scheme="light", at=""):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        opened.append(context)
        page = context.new_page()
        address = (reports[0] / f"{name}.html").as_uri()
        page.on("request", lambda r: r.url.startswith(address) or wrong.append(f"asked for {r.url}"))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append("a dialog"), dialog.dismiss()))
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation', e => console.error(e.blockedURI))"
        )
        page.goto(address + at)
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        return page

    open_page.wrong = wrong
    yield open_page
    for context in opened:
        context.close()
    assert wrong == []


def move(page, x, y):
    """Move the pointer, and wait until the page has answered."""
    page.mouse.move(x, y)
    wait(page)


def wait(page):
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")


def show(page, view):
    page.locator(f"button[data-view={view}]").click()


def hash_of(page):
    return page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")


def table(page, name):
    return page.locator(f"[data-table='{name}']")


def column(page, name, at=0):
    """The texts of a table's column."""
    return [row.locator("th, td").nth(at).inner_text() for row in table(page, name).locator("tbody tr").all()]


def picture(page, selector):
    """What a canvas shows."""
    return page.locator(selector).first.evaluate("canvas => canvas.toDataURL()")


def point_at(page, canvas, row, column, field, left, top):
    """Point at a field of a picture; return what is shown there."""
    box = canvas.bounding_box()
    move(page, box["x"] + left + (column + 0.5) * field, box["y"] + top + (row + 0.5) * field)
    return page.locator("#tip").inner_text()


def taken(page, locator):
    """What a button hands to the reader: the name of the file, and its bytes."""
    with page.expect_download() as waiting:
        locator.click()
    with open(waiting.value.path(), "rb") as file:
        return waiting.value.suggested_filename, file.read()


def expect(locator):
    from playwright.sync_api import expect

    return expect(locator)


def test_the_first_screen_says_what_was_found_and_shows_it(visit, reports) -> None:
    page = visit("ward")
    lead = page.locator(".lead")
    assert lead.inner_text().startswith("7 components explain ")
    expect(lead).to_be_in_viewport()
    expect(page.locator(".finding .state")).to_be_in_viewport()
    for name in ("Data", "Reconstruction"):
        expect(page.locator(f"canvas[aria-label^={name}]")).to_be_in_viewport(ratio=0.9)
    assert picture(page, "canvas[aria-label^=Data]") != picture(page, "canvas[aria-label^=Reconstruction]")
    assert page.locator("#index .entry").count() == 7


def test_rows_stand_in_the_order_of_the_components(visit, reports) -> None:
    page = visit("ward")
    canvas, factor = page.locator("canvas[aria-label^=Data]"), reports[1]["ward"].factors_[1]
    canvas.focus()
    page.keyboard.press("ArrowDown")
    names = [page.locator("#tip").inner_text().split(",")[0]]
    for _ in range(5):
        page.keyboard.press("ArrowDown")
        names.append(page.locator("#tip").inner_text().split(",")[0])
    people = reports[1]["ward"].labels_[1].tolist()
    assert all(factor[people.index(name), 0] > 0.5 for name in names)
    before = picture(page, "canvas[aria-label^=Data]")
    page.locator("[data-key=order]").select_option("as in the data")
    assert picture(page, "canvas[aria-label^=Data]") != before
    assert hash_of(page) == {"order": "data"}


def test_slices_show_data_beside_predictions(visit, reports) -> None:
    page = visit("ward", at="#order=data&slice=7")
    assert page.locator(".controls .title").inner_text() == "hour 13-14"
    canvas = page.locator("canvas[aria-label^=Data]")
    field = (canvas.bounding_box()["width"] - 8) / 75
    p = reports[1]["ward"].predict_proba([[6, 0, 2]])[0]
    text = point_at(page, canvas, 0, 2, field, 8, 8)
    assert text == f"doctor 01, doctor 03\ndata: 1\npredicted: {p:.2f}"
    assert "data: missing" in point_at(page, canvas, 0, 0, field, 8, 8)
    page.locator(".which").fill("0")
    assert "mean of all 13 slices" in page.locator(".controls .title").inner_text()
    page.locator("[data-key=show]").select_option("difference")
    assert page.locator("canvas[aria-label^=Difference]").count() == 1


def test_zoom(visit) -> None:
    page = visit("ward", at="#order=data&slice=7")
    canvas = page.locator("canvas[aria-label^=Data]")
    box = canvas.bounding_box()
    whole = picture(page, "canvas[aria-label^=Reconstruction]")
    field = (box["width"] - 8) / 75
    page.mouse.move(box["x"] + 8 + 2.5 * field, box["y"] + 8 + 1.5 * field)
    page.mouse.down()
    page.mouse.move(box["x"] + 8 + 9.5 * field, box["y"] + 8 + 8.5 * field)
    page.mouse.up()
    assert picture(page, "canvas[aria-label^=Reconstruction]") != whole  # both are enlarged
    canvas.focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#tip").inner_text().startswith("doctor 02, doctor 03\n")
    page.keyboard.press("Control+ArrowDown")
    assert page.locator("#tip").inner_text().startswith("doctor 09, doctor 03\n")
    page.get_by_label("Show everything").click()
    assert picture(page, "canvas[aria-label^=Reconstruction]") == whole
    page.get_by_label("Zoom in").click()
    assert picture(page, "canvas[aria-label^=Reconstruction]") != whole


def test_a_component_takes_at_most_two_screens_of_a_phone(visit) -> None:
    page = visit("ward", width=390)
    for l in range(page.locator(".entry").count()):
        page.locator(f".entry[data-component='{l}']").click()
        assert page.evaluate("document.documentElement.scrollHeight") <= 1600


def test_a_component_fills_the_view_beside_the_index(visit, reports) -> None:
    page, model = visit("ward"), reports[1]["ward"]
    page.locator(".entry[data-component='2']").click()
    assert hash_of(page) == {"view": "component", "c": "2"}
    assert page.locator(".entry[aria-current]").get_attribute("data-component") == "2"
    assert page.locator(".part").all_inner_texts() == [
        "hour 09-20 (11 of 13).",
        "person and met all 12 doctors.",
    ]
    row = model.contributions_[2]
    assert f"It covers {row.covered:,} observed cells" in page.locator(".sentence").inner_text()
    assert f"{row.covered:,} cells" in page.locator(".entry[data-component='2']").inner_text()  # one count
    assert table(page, "person and met of component 2").locator("tbody tr").count() == 12
    assert page.evaluate("document.documentElement.scrollHeight") <= 1600
    shares = [int(text.strip("%")) for text in column(page, "person and met of component 2", 1)]
    assert shares == sorted(shares, reverse=True)
    page.keyboard.press("n")
    assert hash_of(page)["c"] == "3"
    page.get_by_label("Previous component").click()
    page.go_back()
    assert hash_of(page)["c"] == "3"
    expect(page.locator(".rename")).to_have_value("Component 3")


def test_components_without_overlap_need_no_picture(visit) -> None:
    page = visit("small")
    assert "No two components have a cell in common." in page.locator("main").inner_text()
    assert page.locator("figure.overlaps").count() == 0


def test_overlaps_are_visible(visit, reports) -> None:
    page = visit("ward", at="#view=component&c=0")
    best = [factor > 0.5 for factor in reports[1]["ward"].factors_]
    common = [np.prod([(f[:, 0] & f[:, l]).sum() for f in best]) for l in range(7)]
    wanted = {f"Component {l}" for l in range(1, 7) if common[l]}
    assert set(column(page, "overlaps of component 0")) == wanted
    assert page.locator(".overlap").count() == len(wanted) > 0
    show(page, "overview")
    other = int(min(wanted)[-1])
    canvas = page.locator("canvas[aria-label^=Overlap]")
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    for key in ["ArrowDown"] + ["ArrowRight"] * other:
        page.keyboard.press(key)
    share = 100 * common[other] / common[0]
    assert (
        page.locator("#tip").inner_text().startswith(f"{share:.{0 if share >= 9.95 else 1}f}% of the cells")
    )


@pytest.mark.parametrize("name", ["ward", "compared", "strong", "gaps", "verbs", "places", "doubts"])
def test_sentences_are_those_of_describe(visit, reports, name) -> None:
    posterior = getattr(reports[1][name], "posterior_", reports[1][name])
    role = datasets.ward().role
    about = {"ward": {1: role, 2: role}, "verbs": VERBS, "places": PLACES}
    groups = groups_of(posterior, about.get(name))
    page = visit(name)
    for component in describe_components(posterior, groups):
        if component.empty:
            continue
        page.locator(f".entry[data-component='{component.component}']").click()
        if component.said:
            wanted = [f"{component.said}."]
        else:
            wanted = [f"{' and '.join(part.modes)} {part.text}." for part in component.members]
        assert page.locator(".part").all_inner_texts() == wanted


def test_the_threshold_reaches_lists_and_sentences(visit) -> None:
    page = visit("small", at="#view=component&c=1")
    assert page.locator(".part").last.inner_text() == "person and met 2 of 4 nurses."
    page.locator("#threshold").fill("0.2")
    expect(page.locator("#threshold-value")).to_have_text("0.20")
    expect(page.locator(".part").last).to_have_text("met 3 of 4 nurses.")
    assert column(page, "met of component 1") == ["nurse 02", "nurse 03", "nurse 04"]
    assert column(page, "met of component 1", 1) == ["1.00", "1.00", "0.25"]
    assert hash_of(page)["t"] == "0.2"
    page.reload()
    expect(page.locator(".part").last).to_have_text("met 3 of 4 nurses.")


@pytest.mark.parametrize("threshold", [0.25, 0.5, 0.75])
def test_the_threshold_reaches_every_count(visit, reports, threshold) -> None:
    model, page = reports[1]["doubts"], visit("doubts", at=f"#view=component&c=0&t={threshold}")
    members = [factor > threshold for factor in model.factors]
    sizes = [int(part[:, 0].sum()) for part in members]
    for name, size in zip(("seat", "room"), sizes, strict=True):
        assert table(page, f"{name} of component 0").locator(".count").inner_text() == str(size)
    row = model.count_contributions(reports[1]["cells"], threshold)[0]
    sentence, entry = page.locator(".sentence").inner_text(), page.locator(".entry").first.inner_text()
    ones = percent(row.explained / row.covered)
    assert f"It covers {row.covered} observed cells, of which {ones} are 1" in sentence
    assert f"{row.covered} cells" in entry
    inside = (members[0].astype(int) @ members[1].T) > 0
    observed = ~np.isnan(reports[1]["array"])
    share = percent((inside & observed).sum() / observed.sum())
    assert f"and cover {share} of the cells" in page.locator(".lead").inner_text()
    assert f"would contain {share} of the ones" in page.locator(".sure").inner_text()
    show(page, "overview")
    assert f"and {share} of all observed cells." in page.locator("main").inner_text()
    assert column(page, "components", 3)[0] == str(row.covered)


def test_without_data_the_threshold_reaches_the_number_of_cells(visit) -> None:
    page = visit("gaps", at="#view=component&c=0&t=0.5")
    assert "It covers 10 cells." in page.locator(".sentence").inner_text()
    page.locator("#threshold").fill("0.3")
    expect(page.locator(".sentence")).to_contain_text("It covers 15 cells.")


@pytest.mark.parametrize("name", ["doubts", "ward"])
def test_all_outputs_name_the_same_members_first(visit, reports, name) -> None:
    """The page's tables and sentences, the table of members, the words and the card."""
    model = reports[1][name]
    posterior = getattr(model, "posterior_", model)
    members, page, card = list_members(posterior), visit(name), render_card(posterior)
    for l in range(posterior.n_components):
        page.locator(f".entry[data-component='{l}']").click()
        for mode in (posterior.modes[0], posterior.modes[1]):
            ranked = members.query("component == @l and mode == @mode").label.astype(str).tolist()
            shown = page.locator(f"[data-table^='{mode}'][data-table$='of component {l}']")
            rows = shown.locator("tbody tr").all()
            assert [row.locator("th").inner_text() for row in rows] == ranked[: len(rows)]
            if len(ranked) > 9 and name == "doubts":
                assert ", ".join(ranked[:8]) in page.locator(".entry").nth(l).inner_text()
                assert ", ".join(ranked[:8]) in str(describe_components(posterior)[l])
                assert ", ".join(ranked[:3]) in card


def test_doubts_nearest_to_one_half_come_first(visit) -> None:
    page = visit("small", at="#view=doubts")
    assert column(page, "doubts") == ["nurse 04"]
    assert table(page, "doubts").locator("tbody td").all_inner_texts() == ["met", "Component 1", "0.25"]
    page = visit("gaps", at="#view=doubts")
    assert column(page, "doubts", 3) == ["0.50", "0.75"]


def test_a_label_shows_all_about_it(visit, reports) -> None:
    page, model = visit("ward", at="#view=component&c=2"), reports[1]["ward"]
    page.locator("main [data-label='1:3']").click()
    panel = page.locator("#label")
    assert panel.locator("h2").inner_text() == "doctor 04"
    assert "role: doctor" in panel.inner_text()
    mine = {f"Component {l}" for l in np.flatnonzero(model.factors_[1][3] > 0.5)}
    assert set(column(page, "components of doctor 04")) == mine
    best = model.top_cells("person", "doctor 04", n=1, known=datasets.ward()).probabilities[0]
    assert float(column(page, "unknown cells of doctor 04", -1)[0]) == pytest.approx(best, abs=0.001)
    assert hash_of(page) == {"view": "component", "c": "2", "label": "1:3"}
    assert page.locator("main tr.marked").inner_text().startswith("doctor 04")
    panel.locator(".link", has_text="Component").first.click()
    assert panel.is_visible()
    page.keyboard.press("Escape")
    assert panel.is_hidden()


def test_a_selection_in_one_mode_is_highlighted_in_the_others(visit) -> None:
    page = visit("ward", at="#view=component&c=2&order=data")
    name = "person and met of component 2"
    block = picture(page, ".block canvas")
    page.locator("main [data-label='0:6']").click()  # hour 13-14
    assert table(page, name).locator("thead").inner_text().split()[-1] == "13-14"
    X = datasets.ward().sel(hour="13-14").values[:12, :12]
    doctor, share = column(page, name)[0], column(page, name, 3)[0]
    at = int(doctor[-2:]) - 1
    assert int(share.strip("%")) == round(100 * np.nanmean(X[at]))
    page.locator("main [data-label='1:0']").click()
    assert picture(page, ".block canvas") != block
    hour, share = column(page, "hour of component 2")[0], column(page, "hour of component 2", 3)[0]
    met = datasets.ward().sel(hour=hour, person="doctor 01").values[:12]
    assert int(share.strip("%")) == round(100 * np.nanmean(met))


def test_activity_and_strength(visit, reports) -> None:
    page, model = visit("strong"), reports[1]["strong"]
    strength = model.strengths_["mean"][0]
    page.locator(".entry[data-component='0']").click()
    assert f"makes a cell 1 with probability {100 * strength:.0f}%." in page.locator(".sentence").inner_text()
    page.locator("#search").fill("doctor 05")
    page.keyboard.press("Enter")
    activity = model.activity_.query("mode == 'person' and label == 'doctor 05'")["mean"].item()
    assert f"activity outside the components: {activity:.2g}" in page.locator("#label").inner_text()
    chances = column(page, "unknown cells of doctor 05", -1)
    assert len(set(chances)) > 1
    assert chances == sorted(chances, reverse=True)
    show(page, "map")
    page.locator("[data-key='mode 1']").click()
    page.locator("[data-key=by]").select_option("by activity")
    page.locator(".scroller canvas").focus()
    page.keyboard.press("ArrowDown")
    busiest = model.activity_.query("mode == 'person'").label.iloc[0]
    assert page.locator("#tip").inner_text().startswith(busiest)


def test_search_finds_labels_and_components(visit) -> None:
    page = visit("ward")
    page.keyboard.press("/")
    page.keyboard.type("nurse 1")
    assert page.locator("#found li").count() == 10
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#label h2").inner_text() == "nurse 11"
    page.keyboard.press("n")
    assert hash_of(page)["c"] == "0"
    page.keyboard.press("Escape")
    assert page.locator("#label").is_hidden()
    page.locator("#search").fill("component 4")
    page.locator("#found li").first.click()
    assert hash_of(page)["c"] == "4"
    page.locator("#search").fill("nobody")
    assert page.locator("#found").inner_text() == "no matches"


def test_components_can_be_renamed_and_sorted(visit) -> None:
    page = visit("ward", at="#view=component&c=2")
    page.locator(".rename").fill("Doctors' room <b>")
    page.keyboard.press("Enter")
    name = page.locator(".entry[data-component='2'] .name")
    assert name.inner_text().startswith("Doctors' room <b>")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    assert name.inner_text().startswith("Doctors' room <b>")
    page.locator("[data-key=sort]").select_option("by name")
    first = [entry.get_attribute("data-component") for entry in page.locator(".entry").all()]
    assert first[-1] == "2"
    page.locator(".rename").fill("")
    page.keyboard.press("Enter")
    assert name.inner_text().startswith("Component 2")


def test_tables_are_sorted_and_taken_away(visit, reports) -> None:
    page = visit("ward", at="#view=component&c=0")
    name = "person and met of component 0"
    table(page, name).get_by_role("button", name="show all 24").click()
    table(page, name).get_by_role("button", name="person", exact=True).click()
    people = column(page, name)
    assert people == sorted(people)
    assert len(people) == 24
    table(page, name).get_by_role("button", name="person", exact=True).click()
    assert column(page, name) == people[::-1]
    file, content = taken(page, table(page, name).get_by_role("button", name="CSV"))
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    assert file.endswith(".csv")
    assert [row[0] for row in rows] == ["person", *people[::-1]]
    shown = {row[0]: float(row[1]) for row in rows[1:]}
    assert shown["patient 07"] == max(shown.values())


def test_formulas_are_no_formulas_in_a_spreadsheet(visit) -> None:
    page = visit("hostile", at="#view=component&c=0")
    _, content = taken(page, page.locator("[data-table^='<i>hour'] .save button"))
    assert "'=1+1" in [row[0] for row in csv.reader(io.StringIO(content.decode("utf-8-sig")))]


def test_pictures_are_taken_away_as_svg_and_png(visit) -> None:
    page = visit("ward")
    for selector in ("figure.cells >> nth=0", "figure.overlaps"):
        file, content = taken(page, page.locator(selector).get_by_role("button", name="SVG"))
        root = ElementTree.fromstring(content)
        assert file.endswith(".svg")
        assert root.tag.endswith("svg")
        assert len(root) > 40
        _, content = taken(page, page.locator(selector).get_by_role("button", name="PNG"))
        assert content.startswith(b"\x89PNG")
    for view, buttons in (("map", 2), ("network", 2), ("fit", 2)):
        show(page, view)
        _, content = taken(page, page.get_by_role("button", name="SVG"))
        ElementTree.fromstring(content)
        assert page.get_by_role("button", name="PNG").count() + 1 == buttons
    page = visit("hostile", at="#view=map&mode=0")
    _, content = taken(page, page.get_by_role("button", name="SVG"))
    assert HOSTILE[0] in [text.text for text in ElementTree.fromstring(content).iter() if text.text]


def test_the_map_is_filtered_searched_and_ordered(visit) -> None:
    page = visit("ward", at="#view=map")
    count = page.locator("main .column > .caption .count")
    page.locator("[data-key='mode 1']").click()
    page.locator("[data-key=filter]").select_option("role: patient")
    assert count.inner_text() == "28 of 75"
    page.locator(".find").press_sequentially("T 2")
    assert count.inner_text() == "9 of 75"
    assert page.evaluate("document.activeElement.className") == "find"
    page.locator("[data-key=filter]").select_option("all")
    page.locator(".find").fill("nobody")
    assert count.inner_text() == "0 of 75"
    page.locator(".find").fill("")
    assert count.inner_text() == "75"
    page = visit("small", at="#view=map&mode=1&by=column 1")
    canvas, tip = page.locator(".scroller canvas"), page.locator("#tip")

    def names(presses=7):
        canvas.focus()
        found = []
        for _ in range(presses + 1):
            page.keyboard.press("ArrowDown")
            found.append(tip.inner_text().split("\n")[0])
        page.keyboard.press("Escape")
        return found

    assert [names()[i] for i in (0, 7)] == ["nurse 01", "nurse 02"]  # by score
    page.locator("[data-key=by]").select_option("by component 1")
    assert names(2) == ["nurse 02", "nurse 03", "doctor 01"]
    page.locator("[data-key=by]").select_option("as in the data")
    assert names(0) == ["doctor 01"]
    page.locator(".members-only").check()
    assert page.locator("main .column > .caption .count").inner_text() == "7 of 8"


def test_all_members_come_in_the_order_of_their_component(visit, reports) -> None:
    page, members = visit("doubts", at="#view=map"), list_members(reports[1]["doubts"])
    by_mode = members.sort_values("mode", ascending=False, kind="stable")  # seat, then room
    table(page, "members of all components").get_by_text("show all").click()
    assert column(page, "members of all components", 1) == by_mode.label.astype(str).tolist()


def test_keys_in_the_map(visit) -> None:
    page = visit("small", at="#view=map&mode=1&by=data")
    canvas, tip = page.locator(".scroller canvas"), page.locator("#tip")
    canvas.focus()
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith("doctor 01\nComponent 0: 1.00")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith("doctor 02\nComponent 1: 0.00")
    page.keyboard.press("Control+ArrowDown")
    assert tip.inner_text().startswith("nurse 04\nComponent 1")
    page.keyboard.press("Enter")
    assert page.locator("#label h2").inner_text() == "nurse 04"
    for _ in range(3):
        page.keyboard.press("Tab")  # everything can be reached
    assert page.evaluate("document.activeElement.tagName") in ("SELECT", "INPUT", "CANVAS", "A", "BUTTON")


def test_surprising_cells(visit, reports) -> None:
    page, model = visit("ward", at="#view=cells"), reports[1]["ward"]
    X = datasets.ward()
    cells = [[column(page, name, k)[0] for k in range(4)] for name in ("unexpected ones", "unexpected zeros")]
    p = model.predict_proba()
    for (hour, person, met, chance), value in zip(cells, (1, 0), strict=True):
        assert X.sel(hour=hour, person=person, met=met) == value
        extreme = p[X.values == 1].min() if value else p[X.values == 0].max()
        assert float(chance) == pytest.approx(extreme, abs=0.001)
    pairs = list(zip(*(column(page, "unexpected ones", k) for k in range(3)), strict=True))
    assert len({(hour, *sorted((a, b))) for hour, a, b in pairs}) == len(pairs)  # mirror images are one


def test_the_network_shows_pairs(visit) -> None:
    page = visit("ward", at="#view=network")
    X = np.nan_to_num(datasets.ward().values).mean(axis=0)
    edges = np.triu(np.rint(100 * X) / np.rint(100 * X).max() >= 0.3).sum()
    assert f"75 people, {edges} edges." in page.locator("main .quiet").first.inner_text()
    plain = picture(page, "canvas.network")
    page.locator("canvas.network").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator("#label h2").inner_text() == "doctor 01"
    assert picture(page, "canvas.network") != plain
    page.locator(".edges").fill("0.9")
    assert int(page.locator("main .quiet").first.inner_text().split(" ")[2]) < edges


def test_a_network_of_modes_that_are_not_the_largest(visit) -> None:
    page = visit("directed", at="#view=network&edges=0.05")
    weights = [column(page, "edges", k) for k in range(3)]
    assert weights == [["china", "china"], ["cuba", "egypt"], ["1.00", "0.16"]]  # 6 and 1 of 9 relations
    assert "over all relations" in page.locator("main").inner_text()
    assert visit("gaps").locator("button[data-view=network]").count() == 0


def test_scores_of_numbers_that_were_tried_can_be_told_apart(visit) -> None:
    page = visit("directed", at="#view=fit")
    assert column(page, "numbers of components", 1) == ["-0.0541", "-0.0426", "-0.0426"]
    assert column(page, "numbers of components", 2) == ["0.0030", "0.00020", ""]  # the best is itself


def test_hostile_labels_stay_text(visit) -> None:
    page = visit("hostile")
    assert page.locator("h1").inner_text() == HOSTILE[0]
    for view in ("overview", "component", "map", "doubts", "fit"):
        show(page, view)
        assert page.locator("main img, main u, main b:not(.proportion b), main i:not(.track i)").count() == 0
    show(page, "component")
    assert HOSTILE[0] in page.locator("main [data-label='0:0']").inner_text()
    page.locator("main [data-label='0:1']").click()
    assert page.locator("#label h2").inner_text() == HOSTILE[1]
    page.locator("#search").fill("<script>")
    assert page.locator("#found li span").first.inner_text() == HOSTILE[0]
    assert page.evaluate("window.hit") is None


@pytest.mark.parametrize(
    "at", ["#view=x&c=99&label=7:7&t=abc&sort=zz&slice=1e9", "#label=<img src=x>&names=%ZZ", "#&&="]
)
def test_strange_addresses_do_no_harm(visit, at) -> None:
    page = visit("ward", at=at)
    assert page.locator(".entry").count() == 7
    assert page.locator("#label").is_hidden()


def test_the_policy_is_in_force(visit) -> None:
    page = visit("small")
    failed = []
    page.on("requestfailed", lambda request: failed.append((request.url, request.failure)))
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'hit = 1'}))")
    assert page.evaluate("window.hit") is None
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'https://example.org/x.png'}))")
    assert page.evaluate("fetch('https://example.org/').catch(() => 'refused')") == "refused"
    page.evaluate("new Promise(done => { setTimeout('hit = 2'); setTimeout(done, 20) })")
    assert page.evaluate("window.hit") is None
    assert {reason for _, reason in failed} <= {"csp"}
    assert sum("Content Security Policy" in text for text in visit.wrong) >= 3
    visit.wrong.clear()


def test_light_and_dark(visit) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = visit("small"), visit("small", scheme="dark")
    assert light.evaluate(paper) == "rgb(251, 251, 249)"
    assert dark.evaluate(paper) != light.evaluate(paper)
    assert picture(light, "canvas.scale") != picture(dark, "canvas.scale")
    dark.locator("#theme").click()
    assert dark.evaluate(paper) == light.evaluate(paper)
    assert picture(dark, "canvas.scale") == picture(light, "canvas.scale")
    assert hash_of(dark) == {"theme": "light"}


def test_a_hundred_components_and_five_thousand_labels(visit) -> None:
    page = visit("many")
    assert page.locator("#index .entry").count() == 100
    slowest = page.evaluate(
        """async () => {
          let slowest = 0;
          for (const tab of document.querySelectorAll("button[data-view]")) {
            const start = performance.now();
            tab.click();
            slowest = Math.max(slowest, performance.now() - start);
          }
          return slowest;
        }"""
    )
    assert slowest < 1500  # milliseconds on a busy machine; usually a tenth of it
    show(page, "map")
    canvas = page.locator(".scroller canvas")
    assert canvas.bounding_box()["height"] < 700  # only what is in sight is drawn
    page.locator("[data-key=by]").select_option("as in the data")
    canvas.focus()
    page.keyboard.press("Control+ArrowDown")
    assert page.locator(".scroller").evaluate("s => s.scrollTop") > 90_000
    page.keyboard.press("Enter")  # opens the last patient, and stays there
    assert page.locator("#label h2").inner_text() == "patient 4999"
    assert page.locator(".scroller").evaluate("s => s.scrollTop") > 90_000
    page.locator(".scroller").evaluate("s => { s.scrollTop = 50000 }")
    wait(page)
    page.locator("#theme").click()
    assert page.locator(".scroller").evaluate("s => s.scrollTop") == 50_000
    page.locator(".find").fill("patient 07")
    assert page.locator("main .column > .caption .count").inner_text() == "100 of 5,000"
    show(page, "component")
    first = page.locator("main .table").first
    assert first.locator("tbody tr").count() == 12
    first.get_by_role("button", name="show all").click()
    assert first.locator("tbody tr").count() > 100


@pytest.mark.parametrize("name", ["empty", "single"])
def test_no_component_or_one(visit, name) -> None:
    page = visit(name)
    assert page.locator(".entry").count() == (name == "single")
    if name == "empty":
        assert page.locator(".lead").inner_text().startswith("The data look like noise")
    for tab in page.locator("button[data-view]").all():
        tab.click()
        assert page.locator("main").inner_text()


@pytest.mark.parametrize("name", ["ward", "many", "compared"])
def test_a_phone_needs_no_sideways_scrolling(visit, name) -> None:
    page = visit(name, width=390)
    for tab in page.locator("button[data-view]").all():
        tab.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#search").fill("1")
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_lists_are_shorter_on_a_phone(visit) -> None:
    page = visit("ward", width=390)
    page.keyboard.press("n")  # from the overview to the first component
    assert hash_of(page) == {"view": "component", "c": "0"}
    rows = table(page, "person and met of component 0").locator("tbody tr")
    assert rows.count() == 4
    table(page, "person and met of component 0").get_by_text("show all").click()
    assert rows.count() == 24


def test_a_label_on_a_phone_is_in_sight(visit) -> None:
    page = visit("ward", width=390, at="#view=component&c=2")
    page.locator("main [data-label='1:3']").click()
    expect(page.locator("#label h2")).to_be_in_viewport()


def test_printing_and_back(visit) -> None:
    page = visit("small", scheme="dark")
    before = picture(page, "canvas.scale")
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.evaluate("document.documentElement.dataset.theme") is None
    assert picture(page, "canvas.scale") == before
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.locator(".sheet").count() == 4  # overview, two components, fit
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".sheet").count() == 0
