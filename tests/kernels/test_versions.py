"""A numba that is too old is refused, and one that was never tried is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tensorm.kernels import BEYOND, OLDEST, check_numba

ROOT = Path(__file__).parents[2]


def test_an_old_numba_is_refused() -> None:
    wanted = r'^tensorm cannot work with numba 0\.60\.1; upgrade it: pip install "numba>=0\.\d+,<0\.\d+"$'
    with pytest.raises(ImportError, match=wanted):
        check_numba("0.60.1")


def test_a_new_numba_is_warned_about() -> None:
    with pytest.warns(
        RuntimeWarning, match=r"^tensorm has not been tested with numba 1\.2\.0rc1; if it fails"
    ):
        check_numba("1.2.0rc1")


def test_the_range_is_that_of_the_package() -> None:
    bounds = re.search(r'"numba>=(\d+)\.(\d+),<(\d+)\.(\d+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert bounds is not None
    assert tuple(map(int, bounds.groups())) == (*OLDEST, *BEYOND)
    for version in (OLDEST, (BEYOND[0], BEYOND[1] - 1)):
        check_numba("{}.{}.0".format(*version))  # no warning, which would be an error here
