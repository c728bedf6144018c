"""Compare the size of a report with one heat map by altair, and try the latter with eval forbidden (note 8).

Needs altair, vl-convert-python, playwright and Chromium: python docs/decisions/measure_report.py
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import numpy as np

from tensorm import TensOrMachine, datasets, write_report


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


def first_error(path: Path) -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page, errors = browser.new_page(), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(path.as_uri())
        page.wait_for_timeout(1500)
        drawn = page.locator("canvas, .vega-embed svg").count()
        browser.close()
    return f"{drawn} pictures, {errors[0][:60] if errors else 'no error'}"


def simulate(name: str, shape: tuple[int, ...], L: int, folder: Path) -> None:
    sim = datasets.simulate(shape=shape, rank=L, density=0.2, noise=0.05, random_state=0)
    model = TensOrMachine(L, n_chains=2, n_draws=50, random_state=0, progress=False).fit(sim.observed)
    measure(name, model, sim.observed, folder)


def measure(name: str, model: TensOrMachine, X: object, folder: Path) -> TensOrMachine:
    path, start = folder / "report.html", time.perf_counter()
    write_report(model, path, X=X)
    seconds = time.perf_counter() - start
    print(f"report, {name}: {path.stat().st_size / 1000:,.0f} kB in {seconds:.1f} s, {first_error(path)}")
    return model


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    X = datasets.ward()
    ward = measure("ward", TensOrMachine(7, random_state=0, progress=False).fit(X), X, folder)
    simulate("1,200 x 300 x 40, 25 components", (1200, 300, 40), 25, folder)
    plain = page_of_altair(ward.factors_[1])
    for name, page in (("", plain), (", eval forbidden", forbid_eval(plain))):
        path = folder / "altair.html"
        path.write_text(page)
        print(f"altair, one heat map{name}: {len(page) / 1000:,.0f} kB, {first_error(path)}")
