"""A simulated hospital ward: who met whom in each hour of a day, 13 x 75 x 75, with known groups planted.

No person and no contact in it is real. The cells come from integer arithmetic only (splitmix64 of the cell's
number), so they are the same on every machine and with every version of NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorm.data.arrays import Bits, Ints
from tensorm.model import boolean_product

if TYPE_CHECKING:
    import xarray

HOURS = ("night", *(f"{hour:02d}-{hour + 1:02d}" for hour in range(8, 20)))
STAFF = {"doctor": 12, "nurse": 28, "administrator": 7, "patient": 28}
PEOPLE = tuple(f"{role} {i:02d}" for role, size in STAFF.items() for i in range(1, size + 1))
ROLES = tuple(role for role, size in STAFF.items() for _ in range(size))

PERCENT_INSIDE, PERCENT_OUTSIDE = 60, 1  # of the pairs that meet in an hour, in a group and elsewhere
SEED = 20180713

# name: (first, last hour), {role: (first, last)}; both ends included; hour 7 means the night
GROUPS: dict[str, tuple[Sequence[tuple[int, int]], dict[str, tuple[int, int]]]] = {
    "doctors' room": ([(9, 19)], {"doctor": (1, 12)}),
    "morning round": ([(8, 10)], {"doctor": (1, 6), "nurse": (1, 8), "patient": (1, 10)}),
    "nurses' handover": ([(13, 14), (19, 19)], {"nurse": (1, 22), "administrator": (1, 2)}),
    "front office": ([(8, 16)], {"nurse": (7, 10), "administrator": (1, 7)}),
    "afternoon clinic": ([(14, 16)], {"doctor": (5, 11), "nurse": (15, 20), "patient": (8, 16)}),
    "day room": ([(11, 12), (17, 18)], {"nurse": (11, 14), "patient": (15, 28)}),
    "night shift": ([(7, 7), (19, 19)], {"doctor": (12, 12), "nurse": (19, 28), "patient": (1, 6)}),
}


class WardTruth(NamedTuple):
    """The groups planted in the ward.

    Attributes
    ----------
    names : tuple of str
        One name per component.
    factors : list of ndarray of bool
        Hours, people and people again: (13, L), (75, L) and (75, L).
    """

    names: tuple[str, ...]
    factors: list[Bits]


def ward() -> xarray.DataArray:
    """Return the contacts of a simulated hospital ward.

    A cell is 1 if two people met in an hour, and NaN on the diagonal. Contacts are symmetric: 60% of the
    pairs in each group of ``ward_truth`` meet, and 1% elsewhere.

    Returns
    -------
    xarray.DataArray
        float32, dimensions "hour" (13), "person" (75) and "met" (75), all labelled, with a coordinate "role"
        of "person".
    """
    import xarray  # it loads pandas, which importing the package must not

    truth = ward_truth()
    group = boolean_product(truth.factors)
    hour, person, met = np.indices(group.shape)
    pair = np.minimum(person, met) * len(PEOPLE) + np.maximum(person, met)
    contact = _hundredths(hour * len(PEOPLE) ** 2 + pair) < np.where(group, PERCENT_INSIDE, PERCENT_OUTSIDE)
    cells = np.where(person == met, np.nan, contact).astype(np.float32)
    coords = {
        "hour": list(HOURS),
        "person": list(PEOPLE),
        "met": list(PEOPLE),
        "role": ("person", list(ROLES)),
    }
    attrs = {"description": "Simulated contacts on a hospital ward; the people are not real."}
    return xarray.DataArray(cells, coords, ("hour", "person", "met"), "contact", attrs)


def ward_truth() -> WardTruth:
    """Return the names and factors of the groups planted in ``ward()``."""
    hours = np.zeros((len(HOURS), len(GROUPS)), dtype=bool)
    people = np.zeros((len(PEOPLE), len(GROUPS)), dtype=bool)
    for l, (spans, members) in enumerate(GROUPS.values()):
        for first, last in spans:
            hours[first - 7 : last - 6, l] = True
        for role, (first, last) in members.items():
            people[PEOPLE.index(f"{role} {first:02d}") : PEOPLE.index(f"{role} {last:02d}") + 1, l] = True
    return WardTruth(tuple(GROUPS), [hours, people, people.copy()])


def _hundredths(numbers: Ints) -> npt.NDArray[np.uint64]:
    """Return a pseudo-random number from 0 to 99 for each number: the scaled upper half of splitmix64."""
    z = (numbers.astype(np.uint64) + np.uint64(SEED)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(32)) * np.uint64(100)) >> np.uint64(32)
