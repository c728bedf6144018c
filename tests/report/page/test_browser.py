"""The report in a real browser: it draws, answers pointer and keys, and asks nobody for anything.

Runs in the system's Chromium. Where there is none, these tests are skipped, unless TENSORM_NEEDS_BROWSER is
set. The pages forbid eval, so that Playwright's wait_for_function cannot be used on them.
"""

from __future__ import annotations

import os
import re
import shutil

import numpy as np
import pytest

from posteriors import PEOPLE, ROLES, bits, make_posterior, ward_posterior
from tensorm.report.page import write_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = [
    "--no-sandbox",  # Chromium refuses to sandbox root, and these pages are our own
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = ["<script>window.hit=1</script>", "</script><img src=x onerror=window.hit=1>", "'\"><b>", "&lt;"]


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
    """A fitted ward, the small ward with someone in doubt, hostile labels, and many labels."""
    folder = tmp_path_factory.mktemp("reports")
    X, model = ward_fit
    model.report(folder / "ward.html", X, metadata={"person": X.role, "met": X.role})
    score = {"label": PEOPLE, "role": ROLES, "score": [50, -5, 40, 30, -10, 80, 70, 60]}
    write_report(ward_posterior(), folder / "small.html", metadata={"person": score})
    hours = np.array([*HOSTILE, "lone \udc80", "\x1b[31m\u202e$x^$"])
    hostile = make_posterior(
        [[[bits(6, range(6)), bits(8, [0, 1]), bits(8, [0])]] * 4],
        ("<i>hour</i>", *HOSTILE[:2]),
        (hours, PEOPLE, PEOPLE),
    )
    known = {0: {"label": hours, "<u>": HOSTILE[:2] * 3}}
    write_report(hostile, folder / "hostile.html", metadata=known, title=HOSTILE[0])
    rng = np.random.default_rng(0)
    many = [rng.random((size, 25)) < 0.2 for size in (1200, 40, 6)]
    labels = (np.array([f"patient {n:04d}" for n in range(1200)]), None, None)
    write_report(make_posterior([[many]], ("patient", "gene", "visit"), labels), folder / "many.html")
    return folder, model


@pytest.fixture
def visit(browser, reports):
    """Open a page; at the end nothing may have gone wrong in it or have been asked for outside of it."""
    opened, wrong = [], []

    def open_page(name, width=1000, scheme="light"):
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
        page.goto(address)
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        return page

    open_page.wrong = wrong
    yield open_page
    for context in opened:
        context.close()
    assert wrong == []


def heat_map(page, mode):
    return page.locator(f".map[data-mode='{mode}']")


def move(page, x, y):
    """Move the pointer, and wait until the page has answered."""
    page.mouse.move(x, y)
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")


def point_at(page, mode, row, component=0):
    """Move the pointer along a row until it is over a component; return what is shown there."""
    canvas, tip = heat_map(page, mode).locator("canvas"), page.locator("#tip")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for x in range(5, int(box["width"]), 30):
        move(page, box["x"] + x, box["y"] + 40 + 20 * row + 10)
        lines = tip.inner_text().splitlines() if tip.is_visible() else []
        if any(line.startswith(f"component {component}:") for line in lines):
            return lines
    raise AssertionError(f"component {component} is not in sight")


def picture(page, selector):
    """What a canvas shows."""
    return page.locator(selector).first.evaluate("canvas => canvas.toDataURL()")


def expect(locator):
    from playwright.sync_api import expect

    return expect(locator)


def test_everything_is_drawn(visit) -> None:
    page = visit("ward")
    assert page.locator(".map").count() == 3
    for canvas in page.locator("canvas").all():
        assert canvas.evaluate("c => c.width * c.height") > 100
    assert picture(page, "#slices canvas.data") != picture(page, "#slices canvas.predicted")
    assert page.locator("#component-2 .list").first.locator("li").count() > 0


def test_pointing_shows_label_and_probability(visit, reports) -> None:
    page, factor = visit("ward"), reports[1].factors_[1]
    label, component, role = point_at(page, 1, 3, component=5)
    assert label == "doctor 04"
    assert component == f"component 5: {factor[3, 5]:.2f}"
    assert role == "role: doctor"
    move(page, 1, 1)
    assert page.locator("#tip").is_hidden()


def test_filters_and_search(visit) -> None:
    page = visit("ward")
    person = heat_map(page, 1)
    count = person.locator(".count").first
    person.locator(".filter").select_option("=patient")
    assert count.inner_text() == "28 of 75"
    assert point_at(page, 1, 0)[0] == "patient 01"
    person.locator(".find").fill("T 2")
    assert count.inner_text() == "9 of 75"
    person.locator(".filter").select_option("")
    person.locator(".find").fill("nobody")
    assert count.inner_text() == "0 of 75"
    person.locator(".find").fill("")
    assert count.inner_text() == "75"
    assert heat_map(page, 2).locator(".count").inner_text() == "75"


def test_order(visit) -> None:
    page = visit("small")
    order = heat_map(page, 1).locator(".order")
    order.select_option("by score")
    assert [point_at(page, 1, row)[0] for row in (0, 7)] == ["nurse 01", "nurse 02"]
    order.select_option("by component 1")
    assert [point_at(page, 1, row)[0] for row in (0, 1, 2)] == ["nurse 02", "nurse 03", "doctor 01"]
    order.select_option("by strongest component")
    assert [point_at(page, 1, row)[0] for row in (4, 5, 7)] == ["nurse 01", "nurse 02", "nurse 04"]
    order.select_option("as in the data")
    assert point_at(page, 1, 0)[0] == "doctor 01"
    canvas = heat_map(page, 1).locator("canvas")
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] - 6 - 22, "y": 12})  # the head of the last column
    assert order.input_value() == "component 1"


