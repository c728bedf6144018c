"""Components and categories: counts, probabilities and their correction, against scipy table by table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control, fisher_exact, mannwhitneyu

from posteriors import ROLES, bits, make_posterior, ward_posterior
from tensorm import InputError
from tensorm.report.associations import associate


def test_against_fisher_one_table_at_a_time() -> None:
    rng = np.random.default_rng(3)
    factor = rng.random((40, 3)) < 0.3
    groups = rng.choice(["a", "b", "c", ""], 40, p=[0.4, 0.3, 0.2, 0.1])
    found = associate(make_posterior([[[factor, bits(2, [0], [1], [0])]]]), {0: groups})
    known = groups != ""
    assert len(found) == 9
    for row in found.rows:
        member, inside = factor[known, row.component], groups[known] == row.category
        table = [[np.sum(member & inside), np.sum(member & ~inside)],
                 [np.sum(~member & inside), np.sum(~member & ~inside)]]  # fmt: skip
        assert (row.both, row.members, row.size, row.known) == (
            table[0][0],
            member.sum(),
            inside.sum(),
            known.sum(),
        )
        assert row.p == pytest.approx(fisher_exact(table, alternative="greater").pvalue)
        assert row.expected == pytest.approx(member.sum() * inside.sum() / known.sum())
    p = [row.p for row in found.rows]
    assert p == sorted(p)
    np.testing.assert_allclose([row.q for row in found.rows], false_discovery_control(p))


def test_all_modes_are_corrected_together() -> None:
    one = associate(ward_posterior(), {"person": ROLES})
    two = associate(ward_posterior(), {"person": ROLES, "met": ROLES})
    assert (len(one), len(two)) == (4, 8)
    assert {row.mode for row in two.rows} == {"person", "met"}
    doctors = next(row for row in one.rows if (row.component, row.category) == (0, "doctor"))
    assert (doctors.both, doctors.members, doctors.p) == (4, 5, pytest.approx(4 / 56))
    np.testing.assert_allclose(
        [row.q for row in two.rows], false_discovery_control([row.p for row in two.rows])
    )


def test_modes_that_share_a_factor_are_one() -> None:
    people = bits(8, [0, 1, 2, 3, 4], [5, 6])
    posterior = make_posterior([[[bits(6, [1, 2], [0]), people, people]]], ("hour", "person", "met"))
    both = associate(posterior, {"person": ROLES, "met": ROLES})
    assert both.rows == associate(posterior, {"person": ROLES}).rows
    other = associate(posterior, {"met": ROLES}).rows
    assert {row.mode for row in other} == {"met"}


def test_the_threshold_decides_who_is_a_member() -> None:
    low = associate(ward_posterior(), {"met": ROLES}, threshold=0.2).rows
    assert next(row for row in low if (row.component, row.category) == (1, "nurse")).both == 3
    with pytest.raises(InputError, match="threshold"):
        associate(ward_posterior(), {"met": ROLES}, threshold=2)


def test_single_indices_and_empty_components_are_passed_over() -> None:
    posterior = make_posterior([[[bits(20, [0, 1], [], range(20)), bits(2, [1], [0], [0])]]])
    table = {"label": range(20), "kind": ["one", *"ab" * 9, "a"], "same": ["x"] * 20}
    found = associate(posterior, {0: table})
    assert {(row.column, row.category, row.component) for row in found.rows} == {
        ("kind", "a", 0),
        ("kind", "b", 0),
    }


def test_numbers_are_compared_by_rank_and_corrected_with_the_groups() -> None:
    rng = np.random.default_rng(4)
    factor = np.column_stack([np.arange(40) < 15, np.arange(40) > 30, np.arange(40) == 3])
    age = rng.normal(50, 5, 40) + 20 * factor[:, 0]
    age[[2, 20]] = np.nan
    table = {"label": range(40), "age": age, "kind": list("ab") * 20}
    found = associate(make_posterior([[[factor, bits(2, [0], [1], [0])]]]), {0: table})
    rows = {row.component: row for row in found.rows if row.column == "age"}
    assert set(rows) == {0, 1}  # a single member has no rank to speak of
    known = ~np.isnan(age)
    for l, row in rows.items():
        mine, others = age[known & factor[:, l]], age[known & ~factor[:, l]]
        assert (row.members, row.known) == (len(mine), 38)
        assert row.p == pytest.approx(mannwhitneyu(mine, others).pvalue)
        assert row.above == pytest.approx(np.mean(mine[:, None] > others))
        assert (row.median, row.other_median) == (np.median(mine), np.median(others))
    assert (rows[0].direction, rows[1].direction) == (1, -1)
    np.testing.assert_allclose(
        [row.q for row in found.rows], false_discovery_control([row.p for row in found.rows])
    )
    assert found.rows[0] == rows[0]
    assert "mode 0, age" in str(found).splitlines()[1]
    assert found.to_dataframe().groupby("column")["both"].count().to_dict() == {"age": 0, "kind": 6}


def test_as_a_table_and_as_text() -> None:
    found = associate(ward_posterior(), {"person": ROLES})
    table = found.to_dataframe()
    assert list(table.columns)[:4] == ["mode", "column", "category", "component"]
    assert len(table) == 4
    assert "person, group: doctor" in str(found).splitlines()[1]
    assert found.below(1.0) == found.rows
    assert found.below(0.0) == ()
