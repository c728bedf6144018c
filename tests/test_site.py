"""The docs site names everything that is public, and its pages load nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tensorm
from tensorm import baselines, datasets
from tensorm.report import plots

ROOT = Path(__file__).parents[1]
API = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
SETTINGS = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(tensorm.__all__) - {"__version__"}))
def test_every_public_name_is_in_the_reference(name) -> None:
    assert re.search(rf"^::: tensorm\.{name}$", API, re.MULTILINE)


@pytest.mark.parametrize("room", [baselines, datasets, plots])
def test_rooms_are_shown_with_all_their_names(room) -> None:
    assert re.search(rf"^::: {room.__name__}$", API, re.MULTILINE)
    for name in room.__all__:
        assert getattr(room, name).__doc__


def test_every_page_is_in_the_navigation() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert f" {page.relative_to(ROOT / 'docs').as_posix()}\n" in SETTINGS


def test_every_notebook_is_in_the_navigation() -> None:
    notebooks = [*(ROOT / "docs" / "notebooks").glob("*.ipynb")]
    assert len(notebooks) == 3
    for path in notebooks:
        assert f" notebooks/{path.stem}.md\n" in SETTINGS


def test_nothing_is_loaded_from_the_network() -> None:
    assert "font: false" in SETTINGS
    assert "http" not in SETTINGS
    assert "http" not in (ROOT / "docs" / "extra.css").read_text(encoding="utf-8")