def test_the_slider_decides_who_is_a_member(visit) -> None:
    page = visit("small")
    met = page.locator("#component-1 .list[data-mode='2']")
    assert met.locator(".count").inner_text() == "2 of 8"
    page.locator("#threshold").fill("0.2")
    expect(met.locator(".count")).to_have_text("3 of 8")
    assert [re.sub(r"\s+", " ", text) for text in met.locator("li").all_inner_texts()] == [
        "nurse 02 1.00",
        "nurse 03 1.00",
        "nurse 04 0.25",
    ]
    assert page.locator("#threshold-value").inner_text() == "0.20"
    heat_map(page, 2).locator(".members-only").check()
    assert heat_map(page, 2).locator(".count").inner_text() == "8"
    page.locator("#threshold").fill("0.5")
    expect(heat_map(page, 2).locator(".count")).to_have_text("7 of 8")


def test_keys(visit) -> None:
    page = visit("small")
    canvas, tip = heat_map(page, 1).locator("canvas"), page.locator("#tip")
    canvas.focus()
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith("doctor 01\ncomponent 0: 1.00")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith("doctor 02\ncomponent 1: 0.00")
    page.keyboard.press("Control+ArrowDown")
    assert tip.inner_text().startswith("nurse 04\ncomponent 1")
    page.keyboard.press("Home")
    assert "component 0" in tip.inner_text()
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator("#component-1")).to_be_in_viewport()
    for _ in range(3):
        page.keyboard.press("Tab")  # everything can be reached
    assert page.evaluate("document.activeElement.tagName") in ("SELECT", "INPUT", "CANVAS", "A", "BUTTON")


def test_slices_show_data_beside_predictions(visit, reports) -> None:
    page = visit("ward")
    slices = page.locator("#slices")
    slices.locator(".which").fill("6")
    assert slices.locator(".title").inner_text() == "hour 13-14"
    canvas = slices.locator("canvas.data")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    field = box["width"] / 75
    move(page, box["x"] + 2.5 * field, box["y"] + 0.5 * field)
    p = reports[1].predict_proba([[6, 0, 2]])[0]
    assert page.locator("#tip").inner_text() == f"doctor 01, doctor 03\ndata: 1\npredicted: {p:.2f}"
    move(page, box["x"] + 0.5 * field, box["y"] + 0.5 * field)
    assert "data: missing" in page.locator("#tip").inner_text()
    slices.locator(".order").select_option("by strongest component")
    move(page, box["x"] + 0.5 * field, box["y"] + 74.5 * field)
    means = reports[1].factors_[1]
    last = np.flatnonzero(means.argmax(axis=1) == means.argmax(axis=1).max())[-1]
    assert page.locator("#tip").inner_text().split(",")[0] == reports[1].labels_[1][last]


def test_hostile_labels_stay_text(visit) -> None:
    page = visit("hostile")
    assert point_at(page, 0, 0)[0] == HOSTILE[0]
    assert page.locator("h1").inner_text() == HOSTILE[0]
    assert page.locator("#component-0 .list").first.locator("li span").first.inner_text() == HOSTILE[0]
    heat_map(page, 0).locator(".filter").select_option("=" + HOSTILE[1])
    assert heat_map(page, 0).locator(".count").inner_text() == "3 of 6"
    assert page.locator("main img, main i:not(.track i), main u, main b").count() == 0
    assert page.evaluate("window.hit") is None


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
    assert picture(light, ".map canvas") != picture(dark, ".map canvas")
    dark.locator("#theme").click()
    assert dark.evaluate(paper) == light.evaluate(paper)
    assert picture(dark, "#scale") == picture(light, "#scale")


def test_a_thousand_labels(visit) -> None:
    page = visit("many")
    patient = heat_map(page, 0)
    canvas = patient.locator("canvas")
    assert patient.locator(".count").inner_text() == "1,200"
    assert canvas.bounding_box()["height"] < 700  # only what is in sight is drawn
    canvas.focus()
    page.keyboard.press("Control+ArrowDown")
    assert page.locator("#tip").inner_text().startswith("patient 1199\n")
    assert patient.locator(".scroller").evaluate("s => s.scrollTop") > 20_000
    patient.locator(".find").fill("patient 07")
    assert patient.locator(".count").inner_text() == "100 of 1,200"
    patient.locator(".find").fill("")
    patient.locator(".overview").check()
    assert patient.locator(".scroller").evaluate("s => s.scrollHeight - s.clientHeight") < 60
    assert page.locator("#component-3 .list").first.locator("li").count() == 101
    page.locator("#component-3 .list button").first.click()
    assert page.locator("#component-3 .list").first.locator("li").count() > 150


@pytest.mark.parametrize("name", ["ward", "many"])
def test_a_phone_needs_no_sideways_scrolling(visit, name) -> None:
    page = visit(name, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_printing_and_back(visit) -> None:
    page = visit("small", scheme="dark")
    before = picture(page, "#scale")
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.evaluate("document.documentElement.dataset.theme") is None
    assert picture(page, "#scale") == before
    page = visit("many")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    height = heat_map(page, 0).locator("canvas").bounding_box()["height"]
    assert 800 < height < 900  # all rows on one page
    page.evaluate("dispatchEvent(new Event('afterprint'))")
