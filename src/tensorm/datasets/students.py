"""Where students sat in each week of a course (StudentLife)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from tensorm.datasets.registry import fetch

if TYPE_CHECKING:
    import xarray

FIRST_WEEK = 1364184000  # midnight before Monday 25 March 2013; the scans' clock is four hours ahead
WEEK, SEATS, RANGES = 7 * 86400, 84, 6


def students() -> xarray.DataArray:
    """Return in which part of the lecture room each student sat in each week.

    The map from seat numbers to parts of the room is not public as data. Six equal ranges of seat numbers,
    which are not real places, stand in for it, and "?" for scans that name no seat. The files are read from
    the folder TENSORM_DATA, or from the cache where ``python -m experiments.prepare students`` (part of the
    repository, not of the package) puts them.

    Returns
    -------
    xarray.DataArray
        float32, dimensions "week", "region" (7) and "student"; 1 where a student scanned a seat of the region
        in the week. Students without a scan during the course are left out.

    Raises
    ------
    FileError
        When there are no such files, or they are damaged.
    """
    import xarray

    folder, attrs = fetch("students/QR_Code")
    scans = [
        (path.stem[3:], str(row["qr_code"]), int(row["resp_time"]))
        for path in sorted(path for path in folder.glob("QR_u*.json") if path.is_file())
        for row in json.loads(path.read_bytes())
    ]
    seats, size = [_seat(code) for _, code, _ in scans], SEATS // RANGES
    week = np.array([(time - FIRST_WEEK) // WEEK for *_, time in scans])
    inside = week >= 0
    names, student = np.unique([name for name, *_ in scans], return_inverse=True)
    region = np.array([RANGES if seat is None else (seat - 1) // size for seat in seats])
    X = np.zeros((week.max() + 1, RANGES + 1, len(names)), np.float32)
    X[week[inside], region[inside], student[inside]] = 1
    seen = X.any(axis=(0, 1))
    ranges = [f"seats {size * i + 1}-{size * (i + 1)}" for i in range(RANGES)]
    return xarray.DataArray(
        X[:, :, seen],
        dims=("week", "region", "student"),
        coords={
            "week": [f"week {i + 1}" for i in range(len(X))],
            "region": [*ranges, "?"],
            "student": names[seen],
        },
        name="seat",
        attrs=attrs,
    )


def _seat(code: str) -> int | None:
    return int(code) if code.isdigit() and 1 <= int(code) <= SEATS else None
