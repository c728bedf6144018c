"""Tables without options: what they seem to be, columns that are no modes, labels that are spelt alike."""

from __future__ import annotations

import logging
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import tensorm
from tensorm import InputError, TensOrMachine
from tensorm.data.options import Options
from tensorm.tensors.read import read_with_metadata

N = 120


def make_orders() -> pd.DataFrame:
    n = np.arange(N)
    return pd.DataFrame({
        "order_id": 1000 + n,
        "customer": [f"c{k}" for k in n % 7],
        "product": [f"p{k}" for k in n % 5],
        "qty": n % 4,
        "price": n / 7,
        "note": [f"please ring the bell twice, thanks {k}" for k in n],
        "when": [f"2024-03-{k % 28 + 1:02d} {k % 24:02d}:10" for k in n],
    })  # fmt: skip


def make_survey() -> pd.DataFrame:
    answers = np.array(["Yes", "No", "Don't know", ""], object)[(np.arange(N)[:, None] + np.arange(4)) % 4]
    survey = pd.DataFrame(answers, columns=["Q1 tea", "Q2 coffee, black", "Q3 beer", "Q4 wine"])
    survey.insert(0, "id", [f"r{n}" for n in range(N)])
    survey.insert(1, "age", 20 + np.arange(N) % 60)
    return survey


def test_columns_that_are_no_modes_are_named_with_the_options_that_help() -> None:
    told = (
        "The table has columns that are probably no modes: 'order_id' differs in every row, 'qty' looks like "
        "counts, 'price' has numbers with fractions, 'note' looks like free text, 'when' looks like time "
        "stamps; name the modes, as in tensorm.read(X, time='when', modes=['customer', 'product'], "
        "value='qty', threshold=1)."
    )
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        tensorm.read(make_orders())
    found = tensorm.read(make_orders(), time="when", modes=["customer", "product"], value="qty", threshold=1)
    assert found.shape == (24, 7, 5)


def test_time_stamps_that_are_named_as_a_mode_are_noticed(caplog) -> None:
    with caplog.at_level(logging.INFO, "tensorm"):
        tensorm.read(pd.concat([make_orders()] * 3), modes=["customer", "when"])
    assert "'when' has 120 labels that look like time stamps; time='when' turns them" in caplog.text


def test_a_column_that_is_often_empty_is_no_mode() -> None:
    orders = make_orders()[["customer", "product"]]
    with pytest.raises(InputError, match=r"'coupon' is often empty; name the modes"):
        tensorm.read(orders.assign(coupon=["spring", None, None] * 40))


def test_a_survey_is_recognised() -> None:
    wanted = (
        "The table has answers such as yes and no in 4 columns, and other things in 'id', 'age'; say how to "
        """read it, as in tensorm.read(X, columns=['Q*'], missing=["Don't know"])."""
    )
    with pytest.raises(InputError, match=f"^{re.escape(wanted)}$"):
        tensorm.read(make_survey())


@pytest.mark.parametrize("columns", [["Q*"], ["Q1 tea", "Q2 coffee, black", "Q3 beer", "Q4 wine"]])
@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "index", "index.parquet"])
def test_columns_of_a_wide_table(tmp_path, columns, kind) -> None:
    survey = make_survey()
    survey.to_csv(tmp_path / "a.csv", index=False)
    survey.to_parquet(tmp_path / "a.parquet", index=False)
    survey.set_index("id").to_parquet(tmp_path / "a.index.parquet")
    frames = {"frame": survey, "index": survey.set_index("id")}
    source = frames[kind] if kind in frames else tmp_path / f"a.{kind}"
    found, known = read_with_metadata(source, Options(columns=columns, missing="Don't know"))
    assert (found.modes, found.shape) == (("id", "column"), (N, 4))
    assert found.labels[0].tolist() == survey["id"].tolist()
    assert (found.n_ones, found.n_observed) == (N, 2 * N)
    assert known == {"id": {"id": survey["id"].tolist(), "age": survey["age"].tolist()}}


def test_rows_without_labels_are_numbered() -> None:
    found, known = read_with_metadata(
        make_survey().drop(columns="id"),
        Options(columns=["Q*"], missing="Don't know", modes=["who", "answer"]),
    )
    assert (found.labels[0], found.modes) == (None, ("who", "answer"))
    assert known["who"]["age"][:2] == [20, 21]


