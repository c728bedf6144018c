"""The code and the commands on pages of the docs run and print what is shown."""

from __future__ import annotations

import re
import sys
import types
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest
import zarr

import tensorm
from docs.refresh import DOCS, PAGES, Page, blocks

NEEDED = {"scanpy-arviz-xarray": ("arviz", "scanpy")}  # packages of some pages; nox -s ecosystem has them


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_step_prints_what_is_shown(path: Path) -> None:
    for name in NEEDED.get(path.stem, ()):
        if find_spec(name) is None:
            pytest.skip(f"needs {name}")
    page = Page(path)
    shown, printed = (re.sub(r"[\d,.]+ kB", "... kB", text) for text in (page.text, page.run()))
    assert printed.splitlines() == shown.splitlines()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_errors_are_shown_only_where_they_are_meant(path: Path) -> None:
    before, _, _ = path.read_text(encoding="utf-8").partition("## When something is wrong")
    assert "\nError: " not in before


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_block_of_code_is_run(path: Path) -> None:
    languages = list(blocks(path.read_text(encoding="utf-8")))
    assert {"python", "console"} & set(languages)
    assert set(languages) <= {"python", "text", "console"}
    for language, after in zip(languages, [*languages[1:], ""], strict=True):
        assert language != "python" or after == "text", "a block of Python is followed by what it prints"


HERE = {  # what is elsewhere, or takes long
    "/scratch/cells.zarr": "cells.zarr",
    "s3://bucket/cells.zarr": "cells.zarr",
    "/home/me/run": "run",
    "n_components=4": "n_components=4, n_chains=1, n_draws=3, burn_in=3, progress=False",
}


def python(page: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_blocks_on_performance_run() -> None:
    rng = np.random.default_rng(0)
    names = {"matrix": rng.normal(size=(10, 6)), "other_patients": rng.normal(size=(4, 6))}
    for code in python("performance.md"):
        exec(code.replace("n_chains=1", "n_chains=1, n_draws=3, progress=False"), names)
    assert names["model"].n_components_ == 25


def test_the_blocks_on_clusters_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On threads here in place of queues elsewhere, and with few draws."""
    monkeypatch.chdir(tmp_path)
    zarr.save_array("cells.zarr", tensorm.datasets.simulate((8, 7, 6), rank=2, random_state=0).observed)
    how = {"processes": False, "dashboard_address": None, "threads_per_worker": 1}
    with distributed.LocalCluster(n_workers=2, **how) as cluster, distributed.Client(cluster) as client:
        monkeypatch.setattr("tensorm.tensors.distributed.connect", lambda workers: nullcontext(client))
        scale = cluster.scale  # by which it also closes
        monkeypatch.setattr(cluster, "scale", lambda n=0, jobs=0: None if jobs else scale(n))
        monkeypatch.setattr(distributed.Client, "wait_for_workers", lambda *_: None)
        for module, name in (("dask_jobqueue", "SLURMCluster"), ("dask_kubernetes.operator", "KubeCluster")):
            elsewhere = types.SimpleNamespace(**{name: lambda **_: cluster})
            monkeypatch.setitem(sys.modules, module.partition(".")[0], types.ModuleType(module))
            monkeypatch.setitem(sys.modules, module, elsewhere)
        names: dict[str, Any] = {"__name__": "__main__"}
        *most, last = python("distributed.md")
        for code in most:
            for there, instead in HERE.items():
                code = code.replace(there, instead)
            exec(code, names)
            if "cluster" in names:
                names["client"].close()
        assert names["model"].posterior_.shape == (8, 7, 6)
        exec(last, names)
        assert names["model"].posterior_.n_draws == 3


def test_no_page_has_code_that_nobody_runs() -> None:
    run = {*PAGES, DOCS / "performance.md", DOCS / "distributed.md"}
    idle = [path for path in DOCS.rglob("*.md") if path not in run and "```python" in path.read_text("utf-8")]
    assert not idle
