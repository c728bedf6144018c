"""The harness sees what it is there to see, and blames the right case."""

from __future__ import annotations

from pathlib import Path

from hostile import child

EXPECTED = {
    "nothing": "result", "refuse": "error", "chatter": "traceback", "raise": "traceback", "exit": "crash",
    "crash": "crash", "loop": "hang", "hog": "memory", "gobble": "memory", "peek": "outside",
    "start": "code", "sing": "code", "warn": "warning",
}  # fmt: skip


def test_every_misbehaviour_is_noticed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TENSORM_HOSTILE_SECONDS", "1")
    (tmp_path / "secret").write_text("mine")
    asked = [what for deed in EXPECTED for what in (deed, "nothing")]
    found = [
        outcome.kind
        for outcome in child.run(
            "hostile.misbehaviour:misbehave", [f"{a}:{tmp_path}" for a in asked], tmp_path
        )
    ]
    assert found == [kind for deed in EXPECTED for kind in (EXPECTED[deed], "result")]
