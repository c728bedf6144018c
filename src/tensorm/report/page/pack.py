"""The data that the page's script reads: compressed JSON, encoded so that no browser takes it for markup."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorm.posterior.modes import FittedMode
from tensorm.report.metadata import Column
from tensorm.report.page.cells import Block, Slices

UNITS = 10_000  # of a probability


def pack_modes(modes: Sequence[FittedMode], columns: Sequence[Sequence[Column]]) -> list[dict[str, Any]]:
    """Return each mode's labels, means and metadata."""
    return [
        {
            "name": mode.name,
            "labels": [mode.label(n) for n in range(len(mode.means))],
            "means": np.rint(UNITS * mode.means).astype(int).ravel().tolist(),
            "columns": [_column(column) for column in known],
        }
        for mode, known in zip(modes, columns, strict=True)
    ]


def pack(modes: list[dict[str, Any]], L: int, slices: Slices, blocks: Sequence[Block | None]) -> str:
    """Return all of it in base64."""
    content = {
        "components": L,
        "modes": modes,
        "slices": slices._asdict(),
        "blocks": [None if block is None else block._asdict() for block in blocks],
    }
    return b64encode(zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 9)).decode()


def _column(column: Column) -> dict[str, Any]:
    numbers = None
    if column.numbers is not None:
        numbers = [None if number != number else float(number) for number in column.numbers]
    return {"name": column.name, "values": column.values.tolist(), "numbers": numbers}
