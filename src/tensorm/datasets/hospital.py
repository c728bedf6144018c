"""Contacts on a hospital ward in Lyon, measured by badges (SocioPatterns)."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorm.data.checks import check_count
from tensorm.datasets.registry import fetch
from tensorm.errors import InputError

if TYPE_CHECKING:
    import xarray

START = 13  # o'clock, on a Monday, when the clock of the badges starts
SECONDS = 20  # a contact recorded at t was active in the seconds before
ROLES = {"MED": "doctor", "NUR": "nurse", "PAT": "patient", "ADM": "administrator"}


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
        table = np.array([line.split("\t") for line in file.read().splitlines()])
    t, pair, role = table[:, 0].astype(int), table[:, 1:3].astype(int), table[:, 3:5]
    people, index = np.unique(pair, return_inverse=True)
    i, j = index.reshape(pair.shape).T
    hour = (START + (t - SECONDS) // 3600) % 24
    window = np.full(24, len(windows))
    window[windows] = np.arange(len(windows))
    X = np.zeros((len(labels), len(people), len(people)), np.float32)
    X[window[hour], i, j] = X[window[hour], j, i] = 1
    X[:, range(len(people)), range(len(people))] = np.nan
    roles = dict(zip(pair.ravel().tolist(), role.ravel().tolist(), strict=True))
    names = [str(person) for person in people]
    return xarray.DataArray(
        X,
        dims=("hour", "person", "met"),
        coords={
            "hour": labels,
            "person": names,
            "met": names,
            "role": ("person", [ROLES[roles[person]] for person in people.tolist()]),
        },
        name="contact",
        attrs=attrs,
    )


def _check_hours(hours: Any) -> list[int]:
    wanted = "give increasing hours of the day between 0 and 23"
    try:
        given = list(hours)
    except TypeError:
        raise InputError(f"hours is {hours!r}; {wanted}, as in range(8, 20).") from None
    windows = [check_count(f"hours[{n}]", hour, 0) for n, hour in enumerate(given)]
    if windows != sorted(set(windows)) or windows[-1:] > [23]:
        raise InputError(f"hours is {windows}; {wanted}.")
    return windows