def test_columns_that_a_table_does_not_have() -> None:
    with pytest.raises(
        InputError, match=r"^The table has no column 'R\*'; choose from 'id', 'age', 'Q1 tea'"
    ):
        tensorm.read(make_survey(), columns=["R*"])
    with pytest.raises(InputError, match=r"^columns is 'Q\*'; give a list of columns\.$"):
        tensorm.read(make_survey(), columns="Q*")
    with pytest.raises(InputError, match=r"or name the columns of cells, as in columns=\['q1', 'q2'\]"):
        tensorm.read(make_survey(), wide=True)


def test_columns_are_picked_for_comparisons_too() -> None:
    table = pd.DataFrame({"gene a": [1.0, 2.0], "gene b": [2.0, 1.0], "gene c": [0.0, 3.0], "age": [40, 50]})
    assert tensorm.read(table, relational=True, columns=["gene *"]).shape == (2, 3, 3)


@pytest.mark.parametrize("other", ["BLDG B", "Bldg. B", "bldg-b", "Bldg  B", "Ｂldg B"])
def test_labels_that_are_spelt_almost_alike_are_pointed_out(other) -> None:
    table = pd.DataFrame({"who": ["ann", "bob", "cat"], "where": ["Bldg A", "Bldg B", other]})
    with pytest.warns(
        UserWarning, match=r"^Column 'where' has labels that are spelt almost alike: '.* and '"
    ):
        found = tensorm.read(table)
    assert found.shape == (3, 3)


@pytest.mark.parametrize("kind", ["csv", "frame"])
def test_labels_that_mean_missing(tmp_path, kind) -> None:
    visits = pd.DataFrame({"site": ["Lyon", "NULL", "Graz", "n/a"], "device": ["lamp", "fan", "-", "fan"]})
    source = visits
    if kind == "csv":
        source = tmp_path / "visits.csv"
        visits.to_csv(source, index=False)
    with pytest.warns(UserWarning, match=r"^Column 'site' has the label '(NULL|n/a)'; if it means missing, "):
        assert tensorm.read(source, modes=["site", "device"]).shape == (4, 3)
    given = {"modes": ["site", "device"], "missing": ["NULL", "-"]}
    with pytest.raises(InputError, match=r"'site' is 'NULL'\), (row|line) \d \('device' is '-'\); correct"):
        tensorm.read(source, **given)
    with pytest.warns(UserWarning, match=r"left out 3 bad rows: "):
        left = tensorm.read(
            source, modes=["site", "device"], missing=["null", "-", "n/a"], skip_bad_rows=True
        )
    assert left.labels[0].tolist() == ["Lyon"]
    alone = pd.DataFrame({"site": ["a", "b", "?"], "device": ["x", "y", "x"]})
    with pytest.raises(
        InputError, match=r"^column 'site' has '\?' in row 2; set skip_bad_rows=True to leave"
    ):
        tensorm.read(alone, modes=["site", "device"], missing="?")


def test_a_warning_names_the_line_of_its_reader() -> None:
    table = pd.DataFrame({"who": ["Ann", "ANN", "bob"], "where": ["x", "y", "x"]})
    for call in (tensorm.read, TensOrMachine(1, n_draws=2, burn_in=2, n_chains=1, progress=False).fit):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(table)
        assert caught[0].filename == __file__


def test_labels_that_differ_are_not_pointed_out(recwarn) -> None:
    tensorm.read(
        pd.DataFrame({"who": ["1-1", "11", "1", "01", "-1"], "where": ["A1", "A 1", "A2", "B", "Ö"]})
    )
    assert not recwarn


def make_events(kind: str) -> pd.DataFrame:
    n = np.arange(1500)
    minutes = np.datetime64("2024-03-01T06:00", "m") + 7 * n
    texts = np.char.replace(np.datetime_as_string(minutes), "T", " ")
    when = texts if kind == "text" else minutes.astype("M8[ns]")
    return pd.DataFrame({"when": when, "who": [f"p{k}" for k in n % 7]})


@pytest.mark.parametrize("kind", ["text", "dates"])
def test_very_many_time_stamps_are_refused_as_labels(kind) -> None:
    told = (
        "Column 'when' has 1,500 different time stamps; set time='when' to turn them into hours of the day, "
        "time='when' bins='1d' into days, or time='when' bins='each' to keep each."
    )
    events = make_events(kind)
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        tensorm.read(events, modes=["when", "who"])
    assert tensorm.read(events, modes=["when", "who"], time="when").shape == (24, 7)
    assert tensorm.read(events, modes=["when", "who"], time="when", bins="1d").shape == (8, 7)
    each = tensorm.read(events, modes=["when", "who"], time="when", bins="each")
    assert each.shape == (1500, 7)
    assert str(each.labels[0][1]).startswith("2024-03-01")
    assert "06:07" in str(each.labels[0][1])


