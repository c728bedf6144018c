"""Times cut into bins, by hand; and times that cannot be cut."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tensorm import InputError
from tensorm.data.times import MAX_BINS, cut_times


def cut(times, bins="clock", origin=None):
    numbers, names = cut_times(pd.Series(times), bins, origin, "row {}".format)
    return numbers.tolist(), names.tolist()


def test_hours_of_the_clock_have_no_date() -> None:
    numbers, names = cut(["2024-01-01 10:59:59", "2024-05-07 10:00", "2024-05-07 23:30"])
    assert numbers == [10, 10, 23]
    assert (len(names), names[10], names[23]) == (24, "10-11", "23-00")
    assert cut(["10:00", "7:30"])[0] == [10, 7]


def test_bins_of_the_calendar() -> None:
    days = ["2024-11-30", "2025-02-01 10:00", "2024-11-01"]  # Saturday, Saturday, Friday
    assert cut(days, "month") == ([0, 3, 0], ["2024-11", "2024-12", "2025-01", "2025-02"])
    numbers, names = cut(days, "weekday")
    assert [names[n] for n in numbers] == ["Saturday", "Saturday", "Friday"]
    assert (names[0], len(names)) == ("Monday", 7)
    assert cut(["1969-12-28"], "weekday")[0] == [6]
    with pytest.raises(InputError, match=r"^Times in seconds do not tell the day of the week; give origin="):
        cut([1.0, 2.0], "weekday")


def test_lengths_begin_on_whole_hours_and_days() -> None:
    numbers, names = cut(["2024-01-01 10:20", "2024-01-01 12:10", "2024-01-01 10:59"], "1h")
    assert numbers == [0, 2, 0]
    assert names == ["2024-01-01 10:00", "2024-01-01 11:00", "2024-01-01 12:00"]  # one without events, too
    assert cut(["2024-01-01 10:20", "2024-01-03"], "1d") == (
        [0, 2],
        ["2024-01-01", "2024-01-02", "2024-01-03"],
    )
    assert cut(["2024-01-01 10:20:07", "2024-01-01 10:20:31"], "30s")[1][0] == "2024-01-01 10:20:00"
    assert cut([20, 50, 140], "1min") == ([0, 0, 2], ["20", "80", "140"])  # seconds begin at the first


@pytest.mark.parametrize(
    ("bins", "n"), [("250ms", 5), ("0.5 s", 3), ("1sec", 2), ("1 minute", 1), ("2hours", 1), ("1W", 1)]
)
def test_lengths_in_many_units(bins, n) -> None:
    assert len(cut([0, 1.0], bins)[1]) == n


def test_equal_parts() -> None:
    assert cut([0, 4, 5, 10], "2") == ([0, 0, 1, 1], ["0", "5"])  # the last moment is in the last part
    assert cut(["2024-01-01", "2024-01-02", "2024-01-05"], "4") == (
        [0, 1, 3],
        ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"],
    )
    numbers, names = cut([7, 7], "3")
    assert numbers == [0, 0]
    assert len(set(names)) == 3


def test_seconds_have_dates_if_it_is_known_when_they_start() -> None:
    numbers, names = cut([0, 3600, 20], "clock", "2010-12-06 13:00")
    assert numbers == [13, 14, 13]
    assert cut([0.0, 86400.0], "1d", "2010-12-06 13:00+01:00")[1] == ["2010-12-06", "2010-12-07"]
    assert names[13] == "13-14"
    assert cut([1391680000, 1391680001], "1s")[1] == ["1391680000", "1391680001"]  # no two bins share a name


@pytest.mark.parametrize(
    "texts",
    [
        ["2024-01-13 10:00", "2024-01-14T11:00:05.5"],
        ["2024-01-13 10:00+01:00", "2024-01-14 11:00-0500"],  # as the clock showed
        ["2024-01-13T10:00Z", "2024-01-14T11:00"],
        ["13/01/2024 10:00", "14/01/2024 11:00"],
        ["01/13/2024 10:00 AM", "01/14/2024 11:00 AM"],
        ["13.01.2024 10:00:00", "14.01.2024 11:00:00"],
        ["13 Jan 2024 10:00", "14 Jan 2024 11:00"],
        np.array(["2024-01-13T10:00", "2024-01-14T11:00"], "M8[ns]"),
        pd.to_datetime(["2024-01-13 10:00", "2024-01-14 11:00"]).tz_localize("Europe/London"),
    ],
)
def test_one_format_of_many(texts) -> None:
    assert cut(texts)[0] == [10, 11]
    assert cut(texts, "1d") == ([0, 1], ["2024-01-13", "2024-01-14"])


def test_far_dates_are_what_they_say() -> None:
    far = ["0001-01-01", "9999-12-31"] if pd.__version__ >= "3" else ["1700-01-01", "2250-12-31"]
    assert cut(far, "2")[1][0][:10] == far[0]


@pytest.mark.parametrize(
    ("times", "bins", "origin", "message"),
    [
        (["01/02/2024", "03/04/2024"], "1d", None, "^row 0 has the time '01/02/2024', which may begin with"),
        (["2024-01-01", "03/04/2024"], "1d", None, "^row 1 has the time '03/04/2024'; give .* in one format"),
        (["2024-01-01", "noon"], "1d", None, "^row 1 has the time 'noon'"),
        (["2024-01-01", "now"], "1d", None, "^row 1 has the time 'now'; give dates"),
        (["today", "now"], "1d", None, "^row 0 has the time 'today'; give dates"),
        ([1.0, 2.0], "1h", "now", "^origin is 'now'; give a date"),
        ([1.0, 2.0], "9" * 400 + "d", None, "^bins is '9{40}'; give clock"),
        (["2024-01-01", "2024-01-02"], "9" * 400 + "d", None, "^bins is '9{40}'; give clock"),
        ([1.0, 2.0], "9" * 5000, None, "^bins is '9{40}'; give clock"),
        ([1.0, 2.0], "9" * 300 + "d", None, "^bins is '9{40}'; give clock"),
        ([1.0, 2.0], "0." + "0" * 300 + "1d", None, "^bins is '0.0{38}'; give clock"),
        ([True, False], "2", None, "^row 0 contains true or false, not a time"),
        ([1.0, np.inf], "2", None, "^row 1 has an infinite time"),
        ([1.0, 2.0], "clock", None, "^Times in seconds do not tell the hour of the day"),
        ([1.0, 2.0], "1h", "soon", "^origin is 'soon'; give a date"),
        (
            [1.0, 1.4e12],
            "1h",
            "1970-01-01",
            "^row 1 has the time 1400000000000, which is after the year 9999",
        ),
        ([1.0, 2.0], "0", None, "^bins is '0'; give clock, weekday, month, each, a number, or a length"),
        ([1.0, 2.0], "-1h", None, "^bins is '-1h'; give clock"),
        ([1.0, 2.0], "²", None, "^bins is '²'; give clock"),
        ([1.0, 2.0], "9999999999", None, f"^bins is .* makes 9,999,999,999 .* at most {MAX_BINS:,}"),
        ([1.0, 2e9], "1s", None, f"^bins is '1s', which makes 2,000,000,000 .* at most {MAX_BINS:,}"),
    ],
)
def test_what_is_wrong_is_said(times, bins, origin, message) -> None:
    with pytest.raises(InputError, match=message):
        cut(times, bins, origin)
