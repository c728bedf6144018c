"""Measure reports: size, time to draw, height of a component; and one heat map by altair (note 8).

Needs playwright and Chromium, for the last two lines also altair and vl-convert-python:
python docs/decisions/measure_report.py
"""

from __future__ import annotations

import re
import shutil
import tempfile
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import numpy as np

from tensorm import TensOrMachine, datasets

SLOWEST = """async () => {  // milliseconds to show each view
  let slowest = 0;
  for (const tab of document.querySelectorAll("button[data-view]")) {
    const start = performance.now();
    tab.click();
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    slowest = Math.max(slowest, performance.now() - start);
  }
  return slowest;
}"""
TALLEST = """() => Math.max(...[...document.querySelectorAll(".entry")].map((_, i) => {
  document.querySelectorAll(".entry")[i].click();
  return document.documentElement.scrollHeight;
}))"""


def page_of_altair(factor: np.ndarray) -> str:
    import altair

    rows = [
        {"row": n, "component": l, "p": float(p)} for n, line in enumerate(factor) for l, p in enumerate(line)
    ]
    chart = altair.Chart(altair.Data(values=rows)).mark_rect()
    return chart.encode(x="component:O", y="row:O", color="p:Q").to_html(inline=True)


def forbid_eval(page: str) -> str:
    """Allow the scripts of a page by their hashes, as the report does, and nothing else."""
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {hashes}"
    return page.replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{policy}">', 1)


DESK, PHONE = (1280, 800), (390, 844)


def visit(path: Path, *questions: str, screen: tuple[int, int] = DESK) -> tuple[list[float], str]:
    """Open a page; return the answers to questions, and the first error."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page, errors = browser.new_page(viewport={"width": screen[0], "height": screen[1]}), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(path.as_uri())
        page.wait_for_timeout(1500)
        answers = [page.evaluate(question) for question in questions]
        browser.close()
    return answers, errors[0][:60] if errors else "no error"


def measure(name: str, model: TensOrMachine, X: object, folder: Path) -> None:
    path = folder / "report.html"
    model.report(path, X)
    (slowest, tallest), error = visit(path, SLOWEST, TALLEST)
    (on_phone,), _ = visit(path, TALLEST, screen=PHONE)
    print(
        f"report, {name}: {path.stat().st_size / 1000:,.0f} kB, views within {slowest:.0f} ms, "
        f"a component up to {tallest / 800:.1f} screens of 1280 x 800 and {on_phone / 844:.1f} of 390 x 844, "
        f"{error}"
    )


def simulate(shape: tuple[int, ...], L: int, density: float, folder: Path) -> None:
    sim = datasets.simulate(shape=shape, rank=L, density=density, noise=0.05, random_state=0)
    options = {"n_chains": 2, "n_draws": 20, "burn_in": 20, "effort": 0, "random_state": 0, "progress": False}
    model = TensOrMachine(L, init=sim.factors, **options).fit(sim.observed)
    measure(f"{' x '.join(map(str, shape))}, {L} components", model, sim.observed, folder)


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    X = datasets.ward()
    ward = TensOrMachine(7, random_state=0, progress=False).fit(X)
    measure("ward", ward, X, folder)
    nations = datasets.nations()
    twelve = TensOrMachine(12, n_draws=100, random_state=0, progress=False).fit(nations)
    measure("nations, 12 components", twelve, nations, folder)
    simulate((1200, 300, 40), 25, 0.2, folder)
    simulate((5000, 400, 20), 100, 0.3, folder)
    plain = page_of_altair(ward.factors_[1])
    for name, page in (("", plain), (", eval forbidden", forbid_eval(plain))):
        path = folder / "altair.html"
        path.write_text(page)
        (drawn,), error = visit(path, "document.querySelectorAll('canvas, .vega-embed svg').length")
        print(f"altair, one heat map{name}: {len(page) / 1000:,.0f} kB, {drawn} pictures, {error}")