def test_time_stamps_that_seldom_repeat_are_refused_as_labels() -> None:
    events = make_events("text")[:201]
    with pytest.raises(InputError, match=r"^Column 'when' has 201 different time stamps; set time='when'"):
        tensorm.read(events, modes=["when", "who"])
    assert tensorm.read(events[:100], modes=["when", "who"]).shape == (100, 7)


@pytest.mark.parametrize("kind", ["text", "dates"])
def test_many_dates_are_pointed_out(caplog, kind) -> None:
    days = np.datetime64("2024-01-03") + np.arange(400) % 330
    when = np.datetime_as_string(days) if kind == "text" else days.astype("M8[ns]")
    orders = pd.DataFrame({"when": when, "who": [f"c{n % 7}" for n in range(400)], "qty": [1, 2] * 200})
    told = "'when' has many dates, 'qty' looks like counts; name the modes, as in tensorm.read(X, "
    with pytest.raises(InputError, match=re.escape(f"{told}time='when', bins='month', modes=['who']")):
        tensorm.read(orders)
    caplog.set_level("INFO")
    assert tensorm.read(orders, modes=["when", "who"]).shape == (330, 7)
    assert "'when' has 330 labels that look like dates; time='when' bins='month' turns them" in caplog.text
    assert tensorm.read(orders, modes=["when", "who"], time="when", bins="month").shape == (11, 7)
    with pytest.raises(
        InputError, match=r"^The times are dates without a time of the day; give bins='month'"
    ):
        tensorm.read(orders, modes=["when", "who"], time="when")


def test_labels_that_are_spelt_almost_alike_are_merged() -> None:
    table = pd.DataFrame(
        {"from": ["Bldg B", "BLDG B", "a", "Bldg B", "1.0"], "to": ["a", "A", "bldg  b", "c", "10"]}
    )
    with pytest.warns(UserWarning, match=r"^Column 'from': 'BLDG B' is now 'Bldg B', 'A' is now 'a', 'bldg"):
        found = tensorm.read(table, modes=["from", "to"], pair=["from", "to"], merge_labels=True)
    assert [*found.labels[0]] == [*found.labels[1]] == ["1.0", "10", "Bldg B", "a", "c"]
    assert found.n_ones == 4  # two rows are one cell
    with pytest.warns(UserWarning, match=r"if they mean the same, set merge_labels=True\.$"):
        assert tensorm.read(table, modes=["from", "to"]).shape == (4, 5)
    many = pd.DataFrame({"who": [*"abcdeABCDE"], "where": ["x", "y"] * 5})
    with pytest.warns(UserWarning, match=r" is now '.', .* and 2 more\.$"):
        tensorm.read(many, modes=["who", "where"], merge_labels=True)
    with pytest.raises(InputError, match=r"is a wide table, so merge_labels=\.\.\. cannot be used"):
        tensorm.read(make_survey(), columns=["Q*"], merge_labels=True)


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_numbers_that_may_mean_missing_are_pointed_out(tmp_path, kind) -> None:
    survey = pd.DataFrame({"id": range(60), "q1": [0, 1] * 30, "q2": [1.0, 0.0] * 30})
    survey.loc[3, "q2"] = 9.0
    path = tmp_path / f"a.{kind}"
    if kind != "frame":
        (survey.to_csv if kind == "csv" else survey.to_parquet)(path, index=False)
    source = survey if kind == "frame" else path
    with pytest.raises(InputError, match=r"set missing=\['9'\] if that means missing, or"):
        tensorm.read(source, wide=True)
    survey.loc[4, "q1"] = 9
    if kind != "frame":
        (survey.to_csv if kind == "csv" else survey.to_parquet)(path, index=False)
    with pytest.raises(InputError, match=r"2 bad rows: .* set missing=\['9'\] if that means missing"):
        tensorm.read(source, wide=True)
    assert tensorm.read(source, wide=True, missing=["9"]).n_observed == 118


def test_naming_the_times_alone_does_not_hide_free_text() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "when": pd.date_range("2024-01-01", periods=200, freq="7h").strftime("%Y-%m-%d %H:%M"),
            "member": rng.choice(["ann", "bob", "eve"], 200),
            "tool": rng.choice(["saw", "drill"], 200),
            "remark": [f"Returned late, because of reason number {n} of many" for n in range(200)],
        }
    )
    with pytest.raises(
        InputError, match=r"'remark' .*; name the modes, as in .*time='when', modes=\['member', "
    ):
        tensorm.read(table, time="when", bins="1d")
    assert tensorm.read(table.drop(columns="remark"), time="when", bins="1d").shape[1:] == (3, 2)
