"""The notebooks of the docs run in a Jupyter kernel and show what is stored in them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from docs.refresh import DOCS, NOTEBOOKS, run_notebook

pytest.importorskip("anndata")
pytest.importorskip("ipykernel")
LARGEST = 400_000  # bytes of a notebook with its pictures


def texts(cell: dict[str, Any]) -> list[str]:
    """What a cell shows, without pictures, addresses in memory and the names of libraries' types."""
    shown = []
    for output in cell.get("outputs", []):
        data = output.get("data", {"text/plain": output.get("text", "")})
        shown += ["".join(data[kind]) for kind in ("text/plain", "text/html") if kind in data]
    return [re.sub(r"base64,[^\"]*|0x[0-9a-f]+|<Figure size .*>", "", text) for text in shown]


def pictures(cell: dict[str, Any]) -> int:
    return sum("image/png" in output.get("data", {}) for output in cell.get("outputs", []))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")  # of the client, in this process; those of the code are shown
def test_a_notebook_shows_what_is_stored_in_it(path: Path) -> None:
    stored, now = json.loads(path.read_text(encoding="utf-8")), run_notebook(path)
    assert len(stored["cells"]) == len(now.cells)
    same = stored["metadata"]["shown_by"] == now.metadata["shown_by"]  # other versions show tables otherwise
    for old, new in zip(stored["cells"], now.cells, strict=True):
        assert len(texts(new)) == len(texts(old))
        assert not same or texts(new) == texts(old)
        assert pictures(new) == pictures(old)
        if "model.plot(" in new["source"]:
            assert pictures(new) == 1, "no plot is drawn twice"
        assert not any(output.get("name") == "stderr" for output in new.get("outputs", [])), "no warnings"


def test_notebooks_are_small_and_have_all_kinds_of_output() -> None:
    for path in NOTEBOOKS:
        stored = json.loads(path.read_text(encoding="utf-8"))
        assert path.stat().st_size < LARGEST
        assert sum(map(pictures, stored["cells"])) >= 1
        assert any("<table" in text for cell in stored["cells"] for text in texts(cell))
        assert "0 components" not in json.dumps(stored)
    assert [path.stem for path in NOTEBOOKS] == ["orders", "single-cells", "survey"]
    assert DOCS.name == "docs"
