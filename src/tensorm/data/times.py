"""Times cut into bins: by clock and calendar, intervals of equal length, or a number of equal parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Array, Floats, Ints
from tensorm.errors import BadValuesError, InputError

MAX_BINS = 100_000
CALENDAR_BINS = {"clock": "hour of the day", "weekday": "day of the week", "month": "month"}
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EACH = "each"  # time is a label of its own
SHORTEST_BIN, LONGEST_BIN = 1e-6, 1e12  # seconds: dates know microseconds, and 10,000 years
TIME_UNITS = "(ms|millisecond)|(s|sec|second)|(min|minute)|(h|hr|hour)|(d|day)|(w|week)"
UNIT_SECONDS = (1e-3, 1, 60, 3600, 86400, 604800)  # in each of these
ONE_SECOND = np.timedelta64(1, "s")
PRESENT = ("now", "today")  # words that pandas takes for the time at which it reads them
LAST_DAY = np.datetime64("9999-12-31")
DATES = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d %b %Y", "%d-%b-%Y")
CLOCKS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
TIME_FORMATS = (*DATES, *(f"{date} {clock}" for date in DATES for clock in CLOCKS), *CLOCKS)


def cut_times(times: Any, bins: str, origin: str | None, place: Callable[[int], str]) -> tuple[Ints, Array]:
    """Return the bin of each time and the names of all bins, including those in between that stay empty.

    Parameters
    ----------
    times : array or pandas Series
        Time stamps as text or dates, or seconds.
    bins : str
        "clock", "weekday", "month", a length such as 1h, 30min or 1d, or a number.
    origin : str, optional
        The moment at which seconds start to count; without it they have no date.
    place : callable
        Says where a row is.
    """
    day, seconds = None, _parse(times, origin, place)
    if seconds.dtype.kind == "M":
        if bins in CALENDAR_BINS:
            return _place_in_calendar(seconds, bins)
        day = seconds.min().astype("datetime64[D]")
        seconds = (seconds - day) / ONE_SECOND
    elif bins in CALENDAR_BINS:
        raise InputError(
            f"Times in seconds do not tell the {CALENDAR_BINS[bins]}; give origin='2010-12-06 13:00', when "
            "the count starts, or bins='1h'."
        )
    start = seconds.min()
    if bins.isdecimal() and 0 < float(bins) <= LONGEST_BIN:
        n = float(bins)
        length = max(seconds.max() - start, n * 1e-6) / n
        numbers = np.minimum((seconds - start) // length, n - 1)
    else:
        length = _length(bins)
        if day is not None:  # bins begin on whole days or hours, not at the first event
            start = start // length * length
        numbers = (seconds - start) // length
        n = numbers.max() + 1
    if n > MAX_BINS:
        raise InputError(f"bins is {bins!r}, which makes {n:,.0f} of them; give at most {MAX_BINS:,}.")
    return numbers.astype(np.int64), _names(start, length, int(n), day)


def _place_in_calendar(times: Any, bins: str) -> tuple[Ints, Array]:
    """Return the hour of the day, the day of the week or the month of times, and the names of all these."""
    days = times.astype("datetime64[D]")
    if bins == "clock":
        if (days == times).all():
            raise InputError(
                "The times are dates without a time of the day; give bins='month', 'weekday', 'each', or a "
                "length such as '7d'."
            )
        hours = [f"{hour:02d}-{(hour + 1) % 24:02d}" for hour in range(24)]
        return (times - days) // np.timedelta64(1, "h"), np.array(hours)
    if bins == "weekday":  # the count of days starts on a Thursday
        return (days.astype(np.int64) + 3) % 7, np.array(DAYS)
    months = times.astype("datetime64[M]")
    numbers = (months - months.min()).astype(np.int64)
    return numbers, np.datetime_as_string(months.min() + np.arange(numbers.max() + 1))


def _parse(times: Any, origin: str | None, place: Callable[[int], str]) -> Array:
    """Return times as dates, or as seconds if that is what they are."""
    import pandas as pd

    series = pd.Series(times)
    if series.dtype.kind == "b":
        raise InputError(f"{place(0)} contains true or false, not a time; give another column.")
    if series.dtype.kind in "iuf":
        return _count(series.to_numpy(np.float64), origin, place)
    dates = series if series.dtype.kind == "M" else _parse_texts(series.astype("str"), place)
    return np.asarray(dates.dt.tz_localize(None).to_numpy("datetime64[us]"))


def _count(seconds: Floats, origin: str | None, place: Callable[[int], str]) -> Any:
    """Return seconds, as dates if it is known when they start."""
    infinite = ~np.isfinite(seconds)
    if infinite.any():
        raise InputError(f"{place(int(infinite.argmax()))} has an infinite time; give seconds.")
    if origin is None:
        return seconds
    import pandas as pd

    start = pd.to_datetime(origin, errors="coerce")
    if start is pd.NaT or origin in PRESENT:
        raise InputError(f"origin is {origin!r}; give a date and time such as '2010-12-06 13:00'.")
    first = start.tz_localize(None).to_datetime64().astype("datetime64[us]")
    late = seconds > (LAST_DAY - first) / ONE_SECOND
    if late.any():
        row = int(late.argmax())
        late_time = f"{seconds[row]:.15g}, which is after the year 9999"
        raise InputError(f"{place(row)} has the time {late_time}; give seconds, not milliseconds.")
    return first + np.round(seconds * 1e6).astype("timedelta64[us]")


def _parse_texts(series: Any, place: Callable[[int], str]) -> Any:
    """Return dates in ISO 8601 or all in one other format; local clock times, without their zones."""
    import pandas as pd

    zone = re.compile(r"(:\d\d(?:\.\d+)?)\s*(?:Z|[+-]\d\d:?\d\d)$")
    texts = series
    if any(text[-1:] == "Z" or "+" in text[-6:-4] or "-" in text[-6:-4] for text in series):
        texts = series.str.replace(zone, r"\1", regex=True)
    texts = texts.mask(texts.isin(PRESENT), "")
    tried = [pd.to_datetime(texts, errors="coerce", format="ISO8601")]
    if tried[0].isna().any():
        first = texts.iloc[:1]
        fits = [f for f in TIME_FORMATS if pd.to_datetime(first, errors="coerce", format=f).notna().all()]
        tried += [pd.to_datetime(texts, errors="coerce", format=form) for form in fits]
    whole = [times for times in tried if times.notna().all()]
    if not whole:
        bad = max((np.flatnonzero(times.isna()).tolist() for times in tried), key=lambda rows: rows[0])
        wanted = "give dates and times such as 2010-12-06 13:00, all in one format, or seconds"
        shown = f"{place(bad[0])} has the time {series.iloc[bad[0]]!r}"
        raise BadValuesError(f"{shown}; {wanted}.", bad)
    if any(not whole[0].equals(times) for times in whole[1:]):
        problem = f"{series.iloc[0]!r}, which may begin with the day or the month"
        raise InputError(f"{place(0)} has the time {problem}; write dates as 2010-12-06.")
    return whole[0]


def _length(bins: str) -> float:
    """Return the length of a bin in seconds."""
    found = re.fullmatch(rf"(\d+(?:\.\d+)?)\s*(?:{TIME_UNITS})s?", bins.strip().lower())
    length = float(found[1]) * UNIT_SECONDS[(found.lastindex or 0) - 2] if found else 0.0
    if not SHORTEST_BIN <= length <= LONGEST_BIN:
        wanted = "give clock, weekday, month, each, a number, or a length such as 1h, 30min or 1d"
        raise InputError(f"bins is {bins[:40]!r}; {wanted}.")
    return length


def _names(start: float, length: float, n: int, day: np.datetime64 | None) -> Array:
    """Name bins by when they begin."""
    starts = start + length * np.arange(n)
    if day is None:
        return np.array([f"{begin:.15g}" for begin in starts])
    dates: npt.NDArray[np.datetime64] = day + np.round(starts * 1e6).astype("timedelta64[us]")
    if length % 86400 == 0 and start == 0:
        return np.datetime_as_string(dates, unit="D")
    unit: Any = "m" if length % 60 == 0 else "s" if length >= 1 else "us"
    return np.char.replace(np.datetime_as_string(dates, unit=unit), "T", " ")
