"""Times cut into bins: hours of the day, stretches of equal length, or so many equal parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.errors import InputError

MOST_BINS = 100_000
Bins = tuple[npt.NDArray[np.int64], npt.NDArray[Any]]


def cut_times(series: Any, bins: str, origin: str | None, place: Callable[[int], str]) -> Bins:
    """Return the bin of each time, and the bins' names; bins without a time in between are there, too.

    Parameters
    ----------
    series : pandas Series
        Time stamps as text or dates, or seconds.
    bins : str
        "clock", a length of time that pandas knows, or a number.
    origin : str, optional
        When seconds start to count; without it they have no date.
    place : callable
        Says where a row is.
    """
    times = _parse(series, origin, place)
    dated = times.dtype.kind == "M"
    if bins == "clock":
        if not dated:
            raise InputError("Seconds have no hour of the day; say by the origin when they start to count.")
        hours = times.astype("datetime64[h]").astype(np.int64) % 24
        return hours, np.array([f"{hour:02d}-{(hour + 1) % 24:02d}" for hour in range(24)])
    seconds = (times - times.min()) / np.timedelta64(1, "s") if dated else times - times.min()
    start = times.min()
    if bins.isdigit() and int(bins) > 0:
        n = int(bins)
        length = max(float(seconds.max()), 1e-9) / n
        numbers = np.minimum(seconds // length, n - 1).astype(np.int64)
        return numbers, _names(start, length, n, dated)
    length = _length(bins)
    if dated:  # bins begin on whole days or hours, not at the first event
        day = start.astype("datetime64[D]")
        offset = (start - day) / np.timedelta64(1, "s") // length * length
        start = day + np.timedelta64(round(offset * 1e9), "ns")
        seconds = (times - start) / np.timedelta64(1, "s")
    numbers = (seconds // length).astype(np.int64)
    if numbers.max() >= MOST_BINS:
        raise InputError(f"bins is {bins!r}, which makes {numbers.max() + 1:,} of them; give a longer one.")
    return numbers, _names(start, length, int(numbers.max()) + 1, dated)


def _parse(series: Any, origin: str | None, place: Callable[[int], str]) -> npt.NDArray[Any]:
    """Return times as dates, or as seconds if that is what they are."""
    import pandas as pd

    unknown = series.isna().to_numpy()
    if unknown.any():
        raise InputError(f"{place(int(unknown.argmax()))} has no time; give one, or leave that row out.")
    if pd.api.types.is_numeric_dtype(series):
        seconds = series.to_numpy(np.float64)
        if origin is None:
            return seconds
        start = pd.to_datetime(origin, errors="coerce")
        if start is pd.NaT:
            raise InputError(f"origin is {origin!r}; give a date and time such as '2010-12-06 13:00'.")
        return np.asarray(start.to_datetime64() + (seconds * 1e9).astype("timedelta64[ns]"))
    times = pd.to_datetime(series, errors="coerce", format="ISO8601")
    if times.isna().any():
        times = pd.to_datetime(series, errors="coerce")
    wrong = times.isna().to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{place(row)} has the time {series.iloc[row]!r}; give dates and times such as 2010-12-06 13:00, "
            "or seconds."
        )
    if getattr(times.dt, "tz", None) is not None:
        times = times.dt.tz_localize(None)
    return np.asarray(times.to_numpy("datetime64[ns]"))


def _length(bins: str) -> float:
    """Return the length of a bin in seconds."""
    import pandas as pd

    try:
        length = pd.Timedelta(bins).total_seconds()
    except ValueError:
        length = 0.0
    if not length > 0:
        raise InputError(f"bins is {bins!r}; give clock, a number, or a length such as 1h, 30min or 1d.")
    return length


def _names(start: Any, length: float, n: int, dated: bool) -> npt.NDArray[Any]:
    """Name bins by when they begin."""
    if not dated:
        return np.array([f"{start + length * i:g}" for i in range(n)])
    starts: npt.NDArray[np.datetime64] = start + (length * np.arange(n) * 1e9).astype("timedelta64[ns]")
    if length % 86400 == 0:
        return np.datetime_as_string(starts, unit="D")
    texts = np.datetime_as_string(starts, unit="m" if length % 60 == 0 else "s")
    return np.char.replace(texts, "T", " ")
