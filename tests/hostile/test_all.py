"""The run of every harness has the sizes that docs/files.md promises, and misses no failure."""

from __future__ import annotations

import pytest

from hostile import all as everything


def test_every_case_of_the_full_size_is_in_one_piece() -> None:
    found: dict[str, list[int]] = {}
    for name, *numbers in everything.list_pieces(3):
        size, seed, *first = map(int, numbers)
        if name != "api":
            start = first[0] if first else seed
            found[name] = found.get(name, []) + list(range(start, start + size))
    assert {name: len(set(cases)) for name, cases in found.items()} == {
        "inputs": 10_000,
        "runs": 5_000,
        "tables": 5_000,
        "kills": 100,
        "races": 200,
    }
    assert sorted(words[1:] for words in everything.list_pieces(3) if words[0] == "api") == [
        [str(first), "8"] for first in range(8)
    ]


def test_a_piece_that_does_not_come_to_its_end_is_not_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    assert everything.run(["tables", "2", "5"]) == ("tables", 2, 0)
    assert everything.run(["tables", "nonsense"]) == ("tables", 0, 1)
    assert "ValueError" in capsys.readouterr().out
