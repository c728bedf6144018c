"""A seeded part of the random tables that ``python -m hostile tables`` compares."""

from __future__ import annotations

from pathlib import Path

from hostile import tables


def test_no_cell_of_a_random_table_is_lost_or_invented(tmp_path: Path) -> None:
    ended = {n: tables.check(tables.make(n), tmp_path) for n in range(300)}
    assert {n: what for n, what in ended.items() if what not in ("equal", "refused")} == {}
    assert sum(what == "equal" for what in ended.values()) > 250


def test_a_lost_cell_is_noticed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tables, "read", lambda path, names: [["0"] * len(names)])
    assert tables.check(tables.make(0), tmp_path).startswith("csv has")
