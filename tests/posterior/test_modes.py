"""A fitted mode as its reader sees it, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from posteriors import PEOPLE, ROLES, bits, make_posterior, ward_posterior
from tensorm import InputError
from tensorm.posterior.modes import find_component, list_modes


def test_modes_carry_names_labels_and_groups() -> None:
    hour, person, met = list_modes(ward_posterior(), {"person": list(ROLES)})
    assert (hour.name, person.name, met.name) == ("hour", "person", "met")
    assert person.label(4) == PEOPLE[4] == "nurse 01"
    np.testing.assert_array_equal(person.groups, ROLES)
    assert met.groups is None
    np.testing.assert_array_equal(met.means[5:, 1], [1, 1, 0.25])


def test_without_labels_an_index_is_its_number() -> None:
    posterior = make_posterior([[[bits(3, [0]), bits(2, [1])]]])
    assert list_modes(posterior)[0].label(2) == "2"


def test_modes_are_found_by_name_or_number() -> None:
    posterior = ward_posterior()
    for mode in ("met", 2, np.int64(2)):
        groups = [part.groups for part in list_modes(posterior, {mode: ["a"] * 8})]
        assert [part is None for part in groups] == [True, True, False]
    with pytest.raises(
        InputError, match=r"Unknown mode 'ward' in groups; the modes are 'hour', 'person', 'met'"
    ):
        list_modes(posterior, {"ward": []})
    with pytest.raises(InputError, match="Unknown mode 3 in groups"):
        list_modes(posterior, {3: []})


def test_components_are_numbers_below_theirs() -> None:
    assert find_component(ward_posterior(), 1) == 1
    with pytest.raises(InputError, match="component is 2; give a number from 0 to 1"):
        find_component(ward_posterior(), 2)
    with pytest.raises(InputError, match="component is -1"):
        find_component(ward_posterior(), -1)


def test_members_are_sorted_by_probability() -> None:
    met = list_modes(ward_posterior())[2]
    assert met.members(0).tolist() == [0, 1, 2, 3, 4]
    assert met.members(1).tolist() == [5, 6]
    assert met._replace(means=met.means[::-1]).members(1, 0.2).tolist() == [1, 2, 0]
    assert met.members(1, 1.0).tolist() == []


def test_the_strongest_component_of_each_index() -> None:
    hour, _, met = list_modes(ward_posterior())
    assert hour.strongest().tolist() == [1, 0, 0, 0, 2, 1]
    assert met.strongest().tolist() == [0, 0, 0, 0, 0, 1, 1, 2]  # the last has 0.25


def test_groups_must_fit_their_mode() -> None:
    with pytest.raises(InputError, match=r"groups for 'person' has shape \(3,\); give \(8,\)"):
        list_modes(ward_posterior(), {"person": ["a", "b", "c"]})
    with pytest.raises(InputError, match="Unknown mode 'role' in groups"):
        list_modes(ward_posterior(), {"role": ROLES})
