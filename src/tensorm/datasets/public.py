"""Public data sets: contacts on a hospital ward, relations between nations, seats of students."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorm.data.checks import check_choice, check_count, short
from tensorm.datasets.registry import fetch
from tensorm.errors import InputError

if TYPE_CHECKING:
    import xarray

FIRST_HOUR = 13  # o'clock, on a Monday, when the clock of the hospital's badges starts
CONTACT_SECONDS = 20  # a contact recorded at t was active in the seconds before
ROLE_NAMES = {"MED": "doctor", "NUR": "nurse", "PAT": "patient", "ADM": "administrator"}
NATIONS_PARTS = ("train", "valid", "test")
FIRST_WEEK = 1364184000  # midnight before Monday 25 March 2013; the students' clock is four hours ahead
WEEK, SEAT_RANGES, SEATS = 7 * 86400, 6, 14  # seconds, ranges of seats, seats of each


def hospital(hours: Sequence[int] = tuple(range(8, 20))) -> xarray.DataArray:
    """Return who was near whom in which hour of the day on a hospital ward: 75 people, four days.

    Parameters
    ----------
    hours : increasing sequence of int, default 8, ..., 19
        Hours of the day that are separate windows; all others, if any, form one window, "night".

    Returns
    -------
    xarray.DataArray
        float32, dimensions "hour" (``hours`` and the night), "person" and "met" (75), with a coordinate
        "role" of "person". NaN on the diagonal.

    Raises
    ------
    InputError
        When ``hours`` are not increasing hours of the day.
    FileError
        When the file cannot be downloaded.
    """
    import xarray

    windows = _check_hours(hours)
    labels = [f"{hour:02d}-{(hour + 1) % 24:02d}" for hour in windows]
    if len(windows) < 24:
        labels.append("night")
    path, attrs = fetch("hospital/hospital_lyon_contacts.dat.gz")
    with gzip.open(path, "rt") as file:
        table = _split_lines(file.read())
    t, pair, role = table[:, 0].astype(int), table[:, 1:3].astype(int), table[:, 3:5]
    people, index = np.unique(pair, return_inverse=True)
    i, j = index.reshape(pair.shape).T
    hour = (FIRST_HOUR + (t - CONTACT_SECONDS) // 3600) % 24
    window = np.full(24, len(windows))
    window[windows] = np.arange(len(windows))
    X = np.zeros((len(labels), len(people), len(people)), np.float32)
    X[window[hour], i, j] = X[window[hour], j, i] = 1
    X[:, range(len(people)), range(len(people))] = np.nan
    roles = dict(zip(pair.ravel().tolist(), role.ravel().tolist(), strict=True))
    names = [str(person) for person in people]
    coords: dict[str, Any] = {"hour": labels, "person": names, "met": names}
    coords["role"] = ("person", [ROLE_NAMES[roles[person]] for person in people.tolist()])
    return xarray.DataArray(X, coords, ("hour", "person", "met"), "contact", attrs)


def nations(part: str = "train") -> xarray.DataArray:
    """Return which nation has which relation to which other nation: 14 x 55 x 14.

    Parameters
    ----------
    part : "train", "valid" or "test", default "train"
        The relations are published in three parts, so that predictions can be compared.

    Returns
    -------
    xarray.DataArray
        float32, dimensions "head", "relation" and "tail", with the same labels for all parts. 1 for the
        relations of this part; 0 also for those of the other parts.

    Raises
    ------
    InputError
        When ``part`` is unknown.
    FileError
        When a file cannot be downloaded.
    """
    import xarray

    check_choice("part", part, NATIONS_PARTS)
    files = {name: fetch(f"nations/{name}.txt") for name in NATIONS_PARTS}
    triples = {name: _split_lines(path.read_text(encoding="utf-8")) for name, (path, _) in files.items()}
    everything = np.concatenate(list(triples.values()))
    names = np.unique(everything[:, [0, 2]])
    relations = np.unique(everything[:, 1])
    X = np.zeros((len(names), len(relations), len(names)), np.float32)
    head, relation, tail = triples[part].T
    X[np.searchsorted(names, head), np.searchsorted(relations, relation), np.searchsorted(names, tail)] = 1
    coords = {"head": names, "relation": relations, "tail": names}
    return xarray.DataArray(X, coords, ("head", "relation", "tail"), "relation", files[part][1])


def students(regions: Mapping[int, str] | None = None) -> xarray.DataArray:
    """Return in which part of the lecture room each student sat in each week.

    The map from seat numbers to parts of the room is not public as data. Six equal ranges of seat numbers,
    which are not real places, stand in for it. The files are read from the folder TENSORM_DATA, or from the
    cache where ``python -m experiments.prepare students`` (part of the repository, not of the package) puts
    them.

    Parameters
    ----------
    regions : mapping of int to str, optional
        The region of each seat number, if you know them; regions are in the order in which they are named.

    Returns
    -------
    xarray.DataArray
        float32, dimensions "week", "region" and "student"; 1 where a student scanned a seat of the region in
        the week. The last region, "?", is for scans without a seat, or with one that has no region. Students
        without a scan during the course are left out.

    Raises
    ------
    InputError
        When ``regions`` is not such a mapping.
    FileError
        When there are no such files, or they are damaged.
    """
    import xarray

    seats = _equal_ranges() if regions is None else _check_regions(regions)
    folder, attrs = fetch("students/QR_Code")
    scans = [
        (path.stem[3:], str(row["qr_code"]), int(row["resp_time"]))
        for path in sorted(path for path in folder.glob("QR_u*.json") if path.is_file())
        for row in json.loads(path.read_bytes())
    ]
    week = np.array([(time - FIRST_WEEK) // WEEK for *_, time in scans])
    inside = week >= 0
    names, student = np.unique([name for name, *_ in scans], return_inverse=True)
    places = list(dict.fromkeys(seats.values()))
    region = [
        places.index(seats[int(code)]) if code.isdigit() and int(code) in seats else len(places)
        for _, code, _ in scans
    ]
    X = np.zeros((week.max() + 1, len(places) + 1, len(names)), np.float32)
    X[week[inside], np.array(region)[inside], student[inside]] = 1
    seen = X.any(axis=(0, 1))
    weeks = [f"week {i + 1}" for i in range(len(X))]
    coords = {"week": weeks, "region": [*places, "?"], "student": names[seen]}
    return xarray.DataArray(X[:, :, seen], coords, ("week", "region", "student"), "seat", attrs)


def _check_hours(hours: Any) -> list[int]:
    wanted = "give increasing hours of the day between 0 and 23"
    try:
        given = list(islice(hours, 25))  # enough to see that there are too many
    except TypeError:
        raise InputError(f"hours is {short(hours)}; {wanted}, as in range(8, 20).") from None
    windows = [check_count(f"hours[{n}]", hour, 0) for n, hour in enumerate(given)]
    if windows != sorted(set(windows)) or windows[-1:] > [23]:
        raise InputError(f"hours is {short(windows)}; {wanted}.")
    return windows


def _split_lines(text: str) -> np.ndarray:
    return np.array([line.split("\t") for line in text.splitlines() if line])


def _check_regions(regions: Any) -> Mapping[int, str]:
    if not (
        isinstance(regions, Mapping)
        and regions
        and all(type(seat) is int and isinstance(name, str) for seat, name in regions.items())
    ):
        raise InputError(
            f"regions is {short(regions)}; give the name of a region for each seat number, as in "
            '{1: "front", 2: "front", 3: "back"}.'
        )
    return regions


def _equal_ranges() -> dict[int, str]:
    names = [f"seats {SEATS * i + 1}-{SEATS * (i + 1)}" for i in range(SEAT_RANGES)]
    return {SEATS * i + n + 1: name for i, name in enumerate(names) for n in range(SEATS)}
