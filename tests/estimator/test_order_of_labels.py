"""A wide table keeps the order of its rows and columns through every door; fits match labels, not places."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import tensorm
from tensorm import InputError, TensOrMachine
from tensorm.cli.groups import main

ROWS, COLUMNS = ["zoe", "bob 10", "ann", "bob 4", "eve", "cat"], ["tea", "milk", "gin 10", "ale", "gin 2"]
X = np.outer([1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 1]) | np.outer([0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0])
WIDE = pd.DataFrame({"who": ROWS, **dict(zip(COLUMNS, X.T, strict=True))})
LONG = WIDE.melt("who", var_name="column").query("value == 1")[["who", "column"]]
QUICK = {"n_chains": 2, "n_draws": 20, "random_state": 0, "progress": False, "noise": "asymmetric"}


def doors(folder):
    """The same wide table as each kind of source, by what it is called."""
    writers = {
        "csv": lambda path: WIDE.to_csv(path, index=False),
        "tsv": lambda path: WIDE.to_csv(path, index=False, sep="\t"),
        "parquet": lambda path: WIDE.set_index("who").to_parquet(path),
        "xlsx": lambda path: WIDE.to_excel(path, index=False),
    }
    for ending, write in writers.items():
        write(folder / f"wide.{ending}")
    return {
        "pandas": WIDE,
        "with an index": WIDE.set_index("who"),
        "polars": pl.from_pandas(WIDE),
        "pyarrow": pa.Table.from_pandas(WIDE),
        **{ending: folder / f"wide.{ending}" for ending in writers},
    }


@pytest.fixture(scope="module")
def model():
    return TensOrMachine(2, **QUICK).fit(WIDE)


def test_a_wide_table_keeps_its_order_through_every_door(tmp_path, model):
    for name, source in doors(tmp_path).items():
        for options in ({}, {"wide": True}):
            tensor = tensorm.read(source, **options)
            assert [labels.tolist() for labels in tensor.labels] == [ROWS, COLUMNS], name
            assert tensor.modes == ("who", "column"), name
        fitted = TensOrMachine(2, **QUICK).fit(source)
        assert [labels.tolist() for labels in fitted.labels_] == [ROWS, COLUMNS], name
        np.testing.assert_array_equal(fitted.factors_[0], model.factors_[0])


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "xlsx"])
def test_the_command_line_keeps_it_too(tmp_path, ending):
    source, out = doors(tmp_path)[ending], tmp_path / "run"
    words = f"fit {source} --components 2 --chains 1 --draws 5 --quiet --out {out}".split()
    assert CliRunner().invoke(main, words).exit_code == 0
    assert [labels.tolist() for labels in tensorm.load(out).labels_] == [ROWS, COLUMNS]


def test_fits_of_the_long_and_the_wide_form_are_compared_by_labels(model):
    other = TensOrMachine(2, **QUICK).fit(LONG)
    assert other.labels_[0].tolist() == ["ann", "bob 4", "bob 10", "cat", "eve", "zoe"]
    assert tensorm.compare_fits(model, other).conclusion == "Both fits found the same 2 components."
    renamed = TensOrMachine(2, **QUICK).fit(LONG.replace("zoe", "zac"))
    with pytest.raises(InputError, match=r"^The fits have different labels in mode 'who'; give two fits"):
        tensorm.compare_fits(model, renamed)


def test_tables_in_another_order_are_matched_by_labels(model):
    order = np.random.default_rng(1).permutation(len(ROWS))
    moved = WIDE.iloc[order][["who", *COLUMNS[::-1]]]
    np.testing.assert_array_equal(
        model.transform(moved, kind="share"), model.transform(WIDE, kind="share")[order]
    )
    np.testing.assert_allclose(model.transform(moved), model.transform(WIDE)[order], atol=0.2)
    sparse = tensorm.read(LONG)  # sorted
    places = [ROWS.index(label) for label in sparse.labels[0]]
    np.testing.assert_array_equal(
        model.transform(sparse, kind="share"), model.transform(WIDE, kind="share")[places]
    )
    flipped = moved.copy()
    flipped["tea"] = 1 - flipped["tea"]  # a fifth of the cells
    for table, accuracy in ((moved, 1.0), (sparse, 1.0), (flipped, 0.8)):
        assert model.score(table) == accuracy
    assert str(model.scores(moved)) == str(model.scores(WIDE))


def test_other_labels_are_refused(model):
    other = WIDE.rename(columns={"tea": "soup"})
    told = "X has other labels in mode 'column' than the fit; give its 5 labels, which look like 'tea'."
    for method in (model.transform, model.score, model.scores):
        with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
            method(other)


def test_a_report_wants_the_order_of_the_fit(model, tmp_path):
    told = "X has the labels of 'who' in another order than the fit; put them in the order of labels_[0]."
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        model.report(tmp_path / "page.html", X=WIDE[::-1])
