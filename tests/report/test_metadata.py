"""Tables joined to modes by label: every form they come in, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

from posteriors import PEOPLE, ROLES, bits, make_posterior, ward_posterior
from tensorm import DenseTensor, InputError
from tensorm.report.metadata import groups_of, read_metadata, share_metadata

TURNED = slice(None, None, -1)
FRAME = pd.DataFrame({"name": PEOPLE[TURNED], "role": ROLES[TURNED], "age": np.arange(8.0)})


def read(table, mode="person"):
    return read_metadata(ward_posterior(), {mode: table})[1]


@pytest.mark.parametrize(
    "table",
    [
        FRAME[["name", "role"]],
        FRAME.rename(columns={"name": "person"})[["role", "person"]],
        FRAME.rename(columns={"name": "label"})[["role", "label"]],
        FRAME.set_index("name")[["role"]],
        FRAME.set_index("name")["role"],
        {"name": list(PEOPLE[TURNED]), "role": list(ROLES[TURNED])},
        pl.DataFrame({"name": list(PEOPLE[TURNED]), "role": list(ROLES[TURNED])}),
        pl.DataFrame({"role": list(ROLES[TURNED]), "person": list(PEOPLE[TURNED])}),
        pa.table({"name": list(PEOPLE[TURNED]), "role": list(ROLES[TURNED])}),
        {"role": dict(zip(PEOPLE[TURNED], ROLES[TURNED], strict=True))},
        pd.Series(ROLES, name="role"),
    ],
)
def test_a_table_is_joined_by_label_whatever_its_form(table) -> None:
    (column,) = read(table)
    assert column.name == "role"
    np.testing.assert_array_equal(column.values, ROLES)
    assert column.numbers is None
    assert column.categories == ["doctor", "nurse"]


def test_an_array_has_a_value_for_each_index() -> None:
    (column,) = read(ROLES)
    assert column.name == "group"
    np.testing.assert_array_equal(column.values, ROLES)


def test_other_modes_have_no_columns_and_modes_may_be_numbers() -> None:
    hour, person, met = read_metadata(ward_posterior(), {1: FRAME})
    assert hour == met == ()
    assert [column.name for column in person] == ["role", "age"]
    assert read_metadata(ward_posterior(), None) == ((), (), ())


def test_labels_without_a_row_are_unknown() -> None:
    table = FRAME[2:].assign(age=[1.5, None, 3, 4, 5, 6])
    role, age = read(table)
    assert role.values.tolist() == ["doctor"] * 4 + ["nurse"] * 2 + ["", ""]
    assert groups_of(ward_posterior(), {"person": table})["person"].tolist()[-1] == "unknown"
    assert age.values.tolist() == ["6", "5", "4", "3", "", "1.5", "", ""]
    np.testing.assert_array_equal(age.numbers, [6, 5, 4, 3, np.nan, 1.5, np.nan, np.nan])


def test_many_different_numbers_are_no_categories() -> None:
    posterior = make_posterior([[[bits(20, [0]), bits(2, [1])]]])
    table = {"label": range(20), "age": range(30, 50), "plate": [1, 2] * 10, "held": [True, False] * 10}
    age, plate, held = read_metadata(posterior, {0: table})[0]
    assert age.categories == []
    assert plate.categories == ["1", "2"]
    assert held.categories == ["True", "False"]
    assert held.numbers is None


def test_few_numbers_of_few_indices_are_measured_and_names_make_no_groups() -> None:
    posterior = make_posterior([[[bits(6, [0]), bits(2, [1])]]])
    table = {"label": range(6), "name": list("uvwxyz"), "age": range(30, 36), "ward": [3, 4] * 3}
    name, age, ward = read_metadata(posterior, {0: table})[0]
    assert (age.categories, ward.categories) == ([], ["3", "4"])
    assert len(name.categories) == 6
    assert groups_of(posterior, {0: table})["mode 0"].tolist() == ["3", "4"] * 3
    assert groups_of(posterior, {0: table}, "name")["mode 0"].tolist() == list("uvwxyz")


def test_groups_for_words_and_plots() -> None:
    posterior = ward_posterior()
    table = {"person": FRAME[["name", "age", "role"]], "met": ROLES}
    np.testing.assert_array_equal(groups_of(posterior, table, "role")["person"], ROLES)
    groups = groups_of(posterior, {"person": FRAME, "met": ROLES})
    assert list(groups) == ["person", "met"]
    with pytest.raises(InputError, match="column is 'rank', but no metadata table has such"):
        groups_of(posterior, table, "rank")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (
            {"label": ["doctor 01", "x"], "role": "ab"},
            r"'person' has the unknown label 'x' in row 1; labels",
        ),
        (
            {"label": ["doctor 01"] * 2, "role": "ab"},
            r"has the label 'doctor 01' in row 0 and again in row 1",
        ),
        (
            {"label": ["doctor 01"], "role": "ab"},
            r"has 2 values in 'role' and 1 in the column of labels; give one value",
        ),
        ({}, "has no columns"),
        (ROLES[:3], r"is not a table and has shape \(3,\); give a table .* shape \(8,\)"),
        (3, r"is not a table and has shape \(\)"),
    ],
)
def test_wrong_tables_are_refused(table, sentence) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        read(table)
    assert str(caught.value).count(".") == 1


def test_unknown_modes_are_refused() -> None:
    with pytest.raises(InputError, match="Unknown mode 'role' in metadata"):
        read(FRAME, "role")


def test_a_row_without_a_label_is_refused() -> None:
    for missing in (None, float("nan")):
        with pytest.raises(InputError, match=r"^metadata for 'person' has no label in row 1; add one.$"):
            read({"person": [PEOPLE[0], missing], "role": ["a", "b"]})


def test_modes_with_the_same_labels_share_a_table() -> None:
    people = ["ann", "bob", "cyd"]
    tensor = DenseTensor(
        xr.DataArray(np.eye(3), dims=("who", "met"), coords={"who": people, "met": people}).expand_dims(
            {"hour": 2}
        )
    )
    table = pd.DataFrame({"role": ["x", "y"], "who": ["cyd", "ann"], "met": [1, 2]})
    shared = share_metadata(tensor, {"who": table})
    assert shared == {
        "who": {"who": ["cyd", "ann"], "role": ["x", "y"], "met": [1, 2]},
        "met": {"met": ["cyd", "ann"], "role": ["x", "y"]},
    }
    assert share_metadata(tensor, {"who": list("abc")})["met"] == {"met": people, "group": list("abc")}
    assert list(share_metadata(tensor, {"who": table, "met": list("abc")})["met"]) == ["met", "group"]
