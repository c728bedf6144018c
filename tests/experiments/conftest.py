"""A folder of their own for what experiments write."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import record


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that results go to."""
    monkeypatch.setattr(record, "OUT", tmp_path)
    return tmp_path
