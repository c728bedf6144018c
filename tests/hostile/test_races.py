"""One owner at a time for the folder of a run."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hostile import races


@pytest.mark.parametrize("pair", races.PAIRS)
def test_two_commands_leave_the_folder_of_one(pair: str, tmp_path: Path) -> None:
    races.judge(pair, tmp_path, races.race(pair, tmp_path, random.Random(0)))
