"""Folders that are closed to writing: one sentence, nothing half-written, and no result is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostile import closed


def test_closed_folders_end_in_one_sentence(tmp_path: Path) -> None:
    found = closed.run_child(tmp_path)
    if found is None:
        pytest.skip("nothing is closed to root here")
    for line, (code, said) in found.items():
        last = said.splitlines()[-1]
        assert (code, last[:7], "ermission denied" in last, last[-1]) == (2, "Error: ", True, "."), (
            line,
            said,
        )
    assert not list((tmp_path / "closed").iterdir())
    assert not list(tmp_path.rglob("*.part"))
    assert found["select cells.npy --plot closed/plot.png --candidates 1-2 --quiet"][1].startswith("2\n")
